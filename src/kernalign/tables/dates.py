"""Dates and times: parsing of text, and encoding as a trend and periods."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign.tables.problems import UnusableError, shortened
from kernalign.tables.written import MISSING_WORDS

Moments = np.ndarray[Any, Any]

_CLOCK = (
    r"(?:[T ]+(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})"
    r"(?::(?P<second>[0-9]{2})(?P<part>\.[0-9]+)?)?"
    r"(?: ?(?P<half>[AaPp])[Mm])?(?: ?(?:Z|UTC|[+-][0-9]{2}:?[0-9]{2}))?)?"
)
#: Year first, as in ISO 8601; otherwise the year comes last.
_YEAR_FIRST = re.compile(
    rf"(?P<y>[0-9]{{4}})(?P<s>[-/.])(?P<a>[0-9]{{1,2}})(?P=s)(?P<b>[0-9]{{1,2}}){_CLOCK}"
)
_YEAR_LAST = re.compile(
    rf"(?P<a>[0-9]{{1,2}})(?P<s>[-/.])(?P<b>[0-9]{{1,2}})(?P=s)(?P<y>[0-9]{{4}}){_CLOCK}"
)
#: Orders of day and month in a text.
ORDERS = {"ymd": "year first", "dmy": "day first", "mdy": "month first"}
#: Separators of day, month and year.
MARKS = "-./"


@dataclass(frozen=True)
class DateStyle:
    """How the dates of a column are written as text.

    order : one of ORDERS.
    marks : separators of the dates whose year comes last, in the order of MARKS.
    """

    order: str = "ymd"
    marks: str = ""

    def __str__(self) -> str:
        if self.order == "ymd":
            return "year first, such as 2020-12-31"
        mark = self.marks[:1]
        parts = ("31", "12", "2020") if self.order == "dmy" else ("12", "31", "2020")
        return f"{ORDERS[self.order]}, such as {mark.join(parts)}"


#: A period is encoded if the column covers it twice and has at least this many phases of it.
LEAST_PHASES = 3
_PHASES = 48
#: The shortest length of each period, in days.
PERIODS = {"year": 365.0, "week": 7.0, "day": 1.0}


def looks_like_dates(texts: Sequence[str], sample: int = 200) -> bool:
    """Whether the first texts look like dates."""
    few = [text for text in texts[:sample] if text.strip().lower() not in MISSING_WORDS]
    return bool(few) and all(_YEAR_FIRST.fullmatch(t.strip()) or _match_last(t) for t in few)


def _match_last(text: str) -> re.Match[str] | None:
    return _YEAR_LAST.fullmatch(text.strip())


def read_dates(texts: Sequence[str], style: DateStyle | None = None) -> tuple[Moments, DateStyle]:
    """Local dates and times of distinct texts, and how they are written.

    If the year comes last with a point as separator, the day comes first. Otherwise it is the order
    in which every text is a date; if both are possible, the month comes first, as in the USA. A
    date in another order is refused. With a style, which is that of the fit, other separators than
    its own are refused too, because they can mean another order; the year may come first.
    """
    matches = [_match(text) for text in texts]
    known = style is not None
    style = style or _style([match for match in matches if match is not None])
    moments = np.full(len(texts), np.datetime64("NaT", "us"), dtype="datetime64[us]")
    for place, (text, match) in enumerate(zip(texts, matches, strict=True)):
        if match is None:
            continue
        try:
            moments[place] = np.datetime64(_iso(match, style, known), "us")
        except ValueError:
            raise DateError(place, text, style if known else None) from None
    return moments, style


class DateError(Exception):
    """The text at this place of the list is not a date, or not one in the style of the fit."""

    def __init__(self, place: int, text: str, style: DateStyle | None) -> None:
        super().__init__(place, text)
        self.place, self.text, self.style = place, text, style

    def in_row(self, row: int) -> UnusableError:
        if self.style is not None:
            iso = "" if self.style.order == "ymd" else ", or with the year first (2020-12-31)"
            return UnusableError(
                f"row {row} holds {shortened(self.text)}, and the dates of the fit were written "
                f"{self.style}: write it like that{iso}."
            )
        return UnusableError(
            f"row {row} holds {shortened(self.text)}, which is not a date: correct it, or make it "
            "missing (None or NaN)."
        )


def _match(text: str) -> re.Match[str] | None:
    """The parts of a date; None for a missing one."""
    cell = text.strip()
    if cell.lower() in MISSING_WORDS:
        return None
    return (
        _YEAR_FIRST.fullmatch(cell)
        or _YEAR_LAST.fullmatch(cell)
        or re.fullmatch("(?P<y>.*)", cell, re.S)
    )


def _style(matches: list[re.Match[str]]) -> DateStyle:
    """The style of most texts; the other texts are then not dates."""
    order = _order(matches)
    held = {m["s"] for m in matches if m.re is _YEAR_LAST} if order != "ymd" else set()
    return DateStyle(order, "".join(mark for mark in MARKS if mark in held))


def _order(matches: list[re.Match[str]]) -> str:
    """The order of most texts."""
    last = [m for m in matches if m.re is _YEAR_LAST]
    if 2 * len(last) < len(matches) or not last:
        return "ymd"
    above = [any(int(m[part]) > 12 for m in last) for part in "ab"]
    if all(m["s"] == "." for m in last) or (above[0] and not above[1]):
        return "dmy"
    return "mdy"


def _iso(match: re.Match[str], style: DateStyle, or_iso: bool) -> str:
    """The date in ISO 8601; ValueError if it has another style, and is not year first `or_iso`."""
    year_first = match.re is _YEAR_FIRST
    if year_first:
        fits = or_iso or style.order == "ymd"
    else:
        fits = match.re is _YEAR_LAST and match["s"] in style.marks
    if not fits:
        raise ValueError(style)
    day_first = style.order == "dmy" and not year_first
    month, day = (match["b"], match["a"]) if day_first else (match["a"], match["b"])
    hour = int(match["hour"] or 0)
    if match["half"]:
        hour = hour % 12 + 12 * (match["half"] in "pP")
    clock = (
        f"{hour:02d}:{match['minute'] or '00'}:{match['second'] or '00'}{(match['part'] or '')[:7]}"
    )
    return f"{match['y']}-{int(month):02d}-{int(day):02d}T{clock}"


def phases(moments: Moments, period: str) -> Array:
    """The position of each moment within its period, in [0, 1); NaN if it is missing."""
    start = moments.astype("datetime64[Y]" if period == "year" else "datetime64[D]")
    days = (moments - start.astype("datetime64[us]")) / np.timedelta64(1, "D")
    if period == "day":
        return np.asarray(days, dtype=float)
    if period == "week":
        # 1 January 1970 was a Thursday: weeks begin on Monday.
        whole = start.astype(float) + 3
        return np.asarray(np.where(np.isnat(moments), np.nan, (whole % 7 + days) / 7), dtype=float)
    length = (start + 1).astype("datetime64[D]") - start.astype("datetime64[D]")
    return np.asarray(days / (length / np.timedelta64(1, "D")), dtype=float)


def shown_periods(moments: Moments) -> tuple[str, ...]:
    """The periods that a column covers twice, with two or more moments in each and three phases.

    Dates on the first of each month fall on all days of the week, but show only the year.
    """
    seen = np.unique(moments[~np.isnat(moments)])
    if len(seen) < LEAST_PHASES:
        return ()
    day = np.timedelta64(1, "D")
    gaps = np.diff(seen) / day
    # The last moment represents the time until the next one.
    span = (seen[-1] - seen[0]) / day + float(np.median(gaps))
    return tuple(
        period
        for period, length in PERIODS.items()
        if span >= 2 * length >= 4 * gaps.min() and _distinct_phases(seen, period) >= LEAST_PHASES
    )


def _distinct_phases(moments: Moments, period: str) -> int:
    return len(np.unique(np.round(phases(moments, period) * _PHASES).astype(int) % _PHASES))
