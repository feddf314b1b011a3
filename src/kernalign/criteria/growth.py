"""The interface between a criterion and the greedy loop.

`solvers.greedy.grow` asks a `Growth` for the value of the combination and for the objective of the
next search, and gives it the kernel that was found. A criterion may do more than a single step: it
may update all weights, the parameters of the kernels, or the noise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from kernalign._typing import Array
from kernalign.criteria.alignment import (
    CenteredAlignment,
    SlopeObjective,
    StepObjective,
    best_weights,
)
from kernalign.gram import Element, PairSums, Probe
from kernalign.gram.base import FIRST_ATOM, IDENTITY, TARGET

#: Attributes that the greedy loop requires of a growth.
GROWTH = ("atoms", "empty", "value", "objective", "probe", "add", "record")


def check_needs(solver: str, part: Any, needs: Sequence[str]) -> None:
    """Raise an error that names the attributes a solver requires and the part lacks."""
    missing = [name for name in needs if not hasattr(part, name)]
    if missing:
        raise TypeError(
            f"{solver} requires the attributes {', '.join(f'{name!r}' for name in needs)}. "
            f"{type(part).__name__} has no {', '.join(f'{name!r}' for name in missing)}."
        )


class Objective(Protocol):
    """A function of the inner products with `elements` and of the squared centred norm."""

    elements: list[Element]

    def value(self, products: Array, norm: Array | float) -> Any: ...

    def derivative(self, products: Array, norm: float) -> tuple[Array, float]: ...


class Growth(ABC):
    """A combination of kernels to which one kernel is added at a time."""

    #: Kernels (family, z) in the order in which they were added.
    atoms: list[tuple[int, Array]]

    @property
    @abstractmethod
    def empty(self) -> bool:
        """Whether there is no kernel yet, so that the next one is selected for its own value."""

    @abstractmethod
    def value(self) -> float:
        """The criterion at the combination; larger is better."""

    @abstractmethod
    def objective(self, by: str) -> Objective:
        """The objective of the next search: the "slope" of the criterion, or its "step"."""

    @abstractmethod
    def probe(self, objective: Objective, family: int) -> Probe:
        """The inner products of `objective` for the members of one family."""

    @abstractmethod
    def add(self, family: int, z: Array) -> None:
        """Add a kernel with its best weight."""

    @abstractmethod
    def record(self, search_value: float) -> dict[str, Any]:
        """The record of the last kernel added, for `history_` and callbacks."""


class AlignmentGrowth(Growth):
    """K = eps C_n + sum_t eta_t K_t by centred alignment, on sums over pairs.

    eps : weight of the identity in the paper's starting point; with `best`, of the first kernel
        instead, equally small, so that eta_max does not limit later steps.
    corrective : optimise all weights after each kernel, instead of one step.
    """

    def __init__(self, sums: PairSums, eps: float, eta_max: float, *, corrective: bool, best: bool):
        self.sums, self.F = sums, CenteredAlignment(sums.T)
        self.eps, self.eta_max, self.corrective, self.best = eps, eta_max, corrective, best
        self.K = sums.identity * (0.0 if best else eps)
        self.atoms: list[tuple[int, Array]] = []

    @property
    def empty(self) -> bool:
        # A kernel that is constant on the rows is not a starting point.
        return self.best and self.K.inner(self.K) <= 0

    def value(self) -> float:
        return self.F.value(self.K)

    def objective(self, by: str) -> Objective:
        return (StepObjective if by == "step" else SlopeObjective)(self.F, self.K)

    def probe(self, objective: Objective, family: int) -> Probe:
        return self.sums.probe(objective.elements, family)

    def add(self, family: int, z: Array) -> None:
        self.take(self.sums.append(family, z))

    def take(self, K_new: Element) -> None:
        """Add the next kernel, which the sums already contain."""
        if self.empty:
            self.K = K_new * self.eps
        elif self.corrective:
            self.K = _reweighted(self.K + K_new)
        else:
            self.K = self.K + self.F.step(self.K, K_new, self.eta_max) * K_new
        self.atoms.append(self.sums.atoms[len(self.atoms)])

    def weights(self) -> Array:
        """Weights of the kernels. The identity affects the path but not the predictions."""
        return self.K.padded()[FIRST_ATOM:][: len(self.atoms)]

    def record(self, search_value: float) -> dict[str, Any]:
        t, weights = len(self.atoms) - 1, self.weights()
        return {
            "iteration": t + 1,
            "kernel": self.sums.kernel(t),
            "eta": float(weights[t]),
            "objective": self.value(),
            "search_value": search_value,
            "weights": weights.tolist(),
        }


def _reweighted(K: Element) -> Element:
    """The combination of the identity and the kernels in K with the largest alignment."""
    used = np.flatnonzero(K.padded())
    table = K.sums.table
    coefficients = np.zeros(len(table))
    coefficients[used] = best_weights(table[np.ix_(used, used)], table[used, TARGET])
    # Kernels with weight zero can return later; the identity keeps the combination non-zero.
    if not coefficients.any():
        coefficients[IDENTITY] = 1.0
    return Element(K.sums, coefficients)
