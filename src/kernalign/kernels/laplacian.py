"""Laplacian kernels: products of one-dimensional exponential kernels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist

from kernalign._compiled import loops_in_use
from kernalign._typing import Array
from kernalign.kernels._decay import decay
from kernalign.kernels._distances import FAR
from kernalign.kernels._radial import Radial
from kernalign.kernels.base import ValuesTo
from kernalign.kernels.structure import Tiles

#: Rows of the distances in one feature that are computed at a time: they stay in the cache.
TILE = 32


class Laplacian(Radial):
    """kappa_sigma(x, x') = exp(-|x - x'|_1 / sigma), or sum_k |x_k - x'_k| / sigma_k.

    The distance is L1, as in scikit-learn's laplacian_kernel with gamma = 1 / sigma.
    exp(-|x - x'|_2 / sigma) is Matern(nu=0.5).
    """

    pair_feature = "absolute"
    semigroup = True
    saved_per_value = 5e-9
    power = 1.0
    # The range of sigma has half as many octaves as with squared distances.
    nodes_per_octave = 3

    @staticmethod
    def number_tiles(sigma: Array, X: Array, Z: Array | None = None) -> Tiles:
        """D[i, j] = sum_k |x_ik - z_jk| / sigma_k."""
        A = _scaled(sigma, X)
        B = A if Z is None else _scaled(sigma, Z)
        return lambda rows, columns, out: _cityblock(A[rows], B[columns], out)

    @staticmethod
    def numbers_to(sigma: Array, Z: Array) -> ValuesTo:
        """The same of any rows and Z."""
        B = _scaled(sigma, Z)
        by_feature = np.ascontiguousarray(B.T)
        return lambda X, out: _cityblock(_scaled(sigma, X), B, out, by_feature)

    def profile(self, D: Array) -> Array:
        return decay(D, out=D)

    def profile_slope(self, distances: Callable[[], Array], K: Array) -> Array:
        return -K

    has_frequencies = True

    def frequencies(self, sigma: Array, d: int, number: int, rng: np.random.Generator) -> Array:
        """Cauchy in each coordinate."""
        omega: Array = rng.standard_cauchy((d, number))
        return omega / np.broadcast_to(sigma, (d,))[:, None]

    def gradient(self, sigma: Array, X: Array, Z: Array | None, W: Array, K: Array) -> Array:
        A = -W * K
        if not self.ard:
            # dD / d log sigma = -D
            return np.array([-np.vdot(A, self.distances(sigma, X, Z))])
        return self._contract(A, X, X if Z is None else Z)

    def _contract_numbers(self, A: Array, X: Array, Z: Array, s: Array) -> Array:
        """sum_ij A_ij |x_ik - z_jk| / s_k for each k."""
        x, z = (np.ascontiguousarray((rows / s).T) for rows in (X, Z))
        total, room = np.zeros(len(x)), np.empty((min(TILE, len(X)), len(Z)))
        for start in range(0, len(X), TILE):
            some = A[start : start + TILE]
            away = room[: len(some)]
            for k in range(len(x)):
                np.subtract.outer(x[k, start : start + TILE], z[k], out=away)
                total[k] += np.vdot(some, np.abs(away, out=away))
        return total

    def to_search(self, sigma: Array) -> Array:
        """log sigma, or z_k = s_k / sigma_k."""
        if not self.ard:
            return np.log(sigma)
        z: Array = self._feature_scale(sigma.size) / sigma
        return z

    def from_search(self, z: Array) -> Array:
        if not self.ard:
            return np.exp(z)
        scale = np.broadcast_to(self._feature_scale(z.size), z.shape)
        with np.errstate(over="ignore"):
            return np.divide(scale, z, out=np.full(z.shape, np.inf), where=z > 0)

    def d_sigma_d_z(self, sigma: Array) -> Array:
        if not self.ard:
            return sigma
        slope: Array = -(sigma**2) / self._feature_scale(sigma.size)
        return slope

    metric = "cityblock"
    distance = "absolute"

    def _z_of(self, ratio: float) -> float:
        return 1 / ratio


def _scaled(sigma: Array, rows: Array) -> Array:
    """Rows in units of sigma, limited so that sums do not overflow."""
    largest = min(FAR, float(np.finfo(rows.dtype).max) / 1e6)
    with np.errstate(over="ignore"):
        return np.clip(rows / sigma.astype(rows.dtype), -largest, largest)


def _cityblock(A: Array, B: Array, out: Array, by_feature: Array | None = None) -> Array:
    """out[i, j] = sum_k |a_ik - b_jk|.

    by_feature : B', contiguous, if it is known; compiled loops need it.
    """
    loops = loops_in_use()
    if loops is not None and A.dtype == B.dtype == out.dtype and out.flags.c_contiguous:
        B = np.ascontiguousarray(B.T) if by_feature is None else by_feature
        loops.cityblock(np.ascontiguousarray(A), B, out)
        return out
    # Single precision is rounded from double: scipy computes the sums in one pass over the pairs,
    # numpy would need three passes for each feature.
    if out.dtype == np.float64:
        cdist(A, B, "cityblock", out=out)
    else:
        out[...] = cdist(A, B, "cityblock")
    return out
