"""Learning one bandwidth against computing a single Gram matrix, and the gain of threads and of
compiled loops in sums over pairs and in kernel values of rows and landmarks.

Rows about two threads need two idle cores. Rows about compiled loops need numba.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from importlib.util import find_spec
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

from benchmarks._row import Row, median_ratio
from kernalign import ContinuousAlignment, Gaussian, Laplacian, LearnedKernel, Matern, _compiled
from kernalign.gram import Target
from kernalign.gram.semigroup import SemigroupPass
from kernalign.gram.tiles import pass_over_pairs
from kernalign.kernels import Family
from kernalign.machines.landmark_values import LandmarkValues

#: Rows of the pass of which threads are compared: about the fewest for which compiled loops pay.
ROWS = 12_000
#: Landmarks of these rows.
LANDMARKS = 4000
D, REPEATS = 20, 5
#: Whether compiled loops are used.
LOOPS = {"compiled": True, "numpy": False}


def run() -> Iterator[Row]:
    X = np.random.default_rng(0).standard_normal((ROWS, D))
    yield _against_one_gram_matrix(X[:5000])
    loops = LOOPS if find_spec("numba") else {"numpy": False}
    families: list[Family] = [Gaussian(), Laplacian()]
    for family in families:
        whole = _pass(family, X)
        for name, use in loops.items():
            what = f"pass over pairs, {family}, n={ROWS}: one thread / two, {name}"
            yield Row(what, f"{_one_to_two(whole, use):.2f}x", "1.7x", "1.9x")
        yield from _gain(f"pass over pairs, {family}", whole, loops)
    many: list[Family] = [Gaussian(True), Matern(1.5, True), Laplacian(True)]
    for family in many:
        values = _landmark_values(family, X)
        what = f"landmarks, {type(family).__name__}"
        for name, use in loops.items():
            yield Row(
                f"{what}: one thread / two, {name}", f"{_one_to_two(values, use):.2f}x", "1.7x"
            )
        yield from _gain(what, values, loops)


def _labels(X: Any) -> Any:
    noise = np.random.default_rng(1).standard_normal(len(X))
    return np.sign(X[:, 0] * X[:, 1] + 0.5 * noise)


def _against_one_gram_matrix(X: Any) -> Row:
    y, learner = _labels(X), ContinuousAlignment()
    ratio = median_ratio(lambda: learner.fit(X, y), lambda: rbf_kernel(X), repeats=7)
    what = f"fit, n={len(X)}, d=20, {len(learner.history_)} iterations, / one rbf_kernel"
    return Row(what, f"{ratio:.1f}x", "5x", "2x")


def _pass(family: Any, X: Any) -> Callable[[], Any]:
    """A pass over all pairs with as many nodes as a fit has."""
    gamma = 2.0 ** (np.arange(-20, 15) / family.nodes_per_octave)
    target = Target(_labels(X)[:, None], np.ones(len(X)))
    this = SemigroupPass(family.resolve(X), gamma, gamma.size, saved=1.0)
    return lambda: pass_over_pairs(this, X, target)


def _landmark_values(family: Any, X: Any) -> Callable[[], Any]:
    """One pass of an iterative machine: K'K a, in single precision."""
    Z = np.random.default_rng(2).standard_normal((LANDMARKS, D))
    kernel = LearnedKernel([family.resolve(X).at(*np.full(D, 5.0))], np.ones(1))
    values = LandmarkValues(kernel, Z, 0.1, np.float32, saved=1.0)
    a = np.random.default_rng(3).standard_normal((LANDMARKS, 1)).astype(np.float32)

    def product(_: slice, block: Any) -> Any:
        return block.T @ (block @ a)

    return lambda: sum(part for _, part in values.blocks(X, product))


def _using(use: bool) -> AbstractContextManager[Any]:
    return patch.object(_compiled, "START_UP", _compiled.START_UP if use else np.inf)


def _in_threads(function: Callable[[], Any], threads: int, use: bool) -> Any:
    with threadpool_limits(threads, user_api="blas"), _using(use):
        return function()


def _one_to_two(function: Callable[[], Any], use: bool) -> float:
    one, two = (partial(_in_threads, function, threads, use) for threads in (1, 2))
    return median_ratio(one, two, REPEATS)


def _gain(what: str, function: Callable[[], Any], loops: dict[str, bool]) -> Iterator[Row]:
    """What compiled loops save, by the clock."""
    if len(loops) == 1:
        return
    for threads in (1, 2):
        slow, fast = (partial(_in_threads, function, threads, use) for use in (False, True))
        ratio = median_ratio(slow, fast, REPEATS)
        yield Row(f"{what}, threads {threads}: numpy / compiled", f"{ratio:.2f}x")
