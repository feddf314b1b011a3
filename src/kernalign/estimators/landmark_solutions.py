"""The machine of the default fit on many rows: solved without the hold-out set, then with all rows.

- If the number of landmarks is not given and kernel values of all pairs of rows fit in memory, all
  rows are landmarks: `StoredRidge`.
- Up to 4000 landmarks: `LandmarkRidge`. If kernel values of all rows take too much memory, a part
  of the rows gives the first solution.
- If the number of landmarks is not given and these kernel values do fit, further blocks of
  landmarks are added while they lower the error of the hold-out set.
- A larger given number, for rows in memory: `BlockRidge`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from kernalign._typing import Array, IntArray
from kernalign.gram import Target
from kernalign.gram.sampling import rows_in_proportion, stratified_order
from kernalign.kernels import LearnedKernel
from kernalign.kernels.converted import converted
from kernalign.learners.base import generator
from kernalign.machines.block_ridge import BlockRidge, Descent, block_size, mean_of
from kernalign.machines.landmark_ridge import LandmarkRidge, Sample, precision_for
from kernalign.machines.model import DualModel
from kernalign.machines.stored_ridge import StoredRidge
from kernalign.rows import as_rows

#: Limit for stored kernel values. If all rows exceed it, rows with this share of it give a first
#: solution. Steps on all rows, which recompute kernel values, then reduce the residual to the last
#: of these numbers, relative to the first residual.
KEPT_BYTES, SAMPLE_SHARE, FINAL_TOL = 1.2e9, 0.5, 1e-2
#: Limit for kernel values of all pairs of rows, and the smallest noise, in units of the kernel, for
#: which they are used: with less noise, conjugate gradients on them converge slowly.
PAIR_BYTES, MIN_PAIR_NOISE = 1.2e9, 1e-4
#: Maximum number of landmarks in a block, and bytes of its kernel values with all rows. Two blocks
#: are in memory at a time.
BLOCK_LANDMARKS, BLOCK_BYTES = 4000, 2.4e9
#: Twice as many rows are drawn as landmarks if fewer than this share of them are different, and
#: again up to this many times the number of landmarks.
ENOUGH_DISTINCT, MAX_DRAWN = 0.9, 8
#: Maximum number of sweeps without the hold-out set, and then with all rows.
SWEEPS, FINAL_SWEEPS = 2, 1
#: A block of landmarks is added if it lowers the squared error of the hold-out set by this share,
#: up to this number of landmarks. On six problems, the first further block lowered it by less than
#: 0.4 %, and more landmarks hardly changed the test error; or by 3 to 5 %, and they lowered the
#: test error by 5 to 18 % (benchmarks/README.md).
MIN_GAIN, MAX_GROWN = 0.01, 16_000


@dataclass(frozen=True)
class Task:
    """A learned kernel with its noise, the rows, and positions of the hold-out set."""

    kernel: LearnedKernel
    X: Any
    target: Target
    held: IntArray
    log_noise: float

    @property
    def precision(self) -> Any:
        """The precision of kernel values."""
        return precision_for(self.log_noise, self.target.classes)

    @cached_property
    def without(self) -> Target:
        """The target with weight zero for the hold-out set; for rows in memory."""
        return self.without_held(np.arange(len(self.X)))

    def without_held(self, rows: IntArray) -> Target:
        """The target of some rows, in memory, with weight zero for the hold-out set."""
        some = self.target.rows(rows)
        return replace(some, weight=np.where(np.isin(rows, self.held), 0.0, some.weight))

    def error(self, outputs: Array) -> float:
        """Squared error of the outputs of the hold-out set. For classes, it has less variance than
        the error rate."""
        rows = self.target.rows(self.held)
        return float(rows.weight @ ((rows.values - outputs) ** 2).mean(axis=1))


@dataclass(frozen=True)
class Solution:
    """The machine without the hold-out set.

    landmarks : (m, d) in random order if there are more than 4000.
    outputs : (h, c) of the hold-out set; share : of the rows that this machine was trained on.
    on_all_rows : returns the machine trained on all rows.
    noise, constant : in units of the kernel.
    solver : "cg" if all rows are landmarks.
    """

    landmarks: Array
    outputs: Array
    share: float
    on_all_rows: Callable[[], DualModel]
    noise: float
    constant: float
    solver: str = "nystroem"


def solved(task: Task, number: int, *, grow: bool) -> Solution:
    """The machine on all rows if their pairs fit, otherwise on a block of landmarks.

    grow : whether the number of landmarks may change: all rows, or further blocks while they lower
        the error.
    """
    kernel, target, rows, n = task.kernel, task.target, as_rows(task.X), len(task.X)
    if grow and task.log_noise >= np.log(MIN_PAIR_NOISE) and pairs_fit(n, task.precision):
        exact = solved_on_all_rows(task)
        if exact is not None:
            return exact
    places, landmarks = _landmarks(task, number)
    first = _rows_kept(target, task.held, kept_rows(len(places), task.precision))
    noise, precision = task.log_noise, task.precision
    chosen = rows.take(first)
    in_units, rows_in_units = converted(kernel, chosen, precision)
    landmarks_in_units = converted(kernel, landmarks, precision)[1]
    part = LandmarkRidge(in_units, landmarks_in_units, rows_in_units, noise, precision=precision)
    dual = part.solve(task.without_held(first))
    if len(first) == n:
        target = target.rows(first)
        task = replace(task, X=chosen, target=target)
        if grow:
            machine = BlockRidge(in_units, rows_in_units, places, len(places), noise, part)
            grown = _grown(task, machine, machine.at(dual))
            if grown is not None:
                return _in_blocks(task, *grown)
        finish = partial(part.solve, target, dual)
    else:
        everything = LandmarkRidge(
            kernel, landmarks, task.X, noise, keep=False, precision=precision
        )
        sample = Sample.of(part, target, first)
        finish = partial(everything.solve, target, dual, FINAL_TOL, sample)
    outputs = dual.predict(kernel(rows.take(task.held), landmarks))
    return Solution(landmarks, outputs, len(first) / n, finish, part.noise, part.constant)


def solved_on_all_rows(task: Task) -> Solution | None:
    """The machine with all rows as landmarks, in random order; None if it does not converge."""
    task = replace(task, target=task.target.rows(np.arange(len(task.X))))
    order = stratified_order(task.target, generator(4))
    X, target = _in_order(task.X, order), task.target.rows(order)
    machine = StoredRidge(
        *converted(task.kernel, X, task.precision), task.log_noise, task.precision
    )
    dual = machine.solve(task.without.rows(order))
    if not machine.converged:
        return None
    outputs = mean_of(task.without) + machine.times(dual.coefficients)[np.argsort(order)[task.held]]
    finish = partial(machine.solve, target, dual)
    return Solution(X, outputs, 1.0, finish, machine.noise, machine.constant, "cg")


def solved_in_blocks(task: Task, number: int) -> Solution:
    """The machine on any number of landmarks, for rows in memory."""
    places, _ = _landmarks(task, number)
    places = places[stratified_order(task.target.rows(places), generator(4))]
    size = min(BLOCK_LANDMARKS, block_size(len(task.X), task.precision, BLOCK_BYTES))
    kernel, X = converted(task.kernel, task.X, task.precision)
    machine = BlockRidge(kernel, X, places, size, task.log_noise, precision=task.precision)
    return _in_blocks(task, machine, machine.solve(task.without, sweeps=SWEEPS))


def _in_blocks(task: Task, machine: BlockRidge, now: Descent) -> Solution:
    """The machine at a point that was reached without the hold-out set."""
    target = task.target
    outputs = mean_of(task.without) + now.f[task.held]

    def on_all_rows() -> DualModel:
        return machine.model(target, machine.solve(target, now, sweeps=FINAL_SWEEPS))

    landmarks = _in_order(task.X, machine.landmarks)
    return Solution(landmarks, outputs, 1.0, on_all_rows, machine.noise, machine.constant)


def _grown(task: Task, machine: BlockRidge, now: Descent) -> tuple[BlockRidge, Descent] | None:
    """The machine with more landmarks; None if the first further block does not pay."""
    mean = mean_of(task.without)
    error, grown = task.error(mean + now.f[task.held]), None
    for more in _further_rows(task, machine):
        larger = machine.extended(more)
        block = np.arange(len(machine.landmarks), len(larger.landmarks))
        trial = larger.descend(task.without, now, [block])
        before, error = error, task.error(mean + trial.f[task.held])
        if error > (1 - MIN_GAIN) * before:
            break
        machine, now = grown = larger, trial
    return grown


def _further_rows(task: Task, machine: BlockRidge) -> list[IntArray]:
    """Blocks of rows that are neither held out nor equal to each other or to a landmark."""
    free = np.setdiff1d(np.arange(len(task.X)), np.union1d(task.held, machine.landmarks))
    free = free[stratified_order(task.target.rows(free), generator(4))]
    known = len(machine.landmarks)
    # To find equal rows among all would take as long as a block.
    free = free[: 2 * max(MAX_GROWN - known, 0)]
    new = _distinct(machine.X[np.concatenate([machine.landmarks, free])])[known:] - known
    free = free[new[: max(MAX_GROWN - known, 0)]]
    return [free[i : i + machine.size] for i in range(0, len(free), machine.size)]


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


def _landmarks(task: Task, number: int) -> tuple[IntArray, Array]:
    """Positions of rows outside the hold-out set, no two of them equal, and these rows.

    If many rows are equal, more of them are drawn.
    """
    rows, n, drawn = as_rows(task.X), len(task.X), number
    while True:
        places = _landmark_rows(task.target, task.held, drawn)
        found = rows.take(places)
        distinct = _distinct(found)
        if len(distinct) >= ENOUGH_DISTINCT * number or drawn >= min(n, MAX_DRAWN * number):
            break
        drawn *= 2
    distinct = distinct[
        rows_in_proportion(task.target.rows(places[distinct]), number, generator(5))
    ]
    return places[distinct], found[distinct]


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


def _in_order(X: Any, places: IntArray) -> Array:
    """Rows of X, which may be outside memory, in any order."""
    order = np.argsort(places)
    found: Array = as_rows(X).take(places[order])[np.argsort(order)]
    return found


def _distinct(rows: Array) -> IntArray:
    """Positions of one of each set of equal rows, in their order."""
    _, first = np.unique(rows, axis=0, return_index=True)
    found: IntArray = np.sort(first)
    return found
