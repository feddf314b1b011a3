"""One cell: fit one method on one repeat of one task and measure it, whatever happens.

Seconds of fitting hold everything up to the final machine, the choice of C included, and nothing of
the evaluation on the test rows. They are seconds of the processor, since cells run beside each
other with a thread each; `wall` is what a cell took by the clock, evaluation included.
"""

from __future__ import annotations

import platform
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import scipy
import sklearn
from threadpoolctl import threadpool_limits

import kernalign
from experiments.methods import Fitted, alignment_on, error_of
from experiments.problems import Problem

#: A kernel counts when its weight exceeds this share of the largest.
COUNTED = 1e-3
#: Parameters of up to this many kernels are kept in a row.
KEPT = 120

Row = dict[str, Any]


@dataclass(frozen=True)
class Experiment:
    """Tasks and methods, every combination of which is run.

    tasks : repeat -> problem, by name.
    methods : problem -> Fitted, or problem -> dict of what to record, by name.
    only : methods of a task that does not run all of them.
    resolution : frequencies nearer to each other than this count as one cluster.
    """

    name: str
    title: str
    tasks: dict[str, Callable[[int], Problem]]
    methods: dict[str, Callable[[Problem], Any]]
    only: dict[str, Sequence[str]] = field(default_factory=dict)
    resolution: float | None = None

    def pairs(self) -> list[tuple[str, str]]:
        """(task, method) of every cell of a repeat."""
        return [
            (task, name)
            for task in self.tasks
            for name in self.only.get(task, self.methods)
            if name in self.methods
        ]

    def restricted(
        self, tasks: Sequence[str] | None = None, methods: Sequence[str] | None = None
    ) -> Experiment:
        """The same with some tasks and methods only."""
        kept_tasks = {n: t for n, t in self.tasks.items() if tasks is None or n in tasks}
        kept = {n: m for n, m in self.methods.items() if methods is None or n in methods}
        return replace(self, tasks=kept_tasks, methods=kept)


class CellTimeout(BaseException):
    """Not an Exception: code that catches those must not swallow it."""


def run_cell(
    experiment: Experiment, task: str, repeat: int, method: str, timeout: float | None = None
) -> Row:
    """The row of a cell: status done, failed or timeout, never an exception."""
    row: Row = {"experiment": experiment.name, "task": task, "repeat": repeat, "method": method}
    began = time.perf_counter()
    try:
        with time_limit(timeout), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with threadpool_limits(1):
                row |= measure(experiment, task, repeat, method)
        row["status"] = "done"
        said = sorted({f"{w.category.__name__}: {w.message}"[:200] for w in caught})
        if said:
            row["warnings"] = said
    except CellTimeout:
        row |= {"status": "timeout", "error_message": f"stopped after {timeout:g} s"}
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{last.filename.rpartition('/')[2]}:{last.lineno}"
        message = f"{type(error).__name__}: {error} ({where})"
        row |= {"status": "failed", "error_message": message[:500]}
    row["wall"] = round(time.perf_counter() - began, 4)
    return row | {"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), **surroundings()}


def measure(experiment: Experiment, task: str, repeat: int, method: str) -> Row:
    problem = experiment.tasks[task](repeat)
    start = time.process_time()
    fitted = experiment.methods[method](problem)
    row: Row = {"data": problem.source, "seconds": round(time.process_time() - start, 5)}
    if not isinstance(fitted, Fitted):
        return row | fitted
    return row | evaluate(fitted, problem, experiment.resolution)


def evaluate(fitted: Fitted, problem: Problem, resolution: float | None) -> Row:
    """Test error, alignments and size of the kernel."""
    X, y = problem.test
    kernel = fitted.kernel
    weights = np.asarray(kernel.weights, dtype=float)
    counted = np.flatnonzero(weights > COUNTED * weights.max())
    row: Row = {
        "learning": round(fitted.learning, 5),
        "error": error_of(fitted.machine.predict(kernel(X, problem.train[0])), y),
        "validation_error": fitted.validation_error,
        "alignment": alignment_on(kernel, problem.test),
        "train_alignment": fitted.train_alignment,
        "C": fitted.C,
        "n_kernels": len(counted),
        "n_test": len(y),
        **fitted.extra,
    }
    sigmas = [kernel.kernels[int(k)].sigma for k in counted]
    if len(sigmas) <= KEPT and all(s.size == 1 for s in sigmas):
        row["sigmas"] = [round(float(s[0]), 5) for s in sigmas]
        row["weights"] = (weights[counted] / weights[counted].sum()).round(5)
        if resolution is not None:
            row["n_clusters"] = int((np.diff(np.sort(row["sigmas"])) > resolution).sum()) + 1
    return row


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise CellTimeout in the block after so many seconds.

    Only a main thread can be interrupted; elsewhere (threads of a cluster's workers) cells run on.
    """
    main = threading.current_thread() is threading.main_thread()
    if seconds is None or not main or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: Any) -> None:
        raise CellTimeout

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@cache
def surroundings() -> Row:
    """Versions and machine."""
    versions = {
        "kernalign": kernalign.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "python": platform.python_version(),
    }
    return {"versions": versions, "machine": f"{platform.system()} {_processor()}"}


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            names = [line.partition(":")[2].strip() for line in info if "model name" in line]
    except OSError:
        names = []
    return f"{len(names)} x {names[0]}" if names else platform.machine()
