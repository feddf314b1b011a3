"""Determine the kind of a column, with the reason."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernalign.tables import dates, written
from kernalign.tables.cells import Cells, plain
from kernalign.tables.convert import (
    NEARLY_ALL,
    as_categories,
    as_dates,
    as_numbers,
    number_share,
    parse,
    types_held,
    wrong_cell,
)
from kernalign.tables.encoders import (
    CategoryEncoder,
    DateEncoder,
    Encoder,
    Feature,
    NumberEncoder,
    TimeEncoder,
    ranks,
)
from kernalign.tables.problems import UnusableError, shortened

#: Kinds that a user may request, besides a list of the levels of an ordered column.
ASKED = ("numeric", "ordered", "categorical", "datetime", "drop")
#: Integers are an identifier if random integers would all be distinct with less than this
#: probability.
MAX_CHANCE = 1e-6
#: Integers in this range may be years.
YEARS = (1500, 2200)
#: Text with at most this many values can be categorical, even if most values are numbers.
FEW_VALUES = 20
#: The largest integer up to which floats are exact.
EXACT = 2.0**53
_INDEX = re.compile(
    r"(unnamed(: ?\d+)?(_level_\d+)?|index|level_0|row_?names|row_?(id|no|nr|num|number|index))",
    re.I,
)
_IDENTIFIER = re.compile(r"(?i:(.*[\s_.\-])?(id|uuid|guid|key|nr|no))|.*[a-z](Id|ID)")
# A time series may have one row for each of these: they are then its trend.
_QUANTITY = re.compile(
    r"(?i:t|time.*|.*(days?|dates?|weeks?|months?|quarters?|years?|hours?|minutes?|seconds?|age"
    r"|period|rank|distance|dist))"
)


@dataclass(frozen=True)
class Column:
    """The kind of one column of a table, and its encoder.

    kind : one of "numeric", "ordered", "categorical", "boolean" and "datetime", which are used, or
        of "text", "identifier", "constant", "empty" and "dropped", which are not.
    why : the reason, in words.
    missing : the number of missing cells.
    examples : some of its values.
    encoder : encodes the cells as features; None if the column is not used.
    """

    name: str
    kind: str
    why: str
    missing: int
    examples: tuple[str, ...]
    encoder: Encoder | None = None

    @property
    def used(self) -> bool:
        return self.encoder is not None

    @property
    def features(self) -> list[Feature]:
        return self.encoder.features(self.name) if self.encoder is not None else []


def decide(cells: Cells, asked: Any, by_dtype: bool, keep: bool = False) -> Column:
    """The kind of a column and its encoder, or UnusableError.

    Parameters
    ----------
    asked : one of ASKED, the levels of an ordered column, or None.
    by_dtype : whether categorical dtypes and repeated text are categorical by default.
    keep : never drop a column because of its values; used for arrays of numbers.
    """
    if isinstance(asked, str) and asked == "drop":
        return _column(cells, "dropped", "as asked for")
    if cells.missing.all():
        return _column(cells, "empty", "all cells are missing")
    if asked is not None:
        return _as_asked(cells, asked)
    if cells.type == "category":
        if by_dtype:
            return _ordered(cells, cells.levels) if cells.levels else _categorical(cells)
        cells = _unwrapped(cells)
    if cells.type in ("text", "mixed"):
        return _from_text(cells, by_dtype)
    if cells.type == "boolean":
        return _categorical(cells, "boolean", "it holds true and false")
    if cells.type == "datetime":
        return _dated(cells)
    if cells.type == "time":
        why = "it holds times of day: sine and cosine of the day"
        return _column(cells, "datetime", why, TimeEncoder.learned(cells))
    return _number(cells, keep)


def _column(cells: Cells, kind: str, why: str, encoder: Encoder | None = None) -> Column:
    return Column(cells.name, kind, why, int(cells.missing.sum()), _examples(cells), encoder)


def _as_asked(cells: Cells, asked: Any) -> Column:
    if not isinstance(asked, str):
        return _ordered(cells, tuple(plain(level) for level in asked))
    if asked == "categorical":
        return _categorical(cells, why="as asked for")
    if asked == "ordered":
        if not cells.levels:
            raise UnusableError(
                "its order is not known: list its levels from the lowest to the highest, such as "
                f"kinds={{{cells.name!r}: ['low', 'high']}}."
            )
        return _ordered(cells, cells.levels)
    if asked == "datetime":
        return _dated(cells)
    # Parse in the style that fits most cells; the error names the first cell that does not fit.
    return _numeric(as_numbers(cells, fitting=True), _decimal(cells))


def _number(cells: Cells, keep: bool) -> Column:
    numbers = as_numbers(cells)
    if keep:
        return _numeric(numbers, None, keep=True)
    why = identifier_reason(cells.name, numbers.values[~numbers.missing])
    return _column(cells, "identifier", why) if why else _numeric(numbers, None)


def _numeric(numbers: Cells, decimal: str | None, keep: bool = False) -> Column:
    if numbers.missing.all():
        return _column(numbers, "empty", "all cells are missing")
    encoder = NumberEncoder.learned(numbers, decimal)
    if keep:
        encoder = replace(encoder, has_value=True)
    if not encoder.has_value and not encoder.has_missing:
        return _column(numbers, "constant", "it has one value")
    why = numbers.note or "it holds numbers"
    if not encoder.has_value:
        why += "; all present ones are equal, so only whether it is missing is used"
    return _column(numbers, "numeric", why, encoder)


def _ordered(cells: Cells, levels: tuple[Any, ...]) -> Column:
    codes, distinct = as_categories(cells)
    unknown = [place for place, value in enumerate(distinct) if value not in levels]
    if unknown:
        row = int(np.argmax(codes == unknown[0]))
        raise UnusableError(
            f"row {row} holds {shortened(distinct[unknown[0]])}, which is not among its levels "
            f"{', '.join(shortened(level) for level in levels[:8])}: add it to them."
        )
    encoder = NumberEncoder.learned(ranks(cells, levels), levels=levels)
    if not encoder.has_value and not encoder.has_missing:
        return _column(cells, "constant", "it has one value")
    shown = " < ".join(str(level) for level in levels[:5]) + (" < ..." if len(levels) > 5 else "")
    return _column(cells, "ordered", f"its categories have an order: {shown}", encoder)


def _categorical(cells: Cells, kind: str = "categorical", why: str = "") -> Column:
    encoder = CategoryEncoder.learned(cells)
    if encoder.count < 2:
        return _column(cells, "constant", "it has one value")
    why = why or "its dtype is categorical"
    if kind == "categorical":
        count = len(encoder.categories)
        why += f"; {count} {'category' if count == 1 else 'categories'}"
    return _column(cells, kind, why, encoder)


def _dated(cells: Cells) -> Column:
    moments, style = as_dates(cells)
    if moments.missing.all():
        return _column(cells, "empty", "all cells are missing")
    encoder = DateEncoder.learned(moments, style)
    if not encoder.has_value and not encoder.has_missing:
        return _column(cells, "constant", "it has one value")
    periods = f"a trend and its {' and '.join(encoder.periods)}" if encoder.periods else "a trend"
    return _column(moments, "datetime", f"{moments.note or 'it holds dates'}: {periods}", encoder)


def _unwrapped(cells: Cells) -> Cells:
    """A categorical column as the numbers or the text of its categories."""
    if all(isinstance(value, str) for value in cells.distinct):
        return replace(cells, type="text")
    if any(isinstance(value, str) for value in cells.distinct):
        return replace(cells, type="mixed")
    return as_numbers(cells)


def _decimal(cells: Cells) -> str | None:
    """The decimal mark of numbers written as text."""
    style = parse(cells)[1] if cells.type in ("text", "category", "mixed") else None
    return style.decimal if style else None


def _from_text(cells: Cells, by_dtype: bool) -> Column:
    if cells.type == "mixed":
        return _numeric(as_numbers(cells, fitting=True), _decimal(cells))
    if written.looks_numeric(cells.distinct):
        numbers, _ = parse(cells)
        share = number_share(cells, numbers.bad, numbers.values)
        if share == 1.0:
            read = as_numbers(cells, numbers.style.decimal)
            why = identifier_reason(cells.name, read.values[~read.missing])
            if why:
                return _column(cells, "identifier", why)
            return _numeric(read, numbers.style.decimal)
        named = _IDENTIFIER.fullmatch(cells.name.strip())
        if share >= NEARLY_ALL and len(cells.distinct) > FEW_VALUES and not named:
            raise wrong_cell(cells, numbers.bad, fitting=True)
    if dates.looks_like_dates(cells.distinct):
        return _dated(cells)
    counts = np.bincount(cells.values[cells.values >= 0], minlength=len(cells.distinct))
    return _words(cells, counts, by_dtype)


def _words(cells: Cells, counts: Any, by_dtype: bool) -> Column:
    """Text is categorical if at least half of its cells hold a value that occurs in another row."""
    present, distinct = int(counts.sum()), len(counts)
    if distinct == 1:
        return _categorical(cells, why="it is text that repeats")
    if 2 * int(counts[counts > 1].sum()) < present:
        return _column(cells, "text", f"{distinct} different texts in {present} rows")
    if not by_dtype:
        raise UnusableError(
            f"it holds {types_held(cells)} and is not among categorical_features: name it there, "
            "or drop it."
        )
    return _categorical(cells, why="it is text that repeats")


def identifier_reason(name: str, values: Any) -> str:
    """Why integers count or identify the rows; empty if they do not.

    n random integers in a range of R are all distinct with probability about exp(-n^2 / 2R). If
    that is below one in a million, the values were made to be distinct.
    """
    if len(values) < 2 or not np.all(values == np.floor(values)):
        return ""
    if _INDEX.fullmatch(name.strip()):
        return "its name and its whole numbers are those of an index"
    few = values[:2000]
    if len(np.unique(few)) < len(few) or len(np.unique(values)) < len(values):
        return ""
    if _IDENTIFIER.fullmatch(name.strip()):
        return "its name is that of an identifier, and its whole numbers are all different"
    low, high = float(values.min()), float(values.max())
    if _QUANTITY.fullmatch(name.strip()):
        return ""
    if low >= YEARS[0] and high <= YEARS[1]:
        return ""
    # Half of the range, because the whole range can exceed the largest float.
    if len(values) ** 2 > -4 * np.log(MAX_CHANCE) * min(high / 2 - low / 2 + 0.5, EXACT):
        return f"its {len(values)} whole numbers are all different and fill {low:.0f} to {high:.0f}"
    if low > EXACT:
        return "its whole numbers are all different and have 16 or more digits"
    return ""


def _examples(cells: Cells, most: int = 3) -> tuple[str, ...]:
    if cells.coded:
        return tuple(shortened(value, 20).strip("'") for value in cells.distinct[:most])
    rows = np.flatnonzero(~cells.missing)[: 10 * most]
    values = list(dict.fromkeys(cells.values[rows].tolist()))[:most]
    if cells.type == "datetime":
        return tuple(str(value).removesuffix(" 00:00:00") for value in values)
    return tuple(f"{value:.6g}" for value in values)
