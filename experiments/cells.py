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

    tasks : repeat -> problem, by name; with `choices`, (repeat, **choice) -> problem.
    methods : problem -> Fitted, or problem -> dict of what to record, by name. A method with an
        `axis` returns one Fitted for each choice on it.
    only : methods of a task that does not run all of them.
    resolution : frequencies nearer to each other than this count as one cluster.
    choices : the readings of the paper in which the tasks differ, axis -> choice each.
    """

    name: str
    title: str
    tasks: dict[str, Callable[[int], Problem]]
    methods: dict[str, Callable[[Problem], Any]]
    only: dict[str, Sequence[str]] = field(default_factory=dict)
    resolution: float | None = None
    choices: Sequence[dict[str, str]] = ({},)

    def pairs(self) -> list[tuple[str, str]]:
        """(task, method) of every cell of a repeat."""
        return [
            (task, name)
            for task in self.tasks
            for name in self.only.get(task, self.methods)
            if name in self.methods
        ]

    def readings_of(self, method: str, choice: dict[str, str]) -> list[dict[str, str]]:
        """The readings of the rows that one cell gives: one, unless the method has an axis."""
        function = self.methods[method]
        axis = getattr(function, "axis", None)
        return [choice] if axis is None else [{**choice, axis: s} for s in function.scores]

    def restricted(
        self,
        tasks: Sequence[str] | None = None,
        methods: Sequence[str] | None = None,
        reading: dict[str, str] | None = None,
    ) -> Experiment:
        """The same with some tasks, methods and readings only."""
        kept_tasks = {n: t for n, t in self.tasks.items() if tasks is None or n in tasks}
        kept = {n: m for n, m in self.methods.items() if methods is None or n in methods}
        wanted = reading or {}
        choices = [c for c in self.choices if all(c.get(a, w) == w for a, w in wanted.items())]
        return replace(self, tasks=kept_tasks, methods=kept, choices=choices)


class CellTimeout(BaseException):
    """Not an Exception: code that catches those must not swallow it."""


def run_cell(
    experiment: Experiment,
    task: str,
    repeat: int,
    method: str,
    timeout: float | None = None,
    choice: dict[str, str] | None = None,
) -> list[Row]:
    """The rows of a cell: status done, failed or timeout, never an exception."""
    choice = choice or {}
    cell: Row = {"experiment": experiment.name, "task": task, "repeat": repeat, "method": method}
    rows = [
        {**cell, "reading": reading} if reading else dict(cell)
        for reading in experiment.readings_of(method, choice)
    ]
    began = time.perf_counter()
    try:
        with time_limit(timeout), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with threadpool_limits(1):
                found = measure(experiment, task, repeat, method, choice)
        said = sorted({f"{w.category.__name__}: {w.message}"[:200] for w in caught})
        for row, one in zip(rows, found, strict=True):
            row |= {**one, "status": "done", **({"warnings": said} if said else {})}
    except CellTimeout:
        for row in rows:
            row |= {"status": "timeout", "error_message": f"stopped after {timeout:g} s"}
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{last.filename.rpartition('/')[2]}:{last.lineno}"
        message = f"{type(error).__name__}: {error} ({where})"
        for row in rows:
            row |= {"status": "failed", "error_message": message[:500]}
    wall = round((time.perf_counter() - began) / len(rows), 4)
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return [row | {"wall": wall, "at": at, **surroundings()} for row in rows]


def measure(
    experiment: Experiment, task: str, repeat: int, method: str, choice: dict[str, str]
) -> list[Row]:
    """What one cell records, in the order of `Experiment.readings_of`."""
    problem = experiment.tasks[task](repeat, **choice)
    function = experiment.methods[method]
    start = time.process_time()
    fitted = function(problem)
    seconds = time.process_time() - start
    row: Row = {"data": problem.source}
    if isinstance(fitted, Fitted):
        extra = iterations_of(function, problem, fitted)
        found = evaluate(fitted, problem, experiment.resolution)
        return [{**row, "seconds": round(seconds, 5), **found, **extra}]
    if getattr(function, "axis", None) is None:
        return [{**row, "seconds": round(seconds, 5), **fitted}]
    return [
        {**row, "seconds": round(one.seconds, 5), **evaluate(one, problem, experiment.resolution)}
        for one in fitted.values()
    ]


def iterations_of(function: Any, problem: Problem, fitted: Fitted) -> Row:
    """Iterations of the method at the C that it chose, where it counts any."""
    count = getattr(function, "iterations", lambda *_: None)(problem, fitted.C)
    return {} if count is None else {"iterations": count}


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
