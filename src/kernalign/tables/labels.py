"""Read labels and responses: text, categories, and numbers written as text."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.exceptions import DataConversionWarning

from kernalign._typing import Array, IntArray
from kernalign._warnings import ColumnWarning, find_stack_level
from kernalign.tables.cells import Cells, family, spread
from kernalign.tables.convert import WHAT, parse, types_held
from kernalign.tables.problems import UnusableError, counted, rows_of, shortened
from kernalign.tables.reading import is_frame, read_column, read_table

FROM_0 = "(counted from 0)"
Read = TypeVar("Read")


def class_labels(y: Any) -> np.ndarray[Any, Any]:
    """One label per row: numbers, booleans or text, with numpy's dtype.

    Accepts a list, an array, a series or a table of one column, including categorical dtypes. The
    error names the rows if labels are missing, infinite or of several types.
    """
    cells = _columns(y)
    if len(cells) > 1:
        raise ValueError(
            f"y must have one column of labels. Got {len(cells)} columns: fit one classifier for "
            "each."
        )
    labels = _labels(cells[0])
    warn_of_column(y)
    return labels if cells[0].type == "datetime" else _as_numpy_has_them(y, labels)


def warn_of_column(y: Any) -> None:
    """Give scikit-learn's warning if an array (n, 1) is passed instead of labels (n,)."""
    if isinstance(y, np.ndarray) and y.ndim == 2:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected: its column is used. "
            "y.ravel() has the right shape.",
            DataConversionWarning,
            stacklevel=find_stack_level(),
        )


def group_codes(groups: Any, rows: int) -> IntArray:
    """The group of each row as a number from 0; an error if a row has no group."""
    try:
        cells = read_column("groups", _as_array(groups))
    except (UnusableError, TypeError) as why:
        raise ValueError(f"groups must be a list, an array or a series: {why}") from None
    if len(cells.values) != rows:
        raise ValueError(
            f"groups must have one entry for each row. Got {len(cells.values)} entries for {rows} "
            "rows."
        )
    if cells.missing.any():
        raise ValueError(
            f"groups has no entry in {rows_of(cells.missing)} {FROM_0}: give each of these rows a "
            "group of its own, or remove them."
        )
    codes: IntArray = np.unique(cells.values, return_inverse=True)[1]
    return codes


def _labels(cells: Cells) -> np.ndarray[Any, Any]:
    _refuse_missing(cells, "has no label", "remove these rows from X and y")
    if cells.type == "datetime":
        return cells.values.astype(str)
    if not cells.coded:
        _refuse_infinite(cells)
        whole = bool(np.all(cells.values == np.floor(cells.values)))
        return cells.values.astype(np.int64) if whole and _fits(cells.values) else cells.values
    families = {family(value) for value in cells.distinct}
    if len(families) > 1:
        raise ValueError(f"{_title(cells)} must hold labels of one type. Got {types_held(cells)}.")
    text = families == {"text"}
    return np.asarray(np.array(cells.distinct, dtype=object if text else None)[cells.values])


def _fits(values: Array) -> bool:
    return bool(np.abs(values).max(initial=0.0) < 2.0**53)


def _as_numpy_has_them(y: Any, labels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The labels with the dtype of y as an array, so that predictions have the same dtype."""
    given = np.asarray(y)
    if given.dtype.kind not in "biufU" or given.size != len(labels):
        # For objects, the labels that were read have their own dtype.
        return labels
    return given.reshape(-1)


def responses(y: Any) -> tuple[Array, tuple[str, ...]]:
    """One number per row, or a matrix with one column per response; and their names.

    Accepts a list, an array, a series or a table. Numbers written as text are read, including
    decimal commas, thousands separators, currencies and percent signs. The error names the rows if
    numbers are missing, infinite or invalid.
    """
    columns = _columns(y)
    numbers = _each(_response, columns)
    names = tuple(cells.name for cells in columns)
    return (numbers[0] if len(numbers) == 1 else np.column_stack(numbers)), names


def _each(read: Callable[[Cells], Read], columns: Sequence[Cells]) -> list[Read]:
    """The result of reading each column, or one error that lists all problems."""
    found, problems = [], []
    for cells in columns:
        try:
            found.append(read(cells))
        except ValueError as problem:
            problems.append(str(problem))
    if problems:
        raise ValueError("\n".join(problems))
    return found


def _response(cells: Cells) -> Array:
    if cells.type in ("datetime", "time"):
        raise ValueError(
            f"{_title(cells)} must hold numbers. Got {WHAT[cells.type]}: use the days since a date."
        )
    if cells.coded and cells.type != "boolean":
        cells = _read_text(cells)
    elif cells.coded:
        values = [float(value) for value in cells.distinct]
        cells = Cells(cells.name, "number", spread(cells.values, values, np.nan))
    _refuse_missing(cells, "is missing", "remove these rows from X and y, or fill them in")
    _refuse_infinite(cells)
    if cells.note:
        warnings.warn(
            f"{_title(cells)} holds {cells.note}: it is read as numbers.",
            ColumnWarning,
            stacklevel=find_stack_level(),
        )
    return cells.values


def _read_text(cells: Cells) -> Cells:
    numbers, style = parse(cells)
    if numbers.bad.any():
        wrong = spread(cells.values, numbers.bad, False).astype(bool)
        row = int(np.argmax(wrong))
        value = shortened(cells.distinct[cells.values[row]])
        others = wrong.sum() - 1
        more = f" and others in {counted(int(others), 'more row')}" if others else ""
        todo = "correct it" if not numbers.bad.all() else "for labels, use a classifier"
        raise ValueError(
            f"{_title(cells)} must hold numbers. Got {value} in row {row} {FROM_0}{more}: {todo}."
        )
    note = "" if style is None else str(style)
    return Cells(cells.name, "number", spread(cells.values, numbers.values, np.nan), note=note)


def _columns(y: Any) -> list[Cells]:
    """The columns of y, which is one-dimensional or a table."""
    if y is None:
        raise ValueError("y is needed: the label or response of each row. Got None.")
    y = _as_array(y)
    if np.iscomplexobj(y):
        raise ValueError("Complex data not supported in y: use the real or the imaginary parts.")
    try:
        if is_frame(y) or np.ndim(y) == 2:
            source = read_table(y)
            for name, cells in zip(source.names, source.columns, strict=True):
                if isinstance(cells, UnusableError):
                    raise ValueError(f"Column {name!r} of y cannot be used: {cells}")
            columns = [cells for cells in source.columns if isinstance(cells, Cells)]
            if not source.named:
                several = len(columns) > 1
                return [c.named(f"y{j}" if several else "y") for j, c in enumerate(columns)]
            return columns
        if np.ndim(y) != 1:
            raise ValueError(f"y must have one or two dimensions. Got {np.ndim(y)}.")
        title = getattr(y, "name", None)
        return [read_column(str(title) if title not in (None, "") else "y", y)]
    except UnusableError as why:
        raise ValueError(f"y cannot be used: {why}") from None


def _as_array(y: Any) -> Any:
    """y itself if its columns can be read, otherwise y as an array."""
    known = isinstance(y, np.ndarray | list | tuple) or hasattr(y, "to_pylist")
    if known or is_frame(y) or nw.dependencies.is_into_series(y) or not hasattr(y, "__array__"):
        return y
    return np.asarray(y)


def _title(cells: Cells) -> str:
    return "y" if cells.name == "y" else f"y ({cells.name!r})"


def _refuse_missing(cells: Cells, what: str, todo: str) -> None:
    if cells.missing.any():
        raise ValueError(f"{_title(cells)} {what} in {rows_of(cells.missing)} {FROM_0}: {todo}.")


def _refuse_infinite(cells: Cells) -> None:
    infinite = np.isinf(cells.values)
    if infinite.any():
        raise ValueError(
            f"{_title(cells)} is infinite in {rows_of(infinite)} {FROM_0}: correct these rows, or "
            "remove them from X and y."
        )
