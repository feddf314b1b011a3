"""Kernel ridge regression on all rows with stored kernel values, by conjugate gradients.

f(x) = k(x, X) a minimises sum_i w_i |y_i - f(x_i)|^2 + noise a'K a, K = k(X, X). With a = D b, D
the roots of the weights, the equations are (D K D + noise) b = D y. A step costs one product with
K, and no step costs O(n^3).

The preconditioner knows the largest eigenvalues s of D K D and their vectors V, from a few
landmarks Z: U = D k(X, Z) L'^-1 with LL' = k(Z, Z) has UU' = V s V'. It divides the residual along
V by (s + noise) / (s_min + noise) (Frangella, Tropp and Udell, 2023).

As in `machines.tuned_ridge`, a constant kernel represents the mean, and the noise is in units of
the mean diagonal.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import eigh

from kernalign import _lapack
from kernalign._threads import blocks_in_threads, map_rows
from kernalign._typing import Array
from kernalign.criteria.evidence import mirror
from kernalign.criteria.kernel_sum import CONSTANT
from kernalign.gram import Target
from kernalign.kernels import LearnedKernel
from kernalign.kernels.together import seconds_saved
from kernalign.machines.landmark_ridge import JITTER
from kernalign.machines.landmark_values import LandmarkValues
from kernalign.machines.model import DualModel
from kernalign.solvers.conjugate_gradients import conjugate_gradients, norms

#: Number of landmarks of the preconditioner: the first rows.
LANDMARKS = 500
#: Stopping criterion: residual relative to the right-hand side, and maximum number of steps. The
#: error of f, as a root mean square, is at most the residual's.
TOLERANCE, ITERATIONS = 1e-4, 200
#: Eigenvalues below this share of the noise need no preconditioner.
NEGLIGIBLE = 0.1
#: Smallest factor of the preconditioner, by precision: V is orthogonal up to rounding errors only.
MIN_FACTOR = {np.float32: 1e-5, np.float64: 1e-12}
#: Number of rows that one thread processes at a time, and of which kernel values are computed
#: before they are copied to the other half of K.
ROWS, CHUNK = 512, 2048


class StoredRidge:
    """The machine on all rows.

    kernel : k; X : (n, d) rows in random order; log_noise : in units of the mean diagonal of K;
    precision : of kernel values.
    converged : whether the last solution's residual is small enough.
    """

    converged = False

    def __init__(self, kernel: LearnedKernel, X: Array, log_noise: float, precision: Any):
        self.precision, self.n = precision, len(X)
        diagonal = kernel.diag(X)
        self.h = float(diagonal.mean()) or 1.0
        self.constant = CONSTANT * self.h
        self.noise = float(np.exp(log_noise)) * self.h
        self.K = np.empty((self.n, self.n), dtype=precision)
        with blocks_in_threads():
            for start in range(0, self.n, CHUNK):
                self._fill(kernel, X, start)
        # In single precision, rounding parts a row from itself.
        np.fill_diagonal(self.K, diagonal + self.constant)

    def _fill(self, kernel: LearnedKernel, X: Array, start: int) -> None:
        """K of some rows and the columns from the first of them on, and the same transposed."""
        later, some = X[start:], X[start : start + CHUNK]
        saved = seconds_saved(kernel.kernels, self.n**2 / 2)
        values = LandmarkValues(kernel, later, self.constant, self.precision, saved)
        K = self.K[start:, start:]
        for rows, part in values.blocks(some):
            K[rows] = part
        mirror(K[: len(some), : len(some)])
        K[len(some) :, : len(some)] = K[: len(some), len(some) :].T

    def solve(
        self, target: Target, start: DualModel | None = None, tolerance: float = TOLERANCE
    ) -> DualModel:
        """The model; a good start reduces the number of steps."""
        root = np.sqrt(target.weight)[:, None]
        mean = target.weight @ target.values / target.total
        right = root * (target.values - mean)

        def system(b: Array) -> Array:
            return root * self.times(root * b) + self.noise * b

        with blocks_in_threads():
            b, residual = np.zeros_like(right), right
            if start is not None:
                a = start.coefficients.reshape(right.shape)
                b = np.divide(a, root, out=b, where=root > 0)
                residual = right - system(b)
            wanted, inverse = tolerance * norms(right), self._preconditioner(root)
            change, self.converged = conjugate_gradients(
                system, residual, wanted, ITERATIONS, inverse
            )
        a = root * (b + change)
        return DualModel(a, mean + self.constant * a.sum(axis=0))

    def times(self, a: Array) -> Array:
        """K a."""
        found, a = np.empty(a.shape), a.astype(self.precision)
        for rows, part in map_rows(lambda rows: self.K[rows] @ a, self.n, ROWS):
            found[rows] = part
        return found

    @cached_property
    def _features(self) -> Array:
        """k(X, Z) L'^-1, (n, m)."""
        m = min(LANDMARKS, self.n)
        L = self.K[:m, :m].astype(float)
        L.ravel()[:: m + 1] += JITTER[self.precision] * (self.h + self.constant)
        L = _lapack.cholesky(L)
        found = np.empty((self.n, m), dtype=self.precision)

        def block(rows: slice) -> Array:
            return _lapack.solve_half(L, self.K[rows, :m].T).T

        for rows, part in map_rows(block, self.n, ROWS):
            found[rows] = part
        return found

    def _preconditioner(self, root: Array) -> Callable[[Array], Array]:
        U, m = self._features, self._features.shape[1]
        D = root.astype(self.precision)
        squares = np.zeros((m, m))

        def square(rows: slice) -> Array:
            some = D[rows] * U[rows]
            product: Array = some.T @ some
            return product

        for _, part in map_rows(square, self.n, ROWS * 4):
            squares += part
        s, Q = eigh(squares, driver="evd", check_finite=False)
        known = s > max(NEGLIGIBLE * self.noise, np.finfo(self.precision).eps * s[-1])
        if not known.any():
            return lambda r: r
        s, Q = s[known], Q[:, known]
        Q = (Q / np.sqrt(s)).astype(self.precision)
        V = np.empty((self.n, len(s)), dtype=self.precision)
        for rows, part in map_rows(lambda rows: (D[rows] * U[rows]) @ Q, self.n, ROWS):
            V[rows] = part
        factor = np.maximum((s[0] + self.noise) / (s + self.noise), MIN_FACTOR[self.precision])
        less = (1 - factor)[:, None].astype(self.precision)

        def inverse(r: Array) -> Array:
            single = r.astype(self.precision)
            found: Array = r - V @ (less * (V.T @ single))
            return found

        return inverse
