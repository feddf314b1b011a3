"""What the default fit costs, step by step, before it begins."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky

from kernalign._threads import thread_count

#: Seconds of `_probe` on the machine where the costs below were measured.
PROBE = 3.5e-3
#: Seconds for which the machine is tried.
WHILE = 0.1


@dataclass(frozen=True)
class Costs:
    """Seconds of the steps on one thread: the search, the machine, and each fold."""

    search: float
    machine: float
    fold: float

    @classmethod
    def of(cls, n: int, d: int) -> Costs:
        """Of n rows with d columns.

        The search looks at 500 rows, and at 1000 in the end; that of a fold at 200. Machines are
        solved in n^3.
        """
        wide = 1 + d / 100
        search = (2.5e-3 * min(n, 500) + 1.8e-3 * max(0, min(n, 1000) - 500)) * wide
        fold = (0.05 + 1.2e-3 * min(n, 200)) * wide + 1e-10 * n**3
        return cls(search, 1.5e-10 * min(n, 2000) ** 3 + 0.5e-10 * n**3, fold)

    @classmethod
    def on_landmarks(cls, n: int, d: int, m: int) -> Costs:
        """Of many rows on m landmarks: a search on up to twice as many rows, two factorisations
        of m^3, and the kernel values of all rows. The hold-out set is in the place of a fold."""
        exact = cls.of(1000, d)
        search = exact.search * min(max(n / 5000, 1.0), 2.0) ** 2
        values = 2e-8 * n * m
        return cls(search, values / 2, 1.2 + 8e-11 * m**3 + values)

    def steps(self, folds: int) -> Sequence[float]:
        """In the order in which they begin; all after the first run side by side."""
        return [self.search, *(c / thread_count() for c in [self.machine] + [self.fold] * folds)]


def seconds_here(costs: Sequence[float]) -> float:
    """The time on this machine, as fast and as busy as it is now."""
    return sum(costs) * _probe() / PROBE


def _probe() -> float:
    """Seconds of a few products, exponentials and factorisations: their mean for a while, in which
    everybody who wants the processor has a turn."""
    A = np.random.default_rng(0).normal(size=(200, 200))
    began, number = time.perf_counter(), 0
    while time.perf_counter() - began < WHILE:
        for _ in range(3):
            cholesky(np.exp(-(A @ A.T) / 1e3) + 200 * np.eye(200))
        number += 1
    return (time.perf_counter() - began) / number
