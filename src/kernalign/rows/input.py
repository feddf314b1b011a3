"""From a user's input to checked rows; the only place that finds out where the rows are."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_y

from kernalign._typing import Array
from kernalign._validation import (
    check_given,
    check_labelled_rows,
    check_labels,
    check_rows,
    check_weights,
)
from kernalign.rows.arrow import is_data_set
from kernalign.rows.base import Source
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
    **options: Any,
) -> tuple[Any, Any, Array, dict[str, Any]]:
    """(rows, y, weight, columns) for `fit`: rows are an array, or `Rows` if not in memory.

    columns : `n_features_in_`, `feature_names_in_` if X has names, and `columns_` if X is a table.
        The estimator does not change: it gets them at the end of a successful fit.
    read : function that converts y to an array (`kernalign.tables`); without it, y must be one.
    options : of scikit-learn's `validate_data`.
    """
    # scikit-learn sets attributes of the estimator before it knows that X is valid.
    estimator = copy.copy(estimator)
    rows, y, weight = _checked(estimator, X, y, sample_weight, read, **options)
    known = ("n_features_in_", "feature_names_in_", "columns_")
    return rows, y, weight, {name: v for name, v in vars(estimator).items() if name in known}


def _checked(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    sample_weight: Any,
    read: Callable[[Any], Any] | None,
    **options: Any,
) -> tuple[Any, Any, Array]:
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
    y = y if read is None else read(y)
    check_labels(y)
    y = _check_y(y, **options)
    for what, values in (("y", y), ("sample_weight", weight)):
        if values is not None and len(values) != len(rows):
            raise ValueError(
                f"X and {what} must have the same number of rows. Got {len(rows)} and "
                f"{len(values)}."
            )
    if len(rows) < 2:
        raise ValueError(f"X must have at least two rows. Got {len(rows)}.")
    return rows, y, check_weights(weight, np.empty((len(rows), 0)))


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
