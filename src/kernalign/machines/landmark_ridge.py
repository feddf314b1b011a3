"""Kernel ridge regression on landmarks, by preconditioned conjugate gradients.

f(x) = k(x, Z) a with landmarks Z minimises sum_i w_i |y_i - f(x_i)|^2 + noise a'K a, K = k(Z, Z).
With K = TT' and AA' = (N/m) T'T + noise, the equations in b, a = T'^-1 A'^-1 b, are so well
conditioned that a dozen steps solve them (Falkon: Rudi, Carratino and Rosasco, 2017). A step costs
two products with the (n, m) matrix of kernel values, which is stored, or recomputed where the rows
are; no step costs O(n m^2).

As in `machines.tuned_ridge`, a constant kernel represents the mean, and the noise is in units of
the mean diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.utils import gen_batches

from kernalign import _lapack
from kernalign._threads import blocks_in_threads, map_beside, map_rows
from kernalign._typing import Array, IntArray
from kernalign.criteria.evidence import mirror
from kernalign.criteria.kernel_sum import CONSTANT
from kernalign.gram import Target
from kernalign.kernels import LearnedKernel
from kernalign.kernels.together import seconds_saved
from kernalign.machines.landmark_values import (
    ROWS,
    KernelSums,
    LandmarkValues,
    OfValues,
    precision_for,
)
from kernalign.machines.model import DualModel
from kernalign.rows import as_rows, mapped, taken
from kernalign.solvers.conjugate_gradients import conjugate_gradients, norms

#: Added to the diagonal of K, in units of it, by the precision of the kernel values, so that
#: directions that are rounding errors stay small.
JITTER = {np.float32: 1e-6, np.float64: 1e-10}
#: Stopping criterion: residual relative to the first one, and maximum number of steps.
TOLERANCE, ITERATIONS = 1e-4, 200
#: The same, relative to the given residual, for a sample that represents all rows; and the maximum
#: number of steps on all rows, each of which recomputes their kernel values.
SAMPLE_TOLERANCE, PASSES = 1e-2, 20
#: Number of rows of which kernel values are stored at a time.
VALUE_ROWS = 2048


class LandmarkRidge:
    """The machine on landmarks.

    kernel, landmarks : k and Z; X : (n, d) rows, in memory or elsewhere; log_noise : in units of
        the mean diagonal of K.
    keep : whether kernel values are stored, or these values themselves; otherwise they are
        recomputed in each step.
    h : the mean diagonal, if it is not that of these landmarks.
    precision : of kernel values, if it is not that for numbers with this noise.
    converged : whether the last solution's residual is small enough.
    """

    converged = False

    def __init__(
        self,
        kernel: LearnedKernel,
        landmarks: Array,
        X: Any,
        log_noise: float,
        keep: bool | Array = True,
        h: float | None = None,
        precision: Any = None,
    ):
        self.precision = precision_for(log_noise) if precision is None else precision
        self.X, self.n, self.m = X, len(X), len(landmarks)
        self.h = (float(kernel.diag(landmarks).mean()) or 1.0) if h is None else h
        self.constant = CONSTANT * self.h
        self.noise = float(np.exp(log_noise)) * self.h
        self.jitter = JITTER[self.precision] * (self.h + self.constant)
        saved = seconds_saved(kernel.kernels, self.n * self.m)
        self._values = LandmarkValues(kernel, landmarks, self.constant, self.precision, saved)
        self._kept: Array | None = None
        if keep is True:
            self._keep()
        else:
            # With a single thread of BLAS: rounding does not depend on their number.
            with blocks_in_threads():
                self._precondition()
            self._kept = None if keep is False else keep

    def _keep(self) -> None:
        """Store kernel values, beside the preconditioner."""
        kept = np.empty((self.n, self.m), dtype=self.precision)
        values = self._values.of_rows(self.X)

        def block(rows: slice) -> None:
            values(rows, kept[rows])

        map_beside(self._precondition, block, list(gen_batches(self.n, VALUE_ROWS)))
        self._kept = kept

    def _precondition(self) -> None:
        """The factors T and A, from K = k(Z, Z)."""
        K = self._values.kernel(self._values.landmarks)
        K += self.constant
        diagonal = K.ravel(order="K")[:: self.m + 1]
        diagonal += self.jitter
        L = _lapack.cholesky(K)
        self.T = _lower(L, self.precision)
        _lapack.product(L)
        mirror(L)
        L *= self.n / self.m
        diagonal += self.noise
        self.A = _lower(_lapack.cholesky(L), self.precision)

    def solve(
        self,
        target: Target,
        start: DualModel | None = None,
        tolerance: float = TOLERANCE,
        sample: Sample | None = None,
    ) -> DualModel:
        """The model; a good start reduces the number of steps.

        sample : rows whose kernel values are kept. Each step on all rows then follows a solution on
            the sample, so that fewer passes over all rows are needed.
        """
        w, mean = target.weight, target.mean
        Y = mapped(partial(_centred, mean, self.precision), target.values)
        a = np.zeros((self.m, len(mean))) if start is None else _columns(start.coefficients)
        with blocks_in_threads():
            # The null space of T' does not affect f.
            scaled = self.T.T @ a.astype(self.precision)
            b = (self.A.T @ scaled).astype(float)
            first, missed = self._right_hand_sides(a.astype(self.precision), Y, w)
            residual = self._left(missed - self.precision(self.noise) * _full(self.T, scaled))
            wanted = tolerance * norms(self._left(first))
            inverse = None if sample is None else partial(self._solved_on, sample)
            most = ITERATIONS if sample is None else PASSES
            system = partial(self._system, self, w)
            change, self.converged = conjugate_gradients(system, residual, wanted, most, inverse)
            a = self._coefficients(b + change)[1].astype(float)
        return DualModel(a, mean + self.constant * a.sum(axis=0))

    def step(
        self, residuals: Array, penalty: Array, w: Array, tolerance: float, most: int
    ) -> tuple[Array, Array]:
        """The change d, (m, c), that minimises sum_i w_i |r_i - k(x_i, Z) d|^2 + noise (d'K d +
        2 d'penalty), nearly, and its outputs k(x_i, Z) d, (n, c).

        residuals : r, (n, c); tolerance : residual of the equations relative to that at d = 0;
        most : number of steps. Every step of conjugate gradients lowers the objective.
        """
        with blocks_in_threads():
            slope = self.products(_weighted, residuals.shape[1], w, residuals)
            right = self._left(slope - (self.noise * penalty).astype(self.precision))
            system = partial(self._system, self, w)
            b, _ = conjugate_gradients(system, right, tolerance * norms(right), most)
            d = self._coefficients(b)[1]
            return d.astype(float), self.outputs(d)

    def outputs(self, a: Array) -> Array:
        """k(x_i, Z) a of all rows, (n, c), from stored kernel values."""
        kept = self._kept
        assert kept is not None, "kernel values of a block are stored"
        found = np.empty((self.n, a.shape[1]))
        a = a.astype(self.precision)
        for rows, part in map_rows(lambda rows: kept[rows] @ a, self.n, ROWS):
            found[rows] = part
        return found

    def of_landmarks(self, a: Array) -> Array:
        """K a, (m, c): half the derivative of a'K a."""
        K_a: Array = _full(self.T, self.T.T @ a.astype(self.precision)).astype(float)
        return K_a

    def curved(
        self,
        right: Array,
        of_values: OfValues,
        noise: float,
        stop: tuple[float, int],
        of: LandmarkRidge,
        *columns: Array,
    ) -> Array:
        """d, (m, c), with values' of_values(d, values, columns) + noise K d = right, nearly.

        The values are those of a machine on the same landmarks with stored kernel values, such as
        this one. Outputs may depend on each other: conjugate gradients solve for all at once.

        stop : residual relative to that at d = 0, and maximum number of steps.
        """
        shape = right.shape

        def system(b: Array) -> Array:
            scaled, d = self._coefficients(b.reshape(shape))
            sums = of.products(partial(of_values, d), shape[1], *columns)
            found = _half(self.T, sums) + self.precision(noise) * scaled
            return _half(self.A, found).astype(float).reshape(-1, 1)

        with blocks_in_threads():
            first = self._left(right.astype(self.precision)).reshape(-1, 1)
            b, _ = conjugate_gradients(system, first, stop[0] * norms(first), stop[1])
            return self._coefficients(b.reshape(shape))[1].astype(float)

    def _solved_on(self, sample: Sample, residual: Array) -> Array:
        """The solution of the system in which a sample represents all rows."""
        system = partial(self._system, sample.machine, sample.weight)
        wanted = SAMPLE_TOLERANCE * norms(residual)
        return conjugate_gradients(system, residual, wanted, ITERATIONS)[0]

    def _coefficients(self, b: Array) -> tuple[Array, Array]:
        """A'^-1 b and a."""
        scaled = _other_half(self.A, b.astype(self.precision))
        return scaled, _other_half(self.T, scaled)

    def _system(self, of: LandmarkRidge, w: Array, b: Array) -> Array:
        """A^-1 (T^-1 values' W values T'^-1 + noise) A'^-1 b, with the kernel values of a machine
        on the same landmarks: this one, or that of a sample."""
        scaled, a = self._coefficients(b)
        sums = of.products(partial(_weighted_outputs, a), a.shape[1], w)
        found = _half(self.T, sums) + self.precision(self.noise) * scaled
        return _half(self.A, found).astype(float)

    def _left(self, V: Array) -> Array:
        """A^-1 T^-1 V."""
        return _half(self.A, _half(self.T, V)).astype(float)

    def _right_hand_sides(self, a: Array, Y: Array, w: Array) -> tuple[Array, Array]:
        """values' W Y and values' W (Y - values a), by one pass over the rows."""
        c = a.shape[1]
        both = self.products(partial(_labels_and_residuals, a), 2 * c, w, Y)
        return both[:, :c], both[:, c:]

    def products(self, of_values: OfValues, width: int, *columns: Array) -> Array:
        """values' of_values(values, columns), (m, width), summed over blocks of rows."""
        sums = self.total(partial(_products, of_values), (self.m, width), *columns)
        return sums.astype(self.precision)

    def total(self, of_values: OfValues, shape: tuple[int, ...], *columns: Array) -> Array:
        """of_values(values, columns) of blocks of rows, summed in double precision."""
        if self._kept is None:
            sums = KernelSums(self._values, of_values, shape)
            found: Array = as_rows(self.X).total(sums, columns)
            return found
        kept, total = self._kept, np.zeros(shape)

        def block(rows: slice) -> Array:
            return of_values(kept[rows], *(column[rows] for column in columns))

        for _, part in map_rows(block, self.n, ROWS):
            total += part
        return total


def _products(of_values: OfValues, values: Array, *columns: Array) -> Array:
    """values' of_values(values, columns)."""
    found: Array = values.T @ of_values(values, *columns)
    return found


def _centred(mean: Array, precision: Any, values: Array) -> Array:
    found: Array = (values - mean).astype(precision)
    return found


def _weighted(values: Array, w: Array, columns: Array) -> Array:
    """W columns."""
    found: Array = (w[:, None] * columns).astype(values.dtype)
    return found


def _weighted_outputs(a: Array, values: Array, w: Array) -> Array:
    """W values a."""
    found: Array = w[:, None].astype(values.dtype) * (values @ a)
    return found


def _labels_and_residuals(a: Array, values: Array, w: Array, Y: Array) -> Array:
    """W Y and W (Y - values a), side by side."""
    found: Array = w[:, None].astype(values.dtype) * np.hstack([Y, Y - values @ a])
    return found


@dataclass(frozen=True)
class Sample:
    """A machine with kept kernel values of some rows, and weights that let them represent all."""

    machine: LandmarkRidge
    weight: Array

    @classmethod
    def of(cls, machine: LandmarkRidge, target: Target, rows: IntArray) -> Sample:
        """The machine on these rows of a target."""
        weight = taken(target.weight, rows)
        return cls(machine, weight * (target.total / weight.sum()))


def _lower(L: Array, precision: Any) -> Array:
    """The lower triangle of L, zero above it."""
    found = L.astype(precision)
    for j in range(1, len(found)):
        found[:j, j] = 0.0
    return found


def _columns(a: Array) -> Array:
    return a[:, None] if a.ndim == 1 else a


def _full(L: Array, V: Array) -> Array:
    """L V."""
    found: Array = L @ V
    return found


def _half(L: Array, V: Array) -> Array:
    """L^-1 V."""
    found: Array = solve_triangular(L, V, lower=True, check_finite=False)
    return found


def _other_half(L: Array, V: Array) -> Array:
    """L'^-1 V."""
    found: Array = solve_triangular(L, V, lower=True, trans="T", check_finite=False)
    return found
