"""Read tables from CSV and Parquet files, with clear messages about problems."""

from __future__ import annotations

import difflib
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kernalign._warnings import ColumnWarning
from kernalign.cli.errors import DataError, UserError, for_shell
from kernalign.gram.labels import MOST_CLASSES
from kernalign.tables import Columns

SEPARATORS = ",;\t|"
PARQUET = (".parquet", ".pq")
#: Maximum number of columns: a fit with more would take hours.
MOST_COLUMNS = 10_000


#: Similarity of a name that is suggested instead of another.
NEAR = 0.75


def need_pandas() -> Any:
    """The module pandas, or an error that names the extra."""
    try:
        import pandas
    except ImportError:
        raise UserError(
            "The command line needs pandas, which is not installed: pip install 'kernalign[cli]'."
        ) from None
    return pandas


def read_table(path: str) -> Any:
    """The data frame in a CSV or Parquet file."""
    pandas = need_pandas()
    file = Path(path)
    if not file.is_file():
        raise DataError(f"There is no file {path}.")
    try:
        if file.suffix.lower() in PARQUET:
            table = pandas.read_parquet(file)
        else:
            table = pandas.read_csv(file, sep=_separator(file), encoding="utf-8-sig")
    except ImportError:
        raise UserError(
            "Parquet files need pyarrow, which is not installed: pip install 'kernalign[cli]'."
        ) from None
    except MemoryError:
        raise
    except Exception as problem:
        # A file may contain anything: pandas and pyarrow raise errors of many types.
        reason = (str(problem).strip().splitlines() or ["no reason is known"])[0].rstrip(".")
        raise DataError(f"{path} cannot be read as a table: {reason}.") from None
    names = [str(column).strip() for column in table.columns]
    doubled = [name for name, times in Counter(names).items() if times > 1]
    if doubled:
        raise DataError(
            f"Two columns of {path} are called {doubled[0]!r}, without the blanks around "
            "names: rename one of them."
        )
    if len(names) > MOST_COLUMNS:
        raise DataError(
            f"{path} has {len(names)} columns, and at most {MOST_COLUMNS} are used: choose some."
        )
    table.columns = names
    if not len(table):
        raise DataError(f"{path} has no rows.")
    return table


def brief(value: Any) -> str:
    """A name or a cell in a message, shortened: a cell can be very long."""
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:50]}... ({len(shown) - 2} characters)"


def _distinct(column: Any, name: str) -> int:
    """The number of different values."""
    try:
        return int(column.nunique())
    except TypeError:
        raise DataError(
            f"Column {name!r} holds lists or records, and single values are needed: leave it "
            "out with --drop."
        ) from None


def _separator(file: Path) -> str:
    """The separator that occurs most in the first line."""
    with file.open(encoding="utf-8-sig", errors="replace") as stream:
        first = stream.readline()
    return max(SEPARATORS, key=first.count)


@dataclass(frozen=True)
class Labelled:
    """Features and target of a table.

    reason : why the task is classification or regression.
    """

    X: Any
    y: Any
    task: str
    reason: str

    @property
    def classification(self) -> bool:
        return self.task == "classification"


def labelled(table: Any, target: str, task: str = "auto", drop: Sequence[str] = ()) -> Labelled:
    """The features and the target, which must be complete."""
    if target in drop:
        raise UserError(f"--drop leaves out the target {target!r}: leave out other columns.")
    for name in (target, *drop):
        _need(table, name, "The target" if name == target else "--drop")
    column = table[target]
    empty = column.isna()
    if empty.any():
        raise DataError(
            f"The target {target!r} is empty in {_rows(empty)}: remove these rows or fill them in."
        )
    task, reason = _task(column, task, target)
    if _distinct(column, target) < 2:
        raise DataError(f"The target {target!r} has one value only, {brief(column.tolist()[0])}.")
    y = column.to_numpy()
    if task == "regression":
        if column.dtype.kind not in "biuf":
            raise DataError(
                f"The target {target!r} holds {_example(column)}: a regression needs numbers."
            )
        y = y.astype(float)
    elif column.dtype.kind not in "biuf":
        y = column.astype(str).to_numpy(dtype=object)
    X = table.drop(columns=[target, *drop])
    if not X.shape[1]:
        raise DataError(f"There is no column beside the target {target!r} to learn from.")
    return Labelled(X, y, task, reason)


def _task(column: Any, task: str, target: str) -> tuple[str, str]:
    if task != "auto":
        return task, "as asked for"
    values = _distinct(column, target)
    if column.dtype.kind not in "iuf":
        return "classification", f"{target!r} holds {values} different labels"
    whole = bool((column == column.round()).all())
    if whole and values <= MOST_CLASSES:
        return "classification", f"{target!r} holds {values} whole numbers"
    return "regression", f"{target!r} holds {values} different numbers"


def check_columns(X: Any) -> Columns:
    """The columns as the fit will use them, checked before the computation."""
    with warnings.catch_warnings():
        # The fit gives the warning.
        warnings.simplefilter("ignore", ColumnWarning)
        try:
            return Columns.of(X)
        except ValueError as problem:
            raise DataError(for_shell(str(problem))) from None


def numbers_only(X: Any) -> bool:
    """Whether every column holds numbers, and no cell is empty."""
    return all(dtype.kind in "biuf" for dtype in X.dtypes) and not bool(X.isna().any(axis=None))


def _refuse_infinite(X: Any, numbers: Sequence[str]) -> None:
    for name in numbers:
        infinite = np.isinf(X[name].to_numpy(dtype=float, na_value=np.nan))
        if infinite.any():
            where = _rows(infinite)
            raise DataError(f"Column {name!r} is infinite in {where}: correct these cells.")


def for_prediction(
    table: Any, columns: Sequence[str], numbers: Sequence[str], encoded: bool
) -> Any:
    """The columns that a model was trained on, in its order."""
    for name in columns:
        _need(table, name, "The model")
    X = table[list(columns)]
    for name in numbers:
        if X[name].dtype.kind not in "biuf" and not X[name].isna().all():
            raise DataError(
                f"Column {name!r} holds {_example(X[name])}, and the model was trained on numbers."
            )
    _refuse_infinite(X, [name for name in numbers if X[name].dtype.kind in "biuf"])
    if not encoded:
        for name in columns:
            empty = X[name].isna()
            if empty.any():
                raise DataError(
                    f"Column {name!r} is empty in {_rows(empty)}: fill it in, or fit the model "
                    "with the learner 'auto', which takes tables with empty cells."
                )
    return X.astype(dict.fromkeys(numbers, float))


def _need(table: Any, name: str, whose: str) -> None:
    if name in table.columns:
        return
    near = difflib.get_close_matches(name, list(table.columns), n=1, cutoff=NEAR)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    shown = ", ".join(map(repr, list(table.columns)[:12]))
    more = ", ..." if len(table.columns) > 12 else ""
    raise DataError(
        f"{whose} {'names' if whose == '--drop' else 'needs'} a column {name!r}, which the table "
        f"does not have.{hint} Its columns are {shown}{more}."
    )


def _rows(mask: Any) -> str:
    """Row numbers in words, counted from 0 below the header."""
    rows = np.flatnonzero(np.asarray(mask))
    if len(rows) == 1:
        return f"row {rows[0]} (counted from 0)"
    return f"{len(rows)} rows (the first is row {rows[0]}, counted from 0)"


def _example(column: Any) -> str:
    for row, value in enumerate(column.tolist()):
        if isinstance(value, str):
            return f"text ({brief(value)} in row {row}, counted from 0)"
    return f"values of type {column.dtype}"
