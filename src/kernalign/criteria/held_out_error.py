"""Squared error of held-out rows for a sum of kernels on landmarks, and all its derivatives.

Evidence explains a few thousand rows by one noise. Here many rows decide: those that the machine of
the other half predicts. With landmarks Z, K = k(Z, Z), the machine of a fold minimises
sum_i w_i |y_i - k(x_i, Z) a|^2 + nu h a'K a over the rows outside the fold, so that

S a = b,  S = nu h K + sum_i w_i k_i k_i' (+ a little of the identity),  b = sum_i w_i k_i y_i'.

The landmarks are rows with labels, and all machines see them. Over the held-out rows, whose weights
sum to N,

value = N/2 log(E / Nc),  E = sum_i w_i |y_i - k_i'a|^2,

the negative log-probability of Gaussian errors at the best scale, with the prior of
`criteria.kernel_sum`. With g_i = -2 w_i (y_i - k_i'a) and S v = sum_i k_i g_i over the held-out rows,

dE = sum_held g_i'(dk_i'a) + sum_others w_i [(y_i - k_i'a)'(dk_i'v) - (k_i'v)'(dk_i'a)]
     - tr v'd(nu h K)a,

so that dE/dk is a product of matrices with as many columns as there are outputs. A value costs one
product of the kernel values with themselves, O(n m^2); derivatives cost O(n m d) more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernalign import _lapack
from kernalign._threads import blocks_in_threads, map_rows
from kernalign._typing import Array, IntArray
from kernalign.criteria.kernel_sum import CONSTANT, NOISE, KernelSum, SumCriterion, Term, prior
from kernalign.gram import Target
from kernalign.gram.crossed import CrossedRows
from kernalign.gram.packed import SUMS

#: Number of rows whose kernel values are computed at a time.
ROWS = 512
#: Added to the diagonal of S, in units of N h^2, by the precision of the kernel values: directions
#: below it are rounding errors.
RIDGE = {np.float32: 1e-7, np.float64: 1e-11}
#: Lower bound of E, which vanishes for a constant response.
MIN_ERROR = 1e-200


@dataclass(frozen=True)
class Machine:
    """The coefficients a of a fold's machine, (m, c), and v."""

    a: Array
    v: Array


class HeldOutError(SumCriterion):
    """The criterion for rows in memory.

    U : (n, d) rows in their units, of which the first m are the landmarks; the others are held out
        in two halves.
    families, tied, strength, least_noise : as in `SumCriterion`.
    precision : of kernel values.
    codes : (d,) as in `CrossedRows`.
    """

    def __init__(
        self,
        U: Array,
        target: Target,
        m: int,
        families: Sequence[Any],
        tied: Sequence[bool],
        strength: float,
        least_noise: float = NOISE[0],
        precision: Any = np.float64,
        codes: IntArray | None = None,
    ):
        super().__init__(U.shape[1], families, tied, strength, least_noise)
        self.rows = CrossedRows(U, U[:m], precision, codes)
        self.n, self.m, self.precision = len(U), m, self.rows.precision
        self.Y, self.w = target.centred.astype(precision), target.weight
        half = m + (self.n - m) // 2
        #: The rows of the landmarks and of the two folds.
        self.parts = (slice(0, m), slice(m, half), slice(half, self.n))
        self.held = float(self.w[m:].sum())
        self.total = float(self.w.sum())
        self._values: Array | None = None

    @classmethod
    def like(
        cls, U: Array, target: Target, m: int, k: KernelSum, strength: float, **options: Any
    ) -> HeldOutError:
        """The criterion over the families of a given sum."""
        families, tied = [term.family for term in k.terms], [term.tied for term in k.terms]
        return cls(U, target, m, families, tied, strength, **options)

    # -- value ----------------------------------------------------------------------------------

    def value(self, k: KernelSum) -> float:
        """The value with the prior."""
        with blocks_in_threads():
            error = self._solved(k)[0]
        return self._nats(error) + sum(prior(term.u, self.strength)[0] for term in k.terms)

    def _nats(self, error: float) -> float:
        return 0.5 * self.held * float(np.log(error / (self.held * self.Y.shape[1])))

    def _solved(self, k: KernelSum) -> tuple[float, list[Machine], list[Array], float]:
        """E, the machines, their residuals of all rows, and h."""
        h = self._size(k)
        values, sums, right = self._sums(k, h)
        nu = float(np.exp(k.log_noise)) * h
        penalty = nu * values[: self.m].astype(float)
        penalty[np.diag_indices_from(penalty)] += self._ridge * h**2
        error, machines, missed = 0.0, [], []
        for fold in (1, 2):
            S = sums[0] + sums[3 - fold] + penalty
            L = _lapack.cholesky(S)
            a = _lapack.solve(L, right[0] + right[3 - fold])
            residuals = self.Y - self._times(values, a)
            held = self.parts[fold]
            weighted = self.w[held, None] * residuals[held]
            error += float(np.vdot(weighted, residuals[held]))
            v = _lapack.solve(L, self._adjoint(values, held, -2 * weighted))
            machines.append(Machine(a, v))
            missed.append(residuals)
        return max(error, MIN_ERROR), machines, missed, h

    @property
    def _ridge(self) -> float:
        return RIDGE[self.precision] * self.total * (1 + CONSTANT) ** 2

    def _size(self, k: KernelSum) -> float:
        """h, the mean diagonal of k on the landmarks."""
        return float(sum(np.exp(term.s) * self._own(term) for term in k.terms)) or 1.0

    def _own(self, term: Term) -> float:
        """The mean diagonal of a term without its size."""
        if term.family.pair_feature not in SUMS:
            return 1.0
        own = self.rows.own(term.family.pair_feature).mean(axis=0)
        return float(own @ np.broadcast_to(np.exp(term.u), own.shape))

    def _sums(self, k: KernelSum, h: float) -> tuple[Array, list[Array], list[Array]]:
        """Kernel values of all rows, and sum w k k' and sum w k y' of each part."""
        if self._values is None:
            # New memory in each of many evaluations would cost as much as the arithmetic.
            self._values = np.empty((self.n, self.m), dtype=self.precision)
        values = self._values
        root = np.sqrt(self.w)[:, None].astype(self.precision)
        sums, right = [], []
        for part in self.parts:

            def block(some: slice, first: int = part.start) -> tuple[Array, Array]:
                rows = slice(first + some.start, first + some.stop)
                K = values[rows]
                K[...] = self.precision(CONSTANT * h)
                for term in k.terms:
                    K += self.precision(np.exp(term.s)) * self._profile(term, rows)[0]
                weighted = root[rows] * K
                return weighted.T @ weighted, weighted.T @ (root[rows] * self.Y[rows])

            gram = np.zeros((self.m, self.m))
            with_labels = np.zeros((self.m, self.Y.shape[1]))
            for _, (products, cross) in map_rows(block, part.stop - part.start, ROWS):
                gram += products
                with_labels += cross
            sums.append(gram)
            right.append(with_labels)
        return values, sums, right

    def _profile(self, term: Term, rows: slice) -> tuple[Array, Array | None]:
        """Kernel values of a term without its size, and the slope of its profile if it has one."""
        feature = term.family.pair_feature
        D = self.rows.summed(feature, np.exp(term.u), rows)
        return (D, None) if feature in SUMS else term.family.profile_and_slope(D)

    def _times(self, values: Array, a: Array) -> Array:
        """k(x_i, Z) a of all rows."""
        found, a = np.empty((self.n, a.shape[1])), a.astype(self.precision)
        for rows, part in map_rows(lambda rows: values[rows] @ a, self.n, ROWS):
            found[rows] = part
        return found

    def _adjoint(self, values: Array, part: slice, columns: Array) -> Array:
        """sum_i k_i columns_i' over the rows of a part."""
        K, columns = values[part], columns.astype(self.precision)
        total = np.zeros((self.m, columns.shape[1]))
        for _, found in map_rows(lambda rows: K[rows].T @ columns[rows], len(K), ROWS):
            total += found
        return total

    # -- slope ----------------------------------------------------------------------------------

    def __call__(self, x: Array) -> tuple[float, Array]:
        with blocks_in_threads():
            return self._value_and_slope(self.split(x))

    def _value_and_slope(self, k: KernelSum) -> tuple[float, Array]:
        error, machines, missed, h = self._solved(k)
        value = self._nats(error)
        left, right = self._factors(machines, missed, float(np.exp(k.log_noise)) * h)

        def block(rows: slice) -> tuple[float, list[tuple[Array, float]]]:
            G = left[rows] @ right.T
            return float(G.sum(dtype=float)), [self._slopes(term, G, rows) for term in k.terms]

        by_constant, of_terms = 0.0, [(np.zeros(self.rows.d), 0.0) for _ in k.terms]
        for _, (all_values, slopes) in map_rows(block, self.n, ROWS):
            by_constant += all_values
            of_terms = [
                (by_r + more_r, by_s + more_s)
                for (by_r, by_s), (more_r, more_s) in zip(of_terms, slopes, strict=True)
            ]
        by_noise = -sum(self._penalty(machine) for machine in machines) * np.exp(k.log_noise)
        traces = sum(float(np.vdot(machine.v, machine.a)) for machine in machines)
        # Constant, noise and ridge are in units of h.
        by_h = CONSTANT * by_constant + by_noise - 2 * self._ridge * h * traces
        factor = 0.5 * self.held / error
        found, weights = [], []
        for term, (by_r, by_s) in zip(k.terms, of_terms, strict=True):
            size, r = float(np.exp(term.s)), np.broadcast_to(np.exp(term.u), (self.rows.d,))
            by_u = size * by_r * r
            if term.family.pair_feature in SUMS:
                by_u += by_h * size * self.rows.own(term.family.pair_feature).mean(axis=0) * r
            by_s = size * (by_s + by_h * self._own(term))
            believed, pull = prior(term.u, self.strength)
            value += believed
            found.append(factor * (by_u.sum(keepdims=True) if term.tied else by_u) + pull)
            weights.append(factor * by_s)
        return value, np.concatenate([*found, weights[1:], [factor * by_noise * h]])

    def _factors(
        self, machines: list[Machine], missed: list[Array], nu: float
    ) -> tuple[Array, Array]:
        """dE/dk of all rows and landmarks as left right', (n, 4c) and (m, 4c)."""
        columns = []
        for fold, machine, residuals in zip((1, 2), machines, missed, strict=True):
            assert self._values is not None
            weighted = self.w[:, None] * residuals
            of_a = -self.w[:, None] * self._times(self._values, machine.v)
            of_a[: self.m] -= nu * machine.v
            of_a[self.parts[fold]] = -2 * weighted[self.parts[fold]]
            weighted[self.parts[fold]] = 0.0
            columns += [of_a, weighted]
        right = np.hstack([part for machine in machines for part in (machine.a, machine.v)])
        return np.hstack(columns).astype(self.precision), right.astype(self.precision)

    def _penalty(self, machine: Machine) -> float:
        """tr v'K a."""
        assert self._values is not None
        K = self._values[: self.m]
        return float(np.vdot(machine.v, K @ machine.a.astype(self.precision)))

    def _slopes(self, term: Term, G: Array, rows: slice) -> tuple[Array, float]:
        """Derivatives of E in the relevances and the size of a term, given dE/dk of some rows."""
        K, slope = self._profile(term, rows)
        by_s = float(np.vdot(G, K))
        W = G if slope is None else np.multiply(slope, G, out=slope)
        return self.rows.contracted(term.family.pair_feature, W, rows), by_s
