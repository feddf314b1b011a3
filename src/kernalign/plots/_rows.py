"""Rows and columns of the user's data, whatever holds them."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from kernalign.plots._axes import shortened
from kernalign.tables.cells import is_missing
from kernalign.tables.problems import listed


def rows_at(X: Any, index: Any) -> Any:
    """Some rows of a data frame or an array."""
    return X.iloc[index] if hasattr(X, "iloc") else as_array(X)[index]


def as_array(X: Any) -> Any:
    return X.toarray() if hasattr(X, "toarray") else np.asarray(X)


def column_names(X: Any) -> list[str]:
    """Names of the columns, or x0, x1, ..."""
    if hasattr(X, "columns"):
        return [str(name) for name in X.columns]
    return [f"x{k}" for k in range(np.shape(X)[1])]


def column_place(X: Any, column: int | str) -> int:
    """The position of a column that is given by its name or its position."""
    names = column_names(X)
    if isinstance(column, str) and names.count(column) == 1:
        return names.index(column)
    if isinstance(column, numbers.Integral) and 0 <= column < len(names):
        return int(column)
    raise ValueError(
        f"The column must be a name, or a position from 0 to {len(names) - 1}. Got {column!r}; "
        f"the columns are {listed(names)}."
    )


def column_values(X: Any, k: int) -> Any:
    """The values of column k, of the type that the column has."""
    return X.iloc[:, k] if hasattr(X, "iloc") else as_array(X)[:, k]


def in_words(value: Any) -> str:
    """A cell for readers: four digits of a number, a date without midnight, 'missing'."""
    if is_missing(value):
        return "missing"
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    if isinstance(value, np.datetime64):
        value = str(value.astype("datetime64[s]")).replace("T", " ")
    return shortened(str(value).removesuffix(" 00:00:00"), 30)


def with_column(X: Any, k: int, source: Any) -> Any:
    """A copy of X whose column k has the values that it has in `source`, row by row."""
    if not hasattr(X, "iloc"):
        copy = np.array(as_array(X))
        copy[:, k] = as_array(source)[:, k]
        return copy
    copy = X.reset_index(drop=True).copy()
    copy.isetitem(k, source.iloc[:, k].reset_index(drop=True))
    return copy
