"""Output of the commands: lines of text or one JSON object, and progress on a terminal."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import sys
from collections.abc import Iterator
from typing import Any

from kernalign._progress import Progress, watched
from kernalign.cli.errors import OutputError

#: Maximum length of a message: a cell of a table can be very long.
LONGEST = 2000


class Console:
    """Lines on standard output; with `as_json` only the object given to `result`."""

    def __init__(self, as_json: bool = False, quiet: bool = False):
        self.as_json = as_json
        self.quiet = quiet
        self._collected: list[dict[str, Any]] | None = None

    def say(self, line: str = "") -> None:
        """Print a line of text."""
        if not (self.as_json or self.quiet):
            self.write(f"{line}\n")

    def warn(self, line: str) -> None:
        """Print a note on standard error."""
        if not (self.as_json or self.quiet):
            _complain(f"{shortened(line)}\n")

    def write(self, text: str) -> None:
        """Write to standard output; OutputError if that fails."""
        try:
            # The stream is None if the shell closed it.
            if sys.stdout is None:
                raise OSError(errno.EBADF, "it is closed")
            sys.stdout.write(text)
            sys.stdout.flush()
        except (OSError, ValueError) as problem:
            reason = getattr(problem, "strerror", None) or str(problem)
            _give_up_on_output()
            raise OutputError(f"Standard output cannot be written: {reason}.") from None

    def result(self, **values: Any) -> None:
        """Print the JSON object, with --json."""
        if self._collected is not None:
            self._collected.append(values)
        elif self.as_json:
            self.write(json.dumps(_plain(values)) + "\n")

    @contextlib.contextmanager
    def collecting(self) -> Iterator[list[dict[str, Any]]]:
        """Collect the results of the commands inside in a list, for a single JSON object."""
        self._collected = []
        try:
            yield self._collected
        finally:
            self._collected = None

    def error(self, message: str, code: int) -> None:
        message = shortened(message)
        if self.as_json:
            with contextlib.suppress(OutputError):
                self.result(error=message, exit_code=code)
        else:
            _complain(f"kernalign: {message}\n")

    def progress(self, what: str) -> contextlib.AbstractContextManager[Progress]:
        """Progress on standard error, where that is a terminal."""
        terminal = sys.stderr is not None and sys.stderr.isatty()
        shown = terminal and not (self.as_json or self.quiet)
        return watched(Progress(what, shown=shown, kept=False))


def shortened(message: str) -> str:
    """A message on one line; the middle of a long one is cut out."""
    line = " ".join(message.split())
    if len(line) <= LONGEST:
        return line
    half = (LONGEST - 7) // 2
    return f"{line[:half]} [...] {line[-half:]}"


def _complain(text: str) -> None:
    """Write to standard error, ignoring a closed stream."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(text)
        sys.stderr.flush()


def _give_up_on_output() -> None:
    """Prevent Python from flushing the closed stream, with an error, at exit."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _plain(value: Any) -> Any:
    """Values that JSON can represent: no NaN, no infinity, no numpy numbers."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
