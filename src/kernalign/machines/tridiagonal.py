"""(K + s I)^-1 b for many shifts s, at the cost of about one.

K = Q T Q' with T tridiagonal; each shift is then solved in O(n). This is less than half the work of
an eigendecomposition.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dgtsv, dormqr, dptsv, dsytrd, dsytrd_lwork

from kernalign._typing import Array


class Tridiagonal:
    """The decomposition of a symmetric matrix, given by its lower triangle."""

    def __init__(self, K: Array):
        n = len(K)
        size = int(dsytrd_lwork(n, lower=1)[0])
        packed, self.diagonal, self.beside, tau, _ = dsytrd(
            np.array(K, order="F"), lower=1, lwork=size, overwrite_a=1
        )
        largest = np.abs(self.diagonal).max() + 2 * np.abs(self.beside).max(initial=0.0)
        self._rounding = float(n * np.finfo(float).eps * largest)
        # Q fixes the first coordinate and is a product of reflections on the others.
        self._reflections, self._tau = np.asfortranarray(packed[1:, :-1]), tau

    def rotate(self, B: Array) -> Array:
        """Q'B for the columns of B."""
        out: Array = np.array(B, order="F")
        return self._apply("T", out)

    def back(self, B: Array) -> Array:
        """Q B."""
        out: Array = np.array(B, order="F")
        return self._apply("N", out)

    def solve(self, shift: float, B: Array) -> Array:
        """(T + shift I)^-1 B, for a shift no smaller than rounding.

        Zero eigenvalues become small numbers of either sign by rounding.
        """
        diagonal = self.diagonal + max(shift, self._rounding)
        if len(diagonal) == 1:
            return B / diagonal
        *_, found, failed = dptsv(diagonal, self.beside, B)
        if failed:
            # A Gram matrix given by a user may have negative eigenvalues.
            *_, found, failed = dgtsv(self.beside, diagonal, self.beside, B)
        solution: Array = found
        return solution

    def _apply(self, transposed: str, B: Array) -> Array:
        if len(B) > 1:
            part = np.asfortranarray(B[1:])
            work = 64 * max(1, B.shape[1])
            B[1:] = dormqr("L", transposed, self._reflections, self._tau, part, work)[0]
        return B
