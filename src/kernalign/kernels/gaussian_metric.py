"""Gaussian kernels of a low-rank metric: kappa_L(x, x') = exp(-|L'(x - x')|^2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernalign._typing import Array
from kernalign._validation import check_count
from kernalign.kernels._distances import middle
from kernalign.kernels._scale import distance_range, in_units, per_unit
from kernalign.kernels.base import Family, SearchSpace
from kernalign.kernels.gaussian import Gaussian
from kernalign.rows import as_rows

#: Largest entry of L in the search, in units of 1 / spread of the feature.
LARGEST = 10.0
#: Number of random directions that start the search, and of bandwidth quantiles for each.
DIRECTIONS, BANDWIDTHS = 3, 3


class GaussianMetric(Family):
    """kappa_L(x, x') = exp(-|L'(x - x')|^2) with L of shape (features, rank).

    The kernel depends on directions of the input space instead of single features. It is constant
    along directions orthogonal to L. Its parameters are the entries of L, row by row.

    Parameters
    ----------
    rank : int
        Number of directions.
    columns : positions, names or slice, optional
        The columns of X that the kernel uses; all of them by default.

    Examples
    --------
    >>> import numpy as np
    >>> from kernalign import GaussianMetric
    >>> k = GaussianMetric(rank=1).at([1.0, -1.0])
    >>> k(np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0]])).round(3)
    array([[1.   , 1.   , 0.368],
           [1.   , 1.   , 0.368],
           [0.368, 0.368, 1.   ]])
    """

    parameter = "L"

    def __init__(self, rank: int = 2, *, columns: Sequence[int | str] | slice | None = None):
        self.rank = rank
        self.columns = columns

    def gram(self, sigma: Array, X: Array, Z: Array | None = None) -> Array:
        L, U, V = self._in_spreads(sigma, X, Z)
        return Gaussian().gram(np.ones(1), U @ L, None if V is None else V @ L)

    def _in_spreads(
        self, sigma: Array, X: Array, Z: Array | None
    ) -> tuple[Array, Array, Array | None]:
        """L, X and Z in spreads of the features: L'(x - x') is the same, and does not overflow."""
        scale = self._feature_scale(X.shape[1])
        # Data far from zero would lose accuracy in the projection.
        centre = middle(X if Z is None else Z)
        with np.errstate(over="ignore"):
            U = in_units(X - centre, scale)
            V = None if Z is None else in_units(Z - centre, scale)
        return self._rows(self.to_search(sigma)), U, V

    def diag(self, sigma: Array, X: Array) -> Array:
        return np.ones(len(X))

    def gradient(self, sigma: Array, X: Array, Z: Array | None, W: Array, K: Array) -> Array:
        """d/dL sum_ij W_ij K_ij = -2 sum_ij A_ij (x_i - z_j)(x_i - z_j)' L, A = W o K."""
        L, U, V = self._in_spreads(sigma, X, Z)
        V = U if V is None else V
        A = W * K
        UL, VL = U @ L, V @ L
        left = U.T @ (A.sum(axis=1)[:, None] * UL - A @ VL)
        right = V.T @ (A.sum(axis=0)[:, None] * VL - A.T @ UL)
        return (-2 * (left + right)).ravel()

    # -- parameters: z is L in units of one over the spread of each feature ---------------------

    def _fix_constants(self, X: Array, weight: Array) -> None:
        check_count(self, "rank")
        self._scale = as_rows(X).spread(weight)

    def _feature_scale(self, d: int) -> Array:
        scale: Array = getattr(self, "_scale", np.ones(d))
        return scale

    def _rows(self, values: Array) -> Array:
        return values.reshape(-1, self.rank)

    def to_search(self, sigma: Array) -> Array:
        L = self._rows(sigma)
        return (L * self._feature_scale(len(L))[:, None]).ravel()

    def from_search(self, z: Array) -> Array:
        L = self._rows(z)
        return per_unit(L, self._feature_scale(len(L))[:, None]).ravel()

    def d_sigma_d_z(self, sigma: Array) -> Array:
        d = len(self._rows(sigma))
        return np.repeat(per_unit(np.ones(d), self._feature_scale(d)), self.rank)

    def search_space(self, X: Array, rng: np.random.Generator) -> SearchSpace:
        """Random projections that preserve distances, at a few common bandwidths."""
        d = X.shape[1]
        nearest, largest = distance_range(X, rng, "euclidean")
        if largest == 0:
            nearest = largest = 1.0
        starts = []
        for sigma in np.geomspace(nearest, largest, BANDWIDTHS + 2)[1:-1]:
            for _ in range(DIRECTIONS):
                Q = np.linalg.qr(rng.normal(size=(d, self.rank)))[0][:, : self.rank]
                # Q / sigma itself may overflow.
                scale = (self._feature_scale(d) / sigma)[:, None]
                L = np.zeros((d, self.rank))
                L[:, : Q.shape[1]] = Q * np.sqrt(d / Q.shape[1]) * scale
                starts.append(L.ravel())
        bound = np.full(d * self.rank, LARGEST)
        scan = np.clip(np.array(starts), -bound, bound)
        return SearchSpace(-bound, bound, scan, np.full(bound.size, 0.3), ordered=False)
