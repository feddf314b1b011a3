"""Statistics of results: means, ranks with ties, critical differences, paired tests.

Plain numbers in, plain numbers out; nothing here knows of files or pictures.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from experiments.cells import Row

#: The level of every test.
LEVEL = 0.05


@dataclass(frozen=True)
class Mean:
    """A mean, its standard error (NaN for one value) and the number of values."""

    value: float
    error: float
    n: int

    def __str__(self) -> str:
        return f"{self.value:.3g}" if self.n < 2 else f"{self.value:.3g} ± {self.error:.2g}"


def mean(values: Sequence[float]) -> Mean:
    """Mean and s / sqrt(n)."""
    x = np.asarray(values, dtype=float)
    if not x.size:
        return Mean(np.nan, np.nan, 0)
    error = x.std(ddof=1) / np.sqrt(x.size) if x.size > 1 else np.nan
    return Mean(float(x.mean()), float(error), x.size)


def values_of(
    rows: Iterable[Row], experiment: str, metric: str, tasks: Iterable[str] | None = None
) -> dict[str, dict[str, dict[int, float]]]:
    """metric[task][method][repeat] of the cells that are done."""
    wanted = None if tasks is None else set(tasks)
    table: dict[str, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        known = row["experiment"] == experiment and row["status"] == "done" and metric in row
        if known and (wanted is None or row["task"] in wanted):
            table[row["task"]][row["method"]][int(row["repeat"])] = float(row[metric])
    return {task: dict(methods) for task, methods in table.items()}


def ranks(table: np.ndarray) -> np.ndarray:
    """Rank of each method (column) in each task (row), 1 for the smallest; ties share the mean."""
    return np.asarray(stats.rankdata(table, axis=1), dtype=float)


@dataclass(frozen=True)
class Comparison:
    """Methods over tasks.

    means : (tasks, methods) mean over repeats; ranks : of those means.
    p_value : Friedman's test that all methods are alike; NaN where it is not defined.
    critical_difference : of mean ranks (Nemenyi).
    """

    tasks: list[str]
    methods: list[str]
    means: np.ndarray
    ranks: np.ndarray
    p_value: float
    critical_difference: float

    @property
    def median_ranks(self) -> np.ndarray:
        return np.asarray(np.median(self.ranks, axis=0))

    @property
    def mean_ranks(self) -> np.ndarray:
        return np.asarray(self.ranks.mean(axis=0))


def compare(
    table: dict[str, dict[str, dict[int, float]]], methods: Sequence[str]
) -> Comparison | None:
    """Compare methods on the tasks, and repeats of each, that all have; None without any."""
    tasks, means = [], []
    for task, found in table.items():
        if any(method not in found for method in methods):
            continue
        common = set.intersection(*(set(found[method]) for method in methods))
        if common:
            tasks.append(task)
            means.append([np.mean([found[m][r] for r in sorted(common)]) for m in methods])
    if not tasks:
        return None
    values = np.array(means)
    ranked = ranks(values)
    p_value = friedman(values)
    return Comparison(
        tasks, list(methods), values, ranked, p_value, nemenyi(len(methods), len(tasks))
    )


def friedman(table: np.ndarray) -> float:
    """p-value of Friedman's test on (tasks, methods); needs three methods and two tasks."""
    if table.shape[0] < 2 or table.shape[1] < 3 or np.all(table == table[:, :1]):
        return float("nan")
    return float(stats.friedmanchisquare(*table.T).pvalue)


def nemenyi(k: int, N: int, level: float = LEVEL) -> float:
    """CD = q sqrt(k (k+1) / (6 N)), for mean ranks of k methods on N tasks."""
    if k < 2 or N < 1:
        return float("nan")
    q = float(stats.studentized_range.ppf(1 - level, k, np.inf)) / np.sqrt(2)
    return float(q * np.sqrt(k * (k + 1) / (6 * N)))


@dataclass(frozen=True)
class Paired:
    """first - second over pairs: mean difference, two-sided Wilcoxon p-value, wins and losses."""

    difference: Mean
    p_value: float
    smaller: int
    larger: int


def paired(first: Sequence[float], second: Sequence[float]) -> Paired:
    """Wilcoxon's signed-rank test; equal pairs are ranked and then left out (Pratt)."""
    d = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    smaller, larger = int((d < 0).sum()), int((d > 0).sum())
    if smaller + larger == 0 or d.size < 2:
        return Paired(mean(d), 1.0, smaller, larger)
    p = float(stats.wilcoxon(d, zero_method="pratt").pvalue)
    return Paired(mean(d), p, smaller, larger)


def pairs(
    table: dict[str, dict[str, dict[int, float]]], first: str, second: str
) -> tuple[list[float], list[float]]:
    """Values of two methods in the cells that both have: by task where there are several tasks.

    Repeats of one task share rows of one data set and are not independent of each other, so over
    several tasks each counts once, by its mean.
    """
    a, b = [], []
    several = len(table) > 1
    for methods in table.values():
        one, other = methods.get(first, {}), methods.get(second, {})
        common = sorted(set(one) & set(other))
        if not common:
            continue
        x, y = [one[r] for r in common], [other[r] for r in common]
        a.extend([float(np.mean(x))] if several else x)
        b.extend([float(np.mean(y))] if several else y)
    return a, b


def rises(values: np.ndarray) -> np.ndarray:
    """How much each row of (repeats, steps) rises from the first step to the last.

    By the least-squares line through equidistant steps.
    """
    steps = np.arange(values.shape[1]) - (values.shape[1] - 1) / 2
    slopes: np.ndarray = values @ steps / (steps @ steps)
    return slopes * (values.shape[1] - 1)


def groups(order: Sequence[float], width: float) -> list[tuple[int, int]]:
    """Longest runs of ascending values that span no more than `width`, as (first, last)."""
    found: list[tuple[int, int]] = []
    for first in range(len(order)):
        last = max(k for k in range(first, len(order)) if order[k] - order[first] <= width)
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found
