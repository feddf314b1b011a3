"""Probabilities from held-out decision values, and their scores.

P(class c) = softmax_c(slope * decision_c). There is one positive slope, so that the most probable
class is always the predicted one. For two classes the scores are (-f/2, f/2) and the formula is
Platt's sigmoid through the origin.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax

from kernalign._typing import Array

#: Range of the logarithm of the slope, in units of half the largest margin.
LOG_SLOPE = (-7.0, 7.0)
#: Steps of the golden-section search; each divides the range by 1.6.
STEPS = 30
GOLDEN = (5**0.5 - 1) / 2


class TemperatureCalibration:
    """The slope of largest likelihood on held-out decision values."""

    def fit(self, decision: Array, codes: Array, weight: Array) -> TemperatureCalibration:
        known = np.isfinite(decision.reshape(len(decision), -1)).all(axis=1)
        rows = margins(decision[None, known], codes[known])
        self.slope_ = float(best_slopes(rows, weight[known])[0])
        return self

    def probabilities(self, decision: Array) -> Array:
        """(n, classes)."""
        return softmax(self.slope_ * _scores(decision), axis=-1)


def margins(decision: Array, codes: Any) -> Array:
    """Decision value of each wrong class minus that of the right one: (values, rows, classes - 1).

    decision : (values, rows), or (values, rows, classes).
    """
    if decision.ndim == 2:
        return (decision * (1 - 2 * codes))[:, :, None]
    right = np.take_along_axis(decision, codes[None, :, None], axis=2)
    wrong = np.arange(decision.shape[2]) != codes[:, None]
    number, rows, classes = decision.shape
    return (decision - right)[:, wrong].reshape(number, rows, classes - 1)


def best_slopes(rows: Array, weight: Array, steps: int = STEPS) -> Array:
    """The slope of largest likelihood for each of several margins (values, rows, classes - 1).

    The likelihood is concave in the slope, so that its logarithm is found by golden section. Two
    rows of typical margin are added, one right and one wrong: otherwise the slope would be
    unbounded if all rows are right.
    """
    # Weights are scaled to sum to at least the number of rows, as for the alignment.
    weight = weight * max(1.0, len(weight) / (weight.sum() or 1.0))
    rows = np.concatenate([rows, _two_more(rows, weight)], axis=1)
    weight = np.append(weight, [1.0, 1.0])
    size = np.abs(rows).max(axis=(1, 2), initial=0.0)
    size[size == 0] = 1.0
    unit = rows / (size / 2)[:, None, None]
    # In arrays of one number, the search would cost more than the losses.
    search = _best_log_slope if len(unit) == 1 else _best_log_slopes
    slopes: Array = np.exp(search(unit, weight, steps)) * 2 / size
    return slopes


def _best_log_slopes(unit: Array, weight: Array, steps: int) -> Array:
    """By golden section, for several values at once."""
    low, high = (np.full(len(unit), end) for end in LOG_SLOPE)

    def loss(log_slope: Array) -> Array:
        total: Array = log_losses(unit, np.exp(log_slope)) @ weight
        return total

    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = loss(left), loss(right)
    for _ in range(steps):
        lower = at_left < at_right
        low, high = np.where(lower, low, left), np.where(lower, right, high)
        fresh = np.where(lower, high - GOLDEN * (high - low), low + GOLDEN * (high - low))
        at_fresh = loss(fresh)
        left, right = np.where(lower, fresh, right), np.where(lower, left, fresh)
        at_left, at_right = (
            np.where(lower, at_fresh, at_right),
            np.where(lower, at_left, at_fresh),
        )
    middle: Array = (low + high) / 2
    return middle


def _best_log_slope(unit: Array, weight: Array, steps: int) -> float:
    """The same for one value, in plain numbers."""

    def loss(log_slope: float) -> float:
        return float(log_losses(unit, np.exp([log_slope]))[0] @ weight)

    low, high = LOG_SLOPE
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = loss(left), loss(right)
    for _ in range(steps):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = loss(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = loss(right)
    return (low + high) / 2


def _two_more(rows: Array, weight: Array) -> Array:
    """A wrong row and a right one, each with the mean absolute margin."""
    usual = np.abs(rows.max(axis=2)) @ weight / (weight.sum() or 1.0)
    two: Array = np.repeat(-usual[:, None, None], 2, axis=1).repeat(rows.shape[2], axis=2)
    two[:, 0, 0] *= -1
    return two


def brier(rows: Array, slopes: Array) -> Array:
    """Half the squared error of the probabilities: (values, rows), in [0, 1]."""
    log_right = -log_losses(rows, slopes)
    wrong = np.exp(slopes[:, None, None] * rows + log_right[:, :, None])
    found: Array = (wrong.sum(axis=2) ** 2 + (wrong**2).sum(axis=2)) / 2
    return found


def log_losses(rows: Array, slopes: Array) -> Array:
    """-log P(right class) = log(1 + sum_j exp(slope margin_j)): (values, rows)."""
    scaled = slopes[:, None, None] * rows
    if scaled.shape[2] == 1:
        return np.logaddexp(0.0, scaled[:, :, 0])
    top = np.maximum(scaled.max(axis=2), 0.0)
    rest = np.exp(scaled - top[:, :, None]).sum(axis=2)
    found: Array = top + np.log(np.exp(-top) + rest)
    return found


def _scores(decision: Array) -> Array:
    """One score per class."""
    if decision.ndim == 1:
        return np.column_stack([-decision / 2, decision / 2])
    return decision
