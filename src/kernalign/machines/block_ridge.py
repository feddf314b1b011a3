"""Kernel ridge regression on many landmarks, by block coordinate descent.

f(x) = k(x, Z) a with landmarks Z minimises J(a) = sum_i w_i |y_i - f(x_i)|^2 + noise a'K a,
K = k(Z, Z), as in `machines.landmark_ridge`, which factorises K in O(m^3). Here only blocks of K
are factorised, and only kernel values of all rows with two blocks are in memory. A sweep is

    divide the landmarks into blocks
    for the first m_1 landmarks, and for each block B:
        1. find the change d of a_B that minimises J, nearly: a few steps of conjugate gradients
        2. a_B += d,  f += k(X, Z_B) d
    3. add the multiples of this sweep's change and of the last one's that minimise J

J never increases. All landmarks are rows of X, so that K a, which the gradient of J needs, is f at
these rows. Neither it nor step 3 costs kernel values. Step 3 makes a sweep the preconditioner of
conjugate gradients.

The landmarks are in random order. The first m_1 of them represent all; by themselves they are a
`LandmarkRidge`. Blocks are random in the first sweep. In later ones they contain similar landmarks:
those far from each other are coupled by low frequencies only, which the first m_1 correct. Each
sweep divides them anew, so that no pair is always in different blocks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernalign._threads import blocks_in_threads
from kernalign._typing import Array, IntArray
from kernalign.gram import Target
from kernalign.kernels import LearnedKernel
from kernalign.machines.landmark_ridge import LandmarkRidge
from kernalign.machines.model import DualModel

#: Stopping criterion of the conjugate gradients on the first landmarks, and on a block: residual
#: relative to the one at the start, and maximum number of steps.
FIRST_STOP, BLOCK_STOP = (1e-3, 100), (0.1, 10)
#: Stopping criterion of the sweeps: decrease of J relative to J, and maximum number.
TOLERANCE, SWEEPS = 1e-3, 10
#: Curvature of J along a change, relative to that along the other one, below which it is not used.
MIN_CURVATURE = 1e-20


@dataclass(frozen=True)
class Descent:
    """A point of the descent.

    a : (m, c) coefficients; f : (n, c) outputs k(X, Z) a of all rows.
    last : the changes of a and of f in the last sweep; None before the first one.
    sweeps : number of sweeps that led here.
    """

    a: Array
    f: Array
    last: tuple[Array, Array] | None = None
    sweeps: int = 0


class BlockRidge:
    """The machine on blocks of landmarks.

    kernel : k; X : (n, d) rows in memory; landmarks : (m,) their positions in X, in random order;
    size : maximum number of landmarks in a block.
    first : the machine on the first m_1 landmarks, with stored kernel values.
    precision : as in `LandmarkRidge`.
    """

    def __init__(
        self,
        kernel: LearnedKernel,
        X: Array,
        landmarks: IntArray,
        size: int,
        log_noise: float,
        first: LandmarkRidge | None = None,
        precision: Any = None,
    ):
        self.kernel, self.X, self.landmarks, self.size = kernel, X, landmarks, size
        self.log_noise = log_noise
        if first is None:
            with blocks_in_threads():
                Z = X[landmarks[:size]]
                first = LandmarkRidge(kernel, Z, X, log_noise, precision=precision)
        self.first = first
        self.noise, self.constant, self.jitter = first.noise, first.constant, first.jitter

    def extended(self, more: IntArray) -> BlockRidge:
        """The machine with more landmarks."""
        landmarks = np.concatenate([self.landmarks, more])
        return BlockRidge(self.kernel, self.X, landmarks, self.size, self.log_noise, self.first)

    def solve(
        self,
        target: Target,
        start: Descent | None = None,
        tolerance: float = TOLERANCE,
        sweeps: int = SWEEPS,
    ) -> Descent:
        """Sweep until J decreases by no more than the tolerance, relative to J."""
        now = self.zero(target.values.shape[1]) if start is None else self._padded(start)
        objective = self.objective(target, now)
        for _ in range(sweeps):
            blocks = self._divided(now.sweeps)
            now = self._extrapolated(target, now, self.descend(target, now, blocks))
            higher, objective = objective, self.objective(target, now)
            if higher - objective <= tolerance * objective:
                break
        return now

    def zero(self, outputs: int) -> Descent:
        """The point a = 0."""
        return Descent(np.zeros((len(self.landmarks), outputs)), np.zeros((len(self.X), outputs)))

    def _padded(self, start: Descent) -> Descent:
        """A point of the machine on fewer landmarks; its last change is not one of this machine."""
        more = len(self.landmarks) - len(start.a)
        if not more:
            return start
        return Descent(np.pad(start.a, ((0, more), (0, 0))), start.f, sweeps=start.sweeps)

    def _divided(self, sweep: int) -> list[IntArray]:
        """The first landmarks, and blocks of positions among the landmarks."""
        first, m = self.first.m, len(self.landmarks)
        if sweep == 0 or m == first:
            starts = range(first, m, self.size)
            more = [np.arange(start, min(start + self.size, m)) for start in starts]
        else:
            Z, rng = self.X[self.landmarks], np.random.default_rng(sweep)
            more = similar_blocks(self.kernel, Z, self.size, rng)
        return [np.arange(first), *more]

    def descend(self, target: Target, now: Descent, blocks: Iterable[IntArray]) -> Descent:
        """Steps 1 and 2 for blocks of positions among the landmarks."""
        now = self._padded(now)
        for block in blocks:
            # In one BLAS thread per task, so that results do not depend on their number.
            with blocks_in_threads():
                d, outputs = self._step(target, now, block)
            a = now.a.copy()
            a[block] += d
            now = self._lower(target, now, replace(now, a=a, f=now.f + outputs))
        return now

    def _step(self, target: Target, now: Descent, block: IntArray) -> tuple[Array, Array]:
        """The change of a_B, and the change of f that follows from it."""
        machine = self._on(block)
        penalty = self._penalty(now.f[self.landmarks[block]], now.a[block])
        stop = FIRST_STOP if machine is self.first else BLOCK_STOP
        return machine.step(target.centred - now.f, penalty, target.weight, *stop)

    def _lower(self, target: Target, before: Descent, after: Descent) -> Descent:
        """The point of smaller J. Near the minimum, changes are rounding errors."""
        falls = self.objective(target, after) <= self.objective(target, before)
        return after if falls else before

    def _on(self, block: IntArray) -> LandmarkRidge:
        """The machine on one block."""
        if len(block) == self.first.m and block[-1] == self.first.m - 1:
            return self.first
        Z, first = self.X[self.landmarks[block]], self.first
        return LandmarkRidge(
            self.kernel, Z, self.X, self.log_noise, h=first.h, precision=first.precision
        )

    def _extrapolated(self, target: Target, before: Descent, now: Descent) -> Descent:
        """Step 3, for each output: J is quadratic in the two multiples."""
        Y, w = target.centred, target.weight
        changes = [(now.a - before.a, now.f - before.f)]
        if before.last is not None:
            changes.append(before.last)
        of_a, of_f = (np.stack(parts, axis=-1) for parts in zip(*changes, strict=True))
        at = self.landmarks
        residuals, penalty = w[:, None] * (Y - now.f), self._penalty(now.f[at], now.a)
        penalties = self._penalty(of_f[at], of_a)
        slope = np.einsum("ncs,nc->cs", of_f, residuals)
        slope -= self.noise * np.einsum("mcs,mc->cs", of_a, penalty)
        curvature = np.einsum("ncs,n,nct->cst", of_f, w, of_f)
        curvature += self.noise * np.einsum("mcs,mct->cst", of_a, penalties)
        multiples = np.stack([_solved(H, g) for H, g in zip(curvature, slope, strict=True)])
        more_a, more_f = (np.einsum("ncs,cs->nc", of, multiples) for of in (of_a, of_f))
        further = self._lower(target, now, Descent(now.a + more_a, now.f + more_f))
        last = further.a - before.a, further.f - before.f
        return replace(further, last=last, sweeps=before.sweeps + 1)

    def objective(self, target: Target, at: Descent) -> float:
        """J, summed over outputs."""
        errors = target.weight @ (target.centred - at.f) ** 2
        penalty = np.vdot(at.a, self._penalty(at.f[self.landmarks], at.a))
        return float(errors.sum() + self.noise * penalty)

    def _penalty(self, f: Array, a: Array) -> Array:
        """K a of some landmarks: their outputs f, and what rounding errors need on the diagonal."""
        found: Array = f + self.jitter * a
        return found

    def model(self, target: Target, at: Descent) -> DualModel:
        """The machine at a point, on the landmarks."""
        return DualModel(at.a, mean_of(target) + self.constant * at.a.sum(axis=0))

    def at(self, model: DualModel) -> Descent:
        """The point of a machine on the first landmarks."""
        a = model.coefficients
        return self._padded(Descent(a, self.first.outputs(a), sweeps=1))


def mean_of(target: Target) -> Array:
    """(c,) the mean that is added to f."""
    mean: Array = target.weight @ target.values / target.total
    return mean


def _solved(H: Array, g: Array) -> Array:
    """H^+ g. A change along which J is not curved, beyond rounding errors, is not used: it is the
    change of a sweep that changed nothing."""
    curvature = np.diagonal(H)
    used = np.flatnonzero(curvature > MIN_CURVATURE * max(curvature.max(), 0.0))
    found, size = np.zeros(len(g)), np.sqrt(curvature[used])
    scaled = H[np.ix_(used, used)] / size / size[:, None]
    found[used] = np.linalg.lstsq(scaled, g[used] / size, rcond=1e-10)[0] / size
    return found


def block_size(n: int, precision: Any, memory: float) -> int:
    """Number of landmarks whose kernel values with n rows fit in memory."""
    return max(1, int(memory // (np.dtype(precision).itemsize * n)))


def similar_blocks(
    kernel: LearnedKernel, Z: Array, size: int, rng: np.random.Generator
) -> list[IntArray]:
    """Positions of the rows of Z in blocks of similar rows, of about equal numbers up to `size`.

    A part is divided in two by k(z, p) - k(z, q), where p is a random member and q the one that is
    least similar to it.
    """

    def divided(part: IntArray) -> list[IntArray]:
        number = -(-len(part) // size)
        if number == 1:
            return [part]
        rows = Z[part]
        to_p = kernel(rows, rows[[rng.integers(len(part))]])[:, 0]
        to_q = kernel(rows, rows[[to_p.argmin()]])[:, 0]
        order = part[np.argsort(to_p - to_q, kind="stable")]
        middle = len(part) * (number // 2) // number
        return divided(order[:middle]) + divided(order[middle:])

    return divided(np.arange(len(Z)))
