"""Predictive standard deviations of a Gaussian process.

With A = k + constant + noise diag(1/w) on the training rows, and k_x the kernel values of a row x
with them, the response at x has the variance

    scale [k(x, x) + constant + noise - (k_x + constant)' A^-1 (k_x + constant)]

plus that of the change from the range of the training rows, if x is outside it (`kernels.beyond`).
The scale has the largest likelihood on the training rows: tr Y'A^-1 Y / N over all columns of Y.
Only three numbers and the weights of the rows are stored. A is factorised again when variances are
needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from kernalign import _lapack
from kernalign._threads import active_threads, map_rows
from kernalign._typing import Array, IntArray
from kernalign.gram import Target
from kernalign.kernels import LearnedKernel
from kernalign.kernels.beyond import variance_beyond
from kernalign.kernels.learned import rows_within_budget

#: Maximum number of landmarks that the variances of a machine on landmarks are computed from.
MOST_LANDMARKS = 4000
#: Number of rows whose variances are computed at a time, if the memory limit allows it.
ROWS = 256


@dataclass(frozen=True)
class Posterior:
    """The parameters of the process.

    scale : variance of the process, in units of the kernel.
    noise, constant : in units of the kernel.
    weight : of the training rows, (n,), or (1,) for equal ones.
    """

    scale: float
    noise: float
    constant: float
    weight: Array

    @classmethod
    def of(cls, a: Array, target: Target, noise: float, constant: float) -> Posterior:
        """The process of a machine with the solution a = A^-1 Y, (n,) or (n, c)."""
        Y = target.centred
        quadratic = max(float(np.vdot(a.reshape(Y.shape), Y)), 0.0)
        scale = quadratic / (target.total * Y.shape[1])
        w = target.weight
        return cls(scale, noise, constant, w if np.ptp(w) else w[:1])

    def at_rows(self, index: IntArray | None) -> Posterior:
        """The process for a model that stores some of the training rows, or all (None)."""
        same = index is None or len(self.weight) == 1
        return self if same else replace(self, weight=self.weight[index])

    def factor(self, K: Array) -> Array:
        """The Cholesky factor of A, below the diagonal, from K = k(rows), which is overwritten."""
        A = _lapack.symmetric(K)
        A += self.constant
        A.ravel(order="K")[:: len(A) + 1] += self.noise / self.weight
        return _lapack.cholesky(A)

    def deviations(self, L: Array, kernel: LearnedKernel, X: Array, K: Array) -> Array:
        """Standard deviations of the response at other rows X.

        L : the factor; K : k(X, rows), which is overwritten.
        """
        own = kernel.diag(X) + variance_beyond(kernel, X)
        K += self.constant
        V = _lapack.solve_half(L, K.T)
        known = np.einsum("ij,ij->j", V, V)
        of_f = np.maximum(own + self.constant - known, 0.0)
        return np.sqrt(self.scale * (of_f + self.noise))

    def on_rows(self, kernel: LearnedKernel, rows: Array) -> Callable[[Array], Array]:
        """A function from new rows to their standard deviations."""
        if not len(rows):
            # A constant response has no kernel: only the noise is left.
            return lambda X: np.sqrt(self.scale * (kernel.diag(X) + self.constant + self.noise))
        L = self.factor(kernel(rows))

        def block(X: Array) -> Array:
            return self.deviations(L, kernel, X, kernel(X, rows))

        return lambda X: _in_blocks(block, X, len(rows))


def representatives(landmarks: Array) -> Array:
    """Landmarks that stand for all: A of many would not fit in memory. If there are more than 4000,
    they are in random order."""
    return landmarks[:MOST_LANDMARKS]


def _in_blocks(function: Callable[[Array], Array], X: Array, columns: int) -> Array:
    size = max(1, min(ROWS, rows_within_budget(columns) // active_threads()))
    if len(X) <= size:
        return function(X)
    parts = [part for _, part in map_rows(lambda rows: function(X[rows]), len(X), size)]
    return np.concatenate(parts)
