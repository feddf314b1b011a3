"""Learned kernels on fixed rows, again and again: distances and Gram matrices are computed once.

A method is validated at 21 values of C on the same rows. Its kernels differ in weights and
bandwidths only, so what a pair of rows tells a one-parameter family is kept, and so are the Gram
matrices of kernels that come back, as those of a finite dictionary do.
"""

from __future__ import annotations

import numpy as np

from kernalign import LearnedKernel
from kernalign.kernels import Family, FamilyMember
from kernalign.kernels.structure import ScalarFamily, is_scalar

#: Bytes of Gram matrices that are kept.
KEPT_BYTES = 128 << 20


class KernelsOnFixedRows:
    """k(rows, X) of learned kernels k."""

    def __init__(self, rows: np.ndarray, X: np.ndarray):
        self.rows, self.X = rows, X
        self._room = np.empty((len(rows), len(X)))
        self._statistics: list[tuple[Family, np.ndarray]] = []
        self._seen: set[FamilyMember] = set()
        self._grams: dict[FamilyMember, np.ndarray] = {}

    def __call__(self, kernel: LearnedKernel) -> np.ndarray:
        """The Gram matrix (rows, X) of sum_t weights_t kernels_t."""
        total = np.zeros(self._room.shape)
        for member, weight in zip(kernel.kernels, kernel.weights, strict=True):
            if weight != 0:
                np.multiply(self._gram(member), weight, out=self._room)
                total += self._room
        return total

    def _gram(self, member: FamilyMember) -> np.ndarray:
        if member in self._grams:
            return self._grams[member]
        family = member.family
        if is_scalar(family):
            K = self._room
            family.from_statistic_into(K, self._statistic(family), member.sigma)
        else:
            K = member(self.rows, self.X)
        # Kernels of a continuous search hardly ever come back.
        if member in self._seen and (len(self._grams) + 1) * K.nbytes <= KEPT_BYTES:
            self._grams[member] = K.copy()
        self._seen.add(member)
        return K

    def _statistic(self, family: ScalarFamily) -> np.ndarray:
        for known, statistic in self._statistics:
            if known is family or known == family:
                return statistic
        statistic = family.statistic(family.select(self.rows), family.select(self.X))
        self._statistics.append((family, statistic))
        return statistic
