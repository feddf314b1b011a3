"""How good a model is, from the rows that its folds held out: no data are needed for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from kernalign._typing import Array, IntArray
from kernalign.plots._held_out import held_out_probabilities
from kernalign.plots.coverage import CoverageInfo, coverage_info

#: Probabilities that a reader may call sure and unsure.
SURE, UNSURE = 0.9, 0.6


@dataclass(frozen=True)
class Confident:
    """Rows whose predicted class has a probability in some range: their share, and their error."""

    share: float
    error: float
    rows: int


@dataclass(frozen=True)
class Quality:
    """The error of a model on held-out rows.

    error : share of wrong classes, or root mean squared error; low, high : its 95 % interval.
    guess : the error of the most frequent class, or of the mean, on the same rows; answer : which.
    rows : held-out rows; folds : the folds that held them out.
    confusion : (classes, classes) rows by true and predicted class; None for numbers.
    typical : the median distance between prediction and truth; explained : 1 - (error / guess)^2.
    of_responses : (responses, 2) error and guess of each of several responses.
    """

    error: float
    low: float
    high: float
    guess: float
    answer: Any
    rows: int
    folds: int
    confusion: IntArray | None = None
    typical: float = float("nan")
    of_responses: Array | None = None

    @property
    def explained(self) -> float:
        return 1 - (self.error / self.guess) ** 2 if self.guess > 0 else 0.0

    @property
    def counted_error(self) -> float:
        """The error of the confusion table."""
        assert self.confusion is not None
        return 1 - float(np.trace(self.confusion) / self.confusion.sum())


def quality(estimator: Any) -> Quality:
    """What held-out rows say of a fitted estimator; ValueError with the reason if nothing."""
    rows = estimator.held_out_
    if not len(rows):
        raise ValueError(rows.unknown)
    ends = np.array([estimator.cv_error_, *estimator.cv_error_interval_])
    folds = len(np.unique(rows.fold))
    if not is_classifier(estimator):
        return _of_numbers(estimator, rows, np.sqrt(ends), folds)
    codes, classes = rows.y.astype(np.intp), estimator.classes_
    probabilities = estimator.calibration_.probabilities(rows.outputs)
    counts = np.zeros((len(classes), len(classes)), dtype=np.intp)
    np.add.at(counts, (codes, probabilities.argmax(axis=1)), 1)
    weights = np.bincount(codes, rows.weight, minlength=len(classes))
    most = int(weights.argmax())
    missed = 1 - float(weights[most] / weights.sum())
    error, low, high = ends.tolist()
    return Quality(error, low, high, missed, classes[most], len(rows), folds, confusion=counts)


def _of_numbers(estimator: Any, rows: Any, ends: Array, folds: int) -> Quality:
    weight = rows.weight / rows.weight.sum()
    y = rows.y.reshape(len(rows), -1)
    predicted = estimator.response_.back(rows.outputs).reshape(len(rows), -1)
    mean = weight @ y
    spread = np.sqrt(weight @ (y - mean) ** 2)
    guess = float(np.sqrt((spread**2).mean()))
    typical, of_responses = float("nan"), None
    if y.shape[1] == 1:
        typical = float(np.median(np.abs(y - predicted)))
    else:
        of_responses = np.column_stack([np.sqrt(weight @ (y - predicted) ** 2), spread])
    error, low, high = ends.tolist()
    answer = float(mean[0])
    return Quality(error, low, high, guess, answer, len(rows), folds, None, typical, of_responses)


def confident(model: Any) -> tuple[Confident, Confident]:
    """Held-out rows that the model is sure of, and those that it is unsure of."""
    probabilities, codes = held_out_probabilities(model)
    stated, wrong = probabilities.max(axis=1), probabilities.argmax(axis=1) != codes
    found = []
    for some in (stated >= SURE, stated < UNSURE):
        error = float(wrong[some].mean()) if some.any() else float("nan")
        found.append(Confident(float(some.mean()), error, int(some.sum())))
    return found[0], found[1]


def coverage(model: Any) -> CoverageInfo | None:
    """Of intervals or sets; None where they are not known."""
    try:
        return coverage_info(model)
    except ValueError:
        return None
