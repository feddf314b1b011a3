"""Convert a table, a sparse matrix or an array to rows of numbers in memory."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_feature_names

from kernalign._memory import working_memory
from kernalign._typing import Array
from kernalign.tables import Columns, TableFeatures, is_table
from kernalign.tables.convert import no_number
from kernalign.tables.problems import UnusableError, listed, raise_all, rows_of
from kernalign.tables.reading import read_table

#: Largest difference between two numbers of a column.
LARGEST_RANGE = 1e300


def columns_for_fit(estimator: BaseEstimator, X: Any) -> Columns | None:
    """The columns of X, as determined in `fit`; None if X is an array of numbers.

    Uses the estimator's parameters `categorical_features` and `kinds`, if it has them.
    """
    categorical = getattr(estimator, "categorical_features", "from_dtype")
    kinds = getattr(estimator, "kinds", None)
    _check_asked(estimator, categorical, kinds)
    named = bool(kinds) or not (categorical is None or isinstance(categorical, str))
    if named and (sparse.issparse(X) or not hasattr(X, "__len__")):
        raise ValueError(
            "'categorical_features' and 'kinds' describe the columns of a table or an array in "
            f"memory. Got {type(X).__name__}."
        )
    if not named and not has_columns(X) and not _is_no_table(X):
        return None
    return Columns.of(X, categorical, kinds)


def _check_asked(estimator: BaseEstimator, categorical: Any, kinds: Any) -> None:
    words = isinstance(categorical, str) and categorical == "from_dtype"
    several = hasattr(categorical, "__len__") and not isinstance(categorical, str)
    wrong = None
    if not (categorical is None or words or several):
        allowed = "'from_dtype', None, or a list of names, positions or booleans"
        wrong = "categorical_features", allowed, categorical
    elif kinds is not None and not isinstance(kinds, Mapping):
        wrong = "kinds", "None or a dictionary from columns to their kinds", kinds
    if wrong:
        raise ValueError(
            f"The {wrong[0]!r} parameter of {type(estimator).__name__} must be {wrong[1]}. "
            f"Got {wrong[2]!r} instead."
        )


def _is_no_table(X: Any) -> bool:
    """Whether X is text, None or a lazy frame: `Columns.of` has an error message for each."""
    return X is None or isinstance(X, str) or hasattr(X, "collect")


def has_columns(X: Any) -> bool:
    """Whether X is a table; an array of objects is one unless it holds only numbers."""
    if isinstance(X, np.ndarray) and X.dtype.kind == "O":
        cells = X.ravel().tolist() if X.ndim == 2 else []
        return any(_is_text_or_missing(cell) for cell in cells)
    return is_table(X)


def _is_text_or_missing(cell: Any) -> bool:
    if isinstance(cell, str | bool | np.bool_) or cell is None:
        return True
    return hasattr(cell, "year") or (isinstance(cell, numbers.Real) and cell != cell)


def set_names(estimator: BaseEstimator, columns: Columns) -> None:
    """`n_features_in_` and `feature_names_in_` as scikit-learn sets them."""
    estimator.n_features_in_ = len(columns)
    vars(estimator).pop("feature_names_in_", None)
    if columns.named:
        estimator.feature_names_in_ = np.array([c.name for c in columns], dtype=object)


def encoded(estimator: Any, X: Any) -> Array:
    """Rows of another table, encoded with the columns of the fit.

    For a table of numbers, scikit-learn's rule applies that columns must be in the order of the
    fit. Other tables are matched by name.
    """
    columns: Columns = estimator.columns_
    array = isinstance(X, np.ndarray | list)
    if array or (columns.all_numbers and _has_text_names(X)):
        _check_feature_names(estimator, X, reset=False)
    if sparse.issparse(X):
        raise TypeError(
            f"{type(estimator).__name__} was fitted to a table and predicts only for tables. Got "
            f"{type(X).__name__}."
        )
    return columns.encode(X)


def _has_text_names(X: Any) -> bool:
    """Whether all names are text: scikit-learn refuses mixed types."""
    return all(isinstance(name, str) for name in getattr(X, "columns", ()))


def kernel_features(columns: dict[str, Any]) -> Any:
    """The features of a table as kernels need them, or at least their names."""
    if "columns_" in columns:
        table = columns["columns_"]
        return TableFeatures(table.features, [column.name for column in table])
    return columns.get("feature_names_in_")


def dense(X: Any) -> Any:
    """A sparse matrix as an array, if memory allows; other input unchanged."""
    if not sparse.issparse(X) or X.ndim != 2:
        return X
    size = 8 * X.shape[0] * X.shape[1]
    if size > working_memory():
        raise ValueError(
            f"X is a sparse matrix of {X.shape[0]} rows and {X.shape[1]} columns, which takes "
            f"{size / 2**20:.0f} MiB as an array; scikit-learn's working_memory allows "
            f"{working_memory() / 2**20:.0f} MiB. Reduce its columns, for example with "
            "sklearn.decomposition.TruncatedSVD, or raise the limit with "
            "sklearn.set_config(working_memory=...)."
        )
    return X.toarray()


def refuse_not_finite(X: Any) -> None:
    """Raise an error that names the cells of an array that are not finite."""
    if not isinstance(X, np.ndarray) or X.dtype.kind != "f" or X.ndim != 2:
        return
    if np.isfinite(X).all():
        return
    infinite, empty = np.isinf(X), np.isnan(X)
    if infinite.any():
        raise ValueError(
            f"Input X contains infinity: {_cells(infinite)}. Replace infinities by numbers."
        )
    raise ValueError(
        f"Input X contains NaN: {_cells(empty)}. In an array it can be an error of a "
        "computation. If these cells are missing, pass a table, such as pandas.DataFrame(X): each "
        "column with missing cells then gets an additional feature that marks them."
    )


def refuse_words(X: Any) -> None:
    """Raise an error that names the cells that are no numbers; for a model fitted to an array."""
    if not is_table(X) or isinstance(X, Mapping):
        return
    source = read_table(X)
    problems = []
    for name, cells in zip(source.names, source.columns, strict=True):
        why = cells if isinstance(cells, UnusableError) else no_number(cells)
        if why is not None:
            problems.append((name, str(why)))
    raise_all(problems, len(source.names))


def refuse_overflow(rows: Array) -> None:
    """Check that neither differences between rows nor bandwidths of that size overflow."""
    with np.errstate(over="ignore"):
        wide = rows.max(axis=0) - rows.min(axis=0) > LARGEST_RANGE
    if wide.any():
        raise ValueError(
            f"Column {int(np.argmax(wide))} of X has numbers whose difference exceeds "
            f"{LARGEST_RANGE:g}: divide the column by a constant."
        )


def _cells(mask: Any) -> str:
    shown = [f"column {k} in {rows_of(mask[:, k])}" for k in np.flatnonzero(mask.any(axis=0))]
    return listed(shown, most=4)
