"""Errors about tables: one message lists every column that cannot be used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

#: Values are cut to this many characters in messages and displays.
LONGEST_VALUE = 30


class UnusableError(Exception):
    """Why one column cannot be used, and what to do; never leaves this package."""


def shortened(value: Any, longest: int = LONGEST_VALUE) -> str:
    """The repr of a value on one line, cut after `longest` characters."""
    try:
        text = value if isinstance(value, str) else str(value)
    except Exception:  # the repr of a user's own object may fail in any way
        text = f"<{type(value).__name__}>"
    # The slice comes first, because the text of a cell can be megabytes long.
    text = " ".join(text[: 4 * longest].split())
    text = text if len(text) <= longest else text[: longest - 3] + "..."
    return repr(text) if isinstance(value, str) else text


def listed(items: Sequence[str], most: int = 5) -> str:
    """'a', 'a and b', 'a, b and c', 'a, b, c, d, e and 7 more'."""
    shown = list(items[:most])
    if len(items) > most:
        shown.append(f"{len(items) - most} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def rows_of(mask: Any) -> str:
    """Which rows a mask marks: 'row 3', 'rows 3 and 7', 'rows 0, 1, 2, 3, 4 and 95 more'."""
    rows = np.flatnonzero(mask)
    return f"{'row' if len(rows) == 1 else 'rows'} {listed([str(row) for row in rows])}"


def counted(number: int, noun: str) -> str:
    """'1 row', '2 rows'."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def raise_all(problems: Sequence[tuple[str, str]], total: int) -> None:
    """Raise one ValueError for all (column, reason and remedy), if there are any."""
    if not problems:
        return
    if len(problems) == 1:
        name, why = problems[0]
        counting = " (Rows are counted from 0.)" if "row" in why else ""
        raise ValueError(f"Column {name!r} cannot be used: {why}{counting}")
    lines = "\n".join(f"- {name!r}: {why}" for name, why in problems)
    raise ValueError(
        f"{len(problems)} of {counted(total, 'column')} cannot be used (rows are counted from 0):\n"
        f"{lines}"
    )
