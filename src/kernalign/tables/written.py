"""Parse numbers written as text: decimal commas, thousands separators, currencies and percents."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernalign._typing import Array

#: Common spellings of a missing number, in lower case.
MISSING_WORDS = frozenset(
    ["", "na", "n/a", "#n/a", "nan", "null", "none", "nil", "missing", "-", "--", "?", "."]
)
_SIGNS = "$€£¥₹₽₩₺₴₪฿"
_NAMES = "USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|ZAR|TRY|KRW"
_CURRENCY = rf"(?:R\$|US\$|[{_SIGNS}]|{_NAMES}|Rs\.?|kr\.?)"
_SPACES = " \u00a0\u202f\u2009"
_SHAPE = re.compile(
    rf"(?P<open>\()?(?P<sign>[-+\u2212]?)[{_SPACES}]*(?P<before>{_CURRENCY})?[{_SPACES}]*"
    rf"(?P<inner>[-+\u2212]?)(?P<body>inf(?:inity)?|[0-9.,][0-9.,'\u2019_{_SPACES}]*?(?:e[-+]?[0-9]+)?)"
    rf"[{_SPACES}]*(?P<after>{_CURRENCY}|%)?(?P<close>\))?",
    re.IGNORECASE,
)
# A leading zero before another digit marks a code (a postal code or an article), not a number.
_WHOLE = r"(?:0|[1-9][0-9]*)"


def _body(decimal: str, marks: str) -> re.Pattern[str]:
    """Integers with or without thousands separators, then decimals and an exponent."""
    grouped = rf"[1-9][0-9]{{0,2}}(?P<mark>[{marks}])[0-9]{{3}}(?:(?P=mark)[0-9]{{3}})*"
    decimals = rf"(?:{decimal}[0-9]*)?"
    return re.compile(
        rf"(?:inf(?:inity)?|(?:{grouped}|{_WHOLE}){decimals}(?:e[-+]?[0-9]+)?"
        rf"|{decimal}[0-9]+(?:e[-+]?[0-9]+)?)",
        re.IGNORECASE,
    )


_MARKS = f"'\u2019_{_SPACES}"
#: The point is tried first: '1,234' then has a thousands separator, not three decimals.
_BODIES = {".": _body(r"\.", f",{_MARKS}"), ",": _body(",", f".{_MARKS}")}


@dataclass(frozen=True)
class Style:
    """How the numbers of a column are written.

    decimal : the decimal mark, "." or ",".
    fraction : whether the decimal mark occurs.
    grouped : whether thousands separators occur.
    unit : "%", "currency" or "".
    """

    decimal: str = "."
    fraction: bool = False
    grouped: bool = False
    unit: str = ""

    def __str__(self) -> str:
        parts = [
            *(["a decimal comma"] if self.decimal == "," and self.fraction else []),
            *(["thousands marks"] if self.grouped else []),
            *(["a currency"] if self.unit == "currency" else []),
            *(["a percent sign"] if self.unit == "%" else []),
        ]
        if not parts:
            return "numbers stored as text"
        return "numbers written with " + (
            parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
        )


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers parsed from texts.

    values : one number per text; NaN if it is missing or not a number.
    bad : True if a text is not a number.
    """

    values: Array
    bad: np.ndarray[Any, Any]
    style: Style


def read_numbers(texts: Sequence[str], decimal: str | None = None) -> Numbers:
    """Parse distinct texts as numbers, with the decimal mark that fits most of them.

    If only some cells have a percent sign, or if there are several currencies, all cells are bad,
    because their units differ.
    """
    found = [_read(texts, mark) for mark in ((decimal,) if decimal else _BODIES)]
    return min(found, key=lambda numbers: int(numbers.bad.sum()))


def looks_numeric(texts: Sequence[str], sample: int = 200) -> bool:
    """Whether half of the first texts are numbers, so that all of them should be parsed."""
    few = texts[:sample]
    return bool(few) and int(read_numbers(few).bad.sum()) <= len(few) / 2


def _read(texts: Sequence[str], decimal: str) -> Numbers:
    values = np.full(len(texts), np.nan)
    bad = np.zeros(len(texts), dtype=bool)
    grouped = fraction = False
    units: set[str] = set()
    for place, text in enumerate(texts):
        cell = text.strip()
        if cell.lower() in MISSING_WORDS:
            continue
        shape = _SHAPE.fullmatch(cell)
        body = _BODIES[decimal].fullmatch(shape["body"]) if shape else None
        if shape is None or body is None or not _balanced(shape):
            bad[place] = True
            continue
        grouped |= body["mark"] is not None
        fraction |= decimal in body[0]
        units.add((shape["before"] or shape["after"] or "").upper())
        values[place] = _number(shape, body["mark"], decimal)
    if len(units - {""}) > 1 or units == {"", "%"}:
        bad[:] = True
        return Numbers(np.full(len(texts), np.nan), bad, Style(decimal))
    unit = "%" if "%" in units else "currency" if units - {""} else ""
    return Numbers(values, bad, Style(decimal, fraction, grouped, unit))


def _balanced(shape: re.Match[str]) -> bool:
    """Whether there is at most one sign, a unit on one side only, and matching parentheses."""
    signs = bool(shape["sign"]) + bool(shape["inner"]) + bool(shape["open"])
    units = bool(shape["before"]) + bool(shape["after"])
    return signs <= 1 and units <= 1 and bool(shape["open"]) == bool(shape["close"])


def _number(shape: re.Match[str], mark: str | None, decimal: str) -> float:
    digits = shape["body"].replace(mark, "") if mark else shape["body"]
    number = float(digits.replace(decimal, "."))
    negative = shape["open"] or (shape["sign"] or shape["inner"]) in ("-", "\u2212")
    return -number if negative else number
