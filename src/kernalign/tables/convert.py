"""Convert cells to numbers, dates or categories, or explain why that is not possible."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kernalign._typing import IntArray
from kernalign.tables import dates, written
from kernalign.tables.cells import Cells, family, plain, spread, to_float
from kernalign.tables.dates import DateStyle
from kernalign.tables.problems import UnusableError, counted, listed, rows_of, shortened

#: A text column with at least this share of numbers is numeric with a few wrong cells.
NEARLY_ALL = 0.9
MARKS = {",": "comma, such as 12,50,", ".": "point, such as 12.50,"}
WHAT = {
    "number": "numbers",
    "datetime": "dates",
    "time": "times of day",
    "boolean": "true/false",
    "text": "text",
    "category": "categories",
    "duration": "durations",
    "mixed": "values of several types",
}


def as_numbers(cells: Cells, decimal: str | None = None, fitting: bool = False) -> Cells:
    """The cells as numbers; UnusableError if one is not a number, or infinite.

    fitting : whether the column may still be used as categories instead.
    """
    if cells.type in ("number", "time"):
        result = replace(cells, type="number")
    elif cells.type == "boolean":
        result = _spread(cells, [float(value) for value in cells.distinct])
    elif cells.type == "datetime":
        raise UnusableError("it holds dates, and numbers are needed.")
    else:
        result = _parsed(cells, decimal, fitting)
    infinite = np.isinf(result.values)
    if infinite.any():
        large = "" if cells.type == "number" else ", or too large for a floating-point number,"
        raise UnusableError(
            f"it is infinite{large} in {rows_of(infinite)}: replace infinities by numbers, or make "
            "them missing (None or NaN)."
        )
    return result


def _spread(cells: Cells, values: Any, note: str = "") -> Cells:
    array = spread(cells.values, np.asarray(values, dtype=float), np.nan)
    return Cells(cells.name, "number", array, note=note)


def _parsed(cells: Cells, decimal: str | None, fitting: bool) -> Cells:
    numbers, style = parse(cells, decimal)
    if numbers.bad.any():
        raise wrong_cell(cells, numbers.bad, fitting, decimal)
    words = [shortened(cells.distinct[place]) for place in np.flatnonzero(np.isnan(numbers.values))]
    missing = f"; {listed(words, 3)} as missing" if words else ""
    return _spread(cells, numbers.values, f"{style}{missing}" if style else "")


def parse(cells: Cells, decimal: str | None = None) -> tuple[written.Numbers, Any]:
    """The distinct values as numbers, and the style of those that are text (None if none are)."""
    texts = [place for place, v in enumerate(cells.distinct) if family(v) == "text"]
    values = np.full(len(cells.distinct), np.nan)
    bad = np.zeros(len(cells.distinct), dtype=bool)
    read = written.read_numbers([cells.distinct[place] for place in texts], decimal)
    values[texts], bad[texts] = read.values, read.bad
    for place, value in enumerate(cells.distinct):
        if family(value) == "number":
            values[place] = to_float(value)
        elif family(value) != "text":
            bad[place] = True
    return written.Numbers(values, bad, read.style), read.style if texts else None


def no_number(cells: Cells) -> UnusableError | None:
    """Why a column cannot be an array of numbers; None if it can."""
    if not cells.coded:
        usable = cells.type == "number"
        held = f"it holds {WHAT[cells.type]}, and numbers are needed."
        return None if usable else UnusableError(held)
    bad = np.array([not _is_float(value) for value in cells.distinct], dtype=bool)
    return wrong_cell(cells, bad, fitting=False) if bad.any() else None


def _is_float(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def wrong_cell(cells: Cells, bad: Any, fitting: bool, decimal: str | None = None) -> UnusableError:
    """The error for cells that are not numbers in a numeric column.

    decimal : the decimal mark that numbers must have, because they had it in the fit.
    """
    style = f" Numbers had a decimal {MARKS[decimal]} in the fit." if decimal else ""
    as_categories = f", or use it as categories: kinds={{{cells.name!r}: 'categorical'}}"
    mask = spread(cells.values, bad, False).astype(bool)
    wrong, present = int(mask.sum()), int((cells.values >= 0).sum())
    if 2 * wrong >= present:
        todo = f": convert it{as_categories}" if fitting else ""
        return UnusableError(f"it holds {types_held(cells)}, and numbers are needed{todo}.{style}")
    row = int(np.argmax(mask))
    value = shortened(cells.distinct[cells.values[row]])
    others = f" (and {counted(wrong - 1, 'more cell')})" if wrong > 1 else ""
    missing = "make the cell missing (None or NaN)"
    todo = f", {missing}{as_categories}" if fitting else f", or {missing}"
    return UnusableError(
        f"it holds numbers, but row {row} holds {value}{others}: write a number there{todo}.{style}"
    )


def types_held(cells: Cells) -> str:
    """The types of the cells with their first rows: "text (row 0: 'a') and numbers (row 2: 3)"."""
    first: dict[str, int] = {}
    for code, value in enumerate(cells.distinct):
        first.setdefault(family(value), code)
    return listed(
        [
            f"{WHAT.get(what, what)} (row {cells.first_row(code)}: "
            f"{shortened(cells.distinct[code])})"
            for what, code in first.items()
        ]
    )


def number_share(cells: Cells, bad: Any, values: Any) -> float:
    """The share of non-empty cells that are numbers."""
    counts = np.bincount(cells.values[cells.values >= 0], minlength=len(bad))
    good = int(counts[~bad & ~np.isnan(values)].sum())
    return good / max(good + int(counts[bad].sum()), 1)


def as_dates(cells: Cells, style: DateStyle | None = None) -> tuple[Cells, DateStyle]:
    """The cells as dates, and how they are written in text; or UnusableError.

    style : how they were written in the fit.
    """
    if cells.type == "datetime":
        return cells, style or DateStyle()
    if cells.type in ("number", "time") and cells.missing.all():
        nothing = np.full(len(cells.values), np.datetime64("NaT", "us"))
        return Cells(cells.name, "datetime", nothing), style or DateStyle()
    texts = cells.type in ("text", "category", "mixed")
    if not texts or not all(isinstance(value, str) for value in cells.distinct):
        raise UnusableError(f"it holds {WHAT[cells.type]}, and dates are needed.")
    try:
        moments, style = dates.read_dates(cells.distinct, style)
    except dates.DateError as problem:
        raise problem.in_row(cells.first_row(problem.place)) from None
    values = spread(cells.values, moments, np.datetime64("NaT", "us"))
    note = f"dates stored as text, {dates.ORDERS[style.order]}"
    return Cells(cells.name, "datetime", values, note=note), style


def as_categories(cells: Cells) -> tuple[IntArray, tuple[Any, ...]]:
    """Codes, -1 for missing cells, and the categories that they stand for."""
    if cells.type == "mixed":
        return cells.values, tuple(map(plain, cells.distinct))
    if cells.coded:
        return cells.values, cells.distinct
    empty = cells.missing
    distinct, inverse = np.unique(cells.values[~empty], return_inverse=True)
    codes = np.full(len(cells.values), -1, dtype=np.intp)
    codes[~empty] = inverse
    if cells.type == "datetime":
        return codes, tuple(str(moment) for moment in distinct)
    return codes, tuple(plain(value) for value in distinct.tolist())
