"""Ratios of times, on a logarithmic scale, in a stated direction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from experiments.cells import Row
from experiments.rules.base import Rule, by_repeat
from experiments.verdicts import Evidence, above, within


def log_ratios(
    rows: Sequence[Row], experiment: str, first: Sequence[str], second: Sequence[str], metric: str
) -> np.ndarray | None:
    """log(first / second) per repeat: the mean over tasks, and over the methods of a group."""
    values = by_repeat(rows, experiment, metric, [*first, *second])
    if values is None or not (values > 0).all():
        return None
    logs = np.log(values).mean(axis=1)
    ratio: np.ndarray = logs[:, : len(first)].mean(axis=1) - logs[:, len(first) :].mean(axis=1)
    return ratio


def _shown(first: Sequence[str], second: Sequence[str], logs: np.ndarray) -> str:
    names = f"{', '.join(first)} / {', '.join(second)}"
    return f"{names}: {np.exp(logs.mean()):.3g} times (n = {len(logs)})"


@dataclass(frozen=True)
class Slower(Rule):
    """A group of methods takes more than `times` as long as another, in the geometric mean."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    times: float = 1.0
    metric: str = "seconds"

    def describe(self) -> str:
        return (
            f"{self.metric} of {', '.join(self.first)} more than {self.times:g} times those of "
            f"{', '.join(self.second)} (geometric mean, one-sided t-test of logarithms)"
        )

    def weigh(self, rows: Sequence[Row], experiment: str) -> Evidence | None:
        logs = log_ratios(rows, experiment, self.first, self.second, self.metric)
        if logs is None:
            return None
        sides = above(logs.tolist(), float(np.log(self.times)))
        return Evidence(*sides, _shown(self.first, self.second, logs))


@dataclass(frozen=True)
class RatioIs(Rule):
    """first / second lies between two ratios."""

    first: str
    second: str
    low: float
    high: float
    metric: str = "seconds"

    def describe(self) -> str:
        return (
            f"ratio of {self.metric}, {self.first} to {self.second}, between {self.low:.2g} and "
            f"{self.high:.2g} (geometric mean, two one-sided t-tests of logarithms)"
        )

    def weigh(self, rows: Sequence[Row], experiment: str) -> Evidence | None:
        logs = log_ratios(rows, experiment, (self.first,), (self.second,), self.metric)
        if logs is None:
            return None
        sides = within(logs.tolist(), float(np.log(self.low)), float(np.log(self.high)))
        return Evidence(*sides, _shown((self.first,), (self.second,), logs))
