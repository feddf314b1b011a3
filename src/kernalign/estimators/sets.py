"""Prediction sets of classes, from the probabilities of held-out rows.

The score of a class is the total probability of all classes that are more probable. A set contains
the classes whose score is at most a conformal quantile of the scores of the true classes of
held-out rows (adaptive prediction sets without randomisation). The most probable class has the
score 0, so no set is empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kernalign._typing import Array, IntArray
from kernalign._validation import check_share
from kernalign.estimators.base import KernelPredictor
from kernalign.estimators.scores import NONE_HELD_OUT, NOT_NESTED, Scores
from kernalign.machines.calibration import TemperatureCalibration
from kernalign.rows import taken
from kernalign.rows.input import of_rows


def more_probable(probabilities: Array) -> Array:
    """For each class, the total probability of all more probable classes: (n, classes)."""
    order = np.argsort(-probabilities, axis=1, kind="stable")
    ordered = np.take_along_axis(probabilities, order, axis=1)
    before = np.cumsum(ordered, axis=1) - ordered
    # Equally probable classes all have the score of the first of them.
    tied = np.zeros_like(before)
    for c in range(1, before.shape[1]):
        same = ordered[:, c] == ordered[:, c - 1]
        tied[:, c] = np.where(same, tied[:, c - 1], before[:, c])
    found = np.empty_like(tied)
    np.put_along_axis(found, order, tied, axis=1)
    return found


def set_scores(
    held_out: Sequence[tuple[IntArray, Array]],
    codes: Any,
    weight: Array,
    calibration: TemperatureCalibration,
    *,
    nested: bool,
) -> Scores:
    """Scores of the true classes of held-out rows, given as (index, outputs)."""
    if not nested:
        return Scores.none(NOT_NESTED)
    if not held_out:
        return Scores.none(NONE_HELD_OUT)
    index = np.concatenate([rows for rows, _ in held_out])
    found = more_probable(np.concatenate([calibration.probabilities(out) for _, out in held_out]))
    scores = found[np.arange(len(index)), taken(codes, index)]
    return Scores.of(scores, taken(weight, index))


class PredictsSets(KernelPredictor):
    """Sets of classes, for a classifier with `model_`, `calibration_`, `classes_`, `scores_`."""

    model_: Any
    calibration_: TemperatureCalibration
    classes_: Any
    scores_: Scores

    def predict_set(self, X: Any, coverage: float = 0.9) -> Any:
        """Prediction set of each row; it contains the true class with probability `coverage`.

        Sets are larger where the model is less certain, and never empty. The coverage is that of
        held-out rows. If the accuracy of the model is higher than the coverage, every set has one
        class.

        Parameters
        ----------
        X : rows
        coverage : float in (0, 1)

        Returns
        -------
        array of bool of shape (n, classes)
            In the order of `classes_`.
        """
        check_is_fitted(self)
        check_share(self, "coverage", coverage)
        if self.scores_.unknown:
            raise ValueError(
                f"{type(self).__name__} does not know its sets: {self.scores_.unknown}"
            )
        most = self.scores_.above(coverage)
        outputs, probabilities = self.model_.outputs, self.calibration_.probabilities

        def sets(rows: Array) -> Any:
            return more_probable(probabilities(outputs(rows))) <= most

        return of_rows(self, X, sets, len(self.classes_), dtype=bool)
