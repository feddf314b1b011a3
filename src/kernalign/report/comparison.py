"""Models side by side on the same held-out rows, with intervals.

A model of kernalign tells its own error: its folds held rows out. Other machines are trained on the
rows that each of these folds left, and predict the rows that it held out.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone, is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import OneHotEncoder

from kernalign._progress import one_step
from kernalign._typing import Array, IntArray
from kernalign._warnings import AlignmentWarning, ColumnWarning, SelectionWarning
from kernalign.estimators.error import RowErrors
from kernalign.estimators.folds import Split, class_folds, number_folds
from kernalign.estimators.held_out import HeldOutRows
from kernalign.plots._rows import rows_at
from kernalign.report.tuned_svm import tuned_svm
from kernalign.tables import Columns

#: Resamples of the rows for intervals without a formula.
RESAMPLES = 1000
#: Indicator columns of one column of a table.
MOST_INDICATORS = 50
#: Names of the other machines.
SVM, BOOSTING, GUESS = "tuned RBF SVM", "gradient boosting", "guess"


@dataclass(frozen=True)
class Score:
    """How a model does on rows that it did not see.

    error : share of wrong classes, or root mean squared error; low, high : its 95 % interval.
    seconds : of a fit.
    index : (m,) positions of the rows; losses : (m,) 0/1 or squared error of each.
    """

    name: str
    error: float
    low: float
    high: float
    seconds: float
    index: IntArray
    losses: Array


def folds_for(y: Any, classification: bool, number: int = 5) -> list[Split]:
    """The folds of a fit with so many of them: all models share them."""
    y = np.asarray(y)
    if not classification:
        return number_folds(len(y), number)
    folds = class_folds(np.unique(y, return_inverse=True)[1], number)
    if folds is None:
        raise ValueError("A cross-validation needs at least two rows of two classes.")
    return folds


def folds_of(rows: HeldOutRows, n: int) -> list[Split]:
    """The folds that held these rows out of n."""
    held = [rows.index[rows.fold == number] for number in np.unique(rows.fold)]
    return [(np.setdiff1d(np.arange(n), test), test) for test in held]


def own_score(name: str, estimator: Any, seconds: float = float("nan")) -> Score:
    """The error that a fitted model reports of itself: `cv_error_` with its interval."""
    rows = estimator.held_out_
    if not len(rows):
        raise ValueError(f"its error on held-out rows is not known: {rows.unknown}")
    ends = np.array([estimator.cv_error_, *estimator.cv_error_interval_])
    error, low, high = ends if is_classifier(estimator) else np.sqrt(ends)
    return Score(name, float(error), float(low), float(high), seconds, rows.index, rows.errors)


def boosting(classification: bool) -> Any:
    """scikit-learn's gradient boosting with histograms, as it comes."""
    boosted = HistGradientBoostingClassifier if classification else HistGradientBoostingRegressor
    return boosted(random_state=0)


#: Other machines by name, as functions of whether classes are predicted.
OTHERS = {SVM: tuned_svm, BOOSTING: boosting}


def guess_score(y: Any, index: IntArray, classification: bool) -> Score:
    """The score of always answering the most frequent class, or the mean, of these rows."""
    labels = np.asarray(y)[index]
    if classification:
        classes, codes = np.unique(labels, return_inverse=True)
        losses = (codes != np.bincount(codes, minlength=len(classes)).argmax()).astype(float)
    else:
        losses = (labels - labels.mean()) ** 2
    return Score(GUESS, *error_interval(losses, classification), 0.0, index, losses)


class Indicators(TransformerMixin, BaseEstimator):
    """A table as numbers, for machines that take nothing else: a column for each category."""

    def __init__(self, categorical_features: Any = "from_dtype", kinds: Any = None):
        self.categorical_features = categorical_features
        self.kinds = kinds

    def fit(self, X: Any, y: Any = None) -> Self:
        self.columns_ = Columns.of(X, self.categorical_features, self.kinds)
        self.encoder_ = OneHotEncoder(
            handle_unknown="ignore", max_categories=MOST_INDICATORS, sparse_output=False
        )
        codes = self.columns_.is_code
        if codes.any():
            self.encoder_.fit(self.columns_.encode(X)[:, codes])
        return self

    def transform(self, X: Any) -> Array:
        codes = self.columns_.is_code
        rows = self.columns_.encode(X)
        if not codes.any():
            return rows
        return np.hstack([rows[:, ~codes], self.encoder_.transform(rows[:, codes])])


def cross_validated(
    name: str, model: Any, X: Any, y: Any, folds: Sequence[Split], classification: bool
) -> Score:
    """The score of a model; each fold is a step of the progress."""
    y = np.asarray(y)
    losses, seconds = np.full(len(y), np.nan), []
    for train, test in folds:
        fresh = clone(model)
        began = time.perf_counter()
        with warnings.catch_warnings(), one_step(name):
            # Warnings about a fold, which is smaller than the data, are suppressed.
            for category in (AlignmentWarning, SelectionWarning, ConvergenceWarning, ColumnWarning):
                warnings.simplefilter("ignore", category)
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            fresh.fit(rows_at(X, train), y[train])
            seconds.append(time.perf_counter() - began)
            predicted = fresh.predict(rows_at(X, test))
        losses[test] = predicted != y[test] if classification else (predicted - y[test]) ** 2
    index = np.flatnonzero(np.isfinite(losses))
    error, low, high = error_interval(losses[index], classification)
    return Score(name, error, low, high, float(np.mean(seconds)), index, losses[index])


def error_interval(losses: Array, classification: bool) -> tuple[float, float, float]:
    """The error and its 95 % interval, computed as an estimator computes that of `cv_error_`."""
    n = len(losses)
    found = RowErrors(losses, np.ones(n), np.arange(n), classification).estimate()
    ends = np.array([found.mean, *found.interval])
    error, low, high = ends if classification else np.sqrt(ends)
    return float(error), float(low), float(high)


def difference(one: Score, two: Score, classification: bool) -> tuple[float, float, float]:
    """error(two) - error(one) on the rows of both, and its 95 % interval from resampled rows."""
    _, at_one, at_two = np.intersect1d(one.index, two.index, return_indices=True)
    losses = np.column_stack([one.losses[at_one], two.losses[at_two]])
    means = _resampled_means(losses)
    means = means if classification else np.sqrt(means)
    low, high = np.quantile(means[:, 1] - means[:, 0], [0.025, 0.975])
    at = losses.mean(axis=0) if classification else np.sqrt(losses.mean(axis=0))
    return float(at[1] - at[0]), float(low), float(high)


def _resampled_means(losses: Array) -> Array:
    """Means over rows drawn with replacement: (RESAMPLES, columns)."""
    rng = np.random.default_rng(0)
    n = len(losses)
    # Counts of a resample are multinomial: no array of RESAMPLES x n rows.
    counts = rng.multinomial(n, np.full(n, 1 / n), size=RESAMPLES)
    return counts @ losses / n
