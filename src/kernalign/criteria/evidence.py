"""Criteria of the second stage: how well a ridge machine with a kernel explains the labels.

Both are functions of the Gram matrix K and the noise nu, through A = K + nu diag(1/w), and have the
gradient G = d value / dK, which any family contracts with its own derivative. They are minimised.
With a = A^-1 Y:

evidence         the negative log marginal likelihood of a Gaussian process whose covariance is the
                 best multiple of A, per row and output
leave-one-out    half the logarithm of the leave-one-out squared loss of kernel ridge regression: a
                 log-likelihood of these errors, per row and output
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from kernalign import _lapack
from kernalign._typing import Array
from kernalign.gram import Target

#: Side of the tiles that are mirrored.
TILE = 128


@dataclass(frozen=True)
class Slope:
    """The value of a criterion, and its derivatives with respect to K (G) and the noise."""

    value: float
    G: Array
    noise: float


class RidgeCriterion(ABC):
    """A function of K and nu on given rows."""

    def __init__(self, target: Target):
        self.Y = target.centred
        self.weight = target.weight
        self.total = target.total

    @abstractmethod
    def evaluate(self, K: Array, noise: float) -> Slope:
        """The value at K and nu with its derivatives; infinite if A has no Cholesky factor."""

    def _invert(self, K: Array, noise: float) -> tuple[Array, float] | None:
        """A^-1 and log det A."""
        A = np.array(K, order="F")
        A[np.diag_indices_from(A)] += noise / self.weight
        if _lapack.factorise(A):
            return None
        log_det = 2 * float(np.log(np.diagonal(A)).sum())
        inverse = _lapack.invert(A)
        mirror(inverse)
        return inverse, log_det

    def _nowhere(self, K: Array) -> Slope:
        return Slope(np.inf, np.zeros_like(K), 0.0)

    def _flat(self, K: Array) -> Slope:
        """The result for constant labels, which every kernel explains equally."""
        return Slope(0.0, np.zeros_like(K), 0.0)


def mirror(A: Array) -> None:
    """Copy the lower triangle to the upper one, in tiles that fit in the cache."""
    n = len(A)
    for a in range(0, n, TILE):
        b = min(a + TILE, n)
        corner = A[a:b, a:b]
        upper = np.triu_indices(b - a, 1)
        corner[upper] = corner.T[upper]
        A[a:b, b:] = A[b:, a:b].T


class Evidence(RidgeCriterion):
    """(1/2) [log(q / Nc) + log det A / N], q = tr Y'A^-1 Y, for c outputs on N = sum w rows.

    A row of weight w counts as w equal rows, whose determinant has the additional terms log det w
    and (N - n) log nu.
    """

    def evaluate(self, K: Array, noise: float) -> Slope:
        inverted = self._invert(K, noise)
        if inverted is None:
            return self._nowhere(K)
        inverse, log_det = inverted
        n, N = len(K), self.total
        a = inverse @ self.Y
        q = float(np.vdot(a, self.Y))
        if q <= 0:
            return self._flat(K)
        repeated = float(np.log(self.weight).sum()) + (N - n) * np.log(noise)
        value = 0.5 * (np.log(q / (N * self.Y.shape[1])) + (log_det + repeated) / N)
        G = inverse
        G /= N
        G -= a @ (a / q).T
        G *= 0.5
        slope = float(np.diagonal(G) @ (1 / self.weight)) + 0.5 * (N - n) / (N * noise)
        return Slope(value, G, slope)


class LeaveOneOut(RidgeCriterion):
    """(1/2) log(q / Nc), q = sum_i w_i |r_i|^2 with the residuals r_i = a_i / (A^-1)_ii.

    A row is left out with its whole weight.
    """

    def evaluate(self, K: Array, noise: float) -> Slope:
        inverted = self._invert(K, noise)
        if inverted is None:
            return self._nowhere(K)
        inverse, _ = inverted
        a = inverse @ self.Y
        diagonal = np.diagonal(inverse).copy()
        r = a / diagonal[:, None]
        q = float(self.weight @ (r**2).sum(axis=1))
        if q <= 0:
            return self._flat(K)
        value = 0.5 * np.log(q / (self.total * self.Y.shape[1]))
        # dr_i = -(A^-1 dA a)_i / d_i + r_i (A^-1 dA A^-1)_ii / d_i
        pull = self.weight[:, None] * r / diagonal[:, None]
        G = inverse @ ((pull * r).sum(axis=1)[:, None] * inverse)
        left = (inverse @ pull) @ a.T
        G -= 0.5 * (left + left.T)
        G /= q
        return Slope(value, G, float(np.diagonal(G) @ (1 / self.weight)))
