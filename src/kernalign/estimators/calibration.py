"""Probabilities from held-out decision values."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from kernalign._typing import Array

#: Range of the logarithm of the slope, in units of the spread of the decision values.
LOG_SLOPE = (-7.0, 7.0)


class TemperatureCalibration:
    """P(class c) = softmax_c(slope * decision_c).

    One positive slope, so that the most probable class is always the predicted one. For two
    classes the scores are (-f/2, f/2) and the formula is Platt's sigmoid through the origin.
    """

    def fit(self, decision: Array, codes: Array, weight: Array) -> TemperatureCalibration:
        """The slope of largest likelihood on decision values that did not see the row's label."""
        scores = _scores(decision)
        known = np.isfinite(scores).all(axis=1)
        scores, codes, weight = scores[known], codes[known], weight[known]
        size = np.abs(scores).max(initial=0.0) or 1.0

        def negative_log_likelihood(log_slope: float) -> float:
            log_p = log_softmax(np.exp(log_slope) / size * scores, axis=1)
            return -float(weight @ log_p[np.arange(len(codes)), codes])

        found = minimize_scalar(negative_log_likelihood, bounds=LOG_SLOPE, method="bounded")
        self.slope_ = float(np.exp(found.x) / size)
        return self

    def probabilities(self, decision: Array) -> Array:
        """(n, classes)."""
        return softmax(self.slope_ * _scores(decision), axis=1)


def _scores(decision: Array) -> Array:
    """One score per class."""
    if decision.ndim == 1:
        return np.column_stack([-decision / 2, decision / 2])
    return decision
