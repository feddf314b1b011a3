"""The results file: one JSON row a line, appended whole as its cell finishes.

A run that is killed leaves every finished row and at most one torn line, which the next run cuts
off. Where a cell was run again its last row counts.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from experiments.cells import Row

#: What tells cells apart, beside the reading of the paper.
KEY = ("experiment", "task", "repeat", "method")
Key = tuple[str, str, int, str, str]


def key_of(row: Row) -> Key:
    reading = text_of(row.get("reading", {}))
    return row["experiment"], row["task"], int(row["repeat"]), row["method"], reading


def text_of(reading: dict[str, str]) -> str:
    """A reading as a part of a key: axis=choice, in the order of the axes' names."""
    return " ".join(f"{axis}={choice}" for axis, choice in sorted(reading.items()))


def read(path: Path) -> list[Row]:
    """The last row of every cell; a torn line at the end is left out."""
    if not path.exists():
        return []
    rows: dict[Key, Row] = {}
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.endswith(b"\n"):
                break
            try:
                row = json.loads(line)
                rows[key_of(row)] = row
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"{path}, line {number}, is not a row of results.") from error
    return list(rows.values())


def merged(path: Path, earlier: Path | None = None) -> list[Row]:
    """Rows of a file, and those of an earlier run for the cells that it has none of."""
    old = read(earlier) if earlier is not None else []
    return list({key_of(row): row for row in (*old, *read(path))}.values())


class ResultsFileError(RuntimeError):
    """A results file that takes no more rows."""


class ResultsFile:
    """Appends rows: a row is in the file whole or not at all."""

    def __init__(self, path: Path, descriptor: int):
        self.path = path
        self.descriptor = descriptor

    def append(self, row: Row) -> None:
        line = memoryview((json.dumps(row, default=_plain, allow_nan=True) + "\n").encode())
        whole = os.fstat(self.descriptor).st_size
        try:
            # A disk that is nearly full takes a part of the line.
            while line:
                line = line[os.write(self.descriptor, line) :]
            os.fsync(self.descriptor)
        except OSError as problem:
            os.ftruncate(self.descriptor, whole)
            raise ResultsFileError(
                f"{self.path} cannot be written: {problem.strerror}. All rows before are whole: "
                "make room, then run again, and what is missing is run."
            ) from None


@contextmanager
def opened(path: Path) -> Iterator[ResultsFile]:
    """The file for one run at a time, without what a killed run left half-written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RuntimeError(f"Another run is writing to {path}.") from None
        content = path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.ftruncate(descriptor, whole)
        yield ResultsFile(path, descriptor)
    finally:
        os.close(descriptor)


def finished(rows: Iterable[Row], retry: bool = False) -> set[Key]:
    """Cells that need not be run: all that have a row, without failures where those are retried."""
    return {key_of(row) for row in rows if not retry or row["status"] == "done"}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} has no place in a row of results.")
