"""Progress of a fit, written to standard error.

A terminal or a notebook shows one line that is overwritten. Other streams, such as a log file, get
one line per step. A fit that runs inside other work, such as the fits of a cross-validation, counts
as one step of that work.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from threading import Lock
from typing import Any


class Progress:
    """Counts planned and finished steps and estimates the remaining time.

    shown : whether anything is written.
    kept : whether the last line remains on the screen.
    """

    def __init__(self, title: str, *, shown: bool, kept: bool = True, stream: Any = None):
        self.title = title
        self.shown = shown
        self.kept = kept
        self.total = self.done = 0
        self._stream = stream
        self._costs = self._spent = 0.0
        self._seconds: float | None = None
        self._began = time.perf_counter()
        self._width = 0
        self._lock = Lock()

    def plan(
        self, costs: int | Sequence[float], about: str = "", seconds: float | None = None
    ) -> None:
        """Add steps to the plan: their number, or the relative cost of each.

        about : what the steps work on; it is added to the title.
        seconds : estimated total time of the steps, if known.
        """
        costs = [1.0] * costs if isinstance(costs, int) else costs
        with self._lock:
            self.title += f", {about}" if about else ""
            self.total += len(costs)
            self._costs += float(sum(costs))
            self._seconds = seconds
            self._write(self.line())

    def tick(self, what: str = "", cost: float = 1.0) -> None:
        """Count one finished step."""
        with self._lock:
            self.done += 1
            self._spent += cost
            self._write(self.line(what))

    def reach(self, done: int) -> None:
        """Count steps as finished until `done` of them are."""
        while self.done < done:
            self.tick()

    def seconds_left(self) -> float | None:
        """Remaining time at the pace so far; before the first step, the initial estimate."""
        if not self._spent:
            return self._seconds
        spent = time.perf_counter() - self._began
        return max(0.0, spent * (self._costs - self._spent) / self._spent)

    def line(self, what: str = "") -> str:
        """The line that is shown now."""
        if not self.total:
            return self.title
        plural = "step" if self.total == 1 else "steps"
        left = self.seconds_left()
        if not self.done:
            guess = "" if left is None else f", about {duration(left)}"
            return f"{self.title}: {self.total} {plural}{guess}"
        last = f" ({what})" if what else ""
        far = f"{self.title}: {self.done} of {self.total} {plural}{last}"
        return (
            far
            if self.done >= self.total or left is None
            else f"{far}, about {duration(left)} left"
        )

    def close(self) -> None:
        """Write the total time, or clear the line if it is not kept."""
        if not self.shown:
            return
        spent = time.perf_counter() - self._began
        self._write(f"{self.title}: done in {spent:.1f} s" if self.kept else "")
        if self._width and rewrites(self._out):
            self._send("\n" if self.kept else "\r")

    @property
    def _out(self) -> Any:
        return sys.stderr if self._stream is None else self._stream

    def _write(self, line: str) -> None:
        if not self.shown:
            return
        if rewrites(self._out):
            # Spaces erase a longer previous line: notebooks support no other way.
            self._send(f"\r{line.ljust(self._width)}")
            self._width = max(self._width, len(line))
        elif line:
            self._send(f"{line}\n")

    def _send(self, text: str) -> None:
        """Write, and ignore a closed or missing stream: the fit must not fail because of it."""
        with suppress(OSError, ValueError, AttributeError):
            self._out.write(text)
            self._out.flush()


def rewrites(stream: Any) -> bool:
    """Whether a line of this stream can be overwritten: on a terminal or in a notebook."""
    if type(stream).__module__.startswith("ipykernel"):
        return True
    with suppress(ValueError, AttributeError):
        return bool(stream.isatty())
    # The stream is closed or missing.
    return False


def duration(seconds: float) -> str:
    """A duration in seconds, minutes or hours."""
    if seconds < 90:
        return f"{max(1, math.ceil(seconds))} s"
    if seconds < 5400:
        return f"{math.ceil(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"


#: The progress of the work that encloses the caller.
_current: ContextVar[Progress | None] = ContextVar("progress", default=None)


def current() -> Progress:
    """The progress of the enclosing work, or a hidden one."""
    return _current.get() or Progress("", shown=False)


@contextmanager
def watched(progress: Progress) -> Iterator[Progress]:
    """Show a progress during the work inside, unless that work is part of another progress."""
    outer = _current.get()
    if outer is not None:
        yield outer
        return
    token = _current.set(progress)
    try:
        yield progress
    finally:
        _current.reset(token)
        progress.close()


@contextmanager
def one_step(what: str = "", cost: float = 1.0) -> Iterator[None]:
    """Count everything inside as one step of the enclosing progress."""
    outer = current()
    token = _current.set(Progress("", shown=False))
    try:
        yield
    finally:
        _current.reset(token)
    outer.tick(what, cost)
