"""The noise of ridge regression on many rows, by cross-validation on a few landmarks.

Evidence explains the rows that it sees by one noise. Where most rows are nearly exact and a few are
not, and where many rows show more detail than the few that evidence was computed on, a machine with
less noise predicts better. Here the squared errors of held-out rows decide how much less.

With landmarks Z, K = k(Z, Z) = TT' and B = k(X, Z) T'^-1, the machine at one noise is f = B b with
(B'WB + noise) b = B'WY. All folds and all values of the noise share B, and the sums over the rows
of a fold are subtracted from those over all rows.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from kernalign import _lapack
from kernalign._typing import Array, IntArray
from kernalign.criteria.kernel_sum import CONSTANT
from kernalign.gram import Target
from kernalign.kernels import LearnedKernel
from kernalign.machines.landmark_ridge import JITTER
from kernalign.machines.tuned_ridge import FACTOR, LOWEST, MOST_STEPS

#: What a change of the noise by a factor of four must lower the mean squared error by, as a share
#: of it and in standard errors of the difference.
MIN_GAIN, MIN_DEVIATIONS = 0.005, 1.0
#: Number of rows whose kernel values are computed at a time.
ROWS = 2000


class NoisePath:
    """Errors of held-out rows at any noise.

    kernel, landmarks : k and Z; X, target : the rows; folds : (n,) the fold that holds a row out.
    """

    def __init__(
        self, kernel: LearnedKernel, landmarks: Array, X: Array, target: Target, folds: IntArray
    ):
        self.target = target
        # One mean for all folds: the constant kernel corrects it.
        self.mean = target.weight @ target.values / target.total
        K = kernel(landmarks)
        self.h = float(np.diagonal(K).mean()) or 1.0
        constant = CONSTANT * self.h
        K += constant
        K[np.diag_indices_from(K)] += JITTER[np.float64] * (self.h + constant)
        T = np.tril(_lapack.cholesky(K))
        self.rows = [np.flatnonzero(folds == fold) for fold in np.unique(folds)]
        self.B = np.empty((len(X), len(landmarks)))
        for start in range(0, len(X), ROWS):
            some = slice(start, start + ROWS)
            values = kernel(X[some], landmarks) + constant
            self.B[some] = solve_triangular(T, values.T, lower=True, check_finite=False).T
        parts = [self._sums(rows) for rows in self.rows]
        products, right = (np.sum(one, axis=0) for one in zip(*parts, strict=True))
        self.others = [(products - one, right - two) for one, two in parts]

    def _sums(self, rows: IntArray) -> tuple[Array, Array]:
        """B'WB and B'WY, with Y centred, over some rows."""
        B = self.B[rows]
        return B.T @ (self.target.weight[rows, None] * B), B.T @ self.target.weighted[rows]

    def errors(self, log_noise: float) -> Array:
        """(n,) squared error of each row, from the machine that has not seen its fold."""
        found = np.empty(len(self.B))
        for rows, (products, right) in zip(self.rows, self.others, strict=True):
            A = products.copy()
            A[np.diag_indices_from(A)] += np.exp(log_noise) * self.h
            outputs = self.mean + self.B[rows] @ _lapack.solve(_lapack.cholesky(A), right)
            found[rows] = ((self.target.values[rows] - outputs) ** 2).mean(axis=1)
        return found

    def better(self, log_noise: float) -> float:
        """The log noise, by factors of four below a first one, while the error falls enough.

        It is never raised: the misfit of so few landmarks would pass for noise.
        """
        best, errors = log_noise, self.errors(log_noise)
        for _ in range(MOST_STEPS):
            new = best - float(np.log(FACTOR))
            before, errors = errors, self.errors(new)
            if new < np.log(LOWEST) or not _gains(before, errors, self.target.weight):
                break
            best = new
        return best


def _gains(before: Array, after: Array, weight: Array) -> bool:
    """Whether errors of rows fall enough."""
    share = weight / weight.sum()
    gain = before - after
    mean = float(share @ gain)
    deviation = float(np.sqrt(share**2 @ (gain - mean) ** 2))
    return mean > max(MIN_GAIN * float(share @ before), MIN_DEVIATIONS * deviation)
