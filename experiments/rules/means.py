"""Means against figures of the paper, against each other, and along ordered tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from experiments.cells import Row
from experiments.rules.base import Rule, by_repeat, shown, shown_mean
from experiments.statistics import rises
from experiments.verdicts import Evidence, above, below, within


@dataclass(frozen=True)
class Figure(Rule):
    """The mean equals a figure of the paper, up to a margin."""

    method: str
    paper: float
    margin: float
    metric: str = "error"

    def describe(self) -> str:
        return (
            f"mean {self.metric} of {self.method} within {shown(self.margin, self.metric)} of "
            f"{shown(self.paper, self.metric)} (two one-sided t-tests)"
        )

    def weigh(self, rows: Sequence[Row], experiment: str) -> Evidence | None:
        values = by_repeat(rows, experiment, self.metric, [self.method])
        if values is None:
            return None
        x = values.mean(axis=(1, 2))
        sides = within(x, self.paper - self.margin, self.paper + self.margin)
        return Evidence(*sides, f"{self.method}: {shown_mean(x, self.metric)}")


@dataclass(frozen=True)
class Near(Rule):
    """Two methods have the same mean, up to a margin.

    second_in : the experiment of the second one, where that is another on the same rows.
    """

    first: str
    second: str
    margin: float
    metric: str = "error"
    tasks: tuple[str, ...] | None = None
    second_in: str | None = None

    def describe(self) -> str:
        where = "" if self.second_in is None else f" in {self.second_in}"
        return (
            f"mean {self.metric} of {self.first} and {self.second}{where} within "
            f"{shown(self.margin, self.metric)} (two one-sided paired t-tests)"
        )

    def weigh(self, rows: Sequence[Row], experiment: str) -> Evidence | None:
        second = self.second
        if self.second_in is not None:
            second = f"{self.second} in {self.second_in}"
            others = [
                r for r in rows if (r["experiment"], r["method"]) == (self.second_in, self.second)
            ]
            rows = [*rows, *({**r, "experiment": experiment, "method": second} for r in others)]
        values = by_repeat(rows, experiment, self.metric, [self.first, second], self.tasks)
        if values is None:
            return None
        d = (values[:, :, 0] - values[:, :, 1]).mean(axis=1)
        sides = within(d, -self.margin, self.margin)
        return Evidence(*sides, f"{self.first} - {second}: {shown_mean(d, self.metric)}")


@dataclass(frozen=True)
class Fewer(Rule):
    """The mean of a count is below a limit."""

    method: str
    limit: float
    metric: str

    def describe(self) -> str:
        return f"mean {self.metric} of {self.method} below {self.limit:g} (one-sided t-test)"

    def weigh(self, rows: Sequence[Row], experiment: str) -> Evidence | None:
        values = by_repeat(rows, experiment, self.metric, [self.method])
        if values is None:
            return None
        x = values.mean(axis=(1, 2))
        text = f"{self.method}: {shown_mean(x, self.metric)}"
        return Evidence(*below(x, self.limit), text)


@dataclass(frozen=True)
class Trend(Rule):
    """The metric rises along ordered tasks by more than a margin; or it does not (grows=False)."""

    method: str
    tasks: tuple[str, ...]
    margin: float
    grows: bool = True
    metric: str = "error"

    def describe(self) -> str:
        return (
            f"rise of {self.metric} of {self.method} from the first task to the last (a line "
            f"through the tasks in order, per repeat) {'above' if self.grows else 'below'} "
            f"{shown(self.margin, self.metric)} (one-sided t-test)"
        )

    def weigh(self, rows: Sequence[Row], experiment: str) -> Evidence | None:
        values = by_repeat(rows, experiment, self.metric, [self.method], self.tasks)
        if values is None:
            return None
        x = rises(values[:, :, 0])
        sides = above(x, self.margin) if self.grows else below(x, self.margin)
        return Evidence(*sides, f"{self.method}: rise {shown_mean(x, self.metric)}")
