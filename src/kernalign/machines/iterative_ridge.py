"""Kernel ridge regression on all rows by preconditioned conjugate gradients.

(D K D + I / C) D^{-1} alpha = D y with D the roots of the weights. K is never stored: each
iteration computes it once, tile by tile. The preconditioner is the same system with Phi Phi', the
features of a few landmarks, instead of K, inverted by Woodbury's formula.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import gen_batches

from kernalign._threads import blocks_in_threads, map_rows
from kernalign._typing import Array
from kernalign._warnings import find_stack_level
from kernalign.features.base import FeatureMap
from kernalign.kernels import LearnedKernel
from kernalign.machines.least_squares import held_rows
from kernalign.solvers.conjugate_gradients import conjugate_gradients, norms

#: Rows and columns of the tiles of K.
ROWS, COLUMNS = 256, 2048
#: Stopping criterion: residual relative to the right-hand side, and maximum number of iterations.
TOLERANCE, ITERATIONS = 1e-6, 200


def kernel_times(kernel: LearnedKernel, X: Array, V: Array) -> Array:
    """k(X, X) V by tiles."""

    def block(rows: slice) -> Array:
        out = np.zeros((rows.stop - rows.start, V.shape[1]))
        for start in range(0, len(X), COLUMNS):
            columns = slice(start, start + COLUMNS)
            out += kernel(X[rows], X[columns]) @ V[columns]
        return out

    return np.concatenate([part for _, part in map_rows(block, len(X), ROWS)])


class Preconditioner:
    """v -> (U U' + lambda I)^{-1} v = (v - U (U'U + lambda I)^{-1} U'v) / lambda, U = D Phi."""

    def __init__(self, features: FeatureMap, X: Array, weight: Array, penalty: float):
        self.features, self.X, self.penalty = features, X, penalty
        self.root = np.sqrt(weight)[:, None]
        A = np.zeros((features.n_features, features.n_features))
        # Rows are whitened before they are squared, which keeps A positive if L is nearly singular.
        # A preconditioner may be inexact, so the remaining rounding errors do not matter.
        for rows in gen_batches(len(X), held_rows(features.n_features)):
            phi = self.root[rows] * features.transform(X[rows])
            A += phi.T @ phi
        A[np.diag_indices(len(A))] += penalty + len(A) * np.finfo(float).eps * np.trace(A)
        self.factor = cho_factor(A, lower=True)

    def __call__(self, V: Array) -> Array:
        rooted = self.root * V

        def down(rows: slice) -> Array:
            return self.features.transform(self.X[rows]).T @ rooted[rows]

        def up(rows: slice) -> Array:
            return self.features.transform(self.X[rows]) @ middle

        n = len(self.X)
        inner = np.zeros((self.features.n_features, V.shape[1]))
        for _, part in map_rows(down, n, ROWS):
            inner += part
        middle = cho_solve(self.factor, inner)
        lifted = np.concatenate([part for _, part in map_rows(up, n, ROWS)])
        result: Array = (V - self.root * lifted) / self.penalty
        return result


def ridge_by_conjugate_gradients(
    kernel: LearnedKernel, features: FeatureMap, X: Array, Y: Array, weight: Array, C: float
) -> tuple[Array, Array]:
    """Coefficients (n, c) and constants (c,) of min sum_i w_i |y_i - b - f(x_i)|^2 + |f|^2 / C.

    b is the weighted mean of y, as in kernel ridge regression with a dense Gram matrix.
    """
    root = np.sqrt(weight)[:, None]
    mean = weight @ Y / weight.sum()
    right = root * (Y - mean)
    with blocks_in_threads():
        inverse = Preconditioner(features, X, weight, 1 / C)

        def system(V: Array) -> Array:
            return root * kernel_times(kernel, X, root * V) + V / C

        wanted = TOLERANCE * norms(right)
        V, converged = conjugate_gradients(system, right, wanted, ITERATIONS, inverse)
        if not converged:
            warnings.warn(
                f"Conjugate gradients stopped after {ITERATIONS} iterations at C={C:g}, before "
                "they converged: use more landmarks (n_components), or a smaller C.",
                ConvergenceWarning,
                stacklevel=find_stack_level(),
            )
    return root * V, mean
