"""One line of a benchmark's table."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """A figure beside the bar it must reach and the goal it aims at."""

    what: str
    measured: str
    bar: str = ""
    goal: str = ""


def seconds(function: Callable[[], Any]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def median_ratio(first: Callable[[], Any], second: Callable[[], Any], repeats: int) -> float:
    """Median of time(first) / time(second), measured in turn so that noise hits both."""
    first(), second()
    ratios = sorted(seconds(first) / seconds(second) for _ in range(repeats))
    return ratios[repeats // 2]
