"""Tables of more rows than a kernel machine solves exactly, beside trees and recursive features.

Rows of results are appended as they come, and nothing is run twice: `benchmarks many_rows --run`
measures what is missing, without it the table is made from what is there. A method whose package is
not installed is not run.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from threadpoolctl import threadpool_limits

from benchmarks._row import Row
from benchmarks._stored import Cell, read, run_missing
from benchmarks.accuracy.packages import installed
from benchmarks.accuracy.peers import Rfm, Scaled, error_of
from experiments.problems import Problem, generator
from kernalign import KernelRegressor

RESULTS = Path(__file__).parent / "results" / "many_rows" / "results.jsonl"
TABLES = ("elevators", "pol", "keggdirected", "tamielectric", "skillcraft")
ARM = "robot arm"
SPLITS = 3
#: Rows of the arm to fit and to test; rows of its exact Gaussian process, and of those that its
#: parameters are learned from.
ARM_ROWS, ARM_TESTED = 27_000, 5000
EXACT_ROWS, EXACT_LEARNED = 8000, 1000
#: More rows to fit than this, and xRFM solves no system of all rows in minutes.
RFM_ROWS = 12_000
EXACT, OURS = "exact GP, 8000 rows", "kernalign"
#: The least distance that counts as the same, as a share of the best error.
NEAR = 0.03


@cache
def table(name: str) -> np.ndarray:
    path = Path(os.environ["KERNALIGN_DATA"]) / "regression" / f"{name}.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return np.array([line.strip().split(",") for line in lines][1:], dtype=float)


def split(name: str, repeat: int) -> Problem:
    """Two thirds of a table to fit, in columns of mean zero and spread one."""
    rng = generator(f"many rows {name}", repeat)
    rows = arm(rng) if name == ARM else table(name)[rng.permutation(len(table(name)))]
    n = ARM_ROWS if name == ARM else round(2 * len(rows) / 3)
    X, y = rows[:, :-1], rows[:, -1]
    spread = X[:n].std(axis=0)
    X = (X - X[:n].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return Problem((X[:n], y[:n]), (X[:0], y[:0]), (X[n:], y[n:]), "many rows")


def arm(rng: np.random.Generator) -> np.ndarray:
    """Angles of eight joints, and the distance of the end of the arm from a point, with noise."""
    angles = rng.uniform(-np.pi / 2, np.pi / 2, size=(ARM_ROWS + ARM_TESTED, 8))
    directions = 0.7 * np.cumsum(angles, axis=1)
    lengths = np.linspace(1.0, 0.3, 8)
    x = np.cos(directions) @ lengths
    y = (np.sin(directions) * np.cos(angles / 2)) @ lengths
    distance = np.hypot(x - 1, y - 0.5)
    return np.column_stack([angles, distance + 0.02 * rng.normal(size=len(x))])


class ExactProcess:
    """A Gaussian process with a bandwidth per feature on some of the rows, without approximation.

    Parameters are learned by scikit-learn from fewer rows.
    """

    def fit(self, X: np.ndarray, y: np.ndarray) -> ExactProcess:
        kernel = ConstantKernel() * RBF(2 * np.ones(X.shape[1])) + WhiteKernel(0.01)
        learned = GaussianProcessRegressor(kernel, alpha=1e-8, normalize_y=True)
        learned.fit(X[:EXACT_LEARNED], y[:EXACT_LEARNED])
        self.model = GaussianProcessRegressor(learned.kernel_, optimizer=None, normalize_y=True)
        self.model.fit(X[:EXACT_ROWS], y[:EXACT_ROWS])
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.model.predict(X)
        return found


def methods_of(name: str) -> dict[str, Callable[[], Any]]:
    """Those that can be run here."""
    found: dict[str, Callable[[], Any]] = {OURS: KernelRegressor}
    if name == ARM:
        found[EXACT] = ExactProcess
    packages = installed()
    for package in ("CatBoost", "LightGBM"):
        if package in packages:
            found[package] = partial(packages[package].make, False)
    many = name == ARM or 2 * len(table(name)) / 3 > RFM_ROWS
    if not many and importlib.util.find_spec("xrfm") is not None:
        found["xRFM tabular"] = lambda: Scaled(Rfm("tabular"))
    return found


def measured(method: str, name: str, repeat: int) -> dict[str, Any]:
    """Share of the test variance left, and processor seconds of fitting with one thread."""
    problem = split(name, repeat)
    model = methods_of(name)[method]()
    with threadpool_limits(1):
        began = time.process_time()
        model.fit(*problem.train)
        seconds = time.process_time() - began
        error = error_of(problem.test[1], model.predict(problem.test[0]))
    cell = {"method": method, "task": name, "repeat": repeat, "rows": len(problem.train[1])}
    return {**cell, "error": error, "seconds": round(seconds, 2)}


def cells(tasks: Sequence[str], methods: Sequence[str] | None) -> Iterator[Cell]:
    """Split by split."""
    for repeat in range(SPLITS):
        for task in tasks:
            for method in methods_of(task):
                if methods is None or method in methods:
                    yield method, task, repeat


def lines() -> Iterator[Row]:
    """Errors of the library beside the best of the others, on the splits of both."""
    found: dict[tuple[str, str], dict[int, tuple[float, float]]] = defaultdict(dict)
    for row in read(RESULTS):
        found[row["task"], row["method"]][row["repeat"]] = row["error"], row["seconds"]
    better = near = seen = 0
    for task in (*TABLES, ARM):
        mine = found.get((task, OURS), {})
        peers: dict[str, tuple[float, float]] = {}
        for (name, method), theirs in found.items():
            both = sorted(set(mine) & set(theirs))
            if name != task or method == OURS or not both:
                continue
            ours = np.mean([mine[r] for r in both], axis=0)
            others = np.mean([theirs[r] for r in both], axis=0)
            peers[method] = ours[0] / others[0], ours[1] / others[1]
            yield Row(
                f"{task}: % of the variance left, over {method}, {len(both)} splits",
                f"{100 * ours[0]:.2f} / {100 * others[0]:.2f}",
            )
        if not peers:
            continue
        if task == ARM:
            ratio = peers.get(EXACT, (np.nan,))[0]
            yield Row(f"{task}: over the exact Gaussian process", f"{ratio:.2f}x", "0.8x", "0.5x")
            continue
        worst = max(ratio for ratio, _ in peers.values())
        seen, near, better = seen + 1, near + (worst <= 1 + NEAR), better + (worst < 1)
        yield Row(f"{task}: over the best of {len(peers)}", f"{worst:.2f}x", f"{1 + NEAR}x")
    yield Row("tables where no other is better by more than 3 %", f"{near} of {seen}", "5", "5")
    yield Row("tables where the library is the best", f"{better} of {seen}", "3", "5")


def run(given: Sequence[str] = ()) -> Iterator[Row]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks many_rows", description=__doc__)
    parser.add_argument("--run", action="store_true", help="measure what has no row yet")
    parser.add_argument("--tasks", nargs="+", default=[*TABLES, ARM], choices=[*TABLES, ARM])
    parser.add_argument("--methods", nargs="+", metavar="NAME")
    options = parser.parse_args(list(given))
    if options.run:
        run_missing(RESULTS, cells(options.tasks, options.methods), measured)
    yield from lines()
