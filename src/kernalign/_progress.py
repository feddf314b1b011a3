"""How far a fit is, on standard error: a line that rewrites itself, or plain lines.

A terminal and a notebook show one line that is written over. Elsewhere, as in a log file, each step
has a line of its own. The progress of a fit inside another piece of work, such as the fits of a
cross-validation, is a step of the work around it.
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
    """Steps that are planned and done, and the time that the rest will take.

    shown : whether anything is written.
    kept : whether the last line stays.
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
        """So many steps follow, or steps of these relative costs.

        about : what they are done to, for the title.
        seconds : that they may take together, if there is a guess.
        """
        costs = [1.0] * costs if isinstance(costs, int) else costs
        with self._lock:
            self.title += f", {about}" if about else ""
            self.total += len(costs)
            self._costs += float(sum(costs))
            self._seconds = seconds
            self._write(self.line())

    def tick(self, what: str = "", cost: float = 1.0) -> None:
        """One more step is done."""
        with self._lock:
            self.done += 1
            self._spent += cost
            self._write(self.line(what))

    def reach(self, done: int) -> None:
        """So many steps are done, or were not needed."""
        while self.done < done:
            self.tick()

    def seconds_left(self) -> float | None:
        """By the pace so far; before the first step, the guess."""
        if not self._spent:
            return self._seconds
        spent = time.perf_counter() - self._began
        return max(0.0, spent * (self._costs - self._spent) / self._spent)

    def line(self, what: str = "") -> str:
        """What is shown now."""
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
        """The time it took, or nothing where the line does not stay."""
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
            # Spaces rub out what was longer: a notebook knows no other way.
            self._send(f"\r{line.ljust(self._width)}")
            self._width = max(self._width, len(line))
        elif line:
            self._send(f"{line}\n")

    def _send(self, text: str) -> None:
        """Nobody may read it: a fit does not end because its progress cannot be shown."""
        with suppress(OSError, ValueError, AttributeError):
            self._out.write(text)
            self._out.flush()


def rewrites(stream: Any) -> bool:
    """Whether a line can be written over: on a terminal, and in a notebook."""
    if type(stream).__module__.startswith("ipykernel"):
        return True
    with suppress(ValueError, AttributeError):
        return bool(stream.isatty())
    # It is closed, or there is none.
    return False


def duration(seconds: float) -> str:
    """A time as a person says it."""
    if seconds < 90:
        return f"{max(1, math.ceil(seconds))} s"
    if seconds < 5400:
        return f"{math.ceil(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"


#: The progress of the work that encloses the caller.
_current: ContextVar[Progress | None] = ContextVar("progress", default=None)


def current() -> Progress:
    """The progress that encloses the caller, or one that nobody sees."""
    return _current.get() or Progress("", shown=False)


@contextmanager
def watched(progress: Progress) -> Iterator[Progress]:
    """Show a progress while the work inside adds to it, unless it is inside another."""
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
    """What happens inside is one step of the progress that encloses it."""
    outer = current()
    token = _current.set(Progress("", shown=False))
    try:
        yield
    finally:
        _current.reset(token)
    outer.tick(what, cost)
