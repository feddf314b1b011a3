"""Encode the cells of a column as features: numbers, categories, ranks and dates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign.tables.cells import DAY, Cells, family, spread
from kernalign.tables.convert import WHAT, as_categories, as_dates, as_numbers
from kernalign.tables.dates import DateStyle, phases, shown_periods
from kernalign.tables.problems import UnusableError, shortened

#: Interquartile range of a normal distribution with standard deviation 1.
NORMAL_IQR = 1.349


@dataclass(frozen=True)
class Feature:
    """One column of the encoded matrix.

    name : unique in the matrix.
    column : the column of the table that it encodes.
    state : which part of the column it encodes: "value", "category", "missing", "trend", or a
        period ("year", "week", "day"), whose sine and cosine are two features.
    codes : the number of codes seen in `fit`, if the values are codes of categories, which can only
        be equal or different; 0 if the values are numbers.
    scale : a robust scale: the interquartile range divided by 1.349, or the standard deviation if
        the range is zero. 1 for codes.
    """

    name: str
    column: str
    state: str
    codes: int = 0
    scale: float = 1.0

    @property
    def is_code(self) -> bool:
        return self.codes > 0


@dataclass(frozen=True, eq=False)
class Block:
    """The features of one column: a matrix, and a mask of missing cells."""

    matrix: Array
    missing: np.ndarray[Any, Any]


def robust_scale(values: Array) -> float:
    """Interquartile range / 1.349, or the standard deviation if the range is zero."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0.0:
        return 1.0
    # Avoids overflow of the largest and underflow of the smallest floats.
    unit = values / largest
    low, high = np.quantile(unit, [0.25, 0.75])
    scale = float((high - low) / NORMAL_IQR or unit.std()) * largest
    return scale if scale > 0.0 else 1.0


@dataclass(frozen=True)
class NumberEncoder:
    """Encode a number as its value, with the median for missing cells, and a missing indicator.

    decimal : the decimal mark of numbers written as text.
    levels : the categories in their order, if the numbers are their ranks.
    has_value : False if all present values are equal, so that only the indicator is informative.
    """

    median: float
    scale: float
    has_value: bool
    has_missing: bool
    decimal: str | None = None
    levels: tuple[Any, ...] = ()

    @classmethod
    def learned(
        cls, cells: Cells, decimal: str | None = None, levels: tuple[Any, ...] = ()
    ) -> NumberEncoder:
        """Learn the median, the scale and whether cells are missing."""
        empty = cells.missing
        values = cells.values[~empty]
        return cls(
            # The lower of the two middle values: their mean could overflow.
            median=float(np.quantile(values, 0.5, method="lower")),
            scale=robust_scale(values),
            has_value=bool(values.min() < values.max()),
            has_missing=bool(empty.any()),
            decimal=decimal,
            levels=levels,
        )

    def features(self, column: str) -> list[Feature]:
        value = Feature(column, column, "value", scale=self.scale)
        return [*([value] if self.has_value else []), *_indicator(column, self.has_missing)]

    def encode(self, cells: Cells) -> Block:
        numbers = ranks(cells, self.levels) if self.levels else as_numbers(cells, self.decimal)
        empty = numbers.missing
        values = np.where(empty, self.median, numbers.values)
        parts = [*([values] if self.has_value else []), *([empty] if self.has_missing else [])]
        return Block(np.column_stack(parts).astype(float), empty)


def ranks(cells: Cells, levels: tuple[Any, ...]) -> Cells:
    """The position of each cell in the order; a value that is not in the order is missing."""
    codes, distinct = as_categories(cells)
    place = {level: float(rank) for rank, level in enumerate(levels)}
    values = spread(codes, [place.get(value, np.nan) for value in distinct], np.nan)
    return Cells(cells.name, "number", values.astype(float))


def _indicator(column: str, present: bool) -> list[Feature]:
    return [Feature(f"{column} is missing", column, "missing", codes=2)] if present else []


@dataclass(frozen=True)
class CategoryEncoder:
    """Encode categories as codes 0, 1, ...; a missing cell is the last category.

    A category that did not occur in `fit` gets a code that no other category has.
    """

    categories: tuple[Any, ...]
    has_missing: bool

    @classmethod
    def learned(cls, cells: Cells) -> CategoryEncoder:
        """Learn the categories that occur."""
        codes, distinct = as_categories(cells)
        return cls(distinct, bool((codes < 0).any()))

    @property
    def count(self) -> int:
        return len(self.categories) + self.has_missing

    def features(self, column: str) -> list[Feature]:
        return [Feature(column, column, "category", codes=self.count)]

    def encode(self, cells: Cells) -> Block:
        codes, distinct = as_categories(cells)
        self._check_type(cells, distinct)
        seen = {category: code for code, category in enumerate(self.categories)}
        # The code for missing is the last one in the fit, or the next one after it.
        missing = len(self.categories)
        beyond = iter(range(missing + 1, missing + 1 + len(distinct)))
        new = [seen[v] if v in seen else next(beyond) for v in distinct]
        matrix = spread(codes, np.asarray(new, dtype=float), float(missing))
        return Block(matrix[:, None], codes < 0)

    def _check_type(self, cells: Cells, distinct: tuple[Any, ...]) -> None:
        """Refuse to compare text with numbers: '501' is not 501."""
        was, now = (
            {isinstance(value, str) for value in values} for values in (self.categories, distinct)
        )
        if len(was) == len(now) == 1 and was != now:
            held, got = (
                f"{WHAT[family(values[0])]} (such as {shortened(values[0])})"
                for values in (self.categories, distinct)
            )
            raise UnusableError(f"it held {held} in the fit, and now it holds {got}.")


@dataclass(frozen=True)
class DateEncoder:
    """Encode a date as days since the median date, sine and cosine of periods, and an indicator.

    style : how the dates are written in text.
    """

    median: int
    scale: float
    periods: tuple[str, ...]
    has_value: bool
    has_missing: bool
    style: DateStyle

    @classmethod
    def learned(cls, cells: Cells, style: DateStyle) -> DateEncoder:
        """Learn the median date, the scale, and the periods that the dates cover."""
        empty = cells.missing
        moments = np.sort(cells.values[~empty])
        median = int(moments[(len(moments) - 1) // 2].astype(np.int64))
        return cls(
            median=median,
            scale=robust_scale(_days_since(moments, median)),
            periods=shown_periods(moments),
            has_value=bool(moments[0] < moments[-1]),
            has_missing=bool(empty.any()),
            style=style,
        )

    def features(self, column: str) -> list[Feature]:
        trend = Feature(f"{column} (trend)", column, "trend", scale=self.scale)
        waves = [
            Feature(f"{column} ({period}, {wave})", column, period, scale=0.5**0.5)
            for period in self.periods
            for wave in ("sine", "cosine")
        ]
        indicator = _indicator(column, self.has_missing)
        return [*([trend] if self.has_value else []), *waves, *indicator]

    def encode(self, cells: Cells) -> Block:
        moments = as_dates(cells, self.style)[0].values
        empty = np.isnat(moments)
        parts = [_days_since(moments, self.median)] if self.has_value else []
        for period in self.periods:
            parts.extend(_waves(phases(moments, period)))
        # A missing date is encoded as the median date, at the centre of each circle.
        parts = [np.where(empty, 0.0, part) for part in parts]
        parts += [empty] if self.has_missing else []
        return Block(np.column_stack(parts).astype(float), empty)


def _days_since(moments: Any, origin: int) -> Array:
    return np.asarray((moments - np.datetime64(origin, "us")) / np.timedelta64(1, "D"), dtype=float)


def _waves(phase: Array) -> list[Array]:
    return [np.sin(2 * np.pi * phase), np.cos(2 * np.pi * phase)]


@dataclass(frozen=True)
class TimeEncoder:
    """Encode a time of day as sine and cosine, and a missing indicator."""

    has_missing: bool

    @classmethod
    def learned(cls, cells: Cells) -> TimeEncoder:
        return cls(bool(cells.missing.any()))

    def features(self, column: str) -> list[Feature]:
        waves = [
            Feature(f"{column} (day, {wave})", column, "day", scale=0.5**0.5)
            for wave in ("sine", "cosine")
        ]
        return [*waves, *_indicator(column, self.has_missing)]

    def encode(self, cells: Cells) -> Block:
        if cells.type != "time" and not cells.missing.all():
            raise UnusableError(
                f"it held times of day in the fit, and now it holds {WHAT[cells.type]}."
            )
        empty = cells.missing
        phase = (np.zeros(len(empty)) if empty.all() else cells.values) / DAY
        parts = [np.where(empty, 0.0, wave) for wave in _waves(phase)]
        parts += [empty] if self.has_missing else []
        return Block(np.column_stack(parts).astype(float), empty)


Encoder = NumberEncoder | CategoryEncoder | DateEncoder | TimeEncoder
