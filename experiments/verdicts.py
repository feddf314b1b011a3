"""From evidence for and against a claim to a verdict, corrected for the number of claims.

A rule gives two p-values for a claim. `p_for` is small if the rows would be surprising were the
claim false, `p_against` if they would be surprising were it true. A claim is reproduced if its
`p_for` is significant, not reproduced if its `p_against` is, and unclear if neither is.

The correction is that of Benjamini and Hochberg with the direction read off afterwards
(Benjamini and Yekutieli, 2005): each claim enters with 2 min(p_for, p_against), and of all
verdicts that are not "unclear" at most 5 % are expected to be wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from experiments.statistics import LEVEL

REPRODUCED, NOT, UNCLEAR, NO_DATA = "reproduced", "not reproduced", "unclear", "no data"


@dataclass(frozen=True)
class Evidence:
    """p-values for and against a claim, and the figures behind them as text."""

    p_for: float
    p_against: float
    text: str

    @property
    def p_value(self) -> float:
        """Of the better supported side."""
        return min(1.0, 2 * min(self.p_for, self.p_against))


@dataclass(frozen=True)
class Verdict:
    """p_value : corrected for the number of claims; NaN without data."""

    verdict: str
    evidence: str
    p_value: float


NOTHING = Verdict(NO_DATA, "cells have not been run", float("nan"))


def verdicts(found: Sequence[Evidence | None], level: float = LEVEL) -> list[Verdict]:
    """Verdicts on claims that are judged together; None stands for a claim without data."""
    known = [one for one in found if one is not None]
    corrected = iter(benjamini_hochberg([one.p_value for one in known]))
    return [
        NOTHING if one is None else _verdict(one, float(next(corrected)), level) for one in found
    ]


def _verdict(found: Evidence, corrected: float, level: float) -> Verdict:
    verdict = UNCLEAR
    if corrected < level:
        verdict = REPRODUCED if found.p_for < found.p_against else NOT
    return Verdict(verdict, found.text, corrected)


def benjamini_hochberg(p_values: Sequence[float]) -> np.ndarray:
    """Corrected p-values: p_(k) m / k, made monotone from the largest down."""
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")[::-1]
    scaled = p[order] * p.size / np.arange(p.size, 0, -1)
    corrected = np.empty(p.size)
    corrected[order] = np.minimum(np.minimum.accumulate(scaled), 1.0)
    return corrected


# -- p-values of the two sides --------------------------------------------------------------------

#: p-values for and against a claim.
Sides = tuple[float, float]
#: Values below which a standard error says too little.
ENOUGH = 3


def below(values: Sequence[float], limit: float) -> Sides:
    """That the mean is below `limit`, by one-sided t-tests."""
    x = np.asarray(values, dtype=float) - limit
    if x.size < ENOUGH:
        return 1.0, 1.0
    if np.ptp(x) <= 1e-12 * max(1.0, abs(float(x[0]))):
        # All values alike, as counts can be: no doubt on which side of the limit they are.
        return (0.0, 1.0) if x[0] < 0 else (1.0, 0.0) if x[0] > 0 else (1.0, 1.0)
    t = float(x.mean() / (x.std(ddof=1) / np.sqrt(x.size)))
    return float(stats.t.cdf(t, x.size - 1)), float(stats.t.sf(t, x.size - 1))


def above(values: Sequence[float], limit: float) -> Sides:
    """That the mean is above `limit`."""
    p_below, p_above = below(values, limit)
    return p_above, p_below


def within(values: Sequence[float], low: float, high: float) -> Sides:
    """That the mean lies in [low, high]: two one-sided tests for it, either side against it."""
    return all_of([above(values, low), below(values, high)])


def all_of(sides: Sequence[Sides]) -> Sides:
    """That several claims hold together.

    All must be shown (intersection-union test); one that fails is enough against them, corrected
    for their number (Bonferroni).
    """
    for_all = max(p for p, _ in sides)
    against = min(1.0, len(sides) * min(p for _, p in sides))
    return for_all, against


def more_often_than(successes: int, runs: int, share: float) -> Sides:
    """That something happens in more than `share` of all runs, by binomial tests."""
    if runs == 0:
        return 1.0, 1.0
    return (
        float(stats.binom.sf(successes - 1, runs, share)),
        float(stats.binom.cdf(successes, runs, share)),
    )
