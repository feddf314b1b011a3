"""What a rule is, and the numbers that rules look at."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from experiments.cells import Row
from experiments.statistics import mean, values_of
from experiments.verdicts import Evidence

#: How figures of a metric are shown: factor and unit.
SHOWN = {"error": (100.0, " %"), "seconds": (1.0, " s")}


class Rule(ABC):
    """A rule is data: what is compared, and where the limits are."""

    @abstractmethod
    def weigh(self, rows: Sequence[Row], experiment: str) -> Evidence | None:
        """The evidence of an experiment's rows; None where they are missing."""

    @abstractmethod
    def describe(self) -> str:
        """The rule in words: when the claim counts as shown."""


def shown(value: float, metric: str) -> str:
    factor, unit = SHOWN.get(metric, (1.0, ""))
    return f"{factor * value:.3g}{unit}"


def shown_mean(values: Sequence[float], metric: str) -> str:
    """Mean, standard error, unit and number of repeats."""
    found = mean(values)
    factor, unit = SHOWN.get(metric, (1.0, ""))
    error = f" ± {factor * found.error:.2g}" if found.n > 1 else ""
    return f"{factor * found.value:.3g}{error}{unit} (n = {found.n})"


def by_repeat(
    rows: Sequence[Row],
    experiment: str,
    metric: str,
    methods: Sequence[str],
    tasks: Sequence[str] | None = None,
) -> np.ndarray | None:
    """Values (repeats, tasks, methods), of the repeats that every task and method has.

    Tasks are in the order given. Without a list, tasks that lack a method are left out.
    """
    table = values_of(rows, experiment, metric, tasks)
    if tasks is not None and any(task not in table for task in tasks):
        return None
    found = [table[task] for task in (table if tasks is None else tasks)]
    kept = [one for one in found if all(method in one for method in methods)]
    if not kept or (tasks is not None and len(kept) < len(tasks)):
        return None
    repeats = set.intersection(*(set(one[m]) for one in kept for m in methods))
    if not repeats:
        return None
    return np.array([[[one[m][r] for m in methods] for one in kept] for r in sorted(repeats)])
