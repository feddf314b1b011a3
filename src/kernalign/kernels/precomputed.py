"""A Gram matrix computed by the user, as a kernel on row indices."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign.kernels.base import Family, SearchSpace

#: Relative asymmetry, and relative size of negative eigenvalues, that count as rounding errors.
SYMMETRY, EIGENVALUE = 1e-8, 1e-8
#: Hashes of matrices known to be positive semidefinite. Every fold of a cross-validation checks its
#: own copy, and a check costs an eigendecomposition.
_VALID: set[bytes] = set()


class GramMatrix(Family):
    """kappa(i, j) = K[i, j]; X has a single column of row indices into K.

    Parameters
    ----------
    matrix : (N, N) symmetric positive semidefinite array
        Kernel values of all objects, including those to predict.
    clip : bool
        Set negative eigenvalues to zero instead of raising an error.
    name : str
        Name of the matrix in error messages.
    """

    parameter = "none"

    def __init__(self, matrix: Any, *, clip: bool = False, name: str = "The Gram matrix"):
        self.matrix = matrix
        self.clip = clip
        self.name = name

    def resolve(
        self,
        X: Array,
        feature_names: Any = None,
        weight: Array | None = None,
    ) -> GramMatrix:
        resolved = GramMatrix(checked_gram(self.matrix, self.clip, self.name), name=self.name)
        resolved._rows(X)
        return resolved

    def _rows(self, X: Array) -> Any:
        n = len(self.matrix)
        column = X[:, 0]
        inside = (column >= 0) & (column < n)
        rows = np.where(inside, column, 0).astype(int)
        if X.shape[1] != 1 or not inside.all() or (rows != column).any():
            raise ValueError(
                f"With Gram matrices, X must be one column of row indices from 0 to {n - 1}. "
                f"Got {X.shape[1]} columns with values from {X.min():g} to {X.max():g}."
            )
        return rows

    def gram(self, sigma: Array, X: Array, Z: Array | None = None) -> Array:
        rows = self._rows(X)
        return np.asarray(self.matrix, dtype=float)[
            np.ix_(rows, rows if Z is None else self._rows(Z))
        ]

    def diag(self, sigma: Array, X: Array) -> Array:
        rows = self._rows(X)
        return np.asarray(self.matrix, dtype=float)[rows, rows]

    def gradient(self, sigma: Array, X: Array, Z: Array | None, W: Array, K: Array) -> Array:
        return np.zeros(0)

    def describe(self, sigma: Array) -> dict[str, float | list[float]]:
        return {}

    def search_space(self, X: Array, rng: np.random.Generator) -> SearchSpace:
        raise TypeError("A Gram matrix is a single kernel: it has no parameters to search.")


def checked_gram(matrix: Any, clip: bool, name: str) -> Array:
    """Check that a matrix is finite, symmetric and positive semidefinite."""
    K = np.asarray(matrix, dtype=float)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or not len(K):
        raise ValueError(f"{name} must be a square matrix. Got shape {K.shape} instead.")
    if not np.isfinite(K).all():
        raise ValueError(f"{name} must hold finite numbers. Got NaN or infinity.")
    size = float(np.abs(K).max())
    if size == 0:
        raise ValueError(f"{name} is all zeros: every pair of rows has the same kernel value.")
    gap = float(np.abs(K - K.T).max())
    if gap > SYMMETRY * size:
        raise ValueError(
            f"{name} must be symmetric. The largest |K - K'| is {gap:.3g}, with entries up to "
            f"{size:.3g}."
        )
    seen = blake2b(K.tobytes(), digest_size=32).digest()
    if seen in _VALID:
        return K
    values, vectors = np.linalg.eigh(K)
    if values[0] >= -EIGENVALUE * values[-1]:
        _VALID.add(seen)
        return K
    if not clip:
        raise ValueError(
            f"{name} must be positive semidefinite. Its smallest eigenvalue is {values[0]:.3g}, "
            f"its largest {values[-1]:.3g}; GramMatrix(K, clip=True).at() sets negative "
            "eigenvalues to zero."
        )
    return (vectors * np.maximum(values, 0)) @ vectors.T
