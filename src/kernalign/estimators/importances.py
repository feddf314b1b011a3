"""Importance of each column for the predictions, with confidence intervals.

The effect of column j on a function f is (the total effect of Sobol, by Jansen's formula)

    E |f(x) - f(x with column j of another row)|^2 / 2,

the mean remaining variance of f if all columns but j were known and independent. The importance of
a column is its share in the sum of the effects of all columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student
from sklearn.utils.validation import check_is_fitted

from kernalign._typing import Array, IntArray
from kernalign.estimators.stability import Stability
from kernalign.machines.model import Model, RowsModel
from kernalign.rows import as_rows
from kernalign.tables import TableFeatures

#: Number of evaluations over all columns, and minimum and maximum number per column.
PROBES, FEWEST, MOST = 4000, 5, 100
#: The same for the function of a fold, which is evaluated in every fit; maximum columns.
FOLD_PROBES, FOLD_FEWEST, FOLD_MOST, FOLD_COLUMNS = 300, 3, 20, 100
#: Rows that a function is evaluated at together.
TOGETHER = 500
#: Confidence level of the intervals.
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Probes:
    """Rows at which a function is evaluated, with and without a column of another row.

    rows, others : (m, d) rows, and the rows that columns are copied from.
    column : (d,) the column that each feature belongs to; number : of columns.
    """

    rows: Array
    others: Array
    column: IntArray
    number: int

    @classmethod
    def of(cls, X: Any, column: IntArray, number: int, most: int) -> Probes:
        """Probes from at most `most` pairs of rows of X."""
        rng = np.random.default_rng(0)
        size = min(most, len(X))
        picked = rng.choice(len(X), size, replace=False)
        # A row is not paired with itself, unless it is the only one.
        partners = (picked + rng.integers(1, max(len(X), 2), size)) % len(X)
        rows = as_rows(X)
        return cls(rows.take(picked), rows.take(partners), column, number)

    def importances(self, f: Callable[[Array], Array]) -> Array:
        """The share of each column in the effects of all on f; zeros if f is constant."""
        base = f(self.rows)
        effects = np.zeros(self.number)
        used, m = np.unique(self.column), len(self.rows)
        # A call for many rows costs less than many calls.
        for some in np.array_split(used, min(len(used), -(-len(used) * m // TOGETHER))):
            changed = [np.where(self.column == j, self.others, self.rows) for j in some.tolist()]
            outputs = f(np.concatenate(changed)).reshape(len(some), m, -1)
            effects[some] = np.square(outputs - base.reshape(m, -1)).sum(axis=(1, 2))
        total = effects.sum()
        return effects / total if total > 0 else effects


def fold_probes(X: Any, features: Any) -> Probes | None:
    """A few probes, for the function of a fold; None if there are too many columns.

    features : of a table, or None.
    """
    column, number = np.arange(X.shape[1]), X.shape[1]
    if isinstance(features, TableFeatures):
        place = {name: j for j, name in enumerate(features.table)}
        column, number = np.array([place[name] for name in features.columns]), len(place)
    if number > FOLD_COLUMNS:
        return None
    return Probes.of(X, column, number, _rows(number, FOLD_PROBES, FOLD_FEWEST, FOLD_MOST))


def _rows(columns: int, probes: int, fewest: int, most: int) -> int:
    return int(np.clip(probes // columns, fewest, most))


class HasImportances:
    """`feature_importances_` of an estimator with `model_` and `stability_`."""

    model_: Model
    stability_: Stability
    nested: bool
    n_features_in_: int

    @property
    def feature_importances_(self) -> Array:
        """Share of each column of X in the effects of all columns on the predictions.

        Computed on access, on the rows that the model stores.
        """
        check_is_fitted(self)
        model, columns = self.model_, getattr(self, "columns_", None)
        if not isinstance(model, RowsModel) or not len(model.rows):
            raise AttributeError(
                f"{type(self).__name__} has no feature_importances_, because its model stores no "
                "rows to compute them on. Fit with solver='exact' or 'nystroem'."
            )
        number = self.n_features_in_
        column = np.arange(number) if columns is None else columns.column_of_feature
        rows = _rows(number, PROBES, FEWEST, MOST)
        return Probes.of(model.rows, column, number, rows).importances(model.outputs)

    @property
    def feature_importances_interval_(self) -> Array:
        """95 % confidence intervals of `feature_importances_`, (n_features_in_, 2)."""
        found, folds = self.feature_importances_, self.stability_
        if len(folds.importances) < 2:
            few = "fewer than two folds have learned their own model"
            remedy = "Fit with nested=True."
            if self.nested:
                remedy = (
                    f"Fit the default learner to at most {FOLD_COLUMNS} columns. Above 5000 rows "
                    "it needs a splitter as 'cv', such as KFold(5)."
                )
            raise AttributeError(
                f"{type(self).__name__} has no feature_importances_interval_: "
                f"{folds.unknown or few}. {remedy}"
            )
        deviation = np.sqrt(folds.inflation * folds.importances.var(axis=0, ddof=1))
        size = student.ppf((1 + CONFIDENCE) / 2, len(folds.importances) - 1) * deviation
        ends: Array = np.clip(np.column_stack([found - size, found + size]), 0.0, 1.0)
        return ends
