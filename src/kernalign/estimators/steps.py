"""Estimated cost of the steps of the default fit."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky

from kernalign._threads import blocks_in_threads, thread_count
from kernalign.learners.kernel_search import (
    MANY_SHARE,
    MORE_ROWS,
    MOST_LANDMARKS,
    MOST_MANY,
    ROWS_PER_LANDMARK,
)

#: Seconds that `_probe` took on the machine where the costs below were measured.
PROBE_SECONDS = 3.5e-3
#: Duration of the speed measurement in seconds.
MEASURED_SECONDS = 0.1


@dataclass(frozen=True)
class Costs:
    """Seconds of each step on one thread: the search, the machine, and each fold."""

    search: float
    machine: float
    fold: float

    @classmethod
    def of(cls, n: int, d: int) -> Costs:
        """Costs for n rows and d columns.

        The search uses 500 rows, and 1000 at the end; the search in a fold uses 200. Solving the
        machine costs O(n^3).
        """
        wide = 1 + d / 100
        search = (2.5e-3 * min(n, 500) + 1.8e-3 * max(0, min(n, 1000) - 500)) * wide
        fold = (0.05 + 1.2e-3 * min(n, 200)) * wide + 1e-10 * n**3
        return cls(search, 1.5e-10 * min(n, 2000) ** 3 + 0.5e-10 * n**3, fold)

    @classmethod
    def on_landmarks(cls, n: int, d: int, m: int) -> Costs:
        """Costs with m landmarks: a search on many rows, two factorisations in O(m^3), and kernel
        values of all rows. The hold-out set takes the place of a fold.

        More than 4000 landmarks are solved in blocks, by two sweeps and a last one on all rows."""
        search = _search_of_many(n, d)
        values, factors = 2e-8 * n * m / thread_count(), 8e-11 * m * min(m, 4000) ** 2
        if m > 4000:
            return cls(search, values + factors, 1.2 + 2 * (values + factors))
        return cls(search, values / 2, 1.2 + factors + values)

    @classmethod
    def on_all_rows(cls, n: int, d: int) -> Costs:
        """Costs with kernel values of all pairs of rows, which are computed once and used in each
        step. The hold-out set takes the place of a fold."""
        values, steps = 1e-8 * n**2 / thread_count(), 6e-9 * n**2 / thread_count()
        return cls(cls.on_landmarks(n, d, 0).search, steps, 1.2 + values + steps)

    def steps(self, folds: int) -> Sequence[float]:
        """Costs of the search, the machine and the folds, which run in parallel."""
        steps = [self.search, self.machine, *[self.fold] * folds]
        return [cost / (thread_count() if folds else 1) for cost in steps]


def _search_of_many(n: int, d: int) -> float:
    """Seconds to compare families by evidence, and to optimise a kernel on many rows."""
    by_evidence = Costs.of(500, d).search * min(max(n / MORE_ROWS, 1.0), 2.0) ** 2
    rows = min(MANY_SHARE * n, MOST_MANY)
    landmarks = min(rows / ROWS_PER_LANDMARK, MOST_LANDMARKS)
    return by_evidence + 1.1e-9 * rows * landmarks * (landmarks + 8 * d) / thread_count()


def seconds_here(costs: Sequence[float]) -> float:
    """Estimated time on this machine at its current speed and load."""
    return sum(costs) * _probe() / PROBE_SECONDS


def _probe() -> float:
    """Mean seconds of a few products, exponentials and factorisations, measured long enough that
    other processes get their share of the processor."""
    A = np.random.default_rng(0).normal(size=(200, 200))
    with blocks_in_threads():
        began, number = time.perf_counter(), 0
        while time.perf_counter() - began < MEASURED_SECONDS:
            for _ in range(3):
                cholesky(np.exp(-(A @ A.T) / 1e3) + 200 * np.eye(200))
            number += 1
        return (time.perf_counter() - began) / number
