"""The default fit on many rows: search the kernel, then train a ridge machine by iterations.

The search uses a sample. A hold-out set of rows outside the sample is excluded from a first
solution; it gives the error and calibrates probabilities. A few more steps then include all rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.base import clone

from kernalign._progress import Progress, current
from kernalign._typing import Array, IntArray
from kernalign.estimators.landmark_solutions import Task, pairs_fit, solved
from kernalign.estimators.left_out import LeftOut
from kernalign.estimators.problem import Problem
from kernalign.estimators.searched import TUNED_ROWS, HeldOut, Searched, flat, tuned_noise
from kernalign.estimators.stability import stability
from kernalign.estimators.steps import Costs, seconds_here
from kernalign.gram import Target
from kernalign.gram.sampling import rows_in_proportion, rows_to_stratify
from kernalign.kernels import LearnedKernel
from kernalign.learners import KernelSearch
from kernalign.learners.base import generator
from kernalign.machines.posterior import Posterior, representatives
from kernalign.rows import as_rows, taken

#: Default number of landmarks: minimum, maximum, and rows per landmark.
MIN_LANDMARKS, MAX_LANDMARKS, ROWS_PER_LANDMARK = 2500, 4000, 2
#: Size of the hold-out set: maximum share of the rows, and maximum number.
MAX_HELD_OUT_SHARE, MAX_HELD_OUT = 0.1, 2000


def landmarks_for(n: int, asked: int | None) -> int:
    """The number of landmarks for n rows."""
    if asked is not None:
        return min(int(asked), n)
    return int(np.clip(n // ROWS_PER_LANDMARK, MIN_LANDMARKS, MAX_LANDMARKS))


def fit_landmarked(
    search: KernelSearch, problem: Problem, *, C: float | None, asked: int | None
) -> Searched:
    """Search the kernel, solve without the hold-out set, then with all rows.

    C : given by the user; None to use the noise that the search finds.
    asked : number of landmarks given by the user, or None.
    """
    X, target, number = problem.X, problem.target, landmarks_for(len(problem), asked)
    progress = current()
    costs = _planned(progress, problem, number, asked is None)
    learner = clone(search).fit_target(X, problem.unweighted_classes, problem.feature_names)
    progress.tick("kernel", costs.search)
    kernel = learner.kernel_
    few = rows_in_proportion(target, TUNED_ROWS, generator(0))
    held = _held_out(target, np.union1d(few, learner.rows_))
    rows = problem.fetched(few)
    size = mean_size(kernel, rows.X, rows.target)
    log_noise = float(np.log(learner.noise_ if C is None else 1 / (C * size)))
    task = Task(kernel, X, target, held, log_noise, C is None)
    found = solved(task, number, grow=asked is None, many=number > MAX_LANDMARKS)
    landmarks, outputs = found.landmarks, flat(found.outputs)
    used = representatives(landmarks)
    weight = np.array([len(problem) / len(used)])
    posterior = Posterior(1.0, found.noise, found.constant, weight * found.share)
    deviations = None
    if not target.classes and outputs.ndim == 1:
        # Deviations are those of the evidence: the machine may have less noise than the rows.
        tuned, _ = tuned_noise(learner, rows, C)
        noise = found.noise / found.noise_factor * float(np.exp(tuned.log_noise - log_noise))
        posterior = replace(posterior, noise=noise)
        unscaled = posterior.on_rows(kernel, used)(as_rows(X).take(held))
        missed = taken(problem.y, held) - outputs
        scale = float(np.mean(missed**2) / np.mean(unscaled**2))
        deviations = np.sqrt(scale) * unscaled
        posterior = replace(posterior, scale=scale)
    progress.tick("hold-out set", costs.fold)
    dual = found.on_all_rows()
    progress.tick("machine", costs.machine)
    posterior = replace(posterior, weight=weight)
    model = replace(dual.on_rows(kernel, landmarks, problem.seen), index=None)
    value = 1 / (float(np.exp(log_noise)) * size * found.noise_factor)
    parts = [HeldOut(held, outputs, deviations)]
    stable = stability(kernel, len(learner.rows_), [], X)
    left_out = LeftOut(held, outputs)
    return Searched(
        learner, model, value, left_out, posterior, parts, stable, found.solver, found.machine
    )


def mean_size(kernel: LearnedKernel, X: Array, target: Target) -> float:
    """The mean diagonal of a kernel on some rows, the unit of the noise; 1 if it is zero."""
    return float(target.weight @ kernel.diag(X)) / target.total or 1.0


def _planned(progress: Progress, problem: Problem, number: int, any_number: bool) -> Costs:
    """Costs of the kernel, the hold-out set and the machine; they are added to the progress."""
    n, d = problem.X.shape
    all_rows = any_number and pairs_fit(n, np.float32)
    costs = Costs.on_all_rows(n, d) if all_rows else Costs.on_landmarks(n, d, number)
    steps = [costs.search, costs.fold, costs.machine]
    progress.plan(steps, f"{n} rows", seconds_here(steps) if progress.shown else None)
    return costs


def _held_out(target: Target, used: IntArray) -> IntArray:
    """A hold-out set of rows that neither the kernel nor the noise was learned from."""
    number = max(1, int(min(MAX_HELD_OUT_SHARE * len(target.weight), MAX_HELD_OUT)))
    return _rows_without(target, used, number, generator(2))


def _rows_without(
    target: Target, used: IntArray, number: int, rng: np.random.Generator
) -> IntArray:
    """A stratified sample of at most so many rows that are not among those used."""
    n = len(target.weight)
    pool = rows_to_stratify(n, number + len(used), rng)
    pool = np.arange(n) if pool is None else pool
    free = np.setdiff1d(pool, used)
    if not len(free):
        # All rows are used, which happens only if the caller lowers the limits.
        free = pool
    rows: IntArray = free[rows_in_proportion(target.rows(free), number, rng)]
    return rows
