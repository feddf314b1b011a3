"""Linear kernels with one weight per feature."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernalign._typing import Array
from kernalign.kernels.base import FeatureFamily, SearchSpace
from kernalign.rows import as_rows


class Linear(FeatureFamily):
    """kappa_w(x, x') = sum_k w_k^2 x_k x'_k / (d s_k^2), 0 <= w_k <= 1.

    s_k is the spread of feature k on the training data, so that w_k = 1 for all k is the linear
    kernel of standardised features with mean centred diagonal one. A weight that reaches zero
    drops its feature.
    """

    parameter = "weight"
    pair_feature = "product"

    def from_relevances(self, r: Array) -> Array:
        return np.sqrt(r)

    def __init__(self, *, columns: Sequence[int | str] | slice | None = None):
        self.columns = columns

    def _fix_constants(self, X: Array, weight: Array) -> None:
        self._scale = as_rows(X).spread(weight) * np.sqrt(X.shape[1])

    def _scaled(self, X: Array) -> Array:
        scaled: Array = X / getattr(self, "_scale", np.ones(X.shape[1]))
        return scaled

    def features(self, sigma: Array, X: Array) -> Array:
        return self._scaled(X) * sigma

    def relevance(self, sigma: Array, d: int) -> Array:
        shares: Array = (sigma / getattr(self, "_scale", np.ones(d))) ** 2
        return shares

    def words(self, sigma: Array, names: Sequence[str]) -> str:
        return "rows are alike when they lie in the same direction"

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
