"""Sums of kernels with one relevance per feature, and criteria that are functions of them.

k = sum_f e^{s_f} kappa_f(r_f) with relevances r = e^u, and the noise in units of its mean diagonal.
A constant kernel of the same size represents the mean that a machine fits.

The prior that all features are equally relevant is sum_k log(1 + (u_k - mean u)^2), times its
strength. A relevance that already differs from the others is hardly penalised further.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize
from sklearn.base import clone

from kernalign._typing import Array
from kernalign.gram.packed import SUMS
from kernalign.kernels import Family, FamilyMember, LearnedKernel
from kernalign.kernels.units import Units

#: The constant kernel, in units of the others. Without it, leave-one-out predictions would leak the
#: label of a row through the mean.
CONSTANT = 1.0
#: Ranges of log relevances, of log weights relative to the first, and of the noise.
LOG_RELEVANCE, LOG_WEIGHT, NOISE = (-18.0, 6.0), (-9.0, 9.0), (1e-6, 1e3)
#: A search by evidence ends if three steps together gain less than this many nats.
MIN_PROGRESS = 0.3


@dataclass(frozen=True)
class Term:
    """e^s kappa(e^u) of one family; u has one entry per feature, or one for all features."""

    family: Family
    u: Array
    s: float = 0.0

    @property
    def tied(self) -> bool:
        return len(self.u) == 1

    @classmethod
    def of(cls, member: FamilyMember, weight: float) -> Term:
        """The term whose `member` and `weight` these are; the columns are in units already."""
        # A clone is without the units of columns.
        family = clone(member.family)
        if "ard" in family.get_params(deep=False):
            family.set_params(ard=True)
        with np.errstate(divide="ignore"):
            # A feature without any relevance has the smallest of the search.
            u = np.log(family.to_relevances(member.sigma))
        return cls(family, np.maximum(u, LOG_RELEVANCE[0]), float(np.log(weight)))

    def member(self, d: int) -> FamilyMember:
        """The kernel on d features that, times `weight`, equals this term."""
        u = self.u if self.family.pair_feature not in SUMS else self.u - self.u.max()
        family = self.family.tied() if self.tied else None
        sigma = self.family.from_relevances(np.exp(np.broadcast_to(u, (d,))))
        return FamilyMember(self.family, sigma) if family is None else family.at(sigma[0])

    @property
    def weight(self) -> float:
        """The factor of `member`."""
        if self.family.pair_feature not in SUMS:
            return float(np.exp(self.s))
        return float(np.exp(self.s + self.u.max()))


@dataclass(frozen=True)
class KernelSum:
    """A sum of kernels and the log noise, in units of the sum's mean diagonal."""

    terms: tuple[Term, ...]
    log_noise: float

    def size(self, d: int) -> float:
        """The mean diagonal on d columns of unit spread."""
        return float(sum(np.exp(term.s) * _own_size(term, d) for term in self.terms))

    def in_units(self, units: Units) -> LearnedKernel:
        """The sum as a kernel on the original columns."""
        members = [term.member(len(units.centre)) for term in self.terms]
        kernels = [FamilyMember(m.family.in_units(units), m.sigma) for m in members]
        return LearnedKernel(kernels, np.array([term.weight for term in self.terms]))


def _own_size(term: Term, d: int) -> float:
    if term.family.pair_feature not in SUMS:
        return 1.0
    return float(np.exp(np.broadcast_to(term.u, (d,))).sum())


def prior(u: Array, strength: float) -> tuple[float, Array]:
    """strength * sum_k log(1 + (u_k - mean u)^2) and its slope in u."""
    if len(u) == 1:
        return 0.0, np.zeros(1)
    r = u - u.sum() / len(u)
    squares = r * r
    pull = 2 * r / (1 + squares)
    slope = strength * (pull - pull.sum() / len(u))
    return strength * float(np.log1p(squares).sum()), slope


def retied(k: KernelSum, d: int) -> KernelSum:
    """The same kernels with one relevance per feature."""
    terms = (replace(t, u=np.full(d, t.u[0])) if t.tied else t for t in k.terms)
    return KernelSum(tuple(terms), k.log_noise)


class SumCriterion(ABC):
    """A criterion, in nats, as a function of all relevances, weights and the noise of a sum.

    rows : with a number of features d.
    families, tied : of the terms, and whether a term has a single relevance.
    strength : of the prior.
    least_noise : the smallest noise that is searched.
    """

    #: A search ends if three steps together gain less than this many nats.
    min_progress = MIN_PROGRESS

    def __init__(
        self,
        rows: Any,
        families: Sequence[Family],
        tied: Sequence[bool],
        strength: float,
        least_noise: float = NOISE[0],
    ):
        self.rows = rows
        self.families, self.tied = families, tied
        self.strength, self.least_noise = strength, least_noise
        self.sizes = [1 if one else rows.d for one in tied]
        self._ends = np.cumsum(self.sizes).tolist()

    @classmethod
    def like(cls, rows: Any, k: KernelSum, strength: float, least_noise: float = NOISE[0]) -> Self:
        """The criterion over the families of a given sum."""
        families, tied = [term.family for term in k.terms], [term.tied for term in k.terms]
        return cls(rows, families, tied, strength, least_noise)

    @abstractmethod
    def __call__(self, x: Array) -> tuple[float, Array]:
        """The value, which is minimised, and its gradient."""

    # -- one vector for all parameters --------------------------------------------------------

    def join(self, k: KernelSum) -> Array:
        weights = [term.s - k.terms[0].s for term in k.terms[1:]]
        return np.concatenate([*(term.u for term in k.terms), weights, [k.log_noise]])

    def split(self, x: Array) -> KernelSum:
        u = [x[end - size : end] for end, size in zip(self._ends, self.sizes, strict=True)]
        *weights, log_noise = x[self._ends[-1] :].tolist()
        terms = zip(self.families, u, [0.0, *weights], strict=True)
        return KernelSum(tuple(Term(*term) for term in terms), log_noise)

    def bounds(self) -> Array:
        noise = np.log([self.least_noise, NOISE[1]])
        further = [LOG_WEIGHT] * (len(self.families) - 1)
        return np.array([*[LOG_RELEVANCE] * sum(self.sizes), *further, noise])

    # -- search -------------------------------------------------------------------------------

    def minimise(self, start: KernelSum, iterations: int) -> tuple[KernelSum, float]:
        """The sum that L-BFGS-B reaches from a start, and its evidence with the prior."""
        bounds = self.bounds()
        x0 = np.clip(self.join(start), bounds[:, 0], bounds[:, 1])
        values: list[float] = []

        def watch(intermediate_result: Any) -> None:
            values.append(float(intermediate_result.fun))
            if len(values) > 3 and values[-4] - values[-1] < self.min_progress:
                raise StopIteration

        limits = {"maxiter": iterations, "maxfun": 2 * iterations, "maxcor": 20, "maxls": 8}
        found = minimize(
            self, x0, jac=True, method="L-BFGS-B", bounds=bounds, callback=watch, options=limits
        )
        return self.split(found.x), -float(found.fun)
