"""Linear kernels with one weight per feature."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernalign._typing import Array
from kernalign.kernels._scale import in_units
from kernalign.kernels.base import SearchSpace
from kernalign.kernels.structure import FeatureFamily


class Linear(FeatureFamily):
    """kappa_w(x, x') = sum_k w_k^2 x_k x'_k / (d s_k^2), 0 <= w_k <= 1.

    s_k is the spread of feature k on the training data, so that w_k = 1 for all k is the linear
    kernel of standardised features with mean centred diagonal one. A weight of zero removes its
    feature.
    """

    parameter = "weight"
    pair_feature = "product"
    takes_codes = True

    def from_relevances(self, r: Array) -> Array:
        return np.sqrt(r)

    def to_relevances(self, sigma: Array) -> Array:
        return np.square(sigma)

    def __init__(self, *, columns: Sequence[int | str] | slice | None = None):
        self.columns = columns

    def _fix_constants(self, X: Array, weight: Array) -> None:
        self._scale = self.scale_of(X, weight) * np.sqrt(X.shape[1])

    def _scaled(self, X: Array) -> Array:
        return in_units(X, getattr(self, "_scale", np.ones(X.shape[1])))

    # Columns of codes have no explicit features: there would be one per category.

    def gram(self, sigma: Array, X: Array, Z: Array | None = None) -> Array:
        codes = self.codes
        if codes is None:
            return super().gram(sigma, X, Z)
        A = self.features(sigma, X)[:, codes.numbers]
        B = A if Z is None else self.features(sigma, Z)[:, codes.numbers]
        return codes.summed("product", self._shares(sigma), X, X if Z is None else Z, A @ B.T)

    def diag(self, sigma: Array, X: Array) -> Array:
        codes = self.codes
        if codes is None:
            return super().diag(sigma, X)
        A = self.features(sigma, X)[:, codes.numbers]
        return np.einsum("ik,ik->i", A, A) + codes.codes_of(self._shares(sigma)).sum()

    def gradient(self, sigma: Array, X: Array, Z: Array | None, W: Array, K: Array) -> Array:
        codes = self.codes
        if codes is None:
            return super().gradient(sigma, X, Z, W, K)
        A = self._scaled(X)
        B = A if Z is None else self._scaled(Z)
        by_share = np.einsum("ik,ik->k", A, W @ B)
        of_codes = codes.contracted("product", W, X, X if Z is None else Z)
        by_share[codes.codes] = of_codes * codes.codes_of(self._shares(np.ones(sigma.shape)))
        return 2 * sigma * by_share

    def _shares(self, sigma: Array) -> Array:
        """w_k^2 / (d s_k^2)."""
        shares: Array = (sigma / getattr(self, "_scale", np.ones(sigma.shape))) ** 2
        return shares

    def features(self, sigma: Array, X: Array) -> Array:
        return self._scaled(X) * sigma

    def relevance(self, sigma: Array, d: int) -> Array:
        return self._shares(sigma)

    def words(self, sigma: Array, names: Sequence[str], scale: Array | None = None) -> str:
        return "rows are similar when their features deviate from the mean in the same direction"

    def features_gradient(self, sigma: Array, X: Array, V: Array) -> Array:
        return np.einsum("ik,ik->k", self._scaled(X), V)

    def to_search(self, sigma: Array) -> Array:
        return sigma

    def from_search(self, z: Array) -> Array:
        return z

    def d_sigma_d_z(self, sigma: Array) -> Array:
        return np.ones_like(sigma)

    def search_space(self, X: Array, rng: np.random.Generator) -> SearchSpace:
        d = X.shape[1]
        scan = np.concatenate([np.ones((1, d)), np.full((1, d), 0.5)])
        return SearchSpace(np.zeros(d), np.ones(d), scan, np.ones(d), ordered=False)
