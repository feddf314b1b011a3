"""From a user's input to checked rows; the only place that finds out where the rows are."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_y

from kernalign._typing import Array, IntArray
from kernalign._validation import (
    NO_WEIGHT,
    check_each_weight,
    check_given,
    check_labelled_rows,
    check_labels,
    check_rows,
    check_weights,
    scale_weights,
)
from kernalign.rows.arrow import is_data_set
from kernalign.rows.base import Column, Source
from kernalign.rows.columns import loaded, mapped, reduced
from kernalign.rows.files import FileSource
from kernalign.rows.table import (
    columns_for_fit,
    dense,
    encoded,
    refuse_not_finite,
    refuse_overflow,
    refuse_words,
    set_names,
)

#: Number of labels that are read in this process even if labels are elsewhere.
FIRST_ROWS = 100


def source_of(X: Any) -> Source | None:
    """The source of rows that are not in memory, otherwise None; does not import packages."""
    if type(X).__module__.partition(".")[0] in ("dask", "dask_expr"):
        from kernalign.rows.dask import DaskSource

        return DaskSource(X)
    if isinstance(X, Source):
        return X
    if is_data_set(X):
        return FileSource(X)
    return None


def columns_apart(
    files: Any, target: Sequence[str], sample_weight: str | None, groups: str | None
) -> tuple[Source, Any, Array | None, Any]:
    """(source, y, sample_weight, groups) for `fit`: the source has the other columns of files."""
    apart = [name for name in (*target, sample_weight, groups) if name is not None]
    source = FileSource(files, apart)
    y = source.table(target)
    weight = None if sample_weight is None else source.numbers(sample_weight)
    return source, y, weight, None if groups is None else source.table([groups]).column(0)


def labelled_rows(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    read: Callable[[Any], Any] | None = None,
    *,
    stay: str = "",
    **options: Any,
) -> tuple[Any, Any, Any, dict[str, Any]]:
    """(rows, y, weight, columns) for `fit`: rows are an array, or `Rows` if not in memory.

    columns : `n_features_in_`, `feature_names_in_` if X has names, and `columns_` if X is a table.
        The estimator does not change: it gets them at the end of a successful fit.
    read : function that converts y to an array (`kernalign.tables`); without it, y must be one.
        It is also called for parts of y.
    stay : kinds of the dtypes of labels that may stay where the rows are, as a `Column` like their
        weights; others are loaded.
    options : of scikit-learn's `validate_data`.
    """
    # scikit-learn sets attributes of the estimator before it knows that X is valid.
    estimator = copy.copy(estimator)
    rows, y, weight = _checked(estimator, X, y, sample_weight, read, stay, **options)
    known = ("n_features_in_", "feature_names_in_", "columns_")
    return rows, y, weight, {name: v for name, v in vars(estimator).items() if name in known}


def _checked(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    sample_weight: Any,
    read: Callable[[Any], Any] | None,
    stay: str,
    **options: Any,
) -> tuple[Any, Any, Any]:
    """Check the input in the same way wherever the rows are."""
    source = source_of(X)
    if source is None:
        if read is not None and y is not None:
            y = read(y)
        columns = columns_for_fit(estimator, X)
        vars(estimator).pop("columns_", None)
        if columns is None:
            refuse_not_finite(X)
        rows = dense(X) if columns is None else columns.encode(X)
        rows, y = check_labelled_rows(estimator, rows, y, **options)
        refuse_overflow(rows)
        if columns is not None:
            estimator.columns_ = columns
            set_names(estimator, columns)
        return rows, y, check_weights(sample_weight, rows)
    check_given(estimator, y)
    vars(estimator).pop("columns_", None)
    source.check_columns(estimator, reset=True)
    rows, (y, weight) = source.opened([y, sample_weight])
    for what, values in (("y", y), ("sample_weight", weight)):
        if values is not None and len(values) != len(rows):
            raise ValueError(
                f"X and {what} must have the same number of rows. Got {len(rows)} and "
                f"{len(values)}."
            )
    if len(rows) < 2:
        raise ValueError(f"X must have at least two rows. Got {len(rows)}.")
    if not isinstance(y, Column) or y.take(slice(0, 1)).dtype.kind not in stay:
        y = _read_labels(read, options, loaded(y))
        weight = check_weights(loaded(weight), np.empty((len(rows), 0)))
        return rows, y, weight
    # The first rows are read here too: warnings on workers would be lost.
    _read_labels(read, options, y.take(slice(0, FIRST_ROWS)))
    positions = rows.positions()
    y = mapped(partial(_read_block, read, options), y, positions)
    if weight is None:
        return rows, y, mapped(_ones, y)
    return rows, y, check_weights_there(weight)


def _read_labels(read: Callable[[Any], Any] | None, options: dict[str, Any], y: Any) -> Any:
    y = y if read is None else read(y)
    check_labels(y)
    return _check_y(y, **options)


def _read_block(
    read: Callable[[Any], Any] | None, options: dict[str, Any], y: Any, positions: IntArray
) -> Any:
    try:
        return _read_labels(read, options, y)
    except ValueError as problem:
        first, last = positions[[0, -1]].tolist()
        where = f"In the chunk of rows {first} to {last}, of which the first is row 0"
        raise ValueError(f"{where}: {problem}") from None


def check_weights_there(weight: Column) -> Column:
    """`check_weights` of a column."""
    weight = mapped(_numbers, weight)
    largest = float(reduced(np.max, max, weight))
    if largest <= 0:
        raise ValueError(NO_WEIGHT)
    return mapped(partial(_scaled, largest), weight)


def _numbers(weight: Any) -> Array:
    # scikit-learn refuses weights that are all zero, which those of a block may be.
    some = np.append(weight, 1.0)
    return check_each_weight(some, np.empty((len(some), 0)))[:-1]


def _scaled(largest: float, weight: Array) -> Array:
    return scale_weights(weight, largest)


def _ones(y: Any) -> Array:
    return np.ones(len(y))


def of_rows(
    estimator: BaseEstimator,
    X: Any,
    function: Callable[[Array], Array],
    width: int | None = None,
    dtype: Any = float,
) -> Any:
    """function(rows) of a fitted estimator, (n,) or (n, width), where the rows of X are."""
    source = source_of(X)
    if source is None:
        if hasattr(estimator, "columns_"):
            return function(encoded(estimator, X))
        refuse_words(X)
        refuse_not_finite(X)
        return function(check_rows(estimator, dense(X)))
    source.check_columns(estimator, reset=False)
    return source.map(function, width, dtype)
