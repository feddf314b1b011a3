"""The machine of the default fit on many rows: solved without the hold-out set, then with all rows.

- If the number of landmarks is not given and kernel values of all pairs of rows fit in memory, all
  rows are landmarks: `StoredRidge`. With little noise, landmarks are tried, too.
- Up to 4000 landmarks: `LandmarkRidge`. If kernel values of all rows take too much memory, a part
  of the rows gives the first solution.
- If the number of landmarks is not given and these kernel values do fit, further blocks of
  landmarks are added while they lower the error of the hold-out set.
- A larger given number, for rows in memory: `BlockRidge`.

For classes, each of them is the start of Newton steps of logistic regression on the first
landmarks (`logistic_solutions`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from kernalign._typing import Array, IntArray
from kernalign.estimators.landmark_rows import first_landmarks, further_landmarks, in_order
from kernalign.estimators.landmark_task import Solution, Task
from kernalign.estimators.logistic_solutions import Trial, chosen
from kernalign.gram import Target
from kernalign.gram.sampling import rows_in_proportion, stratified_order
from kernalign.kernels.converted import converted
from kernalign.learners.base import generator
from kernalign.machines.block_ridge import BlockRidge, Descent, block_size, mean_of
from kernalign.machines.landmark_logistic import LandmarkLogistic, Start
from kernalign.machines.landmark_ridge import LandmarkRidge, Sample
from kernalign.machines.model import DualModel
from kernalign.machines.stored_ridge import StoredRidge
from kernalign.rows import as_rows

#: Limit for stored kernel values. If all rows exceed it, rows with this share of it give a first
#: solution. Steps on all rows, which recompute kernel values, then reduce the residual to the last
#: of these numbers, relative to the first residual.
KEPT_BYTES, SAMPLE_SHARE, FINAL_TOL = 1.2e9, 0.5, 1e-2
#: Limit for kernel values of all pairs of rows, and the smallest noise, in units of the kernel, for
#: them: with less noise, conjugate gradients converge slowly. If this is more than the last number
#: times the noise of the task, landmarks may be better.
PAIR_BYTES, MIN_PAIR_NOISE, SIMILAR_NOISE = 1.2e9, 2e-3, 4.0
#: Maximum number of landmarks in a block, and bytes of its kernel values with all rows. Two blocks
#: are in memory at a time.
BLOCK_LANDMARKS, BLOCK_BYTES = 4000, 2.4e9
#: Maximum number of sweeps without the hold-out set, and then with all rows.
SWEEPS, FINAL_SWEEPS = 2, 1
#: A block of landmarks is added if it lowers the squared error of the hold-out set by this share,
#: up to this number of landmarks. On six problems, the first further block lowered it by less than
#: 0.4 %, and more landmarks hardly changed the test error; or by 3 to 5 %, and they lowered the
#: test error by 5 to 18 % (benchmarks/README.md).
MIN_GAIN, MAX_GROWN = 0.01, 16_000
#: Number of landmarks of logistic regression where all rows are landmarks of the ridge machine.
LOGISTIC_LANDMARKS = 2500
LOGISTIC = "logistic regression"


def solved(task: Task, number: int, *, grow: bool, many: bool) -> Solution:
    """The machine on any number of landmarks; for classes, of the better of two losses.

    grow : whether the number of landmarks may change; many : whether they are more than a block.
    """
    if many and as_rows(task.X).in_memory:
        found = solved_in_blocks(task, number)
    else:
        found = solved_together(task, number, grow=grow)
    if found.trial is None:
        return found
    better = chosen(found.trial, found.outputs, task.target.rows(task.held))
    # Without its trial, kernel values of the machine that is not used are not kept in memory.
    found = replace(found, trial=None)
    if better is None:
        return found
    return replace(
        found,
        outputs=better.outputs,
        on_all_rows=better.on_all_rows,
        machine=LOGISTIC,
        noise_factor=found.noise_factor * better.share,
    )


def solved_together(task: Task, number: int, *, grow: bool) -> Solution:
    """The machine on all rows if their pairs fit, otherwise on a block of landmarks.

    If there is too little noise for all rows, both are solved, that on all rows with more noise,
    and the one of lower error on the hold-out set is used. So are they if the iterations on all
    rows do not converge.

    grow : whether the number of landmarks may change: all rows, or further blocks while they lower
        the error.
    """
    if not (grow and pairs_fit(len(task.X), task.precision)):
        return solved_on_landmarks(task, number, grow=grow)
    exact = solved_on_all_rows(task)
    if exact.converged and exact.noise_factor <= SIMILAR_NOISE:
        return exact
    found = solved_on_landmarks(task, number, grow=grow)
    # Iterations that end early are a regularisation, too: the hold-out set judges.
    return exact if task.error(exact.outputs) < task.error(found.outputs) else found


def solved_on_landmarks(task: Task, number: int, *, grow: bool) -> Solution:
    """The machine on a block of landmarks, or on more of them if `grow` and they help."""
    kernel, target, rows, n = task.kernel, task.target, as_rows(task.X), len(task.X)
    places, landmarks = first_landmarks(task, number)
    first = _rows_kept(target, task.held, kept_rows(len(places), task.precision))
    noise, precision = task.log_noise, task.precision
    chosen_rows = rows.take(first)
    in_units, rows_in_units = converted(kernel, chosen_rows, precision)
    landmarks_in_units = converted(kernel, landmarks, precision)[1]
    part = LandmarkRidge(in_units, landmarks_in_units, rows_in_units, noise, precision=precision)
    dual = part.solve(task.without_held(first))
    if not part.converged and precision != np.float64:
        # Kernels of low rank, as of a few columns with a linear part, need it at little noise.
        del part
        return solved_on_landmarks(replace(task, double=True), number, grow=grow)
    without, held = task.without_held(first), np.searchsorted(first, task.held)
    start = Start.of(dual, part.constant)
    if len(first) == n:
        target = target.rows(first)
        task = replace(task, X=chosen_rows, target=target)
        if grow:
            machine = BlockRidge(in_units, rows_in_units, places, len(places), noise, part)
            grown = _grown(task, machine, machine.at(dual))
            if grown is not None:
                return _in_blocks(task, *grown)
        finish = partial(part.solve, target, dual)
        everything, sample = part, None
    else:
        everything = LandmarkRidge(
            kernel, landmarks, task.X, noise, keep=False, precision=precision
        )
        sample = Sample.of(part, target, first)
        finish = partial(everything.solve, target, dual, FINAL_TOL, sample)

    def logistic(share: float, a: Array) -> DualModel:
        final, begun = LandmarkLogistic(everything, sample), replace(start, a=a)
        if sample is None:
            begun = Start.of(finish(), part.constant)
        return final.model(begun, final.solve(target, begun, share))

    trial = None
    if task.logistic:
        trial = Trial(LandmarkLogistic(part), without, start, held, logistic)
    outputs = dual.predict(kernel(rows.take(task.held), landmarks))
    share = len(first) / n
    return Solution(landmarks, outputs, share, finish, part.noise, part.constant, trial=trial)


def solved_on_all_rows(task: Task) -> Solution:
    """The machine with all rows as landmarks, in random order."""
    least = float(np.log(MIN_PAIR_NOISE)) if task.free else task.log_noise
    log_noise = max(task.log_noise, least)
    factor = float(np.exp(log_noise - task.log_noise))
    task = replace(task, log_noise=log_noise, target=task.target.rows(np.arange(len(task.X))))
    order = stratified_order(task.target, generator(4))
    if task.logistic:
        # The first rows are landmarks, which the hold-out set must not be among.
        order = np.concatenate([order[~np.isin(order, task.held)], task.held])
    X, target = in_order(task.X, order), task.target.rows(order)
    in_units, rows_in_units = converted(task.kernel, X, task.precision)
    machine = StoredRidge(in_units, rows_in_units, task.log_noise, task.precision)
    without = task.without.rows(order)
    dual = machine.solve(without)
    converged = machine.converged
    held = np.argsort(order)[task.held]
    outputs = machine.times(dual.coefficients)
    finish = partial(machine.solve, target, dual)
    trial = None
    if task.logistic:
        m = min(LOGISTIC_LANDMARKS, max(len(X) - len(held), 1))
        first = LandmarkRidge(
            in_units,
            rows_in_units[:m],
            rows_in_units,
            task.log_noise,
            keep=machine.K[:, :m],
            h=machine.h,
            precision=task.precision,
        )

        def outputs_on_all_rows() -> tuple[DualModel, Array]:
            found = finish()
            return found, machine.times(found.coefficients)

        trial = _trial_beside(
            first, np.arange(m), without, outputs, held, target, outputs_on_all_rows
        )
    outputs = mean_of(without) + outputs[held]
    return Solution(
        X,
        outputs,
        1.0,
        finish,
        machine.noise,
        machine.constant,
        "cg",
        trial,
        noise_factor=factor,
        converged=converged,
    )


def _trial_beside(
    first: LandmarkRidge,
    places: IntArray,
    without: Target,
    outputs: Array,
    held: IntArray,
    target: Target,
    on_all_rows: Callable[[], tuple[DualModel, Array]],
) -> Trial:
    """Newton steps on the first landmarks, from a ridge machine on more of them.

    places : positions of these landmarks among the rows; without : the target without the hold-out
    set; outputs : of all rows, without the mean; held : positions of the hold-out set;
    on_all_rows : returns the ridge machine trained with the whole target, and its outputs.
    """
    machine = LandmarkLogistic(first)

    def logistic(share: float, a: Array) -> DualModel:
        ridge, outputs = on_all_rows()
        start = Start.beside(mean_of(target), outputs, places)
        return machine.added(ridge, start, machine.solve(target, start, share))

    start = Start.beside(mean_of(without), outputs, places)
    return Trial(machine, without, start, held, logistic)


def solved_in_blocks(task: Task, number: int) -> Solution:
    """The machine on any number of landmarks, for rows in memory."""
    places, _ = first_landmarks(task, number)
    places = places[stratified_order(task.target.rows(places), generator(4))]
    size = min(BLOCK_LANDMARKS, block_size(len(task.X), task.precision, BLOCK_BYTES))
    kernel, X = converted(task.kernel, task.X, task.precision)
    machine = BlockRidge(kernel, X, places, size, task.log_noise, precision=task.precision)
    return _in_blocks(task, machine, machine.solve(task.without, sweeps=SWEEPS))


def _in_blocks(task: Task, machine: BlockRidge, now: Descent) -> Solution:
    """The machine at a point that was reached without the hold-out set."""
    target, without, first = task.target, task.without, machine.first

    def finished() -> tuple[DualModel, Array]:
        at = machine.solve(target, now, sweeps=FINAL_SWEEPS)
        return machine.model(target, at), at.f

    trial = None
    if task.logistic:
        places = machine.landmarks[: first.m]
        trial = _trial_beside(first, places, without, now.f, task.held, target, finished)
    outputs = mean_of(without) + now.f[task.held]
    landmarks = in_order(task.X, machine.landmarks)
    return Solution(
        landmarks,
        outputs,
        1.0,
        lambda: finished()[0],
        machine.noise,
        machine.constant,
        trial=trial,
    )


def _grown(task: Task, machine: BlockRidge, now: Descent) -> tuple[BlockRidge, Descent] | None:
    """The machine with more landmarks; None if the first further block does not pay."""
    mean = mean_of(task.without)
    error, grown = task.error(mean + now.f[task.held]), None
    for more in further_landmarks(task, machine.landmarks, MAX_GROWN, machine.size):
        larger = machine.extended(more)
        block = np.arange(len(machine.landmarks), len(larger.landmarks))
        trial = larger.descend(task.without, now, [block])
        before, error = error, task.error(mean + trial.f[task.held])
        if error > (1 - MIN_GAIN) * before:
            break
        machine, now = grown = larger, trial
    return grown


def pairs_fit(n: int, precision: Any) -> bool:
    """Whether kernel values of all pairs of n rows are stored."""
    return np.dtype(precision).itemsize * n**2 <= PAIR_BYTES


def kept_rows(number: int, precision: Any) -> int:
    """Number of rows whose kernel values with the landmarks are stored."""
    return int(KEPT_BYTES // (np.dtype(precision).itemsize * number))


def _rows_kept(target: Target, held: IntArray, most: int) -> IntArray:
    """The rows whose kernel values are stored; they include the hold-out set."""
    if len(target.weight) <= most:
        return np.arange(len(target.weight))
    number = max(int(SAMPLE_SHARE * most) - len(held), 1)
    return np.union1d(held, rows_in_proportion(target, number, generator(3)))
