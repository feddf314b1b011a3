"""Intervals at 90 %: coverage and mean width on public tables, beside other packages.

Rows of results are appended as they come, and nothing is run twice: `benchmarks intervals --run`
measures what is missing, without it the table is made from what is there.
"""

from __future__ import annotations

import argparse
import gzip
import os
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._row import Row
from benchmarks._stored import Cell, read, run_missing
from experiments.problems import generator

RESULTS = Path(__file__).parent / "results" / "intervals" / "results.jsonl"
NAMES = (
    "servo",
    "autompg",
    "stock",
    "pendulum",
    "concrete",
    "skillcraft",
    "elevators",
    "pol",
    "tamielectric",
    "keggdirected",
)
COVERAGE = 0.9
#: Rows to fit and to test at most: two thirds of the rows and the others where there are fewer.
MOST, TESTED = 250, 1000
#: Splits; of methods that take long, fewer.
SPLITS, FEW = 20, 4
SLOW = ("MAPIE CV+ on kernalign",)
#: A method is valid on a table where it covers at least so much.
VALID = 0.88


def split(name: str, repeat: int) -> tuple[np.ndarray, ...]:
    """X, y, X_test, y_test of a table in random order."""
    path = Path(os.environ["KERNALIGN_DATA"]) / "regression" / f"{name}.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        table = np.array([line.strip().split(",") for line in lines][1:], dtype=float)
    table = table[generator(f"intervals {name}", repeat).permutation(len(table))]
    n = min(round(2 * len(table) / 3), MOST)
    train, test = table[:n], table[n : n + TESTED]
    return train[:, :-1], train[:, -1], test[:, :-1], test[:, -1]


def measured(method: str, name: str, repeat: int) -> dict[str, Any]:
    """Coverage, width in deviations of the test response, and processor time of one cell."""
    from benchmarks.intervals_peers import ends_of

    X, y, X_new, y_new = split(name, repeat)
    began = time.process_time()
    low, high = ends_of(method, X, y, X_new, COVERAGE)
    return {
        "method": method,
        "task": name,
        "repeat": repeat,
        "rows": len(y),
        "coverage": float(np.mean((low <= y_new) & (y_new <= high))),
        "width": float(np.mean(high - low) / y_new.std()),
        "seconds": time.process_time() - began,
    }


def cells(methods: Sequence[str], tasks: Sequence[str]) -> Iterator[Cell]:
    """Split by split; fewer of methods that take long."""
    for repeat in range(SPLITS):
        for task in tasks:
            for method in methods:
                if method not in SLOW or repeat < FEW:
                    yield method, task, repeat


def table() -> Iterator[Row]:
    """Coverage of the library and its width beside the best valid peer, on the splits of both."""
    found: dict[tuple[str, str], dict[int, tuple[float, float]]] = defaultdict(dict)
    for row in read(RESULTS):
        found[row["method"], row["task"]][row["repeat"]] = row["coverage"], row["width"]
    methods = sorted({method for method, _ in found} - {"kernalign"})
    for task in NAMES:
        mine = found.get(("kernalign", task))
        if not mine:
            continue
        covered = 100 * float(np.mean([c for c, _ in mine.values()]))
        yield Row(f"{task}: coverage, {len(mine)} splits", f"{covered:.1f} %", "88-93 %", "89-92 %")
        best = (np.inf, "")
        for method in methods:
            both = sorted(set(mine) & set(found[method, task]))
            if not both:
                continue
            theirs = np.array([found[method, task][r] for r in both])
            ratio = np.mean([mine[r][1] for r in both]) / theirs[:, 1].mean()
            cover = theirs[:, 0].mean()
            what = f"{task}: width over {method} ({100 * cover:.0f} %)"
            yield Row(what, f"{ratio:.2f}", "" if cover >= VALID else "not valid")
            if cover >= VALID:
                best = min(best, (1 / ratio, method))
        yield Row(f"{task}: width over the best valid peer", f"{1 / best[0]:.2f}", "1", "0.9")


def run(given: Sequence[str] = ()) -> Iterator[Row]:
    from benchmarks.intervals_peers import METHODS

    parser = argparse.ArgumentParser(prog="python -m benchmarks intervals", description=__doc__)
    parser.add_argument("--run", action="store_true", help="measure what has no row yet")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--tasks", nargs="+", default=list(NAMES), choices=NAMES)
    options = parser.parse_args(list(given))
    if options.run:
        run_missing(RESULTS, cells(options.methods, options.tasks), measured)
    yield from table()
