"""Time of the default fit: beside CatBoost, beside one bandwidth, with two threads, when busy.

Ratios are medians over data sets, measured in turn. Processor time is compared with one thread.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._clusters import clusters
from benchmarks._row import Row
from benchmarks.accuracy.packages import catboost
from experiments import generators
from kernalign import ContinuousAlignment, KernelClassifier

ROOT = Path(__file__).parents[1]
REPEATS = 3
#: Rows -> the share of CatBoost's time that is the bar, and the goal.
AGAINST_CATBOOST = {
    300: ("0.5x", "0.3x"),
    1000: ("1x", "0.5x"),
    2000: ("2x", "1x"),
    4000: ("3x", "1.5x"),
    10_000: ("4x", "2x"),
}
#: All features matter alike: a single bandwidth is what should be chosen.
ALIKE: dict[str, Callable[[np.random.Generator], generators.Rows]] = {
    "ringnorm, n=1000": partial(generators.ringnorm, 1000),
    "50-d Gaussians, n=300": partial(generators.gaussians50, 300, 0.0),
}
BUSY_LOOPS = 2


def run() -> Iterator[Row]:
    with threadpool_limits(1):
        _processor_time(KernelClassifier(), *clusters(100, seed=0))
        yield from _against_catboost()
        yield from _against_one_bandwidth()
    yield from _two_threads()
    yield from _busy()


def _processor_time(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start


def _against_catboost() -> Iterator[Row]:
    if importlib.util.find_spec("catboost") is None:
        yield Row("default fit / CatBoost: catboost is not installed", "skipped")
        return
    for n, (bar, goal) in AGAINST_CATBOOST.items():
        ours, theirs = [], []
        for seed in range(REPEATS):
            X, y = clusters(n, seed)
            ours.append(_processor_time(KernelClassifier(), X, y))
            theirs.append(_processor_time(catboost(classes=True), X, y))
        ratio = float(np.median(np.divide(ours, theirs)))
        seconds = f"{np.median(ours):.1f} s and {np.median(theirs):.1f} s"
        yield Row(f"default fit / CatBoost, n={n}, d=20 ({seconds})", f"{ratio:.2f}x", bar, goal)


def _against_one_bandwidth() -> Iterator[Row]:
    for name, make in ALIKE.items():
        ratios, single = [], 0
        for seed in range(REPEATS):
            X, y = make(np.random.default_rng(seed))
            model = KernelClassifier()
            ours = _processor_time(model, X, y)
            ratios.append(ours / _processor_time(KernelClassifier(ContinuousAlignment()), X, y))
            single += all(k.sigma.size == 1 for k in model.kernel_.kernels)
        what = f"default fit / one bandwidth, {name} (chosen {single} times of {REPEATS})"
        yield Row(what, f"{np.median(ratios):.1f}x", "3x", "1.5x")


def _two_threads() -> Iterator[Row]:
    faster = [
        _cell(2000, seed, 1)["clock"] / _cell(2000, seed, 2)["clock"] for seed in range(REPEATS)
    ]
    what = "n=2000, clock time with one thread / with two (an idle machine)"
    yield Row(what, f"{np.median(faster):.2f}x", "1.6x", "1.9x")


def _busy() -> Iterator[Row]:
    ratios = []
    for seed in range(REPEATS):
        idle = _cell(300, seed, 2)["processor"]
        with ExitStack() as loops:
            for _ in range(BUSY_LOOPS):
                loop = subprocess.Popen([sys.executable, "-c", "while True: pass"])
                loops.callback(loop.wait)
                loops.callback(loop.kill)
            ratios.append(_cell(300, seed, 2)["processor"] / idle)
    what = f"n=300, two threads, processor time beside {BUSY_LOOPS} busy loops / idle"
    yield Row(what, f"{np.median(ratios):.2f}x", "1.3x", "1.1x")


def _cell(n: int, seed: int, threads: int) -> dict[str, float]:
    """The default fit in a new process that may use so many threads."""
    limits = {name: str(threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    command = [sys.executable, "-m", "benchmarks.default_fit_cell", str(n), str(seed)]
    done = subprocess.run(
        command, check=True, capture_output=True, cwd=ROOT, env={**os.environ, **limits}
    )
    return json.loads(done.stdout)
