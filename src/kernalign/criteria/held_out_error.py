"""Squared error of held-out rows for a sum of kernels on landmarks, and all its derivatives.

The error is that of rows that a machine was not trained on. With landmarks Z, K = k(Z, Z), the
machine of a fold minimises sum_i w_i |y_i - k(x_i, Z) a|^2 + nu h a'K a over the rows outside the
fold, so that

S a = b,  S = nu h K + sum_i w_i k_i k_i' (+ a little of the identity),  b = sum_i w_i k_i y_i'.

The landmarks are rows with labels, and all machines see them. Over the held-out rows, whose weights
sum to N,

value = N/2 log(E / Nc),  E = sum_i w_i |y_i - k_i'a|^2,

for one output the negative log-probability of Gaussian errors at the best scale, with the prior of
`criteria.kernel_sum`. With g_i = -2 w_i (y_i - k_i'a) and S v = sum_i k_i g_i over the held-out
rows,

dE = sum_held g_i'(dk_i'a) + sum_others w_i [(y_i - k_i'a)'(dk_i'v) - (k_i'v)'(dk_i'a)]
     - tr v'd(nu h K)a,

so that dE/dk is a product of matrices with as many columns as there are outputs. A value costs one
product of the kernel values with themselves, O(n m^2); derivatives cost O(n m d) more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from kernalign import _lapack
from kernalign._threads import blocks_in_threads, map_rows
from kernalign._typing import Array
from kernalign.criteria.kernel_sum import CONSTANT, NOISE, KernelSum, SumCriterion, Term, prior
from kernalign.gram.crossed import CrossedRows
from kernalign.gram.packed import SUMS
from kernalign.kernels import Family

#: Number of rows whose kernel values are computed at a time.
ROWS = 512
#: Added to the diagonal of S, in units of N h^2, by the precision of the kernel values: directions
#: below it are rounding errors.
RIDGE = {np.float32: 1e-7, np.float64: 1e-11}
#: A search ends if three steps together lower E by less than this share.
MIN_PROGRESS = 1e-3
#: Lower bound of E, which vanishes for a constant response.
MIN_ERROR = 1e-200


#: Positions of the folds among the parts of the rows, after that of the landmarks.
FOLDS = (1, 2)

Result = TypeVar("Result")


@dataclass(frozen=True)
class Machine:
    """The coefficients a of a fold's machine, (m, c), v, and its residuals of all rows, (n, c)."""

    a: Array
    v: Array
    missed: Array


@dataclass(frozen=True)
class Solved:
    """E, the machines of the folds, kernel values of all rows, h and nu h.

    The kernel values live until the next evaluation.
    """

    error: float
    machines: list[Machine]
    values: Array
    h: float
    nu: float


class HeldOutError(SumCriterion):
    """The criterion on rows of which those after the landmarks are held out in two halves.

    families, tied, strength, least_noise : as in `SumCriterion`.
    """

    rows: CrossedRows

    def __init__(
        self,
        rows: CrossedRows,
        families: Sequence[Family],
        tied: Sequence[bool],
        strength: float,
        least_noise: float = NOISE[0],
    ):
        super().__init__(rows, families, tied, strength, least_noise)
        half = rows.m + (rows.n - rows.m) // 2
        #: The rows of the landmarks and of the two folds.
        self.parts = (slice(0, rows.m), slice(rows.m, half), slice(half, rows.n))
        self.held = float(rows.w[rows.m :].sum())
        # In nats.
        self.min_progress = 0.5 * MIN_PROGRESS * self.held
        self._values: Array | None = None

    # -- value ----------------------------------------------------------------------------------

    def value(self, k: KernelSum) -> float:
        """The value with the prior."""
        return next(self.values_at(k, [k.log_noise]))

    def values_at(self, k: KernelSum, log_noises: Iterable[float]) -> Iterator[float]:
        """The values at several values of the noise, from the same sums over the rows."""
        believed = sum(prior(term.u, self.strength)[0] for term in k.terms)
        with blocks_in_threads():
            h = self._size(k)
            sums = self._sums(k, h)
        for log_noise in log_noises:
            with blocks_in_threads():
                found = self._machines(h, float(np.exp(log_noise)), *sums)
            yield self._nats(found) + believed

    def _nats(self, found: Solved) -> float:
        return 0.5 * self.held * float(np.log(found.error / (self.held * self.rows.Y.shape[1])))

    def _solved(self, k: KernelSum) -> Solved:
        h = self._size(k)
        return self._machines(h, float(np.exp(k.log_noise)), *self._sums(k, h))

    def _machines(
        self, h: float, noise: float, values: Array, sums: list[Array], right: list[Array]
    ) -> Solved:
        """The machines of both folds, from kernel values and their sums."""
        rows, nu = self.rows, noise * h
        penalty = nu * values[: rows.m].astype(float)
        penalty[np.diag_indices_from(penalty)] += self._ridge * h**2
        error, machines = 0.0, []
        for fold in FOLDS:
            other = FOLDS[fold == FOLDS[0]]
            L = _lapack.cholesky(sums[0] + sums[other] + penalty)
            a = _lapack.solve(L, right[0] + right[other])
            missed = rows.Y - self._times(values, a)
            held = self.parts[fold]
            weighted = rows.w[held, None] * missed[held]
            error += float(np.vdot(weighted, missed[held]))
            v = _lapack.solve(L, self._adjoint(values, held, -2 * weighted))
            machines.append(Machine(a, v, missed))
        return Solved(max(error, MIN_ERROR), machines, values, h, nu)

    @property
    def _ridge(self) -> float:
        return RIDGE[self.rows.precision] * self.rows.total * (1 + CONSTANT) ** 2

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
        rows = self.rows
        if self._values is None:
            # New memory in each of many evaluations would cost as much as the arithmetic.
            self._values = np.empty((rows.n, rows.m), dtype=rows.precision)
        values = self._values
        root = np.sqrt(rows.w)[:, None]
        labels = (root * rows.Y).astype(rows.precision)
        root = root.astype(rows.precision)

        def block(some: slice) -> tuple[Array, Array]:
            K = self._filled(values[some], k, h, some)
            weighted = root[some] * K
            return weighted.T @ weighted, weighted.T @ labels[some]

        sums = [np.zeros((rows.m, rows.m)) for _ in self.parts]
        right = [np.zeros((rows.m, labels.shape[1])) for _ in self.parts]
        for t, part in enumerate(self.parts):
            for products, with_labels in _blocks(block, part):
                sums[t] += products
                right[t] += with_labels
        return values, sums, right

    def _filled(self, K: Array, k: KernelSum, h: float, some: slice) -> Array:
        """Kernel values of some rows, written to K."""
        K[...] = CONSTANT * h
        for term in k.terms:
            K += self.rows.precision(np.exp(term.s)) * self._values_of(term, some)
        return K

    def _values_of(self, term: Term, some: slice) -> Array:
        """Kernel values of a term without its size."""
        feature = term.family.pair_feature
        D = self.rows.summed(feature, np.exp(term.u), some)
        return D if feature in SUMS else term.family.profile_and_slope(D)[0]

    def _times(self, values: Array, a: Array) -> Array:
        """k(x_i, Z) a of all rows."""
        a = a.astype(self.rows.precision)
        return np.concatenate(list(_blocks(lambda some: values[some] @ a, slice(0, self.rows.n))))

    def _adjoint(self, values: Array, part: slice, columns: Array) -> Array:
        """sum_i k_i columns_i' over the rows of a part."""
        columns, first = columns.astype(self.rows.precision), part.start

        def block(some: slice) -> Array:
            found: Array = values[some].T @ columns[some.start - first : some.stop - first]
            return found

        total = np.zeros((self.rows.m, columns.shape[1]))
        for found in _blocks(block, part):
            total += found
        return total

    # -- slope ----------------------------------------------------------------------------------

    def __call__(self, x: Array) -> tuple[float, Array]:
        k = self.split(x)
        with blocks_in_threads():
            found = self._solved(k)
            by_constant, of_terms = self._by_terms(k, found)
            by_noise = -found.nu * sum(self._penalty(found, machine) for machine in found.machines)
            traces = sum(float(np.vdot(machine.v, machine.a)) for machine in found.machines)
        # Constant, noise and ridge are in units of h.
        by_h = CONSTANT * by_constant + by_noise / found.h - 2 * self._ridge * found.h * traces
        factor = 0.5 * self.held / found.error
        value, slopes, by_weight = self._nats(found), [], []
        for term, (by_r, by_s) in zip(k.terms, of_terms, strict=True):
            size, r = float(np.exp(term.s)), np.broadcast_to(np.exp(term.u), by_r.shape)
            by_u = size * by_r * r
            if term.family.pair_feature in SUMS:
                by_u += by_h * size * self.rows.own(term.family.pair_feature).mean(axis=0) * r
            believed, pull = prior(term.u, self.strength)
            value += believed
            slopes.append(factor * (by_u.sum(keepdims=True) if term.tied else by_u) + pull)
            by_weight.append(factor * size * (by_s + by_h * self._own(term)))
        return value, np.concatenate([*slopes, by_weight[1:], [factor * by_noise]])

    def _by_terms(self, k: KernelSum, found: Solved) -> tuple[float, list[tuple[Array, float]]]:
        """Derivatives of E in the constant, and in the relevances and the value of each term."""
        left, right = self._factors(found)

        def block(some: slice) -> tuple[float, list[tuple[Array, float]]]:
            G = left[some] @ right.T
            return float(G.sum(dtype=float)), [self._slopes(term, G, some) for term in k.terms]

        by_constant, of_terms = 0.0, [(np.zeros(self.rows.d), 0.0) for _ in k.terms]
        for all_values, slopes in _blocks(block, slice(0, self.rows.n)):
            by_constant += all_values
            of_terms = [
                (by_r + more_r, by_s + more_s)
                for (by_r, by_s), (more_r, more_s) in zip(of_terms, slopes, strict=True)
            ]
        return by_constant, of_terms

    def _factors(self, found: Solved) -> tuple[Array, Array]:
        """dE/dk of all rows and landmarks as left right', (n, 4c) and (m, 4c)."""
        rows, columns = self.rows, []
        for fold, machine in zip(FOLDS, found.machines, strict=True):
            held, weighted = self.parts[fold], rows.w[:, None] * machine.missed
            of_a = -rows.w[:, None] * self._times(found.values, machine.v)
            of_a[: rows.m] -= found.nu * machine.v
            of_a[held] = -2 * weighted[held]
            weighted[held] = 0.0
            columns += [of_a, weighted]
        right = np.hstack([part for machine in found.machines for part in (machine.a, machine.v)])
        return np.hstack(columns).astype(rows.precision), right.astype(rows.precision)

    def _penalty(self, found: Solved, machine: Machine) -> float:
        """tr v'K a."""
        K = found.values[: self.rows.m]
        return float(np.vdot(machine.v, K @ machine.a.astype(self.rows.precision)))

    def _slopes(self, term: Term, G: Array, some: slice) -> tuple[Array, float]:
        """Derivatives of E in the relevances of a term and in its value, given dE/dk of some rows,
        without the size of the term."""
        feature = term.family.pair_feature
        if feature in SUMS:
            # The kernel is linear in the relevances.
            by_r = self.rows.contracted(feature, G, some)
            return by_r, float(by_r @ np.broadcast_to(np.exp(term.u), by_r.shape))
        K, slope = term.family.profile_and_slope(self.rows.summed(feature, np.exp(term.u), some))
        by_s = float(np.vdot(G, K))
        return self.rows.contracted(feature, np.multiply(slope, G, out=slope), some), by_s


def _blocks(function: Callable[[slice], Result], part: slice) -> Iterator[Result]:
    """The function's results for consecutive rows of a part, in order."""

    def shifted(some: slice) -> Result:
        return function(slice(part.start + some.start, part.start + some.stop))

    return (found for _, found in map_rows(shifted, part.stop - part.start, ROWS))
