"""Read the columns of a table: pandas, polars, pyarrow, object arrays, dictionaries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse

from kernalign.tables.cells import DAY, Cells, coded, from_objects, is_missing, plain
from kernalign.tables.cells import without_missing as drop_missing
from kernalign.tables.problems import UnusableError, shortened

SKIPPED = UnusableError("it was not read.")


@dataclass(frozen=True)
class Source:
    """A table as read.

    columns : one entry per column: its cells, or why they cannot be used.
    named : whether the table has column names.
    plain : whether it is an array of numbers, whose columns are never dropped.
    """

    names: tuple[str, ...]
    columns: tuple[Cells | UnusableError, ...]
    rows: int
    named: bool
    plain: bool = False


def is_table(X: Any) -> bool:
    """Whether X has columns of different kinds, rather than being an array of numbers.

    True for data frames (pandas, polars, pyarrow and others that narwhals supports), numpy arrays
    of objects or text, structured arrays, dictionaries of columns, and lists of dictionaries or of
    rows with text. False for arrays of numbers, sparse matrices and lazy frames.
    """
    if isinstance(X, np.ndarray):
        return X.dtype.kind in "OUSTV"
    if isinstance(X, list | tuple):
        first = next(iter(X), None)
        if isinstance(first, list | tuple):
            return any(isinstance(value, str) for row in X for value in row)
        return isinstance(first, Mapping)
    # One of scipy's sparse formats is a subclass of dict.
    return (isinstance(X, Mapping) and not sparse.issparse(X)) or is_frame(X)


def read_table(X: Any, skip: Collection[str] = ()) -> Source:
    """The columns of a table or an array; TypeError or ValueError if X is neither.

    skip : names of columns of a data frame whose cells need not be read.
    """
    if is_frame(X):
        source = _read_frame(X, skip)
    elif isinstance(X, Mapping):
        source = _read_mapping(X)
    elif isinstance(X, list | tuple) and X and all(isinstance(row, Mapping) for row in X):
        names = list(dict.fromkeys(name for row in X for name in row))
        source = _read_mapping({name: [row.get(name) for row in X] for name in names})
    else:
        source = _read_array(X)
    if not source.names:
        raise ValueError("The table has no columns.")
    if not source.rows:
        raise ValueError(f"The table has no rows (its shape is (0, {len(source.names)})).")
    return source


def is_frame(X: Any) -> bool:
    """Whether X is a data frame in memory."""
    return bool(nw.dependencies.is_into_dataframe(X))


def _read_frame(X: Any, skip: Collection[str]) -> Source:
    native = X.column_names if hasattr(X, "column_names") else list(X.columns)
    names = [str(name) for name in native]
    # narwhals raises at the first duplicated name: rename, and report all of them below.
    places = [str(place) for place in range(len(names))]
    if len(set(names)) < len(names):
        X = X.rename_columns(places) if hasattr(X, "rename_columns") else X.set_axis(places, axis=1)
    frame = nw.from_native(X, eager_only=True)
    columns = [
        SKIPPED if name in skip else _checked(_read_series, name, series)
        for name, series in zip(names, frame.iter_columns(), strict=True)
    ]
    return _source(names, columns, len(frame), named=True)


def _read_mapping(X: Mapping[Any, Any]) -> Source:
    names = [str(name) for name in X]
    for name, column in zip(names, X.values(), strict=True):
        if isinstance(column, str | bytes) or not _has_cells(column):
            raise ValueError(
                f"Column {name!r} must be a list or an array with one cell per row. Got "
                f"{shortened(column)}: write [{shortened(column)}] if the table has one row."
            )
    lengths = {name: len(column) for name, column in zip(names, X.values(), strict=True)}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name!r} {length}" for name, length in list(lengths.items())[:6])
        raise ValueError(f"All columns must have the same number of rows. Got {shown}.")
    columns = [_checked(read_column, n, c) for n, c in zip(names, X.values(), strict=True)]
    return _source(names, columns, next(iter(lengths.values()), 0), named=True)


def _has_cells(column: Any) -> bool:
    try:
        len(column)
    except TypeError:
        return False
    return True


def _read_array(X: Any) -> Source:
    if sparse.issparse(X):
        raise TypeError("A sparse matrix has no columns to describe: it is used as it is.")
    for method in ("collect", "compute"):
        if hasattr(X, method):
            raise TypeError(
                f"A table must be in memory. Got {type(X).__name__}, which is lazy: call its "
                f"{method}() first."
            )
    try:
        array = np.asarray(X, dtype=object if is_table(X) and isinstance(X, list) else None)
    except (ValueError, TypeError):
        raise ValueError("The rows of a table must all have the same length.") from None
    if array.ndim == 1 and len(array) and isinstance(array[0], list | tuple):
        raise ValueError("The rows of a table must all have the same length.")
    if array.dtype.names:
        return _read_mapping({name: array[name] for name in array.dtype.names})
    if array.ndim != 2:
        what = "one column: pass a table, such as frame[['x']]" if array.ndim == 1 else "no table"
        raise ValueError(f"A table has rows and columns. Got {type(X).__name__}, which is {what}.")
    names = [f"x{place}" for place in range(array.shape[1])]
    columns = [_checked(read_column, name, array[:, j]) for j, name in enumerate(names)]
    return _source(names, columns, len(array), named=False, plain=array.dtype.kind in "biuf")


def _source(
    names: list[str], columns: list[Cells | UnusableError], rows: int, **about: bool
) -> Source:
    """The source; duplicated names are marked as unusable."""
    for name, times in Counter(names).items():
        if times > 1:
            places = [str(place) for place, other in enumerate(names) if other == name]
            first = int(places[0])
            columns[first] = UnusableError(
                f"{times} columns have this name (positions {', '.join(places)}): rename them."
            )
    return Source(tuple(names), tuple(columns), rows, **about)


def _checked(read: Any, name: str, column: Any) -> Cells | UnusableError:
    try:
        cells: Cells = read(name, column)
    except UnusableError as why:
        return why
    except Exception as problem:  # the table's library may fail in any way on odd cells
        reason = (str(problem).strip().splitlines() or [type(problem).__name__])[0][:100]
        return UnusableError(
            f"its cells cannot be read ({reason}): turn them into numbers or text, or drop it."
        )
    return cells


def read_column(name: str, column: Any) -> Cells:
    """The cells of a numpy array, a series of a data frame, or a list."""
    if hasattr(column, "to_pylist") and not hasattr(column, "num_chunks"):
        column = column.to_pylist()  # a pyarrow array, which narwhals does not treat as a series
    if not isinstance(column, np.ndarray | list | tuple):
        series = nw.from_native(column, series_only=True, pass_through=True)
        if isinstance(series, nw.Series):
            return _read_series(name, series)
        column = list(column)
    array = column if isinstance(column, np.ndarray) else _as_array(column)
    if array.dtype.kind in "iuf":
        return Cells(name, "number", array.astype(float))
    if array.dtype.kind == "M":
        return Cells(name, "datetime", array.astype("datetime64[us]"))
    if array.dtype.kind == "m":
        return Cells(name, "number", _days(array), note="durations, in days")
    return from_objects(name, array.tolist())


def _as_array(column: Sequence[Any]) -> np.ndarray[Any, Any]:
    array = np.empty(len(column), dtype=object)
    array[:] = list(column)
    return array


def _read_series(name: str, series: nw.Series[Any]) -> Cells:
    dtype = series.dtype
    if dtype.is_numeric() and not dtype.is_decimal():
        return Cells(name, "number", series.to_numpy().astype(float))
    if isinstance(dtype, nw.Categorical | nw.Enum):
        return _read_categories(name, series)
    if dtype == nw.String:
        codes, distinct = drop_missing(*coded(series.to_list(), len(series)))
        return Cells(name, "text", codes, distinct)
    if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
        series = series.dt.replace_time_zone(None)
    array = series.to_numpy() if dtype.is_temporal() else None
    if array is not None and array.dtype.kind in "Mm":
        return read_column(name, array)
    if array is not None and array.dtype.kind == "O":
        return from_objects(name, array.tolist())
    return from_objects(name, series.to_list())


def _read_categories(name: str, series: nw.Series[Any]) -> Cells:
    cells = from_objects(name, series.to_list(), "category")
    native = series.to_native()
    dtype = native.type if hasattr(native, "type") else native.dtype
    # A polars Enum lists its categories, but their order need not have a meaning.
    if getattr(dtype, "ordered", False):
        declared = [v for v in series.cat.get_categories().to_list() if not is_missing(v)]
        return replace(cells, levels=tuple(map(plain, declared)))
    return cells


def _days(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    seconds = array.astype("timedelta64[us]").astype(float) / 1e6
    return np.where(np.isnat(array), np.nan, seconds / DAY)
