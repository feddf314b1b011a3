"""The default fit on many rows: search the kernel, then train a ridge machine on landmarks.

The search uses a sample. A hold-out set of rows outside the sample is excluded from a first
solution; it gives the error and calibrates probabilities. A few more steps then include all rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.base import clone

from kernalign._progress import Progress, current
from kernalign._typing import Array, IntArray
from kernalign.estimators.problem import Problem
from kernalign.estimators.searched import TUNED_ROWS, HeldOut, Searched, tuned_noise
from kernalign.estimators.stability import stability
from kernalign.estimators.steps import Costs, seconds_here
from kernalign.gram import Target
from kernalign.gram.sampling import rows_in_proportion
from kernalign.learners import KernelSearch
from kernalign.learners.base import generator
from kernalign.machines.landmark_ridge import LandmarkRidge, Sample, precision_for
from kernalign.machines.posterior import Posterior
from kernalign.rows import as_rows

#: Default number of landmarks: minimum, maximum, and rows per landmark.
MIN_LANDMARKS, MAX_LANDMARKS, ROWS_PER_LANDMARK = 2500, 4000, 2
#: Limit for stored kernel values. If all rows exceed it, rows with this share of it give a first
#: solution. Steps on all rows, which recompute kernel values, then reduce the residual to the last
#: of these numbers, relative to the first residual.
KEPT_BYTES, SAMPLE_SHARE, FINAL_TOL = 1.2e9, 0.5, 1e-2
#: Size of the hold-out set: maximum share of the rows, and maximum number.
MAX_HELD_OUT_SHARE, MAX_HELD_OUT = 0.1, 2000


def landmarks_for(n: int, asked: int | None) -> int:
    """The number of landmarks for n rows."""
    if asked is not None:
        return min(int(asked), n)
    return int(np.clip(n // ROWS_PER_LANDMARK, MIN_LANDMARKS, MAX_LANDMARKS))


def fit_landmarked(
    search: KernelSearch, problem: Problem, *, C: float | None, number: int
) -> Searched:
    """Search the kernel, solve without the hold-out set, then with all rows.

    C : given by the user; None to use the noise that the search finds.
    number : of landmarks.
    """
    X, rows, target = problem.X, as_rows(problem.X), problem.target
    progress = current()
    costs = _planned(progress, problem, number)
    learner = clone(search).fit_target(X, problem.unweighted_classes, problem.feature_names)
    progress.tick("kernel", costs.search)
    few = rows_in_proportion(target, TUNED_ROWS, generator(0))
    tuned, size = tuned_noise(learner, problem.fetched(few), C)
    held = _held_out(target, np.union1d(few, learner.rows_))
    kernel = learner.kernel_
    landmarks = _distinct(rows.take(_landmark_rows(target, held, number)))
    first = _rows_kept(target, held, kept_rows(len(landmarks), tuned.log_noise))
    part = LandmarkRidge(kernel, landmarks, rows.take(first), tuned.log_noise)
    dual = part.solve(_without(target.rows(first), np.searchsorted(first, held)))
    apart = rows.take(held)
    outputs = dual.on_rows(kernel, landmarks, problem.seen).outputs(apart)
    left_out = np.full((len(problem), *outputs.shape[1:]), np.nan)
    left_out[held] = outputs
    posterior = Posterior(1.0, part.noise, part.constant, np.array([len(first) / part.m]))
    deviations = None
    if not target.classes and outputs.ndim == 1:
        unscaled = posterior.on_rows(kernel, landmarks)(apart)
        scale = float(np.mean((problem.y[held] - outputs) ** 2) / np.mean(unscaled**2))
        deviations = np.sqrt(scale) * unscaled
        posterior = replace(posterior, scale=scale)
    progress.tick("hold-out set", costs.fold)
    if len(first) == len(problem):
        dual = part.solve(target, dual)
    else:
        everything = LandmarkRidge(kernel, landmarks, X, tuned.log_noise, keep=False)
        dual = everything.solve(target, dual, FINAL_TOL, Sample.of(part, target, first))
    progress.tick("machine", costs.machine)
    posterior = replace(posterior, weight=np.array([len(problem) / len(landmarks)]))
    model = replace(dual.on_rows(kernel, landmarks, problem.seen), index=None)
    value = 1 / (float(np.exp(tuned.log_noise)) * size)
    parts = [HeldOut(held, outputs, deviations)]
    stable = stability(kernel, len(learner.rows_), [], X)
    return Searched(learner, model, value, left_out, posterior, parts, stable, solver="nystroem")


def _planned(progress: Progress, problem: Problem, number: int) -> Costs:
    """Costs of the kernel, the hold-out set and the machine; they are added to the progress."""
    n, d = problem.X.shape
    costs = Costs.on_landmarks(n, d, number)
    steps = [costs.search, costs.fold, costs.machine]
    progress.plan(steps, f"{n} rows", seconds_here(steps) if progress.shown else None)
    return costs


def kept_rows(number: int, log_noise: float) -> int:
    """Number of rows whose kernel values with the landmarks are stored."""
    return int(KEPT_BYTES // (np.dtype(precision_for(log_noise)).itemsize * number))


def _rows_kept(target: Target, held: IntArray, most: int) -> IntArray:
    """The rows whose kernel values are stored; they include the hold-out set."""
    if len(target.weight) <= most:
        return np.arange(len(target.weight))
    number = max(int(SAMPLE_SHARE * most) - len(held), 1)
    return np.union1d(held, rows_in_proportion(target, number, generator(3)))


def _held_out(target: Target, used: IntArray) -> IntArray:
    """A hold-out set of rows that neither the kernel nor the noise was learned from."""
    n = len(target.weight)
    free = np.setdiff1d(np.arange(n), used)
    number = max(1, int(min(MAX_HELD_OUT_SHARE * n, MAX_HELD_OUT)))
    if len(free) < number:
        # Too few rows are left, which happens only if the caller lowers the limits.
        free = np.arange(n)
    rows: IntArray = free[rows_in_proportion(target.rows(free), number, generator(2))]
    return rows


def _landmark_rows(target: Target, held: IntArray, number: int) -> IntArray:
    """Rows outside the hold-out set.

    A landmark without a label of its own helps to fit the rows around it, so that the machine is
    worse there than at new rows: the error of the hold-out set would be too large.
    """
    rng = generator(1)
    drawn = np.setdiff1d(rows_in_proportion(target, number + len(held), rng), held)
    if not len(drawn):
        # All rows are held out, which happens only if there are a few.
        return rows_in_proportion(target, number, rng)
    rows: IntArray = drawn[rows_in_proportion(target.rows(drawn), number, rng)]
    return rows


def _without(target: Target, rows: IntArray) -> Target:
    weight = target.weight.copy()
    weight[rows] = 0.0
    return Target(target.values, weight, target.classes)


def _distinct(rows: Array) -> Array:
    """One of each set of equal rows."""
    _, first = np.unique(rows, axis=0, return_index=True)
    found: Array = rows[np.sort(first)]
    return found
