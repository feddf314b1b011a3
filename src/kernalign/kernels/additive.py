"""Additive kernels: sums of one-dimensional kernels, one for each feature."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernalign._typing import Array
from kernalign.kernels._bump import bump
from kernalign.kernels._scale import in_units
from kernalign.kernels.base import Family, SearchSpace

#: Weights below this share of the largest are dropped.
NEGLIGIBLE = 1e-9
#: Bytes of a tile of kernel values, of which a few stay in a processor's cache.
TILE = 2**18


class Additive(Family):
    """kappa_w(x, x') = sum_k w_k m(|x_k - x'_k| / s_k), 0 <= w_k <= 1, m(u) = (1 + v) e^-v.

    m is the Matern kernel of smoothness 3/2 (v = sqrt(3) u) with a bandwidth of one spread s_k of
    the feature. Functions in the space of such a kernel are sums of functions of single features:
    features act without interactions. A weight of zero removes its feature.
    """

    parameter = "weight"
    pair_feature = "bump"
    takes_codes = True

    def __init__(self, *, columns: Sequence[int | str] | slice | None = None):
        self.columns = columns

    def _fix_constants(self, X: Array, weight: Array) -> None:
        self._scale = self.scale_of(X, weight)

    def _feature_scale(self, d: int) -> Array:
        scale: Array = getattr(self, "_scale", np.ones(d))
        return scale

    def _scaled(self, X: Array) -> Array:
        return in_units(X, self._feature_scale(X.shape[1])).astype(X.dtype, copy=False)

    def gram(self, sigma: Array, X: Array, Z: Array | None = None) -> Array:
        A = self._scaled(X)
        B = A if Z is None else self._scaled(Z)
        K = np.zeros((len(A), len(B)), dtype=X.dtype)
        used = sigma > NEGLIGIBLE * sigma.max(initial=0.0)
        codes = self.codes
        if codes is not None:
            codes.summed("bump", np.where(used, sigma, 0.0), A, B, K)
            used[codes.codes] = False
        columns = [(K.dtype.type(sigma[k]), A[:, k], B[:, k].copy()) for k in np.flatnonzero(used)]
        size = max(1, TILE // max(K[:1].nbytes, 1))
        for start in range(0, len(A), size):
            rows = slice(start, start + size)
            part = K[rows]
            u, m = np.empty_like(part), np.empty_like(part)
            for weight, a, b in columns:
                part += bump(np.subtract.outer(a[rows], b, out=u), weight, m)
        return K

    def diag(self, sigma: Array, X: Array) -> Array:
        return np.full(len(X), sigma.sum())

    def gradient(self, sigma: Array, X: Array, Z: Array | None, W: Array, K: Array) -> Array:
        A = self._scaled(X)
        B = A if Z is None else self._scaled(Z)
        columns = zip(A.T, B.T, strict=True)
        slope = np.array([np.vdot(W, bump(np.subtract.outer(a, b))) for a, b in columns])
        if self.codes is not None:
            slope[self.codes.codes] = self.codes.contracted("bump", W, A, B)
        return slope

    def to_search(self, sigma: Array) -> Array:
        return sigma

    def from_search(self, z: Array) -> Array:
        return z

    def d_sigma_d_z(self, sigma: Array) -> Array:
        return np.ones_like(sigma)

    def relevance(self, sigma: Array, d: int) -> Array:
        # m decreases like 1 - 3 u^2 / 2.
        return sigma / self._feature_scale(d) ** 2

    def words(self, sigma: Array, names: Sequence[str], scale: Array | None = None) -> str:
        return (
            "rows are similar when they are close in single features, and more so in many of them"
        )

    def search_space(self, X: Array, rng: np.random.Generator) -> SearchSpace:
        d = X.shape[1]
        scan = np.concatenate([np.ones((1, d)), np.full((1, d), 0.5)])
        return SearchSpace(np.zeros(d), np.ones(d), scan, np.ones(d), ordered=False)
