"""Descent of the regularised risk over the convex hull of continuous sets of kernels.

1. start from the kernel with the largest y'G(sigma)y (or five spread over the box)
2. c = (K + rho I)^-1 y, S = y'c
3. sigma = argmax c'G(sigma)c =: m;  gap = delta / (S + delta), delta = m - c'Kc
4. stop if gap <= tol, or S fell by less than the share tol_fun, or after max_iter iterations
5. lambda = argmin_{0 <= lambda <= 1} S((1 - lambda) K + lambda G(sigma))
6. K <- (1 - lambda) K + lambda G(sigma)
7. (corrective) optimise all weights

`greedy.grow` runs the same steps on a `RiskGrowth` without certificates, and stops by the value
after a step. Here the search bounds the distance of the mixture from the optimum over the hull. It
therefore comes before the stopping test, and no step is made after a good certificate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign.criteria.growth import Growth, Objective
from kernalign.criteria.risk import RegularisedRisk
from kernalign.gram import Probe
from kernalign.gram.quadratic_form import FormObjective
from kernalign.solvers.callback import Callback, asked_to_stop
from kernalign.solvers.hull_search import Atom, Candidate, HullSearch, RiskSettings
from kernalign.solvers.hull_weights import best_risk_weights

#: Kernels whose parameters differ by less than this share are merged.
SAME = 1e-4
#: Kernels of a warm start are merged within this share of the family's unit in z.
CLUSTER = 0.03
#: A kernel is counted if its weight is above this share of the largest.
COUNTED = 1e-3
#: Factor of the number of starts when a search without certificate confirms convergence.
CERTIFYING = 4
#: Iterations over which S must fall by tol_fun. With optimal weights, a kernel close to another one
#: may lower S by very little although a distant one is still missing.
PATIENCE = 5
#: The line search leaves at most the square of this share of S.
LINE_TOL = 1e-4


@dataclass
class Descent:
    """Result of a descent: the mixture, and one record per iteration."""

    atoms: list[Atom]
    gap: float = np.inf
    history: list[dict[str, Any]] = field(default_factory=list)


def descend(
    search: HullSearch,
    risk: RegularisedRisk,
    warm: Sequence[Atom] = (),
    callback: Callback | None = None,
) -> Descent:
    """Minimise S from K = 0, or from the mixture of a similar problem."""
    settings = search.settings
    path = RiskGrowth(search, risk, warm)
    state = Descent([])
    for t in range(1, settings.max_iter + 1):
        # 2. c and S belong to risk.K.   3. Inner search and certificate.
        found = search.best(risk.c, path.mixture)
        state.gap = risk.gap(found.upper)
        if state.gap <= settings.tol and search.doubtful:
            # A certificate is only as good as its search.
            again = search.best(risk.c, path.mixture, CERTIFYING)
            found = max(found, again, key=lambda candidate: candidate.upper)
            state.gap = risk.gap(found.upper)
        record = _record(t, path, state.gap, found)
        state.history.append(record)
        # 4. Stop?
        record["stop"] = _reason(state, settings)
        if asked_to_stop(callback, record) and record["stop"] is None:
            record["stop"] = "callback"
        if record["stop"] is not None:
            break
        # 5. Line search.   6. New weights.   7. Optimise all weights.
        record["lambda"] = path.move(found)
    return replace(state, atoms=path.mixture)


class RiskGrowth(Growth):
    """A mixture of kernels by regularised risk; without certificates `greedy.grow` runs it too."""

    def __init__(self, search: HullSearch, risk: RegularisedRisk, warm: Sequence[Atom] = ()):
        self.search, self.risk = search, risk
        self.mixture = _start(search, risk, warm)
        self.atoms = [(atom.family, atom.z) for atom in self.mixture]
        self.moves = 0

    @property
    def empty(self) -> bool:
        return not self.mixture

    def value(self) -> float:
        """-S."""
        return -self.risk.value

    def objective(self, by: str) -> Objective:
        """c'G(sigma)c, the slope of -S, for both ways to select the next kernel."""
        return FormObjective()

    def probe(self, objective: Objective, family: int) -> Probe:
        return self.search.forms[family].of(self.risk.c)

    def add(self, family: int, z: Array) -> None:
        self.move(Candidate(family, z, self.search.forms[family].gram(z), np.inf))

    def move(self, found: Candidate) -> float:
        """K <- (1 - lambda) K + lambda G with the best lambda, then step 7."""
        corrective = self.search.settings.corrective
        atom, gram = _merged(self.search, self.mixture, found)
        if corrective:
            # The line search overwrites its argument.
            atom.gram, gram = gram, gram.copy()
        step = self.risk.step_towards(gram, LINE_TOL)
        if all(atom is not known for known in self.mixture):
            self.mixture.append(atom)
        for known in self.mixture:
            known.weight *= 1 - step
        atom.weight += step
        # lambda = 1 discards all earlier kernels, lambda = 0 the new one.
        self.mixture = [known for known in self.mixture if known.weight > 0]
        if corrective:
            self.mixture = _reweighted(self.risk, self.mixture, self.search.settings.tol)
        self.atoms = [(known.family, known.z) for known in self.mixture]
        self.moves += 1
        return step

    def record(self, search_value: float) -> dict[str, Any]:
        return {
            "iteration": self.moves,
            "objective": self.risk.value,
            "search_value": search_value,
            "weights": [atom.weight for atom in self.mixture],
        }


def _start(search: HullSearch, risk: RegularisedRisk, warm: Sequence[Atom]) -> list[Atom]:
    """1. The mixture to start from; `risk` is set to it."""
    if warm:
        atoms = _clusters(search, warm)
    elif search.settings.start == "spread":
        atoms = search.spread()
    else:
        # At K = 0 the dual vectors are proportional to y.
        found = search.best(risk.c, ())
        atoms = [Atom(found.family, found.z, 1.0)]
    K = np.zeros_like(risk.K)
    for atom in atoms:
        gram = search.forms[atom.family].gram(atom.z)
        K += atom.weight * gram
        atom.gram = gram if search.settings.corrective else None
    risk.set(K)
    return atoms


def _clusters(search: HullSearch, atoms: Sequence[Atom]) -> list[Atom]:
    """The mixture with neighbouring kernels merged at their mean.

    A greedy descent leaves dozens of kernels around each peak, which would accumulate along a path.
    Merging hardly changes S; usually S falls.
    """
    merged = []
    left = sorted(atoms, key=lambda atom: -atom.weight)
    while left:
        top, width = left[0], CLUSTER * search.spaces[left[0].family].unit
        near = [
            atom.family == top.family and bool((np.abs(atom.z - top.z) <= width).all())
            for atom in left
        ]
        cluster = [atom for atom, inside in zip(left, near, strict=True) if inside]
        weights = np.array([atom.weight for atom in cluster])
        z = weights @ np.stack([atom.z for atom in cluster]) / weights.sum()
        merged.append(Atom(top.family, z, float(weights.sum())))
        left = [atom for atom, inside in zip(left, near, strict=True) if not inside]
    return merged


def _reason(state: Descent, settings: RiskSettings) -> str | None:
    """The reason to stop, or None."""
    if state.gap <= settings.tol:
        return "tol"
    S = [record["objective"] for record in state.history]
    patience = PATIENCE if settings.corrective else 1
    if len(S) > patience and S[-1 - patience] - S[-1] < settings.tol_fun * S[-1 - patience]:
        return "tol_fun"
    return "max_iter" if len(S) == settings.max_iter else None


def _record(t: int, path: RiskGrowth, gap: float, found: Candidate) -> dict[str, Any]:
    """The record of the mixture before the t-th step, for `history_` and callbacks."""
    kernel = path.search.kernel(found)
    weights = np.array([atom.weight for atom in path.mixture])
    return {
        "iteration": t,
        "objective": path.risk.value,
        "gap": gap,
        "kernel": kernel,
        "sigma": float(kernel.sigma[0]) if kernel.sigma.size == 1 else kernel.sigma.tolist(),
        "lambda": 0.0,
        "kernels": int((weights > COUNTED * weights.max()).sum()),
        "jitter": path.risk.jitter,
    }


def _merged(search: HullSearch, atoms: Sequence[Atom], found: Candidate) -> tuple[Atom, Array]:
    """The atom to move to and its Gram matrix: an existing one if the two hardly differ."""
    family = search.families[found.family]
    alike = [atom for atom in atoms if atom.family == found.family]
    if alike:
        sigma = family.from_search(found.z)
        others = np.stack([family.from_search(atom.z) for atom in alike])
        # isclose treats an infinite bandwidth as close only to itself.
        same = np.isclose(others, sigma, rtol=SAME, atol=0.0)
        for k in np.flatnonzero(same.all(axis=1))[:1]:
            gram = alike[k].gram
            return alike[k], search.forms[found.family].gram(alike[k].z) if gram is None else gram
    return Atom(found.family, found.z, 0.0), found.gram


def _reweighted(risk: RegularisedRisk, atoms: list[Atom], tol: float) -> list[Atom]:
    """7. The best weights of these kernels; kernels with zero weight are dropped."""
    grams = [atom.gram for atom in atoms if atom.gram is not None]
    w = best_risk_weights(risk, grams, np.array([atom.weight for atom in atoms]), 0.1 * tol)
    for atom, weight in zip(atoms, w, strict=True):
        atom.weight = float(weight)
    return [atom for atom in atoms if atom.weight > 0]
