"""The cells of one column, as read: numbers, dates, or codes of a list of distinct values."""

from __future__ import annotations

import datetime
import decimal
import numbers
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np

from kernalign._typing import IntArray
from kernalign.tables.problems import UnusableError, shortened

#: What the cells of a column can be.
#:   number    float64, NaN where missing
#:   datetime  datetime64[us], local time, NaT where missing
#:   time      seconds since midnight as float64, NaN where missing
#:   boolean, text, category: codes of `distinct`, -1 where missing
#:   mixed     the same, where the values have several types
TYPES = ("number", "datetime", "time", "boolean", "text", "category", "mixed")
DAY = 86400.0
#: Types of missing cells in Python, numpy and pandas, besides NaN.
MISSING = ("NoneType", "NAType", "NaTType")


@dataclass(frozen=True, eq=False)
class Cells:
    """One column of a table.

    type : one of TYPES.
    values : an array with one entry per row, as described at TYPES.
    distinct : the values that the codes stand for, in order of first appearance; empty without
        codes.
    levels : all categories in their declared order, if the table declares them as ordered.
    note : how the cells were converted; empty if they were not.
    """

    name: str
    type: str
    values: np.ndarray[Any, Any]
    distinct: tuple[Any, ...] = ()
    levels: tuple[Any, ...] = ()
    note: str = ""

    @property
    def coded(self) -> bool:
        return self.type in ("boolean", "text", "category", "mixed")

    @property
    def missing(self) -> np.ndarray[Any, Any]:
        """True where a cell is missing."""
        if self.coded:
            return self.values < 0
        empty = np.isnat(self.values) if self.type == "datetime" else np.isnan(self.values)
        return np.asarray(empty)

    def first_row(self, code: int) -> int:
        """The first row that contains a distinct value."""
        return int(np.argmax(self.values == code))

    def named(self, name: str) -> Cells:
        return replace(self, name=name)


def coded(values: Iterable[Any], size: int) -> tuple[IntArray, list[Any]]:
    """Codes in order of first appearance, and the distinct values; O(n), by hashing."""
    codes: defaultdict[Any, int] = defaultdict(count().__next__)
    return np.fromiter(map(codes.__getitem__, values), np.intp, size), list(codes)


def without_missing(codes: IntArray, distinct: list[Any]) -> tuple[IntArray, tuple[Any, ...]]:
    """The same codes with -1 for missing values; the others are numbered from 0."""
    # Values of these types are never missing, so most columns need no further check.
    if set(map(type, distinct)) <= {str, int, bool}:
        return codes, tuple(distinct)
    present = np.array([not is_missing(value) for value in distinct], dtype=bool)
    new = np.where(present, np.cumsum(present) - 1, -1)
    return new[codes], tuple(v for v, keep in zip(distinct, present, strict=True) if keep)


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN of any numeric type, NaT or pandas' NA."""
    if type(value).__name__ in MISSING:
        return True
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    if isinstance(value, decimal.Decimal):
        return value.is_nan()
    return isinstance(value, numbers.Number) and value != value


def from_objects(name: str, objects: Sequence[Any], kind: str | None = None) -> Cells:
    """Cells from Python objects, or UnusableError; `kind` "category" keeps the distinct values."""
    if bytes in set(map(type, objects)):
        objects = [v.decode("utf-8", "replace") if type(v) is bytes else v for v in objects]
    try:
        codes, distinct = coded(objects, len(objects))
    except TypeError:
        raise _nested(objects) from None
    codes, values = without_missing(codes, distinct)
    families = {family(value) for value in values}
    for code, value in enumerate(values):
        if family(value) in ("complex", "nested", "other"):
            raise _no_cell(value, int(np.argmax(codes == code)), family(value))
        if kind != "category" and family(value) == "number" and _too_large(value):
            raise UnusableError(
                f"row {int(np.argmax(codes == code))} holds {shortened(value)}, which is too large "
                "for a floating-point number: divide the column by a constant, or make the cell "
                "missing (None or NaN)."
            )
    if kind == "category":
        return Cells(name, "category", codes, tuple(map(plain, values)))
    if len(families) > 1:
        return Cells(name, "mixed", codes, values)
    return _of_one_family(name, codes, values, families.pop() if families else "number")


def _of_one_family(name: str, codes: IntArray, values: tuple[Any, ...], what: str) -> Cells:
    if what == "number":
        return Cells(name, "number", spread(codes, [to_float(v) for v in values], np.nan))
    if what == "duration":
        days = [_seconds(v) / DAY for v in values]
        return Cells(name, "number", spread(codes, days, np.nan), note="durations, in days")
    if what == "datetime":
        moments = np.array([_moment(v) for v in values], dtype="datetime64[us]")
        return Cells(name, "datetime", spread(codes, moments, np.datetime64("NaT", "us")))
    if what == "time":
        seconds = [v.hour * 3600.0 + v.minute * 60 + v.second + v.microsecond / 1e6 for v in values]
        return Cells(name, "time", spread(codes, seconds, np.nan))
    return Cells(name, what, codes, tuple(map(plain, values)))


def spread(codes: IntArray, values: Any, missing: Any) -> np.ndarray[Any, Any]:
    """values[code] in every row, and `missing` where the code is -1."""
    table = np.append(np.asarray(values), missing)
    return np.asarray(table[codes])


def family(value: Any) -> str:
    """The group of types that a value belongs to: boolean, number, text, datetime, time, duration;
    or the reason why it cannot be used."""
    if isinstance(value, bool | np.bool_):
        return "boolean"
    if isinstance(value, str):
        return "text"
    if isinstance(value, datetime.timedelta | np.timedelta64):
        return "duration"
    if isinstance(value, numbers.Real | decimal.Decimal):
        return "number"
    if isinstance(value, numbers.Complex):
        return "complex"
    if isinstance(value, datetime.date | np.datetime64) or hasattr(value, "start_time"):
        return "datetime"
    if isinstance(value, datetime.time):
        return "time"
    if hasattr(value, "left") and hasattr(value, "closed"):
        return "text"  # a pandas Interval, as created by pandas.cut
    return "nested" if isinstance(value, Iterable) else "other"


def plain(value: Any) -> Any:
    """A category as text, bool, int or float, which compare the same in every table library."""
    what = family(value)
    if what == "boolean":
        return bool(value)
    if what == "number":
        number = to_float(value)
        return int(value) if number.is_integer() else number
    return str(value)


def _too_large(value: Any) -> bool:
    """Whether a finite number has no float."""
    return bool(np.isinf(to_float(value))) and value != np.inf and value != -np.inf


def to_float(value: Any) -> float:
    """The nearest float; infinite if the number exceeds the range."""
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def _seconds(value: Any) -> float:
    if isinstance(value, np.timedelta64):
        return float(value / np.timedelta64(1, "us")) / 1e6
    return float(value.total_seconds())


def _moment(value: Any) -> Any:
    """The local date and time, without time zone."""
    start = getattr(value, "start_time", value)
    if getattr(start, "tzinfo", None) is not None:
        start = start.replace(tzinfo=None)
    return np.datetime64(start, "us")


def _nested(objects: Sequence[Any]) -> UnusableError:
    """The error for the first cell that cannot be hashed."""
    for row, value in enumerate(objects):
        try:
            hash(value)
        except TypeError:
            return _no_cell(value, row, "nested")
    return UnusableError("its cells cannot be compared: turn them into numbers or text.")


def _no_cell(value: Any, row: int, what: str) -> UnusableError:
    holds = {
        "complex": "a complex number",
        "nested": f"several values in one cell, a {type(value).__name__}",
        "other": f"an object of type {type(value).__name__}",
    }[what]
    todo = {
        "complex": "use its real and imaginary parts as two columns",
        "nested": "make a column of each value",
        "other": "turn it into a number or text",
    }[what]
    return UnusableError(
        f"row {row} holds {holds} ({shortened(value)}): {todo}, or drop the column."
    )
