"""Models side by side under one cross-validation, with intervals.

Every row is predicted once, by a model that did not see it; errors and intervals come from these
predictions. Each model chooses its own parameters inside the folds it is trained on.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

from kernalign._progress import one_step
from kernalign._typing import Array
from kernalign._warnings import AlignmentWarning, ColumnWarning, SelectionWarning
from kernalign.estimators.folds import class_folds, number_folds
from kernalign.tables import Columns

#: 95 % of a normal distribution.
Z = 1.96
#: Resamples of the rows for intervals without a formula.
RESAMPLES = 1000
#: libsvm may otherwise go on for hours at large C.
ITERATIONS = 200_000
#: Indicator columns of one column of a table.
MOST_INDICATORS = 50
GRID = {"C": 10.0 ** np.arange(-2, 4), "gamma": np.geomspace(1e-4, 10, 6)}


@dataclass(frozen=True)
class Score:
    """How a model does on rows it did not see.

    error : share of wrong classes, or root mean squared error; low, high : its 95 % interval.
    seconds : mean time of a fit.
    losses : (n,) 0/1 or squared error of each row.
    """

    name: str
    error: float
    low: float
    high: float
    seconds: float
    losses: Array


def folds_for(y: Any, classification: bool, number: int = 5) -> list[tuple[Any, Any]]:
    """The splits that all models share; the single row of a class is in every training set."""
    y = np.asarray(y)
    if not classification:
        return number_folds(len(y), number)
    folds = class_folds(np.unique(y, return_inverse=True)[1], number)
    if folds is None:
        raise ValueError("A cross-validation needs at least two rows of two classes.")
    return folds


def tuned_svm(classification: bool) -> Any:
    """An RBF support vector machine with C and gamma from a grid search on standardised data."""
    machine: Any = SVC(max_iter=ITERATIONS)
    where, scoring = "svc", "accuracy"
    if not classification:
        # epsilon and C mean something only for a response of unit spread.
        machine = TransformedTargetRegressor(SVR(max_iter=ITERATIONS), transformer=StandardScaler())
        where, scoring = "transformedtargetregressor__regressor", "neg_mean_squared_error"
    grid = {f"{where}__{key}": values for key, values in GRID.items()}
    return GridSearchCV(make_pipeline(StandardScaler(), machine), grid, cv=3, scoring=scoring)


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
    name: str,
    model: Any,
    X: Any,
    y: Any,
    folds: Sequence[tuple[Any, Any]],
    classification: bool,
) -> Score:
    """The score of a model; each fold is a step of the progress."""
    y = np.asarray(y)
    losses, seconds = np.full(len(y), np.nan), []
    for train, test in folds:
        fresh = clone(model)
        began = time.perf_counter()
        with warnings.catch_warnings(), one_step(name):
            # A fold is smaller than the data; what it says of itself concerns nobody.
            for category in (AlignmentWarning, SelectionWarning, ConvergenceWarning, ColumnWarning):
                warnings.simplefilter("ignore", category)
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            fresh.fit(_rows(X, train), y[train])
            seconds.append(time.perf_counter() - began)
            predicted = fresh.predict(_rows(X, test))
        losses[test] = predicted != y[test] if classification else (predicted - y[test]) ** 2
    losses = losses[np.isfinite(losses)]
    error, low, high = error_interval(losses, classification)
    return Score(name, error, low, high, float(np.mean(seconds)), losses)


def error_interval(losses: Array, classification: bool) -> tuple[float, float, float]:
    """The error and its 95 % interval: Wilson's for a share, resampled rows for an RMSE."""
    mean = float(losses.mean())
    if not classification:
        low, high = np.quantile(np.sqrt(_resampled_means(losses[:, None])), [0.025, 0.975])
        return float(np.sqrt(mean)), float(low), float(high)
    n = len(losses)
    centre = (mean + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z * np.sqrt(mean * (1 - mean) / n + Z**2 / (4 * n**2)) / (1 + Z**2 / n)
    return mean, max(0.0, float(centre - half)), min(1.0, float(centre + half))


def difference(one: Score, two: Score, classification: bool) -> tuple[float, float, float]:
    """error(one) - error(two) on the same rows, and its 95 % interval from resampled rows."""
    means = _resampled_means(np.column_stack([one.losses, two.losses]))
    means = means if classification else np.sqrt(means)
    low, high = np.quantile(means[:, 0] - means[:, 1], [0.025, 0.975])
    return one.error - two.error, float(low), float(high)


def _resampled_means(losses: Array) -> Array:
    """Means over rows drawn with replacement: (RESAMPLES, columns)."""
    rng = np.random.default_rng(0)
    n = len(losses)
    # Counts of a resample are multinomial: no array of RESAMPLES x n rows.
    counts = rng.multinomial(n, np.full(n, 1 / n), size=RESAMPLES)
    return counts @ losses / n


def _rows(X: Any, index: Any) -> Any:
    return X.iloc[index] if hasattr(X, "iloc") else X[index]
