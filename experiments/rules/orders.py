"""Which of several methods is better: one-sided tests.

On one task repeats are compared by their differences. Over several tasks a difference of errors
would be that of the hardest task, so a repeat counts the share of tasks in which one method is
below the other, ties as a half: what ranks are made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from experiments.cells import Row
from experiments.rules.base import Rule, by_repeat, shown, shown_mean
from experiments.statistics import mean, ranks
from experiments.verdicts import Evidence, Sides, above, all_of, below


@dataclass(frozen=True)
class Below(Rule):
    """One method is below another; on one task by more than `by`."""

    first: str
    second: str
    metric: str = "error"
    tasks: tuple[str, ...] | None = None
    by: float = 0.0

    def describe(self) -> str:
        by = f" by more than {shown(self.by, self.metric)}" if self.by else ""
        return (
            f"{self.metric} of {self.first} below {self.second}{by} (one-sided paired t-test over "
            "repeats; over several tasks, of the share of tasks in which it is below)"
        )

    def weigh(self, rows: Sequence[Row], experiment: str) -> Evidence | None:
        pair = [self.first, self.second]
        values = by_repeat(rows, experiment, self.metric, pair, self.tasks)
        if values is None:
            return None
        sides, text = _compare(values, self.metric, self.by)
        return Evidence(*sides, f"{self.first} - {self.second}: {text}")


def _compare(values: np.ndarray, metric: str, by: float = 0.0) -> tuple[Sides, str]:
    """That the first of two methods (repeats, tasks, 2) is below the second."""
    d = values[:, :, 0] - values[:, :, 1]
    text = shown_mean(d.mean(axis=1).tolist(), metric)
    if d.shape[1] == 1:
        return below(d[:, 0].tolist(), -by), text
    wins = ((d < 0) + 0.5 * (d == 0)).mean(axis=1)
    share = mean(wins.tolist())
    text += f", below in {share.value:.0%} of {d.shape[1]} tasks"
    return above(wins.tolist(), 0.5), text


@dataclass(frozen=True)
class BelowAll(Rule):
    """One method is below each of several others."""

    first: str
    others: tuple[str, ...]
    metric: str = "error"
    tasks: tuple[str, ...] | None = None

    def describe(self) -> str:
        return (
            f"{self.metric} of {self.first} below each of {', '.join(self.others)} (as for two "
            "methods; all must be shown, one that is not below is enough against it)"
        )

    def weigh(self, rows: Sequence[Row], experiment: str) -> Evidence | None:
        sides, texts = [], []
        for other in self.others:
            pair = [self.first, other]
            values = by_repeat(rows, experiment, self.metric, pair, self.tasks)
            if values is None:
                return None
            one, text = _compare(values, self.metric)
            sides.append(one)
            texts.append((one[0], f"{self.first} - {other}: {text}"))
        return Evidence(*all_of(sides), f"least sure: {max(texts)[1]}")


@dataclass(frozen=True)
class BestInEveryTask(Rule):
    """A method has the best mean in every single task."""

    method: str
    others: tuple[str, ...]
    metric: str
    largest: bool = False

    def describe(self) -> str:
        end = "highest" if self.largest else "lowest"
        return (
            f"{self.method} has the {end} {self.metric} in each task (one-sided paired t-tests; "
            "all must be shown, one task is enough against it)"
        )

    def weigh(self, rows: Sequence[Row], experiment: str) -> Evidence | None:
        methods = [self.method, *self.others]
        values = by_repeat(rows, experiment, self.metric, methods)
        if values is None:
            return None
        signed = -values if self.largest else values
        sides, best = [], 0
        for task in range(signed.shape[1]):
            one = signed[:, task]
            sides += [below((one[:, 0] - other).tolist(), 0.0) for other in one.T[1:]]
            best += int(one.mean(axis=0).argmin() == 0)
        text = f"{self.method} best in {best} of {signed.shape[1]} tasks (n = {len(signed)})"
        return Evidence(*all_of(sides), text)


@dataclass(frozen=True)
class Ranked(Rule):
    """Methods rank as in the paper: most pairs are in its order."""

    paper: dict[str, float]
    at_least: float
    metric: str = "error"

    def describe(self) -> str:
        return (
            f"Kendall's tau between the mean ranks of {self.metric} in a repeat and the paper's "
            f"median ranks above {self.at_least:g} on average (one-sided t-test)"
        )

    def weigh(self, rows: Sequence[Row], experiment: str) -> Evidence | None:
        methods = list(self.paper)
        values = by_repeat(rows, experiment, self.metric, methods)
        if values is None:
            return None
        paper = list(self.paper.values())
        taus = [float(stats.kendalltau(ranks(one).mean(axis=0), paper).statistic) for one in values]
        taus = np.nan_to_num(taus).tolist()
        overall = np.median(ranks(values.mean(axis=0)), axis=0)
        listed = ", ".join(f"{m} {r:g}" for m, r in zip(methods, overall, strict=True))
        text = f"median ranks: {listed}; tau {shown_mean(taus, 'tau')}"
        return Evidence(*above(taus, self.at_least), text)
