"""Test error and time of a fit beside what people would use instead.

Peers that are not installed are left out. What has been measured is kept in out/peers.json, so
that a run which was stopped goes on where it was; remove the file to measure anew. With all peers
installed the table goes to docs/measured/peers.rst, which the documentation shows.
"""

from __future__ import annotations

import importlib.util
import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, make_moons
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks import _clusters
from benchmarks import _peer_methods as methods
from benchmarks._row import Row
from benchmarks.sine import sine_problem

SEEDS = 3
ROOT = Path(__file__).parents[1]
TABLE = ROOT / "docs" / "measured" / "peers.rst"
KEPT = ROOT / "out" / "peers.json"

Data = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Method:
    name: str
    fit: Callable[[np.ndarray, np.ndarray], methods.Predict]
    #: Packages it needs beyond kernalign's own.
    needs: tuple[str, ...] = ()
    #: Whether it is meant for a single feature, or for several; None for both.
    one_feature: bool | None = None


METHODS = (
    Method("kernalign", methods.by_default),
    Method("kernalign, one bandwidth", methods.one_bandwidth),
    Method("kernalign, CA-nD", methods.one_per_feature, one_feature=False),
    Method("kernalign, frequencies", methods.frequencies, one_feature=True),
    Method("GridSearchCV(SVC)", methods.grid_search),
    Method("MKLpy EasyMKL", methods.easy_mkl, ("MKLpy", "cvxopt", "torch")),
    Method("xRFM, defaults", methods.xrfm_default, ("xrfm", "torch")),
    Method("xRFM, tuned", methods.xrfm_tuned, ("xrfm", "torch")),
    Method("GPyTorch, one per feature", methods.gpytorch_ard, ("gpytorch", "torch")),
)


def moons(seed: int) -> Data:
    X, y = make_moons(3000, noise=0.2, random_state=seed)
    noise = np.random.default_rng(seed).standard_normal((3000, 48))
    return _cut(np.hstack([X, noise]), y, 1000)


def clusters(seed: int) -> Data:
    return _cut(*_clusters.clusters(5000, seed), 1000)


def breast_cancer(seed: int) -> Data:
    X, y = load_breast_cancer(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, train_size=284, stratify=y, random_state=seed)
    return X, y, X_test, y_test


def sines(seed: int) -> Data:
    X, y = sine_problem(2500, np.random.default_rng(seed))
    return _cut(X, (y > 0).astype(int), 500)


def _cut(X: np.ndarray, y: np.ndarray, n: int) -> Data:
    return X[:n], y[:n], X[n:], y[n:]


TASKS = {
    "two moons + 48 noise features, n = 1000": moons,
    "20 features, n = 1000": clusters,
    "breast cancer, n = 284": breast_cancer,
    "sines, n = 500": sines,
}


def missing(method: Method) -> list[str]:
    return [name for name in method.needs if importlib.util.find_spec(name) is None]


def measure(method: Method, task: Callable[[int], Data], seed: int) -> tuple[float, float]:
    """Test error in % and processor seconds of the fit."""
    X, y, X_test, y_test = task(seed)
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    start = time.process_time()
    predict = method.fit(X, y)
    seconds = time.process_time() - start
    return 100 * float(np.mean(predict(X_test) != y_test)), seconds


@dataclass
class Cell:
    """Means over the data sets 0 .. repeats - 1 of a task."""

    error: float = 0.0
    seconds: float = 0.0
    repeats: int = 0

    def add(self, error: float, seconds: float) -> None:
        self.repeats += 1
        self.error += (error - self.error) / self.repeats
        self.seconds += (seconds - self.seconds) / self.repeats


Cells = dict[tuple[str, str], Cell]


def kept() -> Cells:
    if not KEPT.exists():
        return {}
    return {(task, method): Cell(*cell) for task, method, *cell in json.loads(KEPT.read_text())}


def keep(cells: Cells) -> None:
    KEPT.parent.mkdir(exist_ok=True)
    rows = [[*key, cell.error, cell.seconds, cell.repeats] for key, cell in cells.items()]
    KEPT.write_text(json.dumps(rows, indent=1))


def run() -> Iterator[Row]:
    absent = sorted({name for method in METHODS for name in missing(method)})
    cells = kept()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        one_torch_thread()
        # Every task and method once before any of them twice: a run that is stopped has them all.
        for seed in range(SEEDS):
            for task, data in TASKS.items():
                one = data(0)[0].shape[1] == 1
                for method in METHODS:
                    if missing(method) or method.one_feature not in (None, one):
                        continue
                    cell = cells.setdefault((task, method.name), Cell())
                    if cell.repeats > seed:
                        continue
                    cell.add(*measure(method, data, seed))
                    keep(cells)
                    if not absent:
                        TABLE.write_text(table(cells), encoding="utf-8")
    for (task, name), cell in cells.items():
        what = f"{task.split(',')[0]}: {name}"
        yield Row(what, f"{cell.error:.1f} %", f"{cell.seconds:.1f} s")
    if absent:
        yield Row(f"table not written, not installed: {', '.join(absent)}", "skipped")
    else:
        yield Row(f"table written to {TABLE.relative_to(ROOT)}", "done")


def one_torch_thread() -> None:
    """Processor seconds compare only on one thread each."""
    if importlib.util.find_spec("torch") is not None:
        import torch

        torch.set_num_threads(1)


def table(cells: Cells) -> str:
    """A list-table: a method a row, a task a column, error and seconds in a cell."""
    lines = [
        ".. This file is written by: python -m benchmarks peers",
        "",
        ".. list-table::",
        "   :header-rows: 1",
        "   :stub-columns: 1",
        "   :widths: 24 20 20 18 18",
        "   :class: peers",
        "",
        "   * - ",
        *(f"     - {task}" for task in TASKS),
    ]
    for method in METHODS:
        lines.append(f"   * - {method.name}")
        lines += [f"     -{shown(cells, task, method.name)}" for task in TASKS]
    lines.append("   * - data sets")
    lines += [f"     - {repeats(cells, task)}" for task in TASKS]
    packages = ["kernalign", "scikit-learn", "MKLpy", "xrfm", "gpytorch", "torch"]
    used = ", ".join(f"{name} {version(name)}" for name in packages)
    lines += ["", f"Test error and processor seconds, means over the data sets. {used}.", ""]
    return "\n".join(lines)


def shown(cells: Cells, task: str, method: str) -> str:
    cell = cells.get((task, method), Cell())
    if not cell.repeats:
        return ""
    least = min(c.error for (name, _), c in cells.items() if name == task and c.repeats)
    error = f"{cell.error:.1f} %"
    if cell.error == least:
        error = f"**{error}**"
    return f" {error}, {cell.seconds:.{1 if cell.seconds >= 0.1 else 2}f} s"


def repeats(cells: Cells, task: str) -> str:
    found = sorted({cell.repeats for (name, _), cell in cells.items() if name == task} - {0})
    return " to ".join(map(str, sorted({found[0], found[-1]}))) if found else ""
