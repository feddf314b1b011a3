"""Rules by which a claim counts as reproduced, not reproduced or unclear.

A rule is data: what is compared and where the limits are. `judge` applies it to rows and returns
the verdict with its figures. None of them looks at what the rows say before deciding what to look
at, and none has a limit that was set after a run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from experiments.cells import Row
from experiments.statistics import LEVEL, compare, mean, paired, pairs, rise, values_of

REPRODUCED, NOT, UNCLEAR, NO_DATA = "reproduced", "not reproduced", "unclear", "no data"
#: How figures of a metric are shown: factor and unit.
SHOWN = {"error": (100.0, " %"), "seconds": (1.0, " s"), "alignment": (1.0, "")}


@dataclass(frozen=True)
class Verdict:
    verdict: str
    evidence: str


NOTHING = Verdict(NO_DATA, "cells have not been run")


class Rule(ABC):
    @abstractmethod
    def judge(self, rows: Sequence[Row], experiment: str) -> Verdict:
        """The verdict on the rows of an experiment."""

    @abstractmethod
    def describe(self) -> str:
        """The rule in words."""


def shown(value: float, metric: str) -> str:
    factor, unit = SHOWN.get(metric, (1.0, ""))
    return f"{factor * value:.3g}{unit}"


@dataclass(frozen=True)
class InBand(Rule):
    """The mean lies in [low, high]; outside by more than two standard errors it does not."""

    method: str
    low: float
    high: float
    metric: str = "error"
    tasks: tuple[str, ...] | None = None

    def describe(self) -> str:
        limits = f"{shown(self.low, self.metric)} to {shown(self.high, self.metric)}"
        return (
            f"mean {self.metric} of {self.method} within {limits}: reproduced; outside by more "
            "than two standard errors: not reproduced; else unclear"
        )

    def judge(self, rows: Sequence[Row], experiment: str) -> Verdict:
        table = values_of(rows, experiment, self.metric, self.tasks)
        found = mean([v for t in table.values() for v in t.get(self.method, {}).values()])
        if not found.n:
            return NOTHING
        outside = max(self.low - found.value, found.value - self.high)
        slack = 0.0 if np.isnan(found.error) else 2 * found.error
        verdict = REPRODUCED if outside <= 0 else NOT if outside > slack else UNCLEAR
        factor, unit = SHOWN.get(self.metric, (1.0, ""))
        text = f"{factor * found.value:.3g}"
        if found.n > 1:
            text += f" ± {factor * found.error:.2g}"
        return Verdict(verdict, f"{self.method}: {text}{unit} (n = {found.n})")


@dataclass(frozen=True)
class Smaller(Rule):
    """first < second in the paired Wilcoxon test; by at least `margin` in the mean."""

    first: str
    second: str
    metric: str = "error"
    tasks: tuple[str, ...] | None = None
    margin: float = 0.0

    def describe(self) -> str:
        by = f" by at least {shown(self.margin, self.metric)}" if self.margin else ""
        return (
            f"{self.metric} of {self.first} below {self.second}{by} with Wilcoxon p < {LEVEL}: "
            f"reproduced; above it with p < {LEVEL}: not reproduced; else unclear"
        )

    def judge(self, rows: Sequence[Row], experiment: str) -> Verdict:
        table = values_of(rows, experiment, self.metric, self.tasks)
        a, b = pairs(table, self.first, self.second)
        if not a:
            return NOTHING
        found = paired(a, b)
        d = found.difference.value
        sure = found.p_value < LEVEL
        verdict = REPRODUCED if sure and d < -self.margin else NOT if sure and d > 0 else UNCLEAR
        return Verdict(
            verdict,
            f"{self.first} - {self.second}: {shown(d, self.metric)}, below in {found.smaller} and "
            f"above in {found.larger} of {len(a)} pairs, p = {found.p_value:.2g}",
        )


@dataclass(frozen=True)
class Close(Rule):
    """|mean difference of two methods| <= margin; beyond it by two standard errors they differ."""

    first: str
    second: str
    margin: float
    metric: str = "error"
    tasks: tuple[str, ...] | None = None

    def describe(self) -> str:
        return (
            f"mean {self.metric} of {self.first} and {self.second} within "
            f"{shown(self.margin, self.metric)}: reproduced; apart by that and two standard "
            "errors of the difference: not reproduced; else unclear"
        )

    def judge(self, rows: Sequence[Row], experiment: str) -> Verdict:
        a, b = pairs(values_of(rows, experiment, self.metric, self.tasks), self.first, self.second)
        if not a:
            return NOTHING
        d = mean(np.subtract(a, b).tolist())
        slack = 0.0 if np.isnan(d.error) else 2 * d.error
        apart = abs(d.value) - self.margin
        verdict = REPRODUCED if apart <= 0 else NOT if apart > slack else UNCLEAR
        return Verdict(verdict, f"{self.first} - {self.second}: {shown(d.value, self.metric)}")


@dataclass(frozen=True)
class Order(Rule):
    """Median ranks in the paper's order, by Kendall's tau."""

    paper: dict[str, float]
    metric: str = "error"
    agree: float = 0.6
    disagree: float = 0.2

    def describe(self) -> str:
        return (
            f"Kendall's tau between our median ranks of {self.metric} and the paper's at least "
            f"{self.agree:g}: reproduced; below {self.disagree:g}: not reproduced; else unclear"
        )

    def judge(self, rows: Sequence[Row], experiment: str) -> Verdict:
        found = compare(values_of(rows, experiment, self.metric), list(self.paper))
        if found is None:
            return NOTHING
        ours = found.median_ranks
        tau = float(stats.kendalltau(ours, list(self.paper.values())).statistic)
        tau = 0.0 if np.isnan(tau) else tau
        verdict = REPRODUCED if tau >= self.agree else NOT if tau < self.disagree else UNCLEAR
        listed = ", ".join(f"{m} {r:g}" for m, r in zip(found.methods, ours, strict=True))
        p = f", Friedman p = {found.p_value:.2g}" if not np.isnan(found.p_value) else ""
        text = f"median ranks on {len(found.tasks)} tasks: {listed}; tau = {tau:.2f}{p}"
        return Verdict(verdict, text)


@dataclass(frozen=True)
class Ratio(Rule):
    """Median over cells of first / second lies in [low, high]."""

    first: str
    second: str
    low: float
    high: float = np.inf
    metric: str = "seconds"

    def describe(self) -> str:
        limits = (
            f"at least {self.low:g}" if np.isinf(self.high) else f"{self.low:g} to {self.high:g}"
        )
        return (
            f"median ratio of {self.metric}, {self.first} to {self.second}, {limits}: reproduced; "
            "else not reproduced"
        )

    def judge(self, rows: Sequence[Row], experiment: str) -> Verdict:
        found = []
        for methods in values_of(rows, experiment, self.metric).values():
            one, other = methods.get(self.first, {}), methods.get(self.second, {})
            found += [one[r] / other[r] for r in set(one) & set(other) if other[r] > 0]
        if not found:
            return NOTHING
        ratio = float(np.median(found))
        verdict = REPRODUCED if self.low <= ratio <= self.high else NOT
        return Verdict(verdict, f"{self.first} / {self.second}: {ratio:.2g} (n = {len(found)})")


@dataclass(frozen=True)
class Trend(Rule):
    """The metric rises along ordered tasks by at least `margin`; or it does not (grows=False).

    That a rise is not significant is no evidence against it: only a rise that is surely below the
    margin is.
    """

    method: str
    tasks: tuple[str, ...]
    grows: bool = True
    margin: float = 0.02
    metric: str = "error"
    #: Repeats below which the standard error is not to be trusted.
    enough: int = 5

    def describe(self) -> str:
        up, flat = (REPRODUCED, NOT) if self.grows else (NOT, REPRODUCED)
        by = shown(self.margin, self.metric)
        return (
            f"rise of {self.metric} of {self.method} from the smallest gamma to the largest (a "
            f"line through the gammas in order, per repeat) at least {by} and above zero by two "
            f"standard errors: {up}; below {by} by two standard errors: {flat}; else, or with "
            f"fewer than {self.enough} repeats, unclear"
        )

    def judge(self, rows: Sequence[Row], experiment: str) -> Verdict:
        table = values_of(rows, experiment, self.metric, self.tasks)
        runs = [table.get(task, {}).get(self.method, {}) for task in self.tasks]
        common = sorted(set.intersection(*(set(run) for run in runs)))
        if not common:
            return NOTHING
        found = rise(np.array([[run[r] for run in runs] for r in common]))
        text = f"{self.method}: rise {shown(found.value, self.metric)}"
        if found.n < self.enough:
            return Verdict(UNCLEAR, f"{text} (n = {found.n})")
        verdict = UNCLEAR
        if found.value >= self.margin and found.value > 2 * found.error:
            verdict = REPRODUCED if self.grows else NOT
        elif found.value + 2 * found.error < self.margin:
            verdict = NOT if self.grows else REPRODUCED
        return Verdict(verdict, f"{text} ± {shown(found.error, self.metric)} (n = {found.n})")


@dataclass(frozen=True)
class BestInTasks(Rule):
    """A method's mean is the best of all methods in at least `share` of the tasks."""

    method: str
    methods: tuple[str, ...]
    metric: str
    largest: bool
    share: float = 1.0
    half: float = 0.5

    def describe(self) -> str:
        end = "highest" if self.largest else "lowest"
        return (
            f"{self.method} has the {end} mean {self.metric} in {self.share:.0%} of the tasks: "
            f"reproduced; in fewer than {self.half:.0%}: not reproduced; else unclear"
        )

    def judge(self, rows: Sequence[Row], experiment: str) -> Verdict:
        found = compare(values_of(rows, experiment, self.metric), self.methods)
        if found is None:
            return NOTHING
        signed = -found.means if self.largest else found.means
        best = int((signed[:, found.methods.index(self.method)] <= signed.min(axis=1)).sum())
        share = best / len(found.tasks)
        verdict = REPRODUCED if share >= self.share else NOT if share < self.half else UNCLEAR
        return Verdict(verdict, f"{self.method} best in {best} of {len(found.tasks)} tasks")


@dataclass(frozen=True)
class AtMost(Rule):
    """Every cell's metric is at most `limit`; a share of `rare` above it leaves it unclear."""

    metric: str
    limit: float
    rare: float = 0.05

    def describe(self) -> str:
        return (
            f"{self.metric} at most {self.limit:g} in every cell: reproduced; in all but "
            f"{self.rare:.0%}: unclear; else not reproduced"
        )

    def judge(self, rows: Sequence[Row], experiment: str) -> Verdict:
        table = values_of(rows, experiment, self.metric)
        found = [v for t in table.values() for m in t.values() for v in m.values()]
        if not found:
            return NOTHING
        above = float(np.mean(np.array(found) > self.limit))
        verdict = REPRODUCED if above == 0 else UNCLEAR if above <= self.rare else NOT
        most = f"largest {max(found):g}"
        return Verdict(
            verdict, f"{most}, above {self.limit:g} in {above:.0%} of {len(found)} cells"
        )


@dataclass(frozen=True)
class Found(Rule):
    """A method finds each of the parameters to within `tolerance`, in at least `share` of runs."""

    method: str
    wanted: tuple[float, ...]
    tolerance: float
    share: float = 0.9
    half: float = 0.5

    def describe(self) -> str:
        return (
            f"{self.method} has a kernel within {self.tolerance:g} of each of "
            f"{', '.join(f'{w:.4g}' for w in self.wanted)} in {self.share:.0%} of the runs: "
            f"reproduced; in fewer than {self.half:.0%}: not reproduced; else unclear"
        )

    def judge(self, rows: Sequence[Row], experiment: str) -> Verdict:
        runs = [
            np.asarray(row["sigmas"])
            for row in rows
            if row["experiment"] == experiment
            and row["method"] == self.method
            and row["status"] == "done"
            and "sigmas" in row
        ]
        if not runs:
            return NOTHING
        near = [all(np.abs(s - w).min() <= self.tolerance for w in self.wanted) for s in runs]
        share = float(np.mean(near))
        verdict = REPRODUCED if share >= self.share else NOT if share < self.half else UNCLEAR
        return Verdict(verdict, f"{self.method}: all found in {sum(near)} of {len(runs)} runs")
