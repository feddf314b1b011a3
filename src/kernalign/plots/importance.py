"""What drives predictions: how much the error grows when a column is shuffled."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from kernalign._progress import Progress, current, one_step, watched
from kernalign._typing import Array, IntArray
from kernalign._warnings import AlignmentWarning, ColumnWarning, SelectionWarning
from kernalign.estimators.folds import class_folds, number_folds
from kernalign.plots._axes import COLOURS, axes, plain, shortened
from kernalign.plots._model import check_pair, view
from kernalign.plots._rows import column_names, rows_at, with_column

#: Folds, up to so many rows; of more rows some are held out once, and so many train at most.
FOLDS, FOLDED_ROWS, HELD_OUT, TRAINED = 3, 1500, 500, 3000
#: Times that each column is shuffled, and kernel values that this may cost.
REPEATS, VALUES = 3, 1e8
#: 95 % of a normal distribution.
Z = 1.96


@dataclass(frozen=True)
class ImportanceInfo:
    """Growth of the error on held-out rows when a column is shuffled, by column of the user's data.

    columns : (d,) positions in the data of the columns that the model uses; names : their names.
    increase : (d,) growth of the share of wrong classes, or of the root mean squared error.
    low, high : (d,) its 95 % interval, over rows.
    error : the error with the columns as they are; rows : held-out rows that tell.
    classes : whether the errors are those of classes.
    """

    columns: IntArray
    names: list[str]
    increase: Array
    low: Array
    high: Array
    error: float
    rows: int
    classes: bool

    def order(self) -> Any:
        """Places of the columns in `names`, the most important first."""
        return np.argsort(-self.increase, kind="stable")


def importance_info(model: Any, X: Any, y: Any, *, random_state: int = 0) -> ImportanceInfo:
    """Permutation importance of each column, on rows that the machines have not seen.

    The model is fitted again without the rows that tell: a third of the rows in turn, or one
    hold-out set if there are many. What the first fit chose for its learner and C is kept.

    Parameters
    ----------
    model : fitted KernelClassifier or KernelRegressor, or a pipeline that ends in one
    X, y : the rows and labels that it was fitted to
    random_state : int
        Order of the shuffled values.
    """
    check_pair(X, y)
    estimator = view(model).estimator
    if not hasattr(estimator, "predict"):
        raise ValueError("Importance needs a fitted KernelClassifier or KernelRegressor.")
    classification = is_classifier(estimator)
    labels = np.asarray(y)
    folds = _folds(labels, classification)
    names = column_names(X)
    columns = _used(model, names)
    rng = np.random.default_rng(random_state)
    base, shuffled = [], []
    with watched(Progress("importance", shown=False)):
        current().plan(len(folds))
        for train, test in folds:
            with one_step("importance of columns"):
                fresh = _refitted(model, rows_at(X, train), labels[train])
                losses = _Losses(fresh, labels[test], classification)
                rows = rows_at(X, test)
                base.append(losses(rows, 1))
                repeats = _repeats(len(test), len(train), len(columns))
                shuffled.append(_shuffled(losses, rows, columns, repeats, rng))
    increase, low, high, error = _summary(
        np.concatenate(base), np.concatenate(shuffled, axis=1), classification
    )
    return ImportanceInfo(
        columns=columns,
        names=[names[k] for k in columns],
        increase=increase,
        low=low,
        high=high,
        error=error,
        rows=sum(map(len, base)),
        classes=classification,
    )


def _used(model: Any, names: list[str]) -> IntArray:
    """Positions of the columns that the model uses."""
    seen = view(model)
    left_out: set[str] = set()
    if seen.before is None and seen.table is not None:
        left_out = {column.name for column in seen.table if not column.used}
    return np.array([k for k, name in enumerate(names) if name not in left_out], dtype=np.intp)


def _summary(base: Array, shuffled: Array, classes: bool) -> tuple[Array, Array, Array, float]:
    """(growth, low, high, error) of losses of rows, (n,) and (d, n)."""
    growth = shuffled - base
    mean, n, error = growth.mean(axis=1), len(base), float(base.mean())
    half = Z * growth.std(axis=1, ddof=1) / np.sqrt(n) if n > 1 else np.full(len(mean), np.inf)
    increase, low, high = mean, mean - half, mean + half
    if not classes:
        # In units of the response.
        increase, low, high = (
            np.sqrt(np.maximum(error + end, 0.0)) - np.sqrt(error) for end in (increase, low, high)
        )
        error = float(np.sqrt(error))
    return increase, low, high, error


def _folds(labels: Any, classification: bool) -> Sequence[tuple[IntArray, IntArray]]:
    n = len(labels)
    codes = np.unique(labels, return_inverse=True)[1] if classification else None
    if n > FOLDED_ROWS:
        order = np.random.default_rng(0).permutation(n)
        held = np.sort(order[:HELD_OUT])
        return [(np.sort(order[HELD_OUT : HELD_OUT + TRAINED]), held)]
    folds = number_folds(n, FOLDS) if codes is None else class_folds(codes, FOLDS)
    if folds is None:
        raise ValueError("Importance needs two classes with two rows or more.")
    return folds


def _refitted(model: Any, X: Any, y: Any) -> Any:
    """The model on other rows, with what it chose."""
    fresh = clone(model)
    last = fresh.steps[-1][1] if hasattr(fresh, "steps") else fresh
    before = view(model).estimator
    last.set_params(
        learner=before.learner_.for_folds(), C=float(before.C_), nested=False, verbose=0
    )
    with warnings.catch_warnings():
        # The fit on all rows has said it.
        for category in (AlignmentWarning, SelectionWarning, ColumnWarning):
            warnings.simplefilter("ignore", category)
        return fresh.fit(X, y)


class _Losses:
    """Losses of rows, averaged over copies of them."""

    def __init__(self, model: Any, labels: Any, classification: bool):
        self.model, self.labels, self.classification = model, labels, classification

    def __call__(self, rows: Any, repeats: int) -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ColumnWarning)
            predicted = self.model.predict(rows)
        truth = np.tile(self.labels, repeats)
        losses = predicted != truth if self.classification else (predicted - truth) ** 2
        mean: Array = losses.reshape(repeats, -1).mean(axis=0)
        return mean


def _shuffled(
    losses: _Losses, X: Any, columns: IntArray, repeats: int, rng: np.random.Generator
) -> Array:
    """(d, rows) losses with each column shuffled."""
    n = len(losses.labels)
    copies = rows_at(X, np.tile(np.arange(n), repeats))
    out = np.empty((len(columns), n))
    for place, k in enumerate(columns.tolist()):
        order = np.concatenate([rng.permutation(n) for _ in range(repeats)])
        out[place] = losses(with_column(copies, k, rows_at(X, order)), repeats)
    return out


def _repeats(test: int, train: int, columns: int) -> int:
    return int(np.clip(VALUES // (test * train * columns), 1, REPEATS))


def plot_importance(
    model: Any, X: Any, y: Any, ax: Any = None, *, most: int = 15, random_state: int = 0
) -> Any:
    """Draw the growth of the error for each column with its interval, the largest on top.

    X, y : the rows and labels that the model was fitted to; it is fitted again without some of
    them (`importance_info`).
    """
    return draw_importance(importance_info(model, X, y, random_state=random_state), ax, most)


def draw_importance(info: ImportanceInfo, ax: Any, most: int) -> Any:
    """The picture of an importance that is known."""
    order = info.order()[:most]
    ax = axes(ax, (6.0, max(2.4, 1.1 + 0.26 * len(order))))
    factor = 100.0 if info.classes else 1.0
    places = np.arange(len(order))
    ax.barh(places, factor * info.increase[order], color=COLOURS[0], alpha=0.85)
    ax.hlines(places, factor * info.low[order], factor * info.high[order], color="0.25", lw=1.2)
    ax.set_yticks(places, [shortened(info.names[k]) for k in order], fontsize=9)
    ax.invert_yaxis()
    ax.axvline(0, color="0.6", lw=0.8)
    few = f" (top {len(order)} of {len(info.names)})" if len(order) < len(info.names) else ""
    unit = ", points" if info.classes else ""
    ax.set(xlabel=f"growth of the error{unit}", title=f"What drives predictions{few}")
    plain(ax)
    return ax
