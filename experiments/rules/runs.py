"""How many runs do what a claim says: binomial tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from experiments.cells import Row
from experiments.rules.base import Rule
from experiments.verdicts import Evidence, more_often_than


def _runs(rows: Sequence[Row], experiment: str, field: str, method: str | None) -> list[Row]:
    return [
        row
        for row in rows
        if row["experiment"] == experiment
        and row["status"] == "done"
        and field in row
        and (method is None or row["method"] == method)
    ]


@dataclass(frozen=True)
class NeverAbove(Rule):
    """A metric is above a limit in less than a share of all runs."""

    metric: str
    limit: float
    share: float

    def describe(self) -> str:
        return (
            f"{self.metric} above {self.limit:g} in less than {self.share:.0%} of all runs "
            "(binomial test)"
        )

    def weigh(self, rows: Sequence[Row], experiment: str) -> Evidence | None:
        runs = _runs(rows, experiment, self.metric, None)
        if not runs:
            return None
        values = np.array([row[self.metric] for row in runs], dtype=float)
        above = int((values > self.limit).sum())
        p_often, p_rare = more_often_than(above, len(runs), self.share)
        text = f"largest {values.max():g}; above {self.limit:g} in {above} of {len(runs)} runs"
        return Evidence(p_rare, p_often, text)


@dataclass(frozen=True)
class Found(Rule):
    """A method finds each of the parameters to within `tolerance`, in more than a share of runs."""

    method: str
    wanted: tuple[float, ...]
    tolerance: float
    share: float

    def describe(self) -> str:
        listed = ", ".join(f"{w:.4g}" for w in self.wanted)
        return (
            f"{self.method} has a kernel within {self.tolerance:g} of each of {listed} in more "
            f"than {self.share:.0%} of all runs (binomial test)"
        )

    def weigh(self, rows: Sequence[Row], experiment: str) -> Evidence | None:
        runs = _runs(rows, experiment, "sigmas", self.method)
        if not runs:
            return None
        found = [np.asarray(row["sigmas"]) for row in runs]
        near = [all(np.abs(s - w).min() <= self.tolerance for w in self.wanted) for s in found]
        sides = more_often_than(sum(near), len(runs), self.share)
        return Evidence(*sides, f"{self.method}: all found in {sum(near)} of {len(runs)} runs")
