"""Evidence or leave-one-out error as the criterion of the greedy loop.

The next kernel is proposed by the slope -<G, K(kappa_sigma)>, G = d criterion / dK, as
alignment does by P; the first one by the criterion of the single kernel. After each addition, all
weights, parameters and the noise are optimised together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign.criteria.evidence import RidgeCriterion
from kernalign.criteria.growth import Growth, Objective
from kernalign.gram import Probe
from kernalign.gram.quadratic_form import FormObjective
from kernalign.kernels import Family, FamilyMember, SearchSpace
from kernalign.solvers.descent import Descent, Point

#: Noise of the first search, and trial weight of a kernel relative to the first one.
FIRST_NOISE, TRIED_WEIGHT = 0.1, 0.1


@dataclass(frozen=True)
class Dictionary:
    """Families, where to search them, and their columns of some rows."""

    families: Sequence[Family]
    spaces: Sequence[SearchSpace]
    data: Sequence[Array]


class RidgeGrowth(Growth):
    """A sum of kernels of any families by a ridge criterion, which is minimised.

    iterations : of the descent after each addition.
    """

    def __init__(
        self,
        criterion: RidgeCriterion,
        dictionary: Dictionary,
        iterations: int,
    ):
        self.criterion, self.dictionary, self.iterations = criterion, dictionary, iterations
        self.atoms: list[tuple[int, Array]] = []
        self.point = Point([], np.zeros(0), float(np.log(FIRST_NOISE)))
        self._before = self.atoms, self.point
        n = len(dictionary.data[0])
        self.K = np.zeros((n, n))
        self.slope = criterion.evaluate(self.K, FIRST_NOISE)

    @property
    def empty(self) -> bool:
        return not self.atoms

    @property
    def noise(self) -> float:
        return float(np.exp(self.point.log_noise))

    def value(self) -> float:
        return -self.slope.value

    def objective(self, by: str) -> Objective:
        """-<G, K'>, or minus the criterion at K' itself or at K + TRIED_WEIGHT K'."""
        G = self.slope.G

        def slope(K_new: Array) -> tuple[float, Array]:
            return -float(np.vdot(G, K_new)), -G

        def step(K_new: Array) -> tuple[float, Array]:
            weight = 1.0 if self.empty else TRIED_WEIGHT
            found = self.criterion.evaluate(self.K + weight * K_new, self.noise)
            return -found.value, -weight * found.G

        return GramObjective(step if by == "step" else slope)

    def probe(self, objective: Objective, family: int) -> Probe:
        assert isinstance(objective, GramObjective)
        dictionary = self.dictionary
        return GramProbe(objective.of, dictionary.families[family], dictionary.data[family])

    def add(self, family: int, z: Array) -> None:
        """Add a kernel and optimise all weights, parameters and the noise."""
        self._before = self.atoms, self.point
        weight = 0.0 if self.empty else float(np.log(TRIED_WEIGHT))
        start = Point([*self.point.z, z], np.append(self.point.s, weight), self.point.log_noise)
        chosen = [*(f for f, _ in self.atoms), family]
        descent = self._descent(chosen)
        self.point = descent.minimise(start, self.iterations)
        self.atoms = list(zip(chosen, self.point.z, strict=True))
        self.K = descent.gram(self.point)
        self.slope = self.criterion.evaluate(self.K, self.noise)

    def before(self) -> tuple[list[tuple[int, Array]], Point]:
        """Kernels and point before the last kernel was added."""
        return self._before

    def _descent(self, chosen: Sequence[int]) -> Descent:
        parts = self.dictionary
        return Descent(
            self.criterion,
            [parts.families[f] for f in chosen],
            [parts.spaces[f] for f in chosen],
            [parts.data[f] for f in chosen],
        )

    def kernel(self, t: int) -> FamilyMember:
        family, z = self.atoms[t]
        member = self.dictionary.families[family]
        return FamilyMember(member, member.from_search(z))

    def record(self, search_value: float) -> dict[str, Any]:
        return {
            "iteration": len(self.atoms),
            "kernel": self.kernel(len(self.atoms) - 1),
            "objective": self.slope.value,
            "search_value": search_value,
            "weights": np.exp(self.point.s).tolist(),
            "noise": self.noise,
        }


class GramObjective(FormObjective):
    """A function of the Gram matrix of the next kernel: K' -> value, d value / dK'."""

    def __init__(self, of: Callable[[Array], tuple[float, Array]]):
        super().__init__()
        self.of = of


class GramProbe(Probe):
    """z -> a function of the Gram matrix K(z), as the only inner product."""

    def __init__(self, of: Callable[[Array], tuple[float, Array]], family: Family, X: Array):
        self._of, self._family, self._X = of, family, X
        self._K = self._G = np.zeros((0, 0))

    def products(self, z: Array) -> tuple[Array, float]:
        self._K = self._family.gram(self._family.from_search(z), self._X)
        value, self._G = self._of(self._K)
        return np.array([value]), 0.0

    def gradient(self, z: Array, d_products: Array, d_norm: float) -> Array:
        sigma = self._family.from_search(z)
        slope = self._family.gradient(sigma, self._X, None, self._G, self._K)
        return float(d_products[0]) * slope
