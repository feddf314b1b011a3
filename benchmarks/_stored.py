"""Rows of results in a file: appended as they come, and no cell is run twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

#: Method, task, repeat.
Cell = tuple[str, str, int]


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a file; none if there is no file."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def run_missing(
    path: Path, cells: Iterable[Cell], measured: Callable[[str, str, int], dict[str, Any]]
) -> None:
    """Measure the cells that have no row."""
    done = {(row["method"], row["task"], row["repeat"]) for row in read(path)}
    path.parent.mkdir(parents=True, exist_ok=True)
    for cell in cells:
        if cell in done:
            continue
        row = measured(*cell)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
