"""How predictions change along one column, all others as they are (partial dependence)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign._warnings import ColumnWarning
from kernalign.plots._axes import COLOURS, MARKS, axes, plain, shortened
from kernalign.plots._model import some_rows, view
from kernalign.plots._rows import (
    column_names,
    column_place,
    column_values,
    in_words,
    rows_at,
    with_column,
)

#: Values of a column that are looked at, rows that predictions are averaged over, and lines.
VALUES, ROWS, LINES = 15, 100, 4
#: A column of numbers with no more values than this shows each of them.
FEW = 8


@dataclass(frozen=True)
class EffectInfo:
    """Mean predictions with one column set to each of some values.

    values : (v,) values of the column; numeric : whether they are numbers on an axis.
    mean : (v, lines) mean probability of each class, or (v, 1) mean predicted number.
    lines : the names of the classes; empty for a number. Of two classes the second one is shown.
    """

    name: str
    values: list[Any]
    numeric: bool
    mean: Array
    lines: list[str]


def effect_info(model: Any, X: Any, column: int | str, *, max_rows: int = ROWS) -> EffectInfo:
    """The mean prediction over some rows with one column set to each of its usual values.

    Parameters
    ----------
    model : fitted KernelClassifier or KernelRegressor, or a pipeline that ends in one
    X : rows, such as those that it was fitted to
    column : name of the column, or its position
    max_rows : rows at most that predictions are averaged over
    """
    if not hasattr(view(model).estimator, "predict"):
        raise ValueError("An effect needs a fitted KernelClassifier or KernelRegressor.")
    column = column_place(X, column)
    few = rows_at(X, some_rows(len(column_values(X, column)), max_rows))
    values, places, numeric = _looked_at(column_values(X, column))
    n = len(column_values(few, column))
    copies = rows_at(few, np.tile(np.arange(n), len(values)))
    source = rows_at(X, np.repeat(places, n))
    varied = with_column(copies, column, source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)
        if not hasattr(model, "predict_proba"):
            found, lines = np.asarray(model.predict(varied), dtype=float)[:, None], []
        else:
            found, lines = model.predict_proba(varied), [str(label) for label in model.classes_]
    mean = found.reshape(len(values), n, -1).mean(axis=1)
    if len(lines) == 2:
        mean, lines = mean[:, 1:], lines[1:]
    elif len(lines) > LINES:
        moved = np.sort(np.argsort(-np.ptp(mean, axis=0), kind="stable")[:LINES])
        mean, lines = mean[:, moved], [lines[k] for k in moved]
    return EffectInfo(column_names(X)[column], values, numeric, mean, lines)


def _looked_at(values: Any) -> tuple[list[Any], Any, bool]:
    """Values of a column to look at, a row where each is found, and whether they are numbers."""
    array = np.asarray(values)
    if array.dtype.kind in "fiu":
        known = np.flatnonzero(~np.isnan(array.astype(float)))
        order = known[np.argsort(array[known], kind="stable")]
        distinct = np.unique(array[known])
        if len(distinct) <= FEW:
            places = order[np.searchsorted(array[order], distinct)]
            return distinct.tolist(), places, True
        # The ends of a column are few rows: what happens there is hardly known.
        at = np.linspace(0.02, 0.98, VALUES) * (len(order) - 1)
        places = order[np.unique(at.astype(int))]
        shown, first = np.unique(array[places], return_index=True)
        return shown.tolist(), places[first], True
    text = np.array([in_words(value) for value in array])
    names, first, counts = np.unique(text, return_index=True, return_counts=True)
    top = np.argsort(-counts, kind="stable")[:VALUES]
    top = top[np.argsort(first[top], kind="stable")] if array.dtype.kind == "M" else top
    return names[top].tolist(), first[top], False


def plot_effect(
    model: Any,
    X: Any,
    column: int | str,
    ax: Any = None,
    *,
    target: str = "prediction",
    max_rows: int = ROWS,
) -> Any:
    """Draw mean predictions over the values of a column, given by its name or its position."""
    return draw_effect(effect_info(model, X, column, max_rows=max_rows), ax, target)


def draw_effect(info: EffectInfo, ax: Any, target: str) -> Any:
    """The picture of an effect that is known."""
    ax = axes(ax, (4.6, 3.2))
    factor = 100.0 if info.lines else 1.0
    places = np.array(info.values, dtype=float) if info.numeric else np.arange(len(info.values))
    for number in range(info.mean.shape[1]):
        label = shortened(info.lines[number], 16) if info.mean.shape[1] > 1 else None
        style = "o-" if info.numeric else MARKS[number % len(MARKS)]
        colour = COLOURS[number % len(COLOURS)]
        ax.plot(places, factor * info.mean[:, number], style, color=colour, ms=4, label=label)
    if not info.numeric:
        long = max(len(shortened(str(v), 14)) for v in info.values) * len(info.values) > 40
        turn = {"rotation": 45, "ha": "right"} if long else {}
        ax.set_xticks(places, [shortened(str(v), 14) for v in info.values], fontsize=8, **turn)
        ax.margins(x=0.1)
    else:
        ax.locator_params(axis="x", nbins=5)
    one = shortened(info.lines[0], 16) if len(info.lines) == 1 else "the class"
    ax.set_ylabel(f"probability of {one}, %" if info.lines else f"mean {shortened(target, 20)}")
    ax.set_xlabel(shortened(info.name, 40))
    if info.mean.shape[1] > 1:
        ax.legend(frameon=False, fontsize=8)
    plain(ax)
    return ax
