"""Descent of the regularised risk over the convex hull of continuous sets of kernels.

1. start from the kernel with the largest y'G(sigma)y (or five spread over the box)
2. c = (K + rho I)^-1 y, S = y'c
3. sigma = argmax c'G(sigma)c =: m;  gap = delta / (S + delta), delta = m - c'Kc
4. stop when gap <= tol, or S fell by a share below tol_fun, or after max_iter iterations
5. lambda = argmin_{0 <= lambda <= 1} S((1 - lambda) K + lambda G(sigma))
6. K <- (1 - lambda) K + lambda G(sigma)
7. (corrective) all weights anew

This is not `greedy.grow`. There a search proposes, and the value after the step decides whether to
go on. Here the search itself certifies how far the mixture is from the best of the whole hull: it
comes before the decision, and no step is taken once the certificate is good enough. Steps stay in
the convex hull, kernels that coincide are merged, and those that lose their weight leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign.criteria.risk import RegularisedRisk
from kernalign.gram.quadratic_form import FormObjective, QuadraticForm, quadratic_forms
from kernalign.kernels import Family, FamilyMember, SearchSpace
from kernalign.solvers.callback import Callback, asked_to_stop
from kernalign.solvers.dc_search import certified_search
from kernalign.solvers.hull_weights import best_risk_weights
from kernalign.solvers.inner_search import maximise

#: Kernels whose parameters differ by less than this share are one.
SAME = 1e-4
#: Kernels of a warm start are merged within this share of the family's unit in z.
CLUSTER = 0.03
#: A kernel counts when its weight is above this share of the largest.
COUNTED = 1e-3
#: Points of the scan that are mixed for a search over several parameters.
MIXED = 24
#: Times as many starts where a search without certificate is to confirm that nothing is left.
CERTIFYING = 4
#: Kernels of the start "spread".
SPREAD = 5
#: Iterations over which S must fall by tol_fun. With optimal weights a kernel next to another may
#: lower S by very little while one elsewhere is still missing.
PATIENCE = 5
#: The line search leaves at most the square of this share of S.
LINE_TOL = 1e-4
#: Certificates of the inner search are at least this tight, and pairs gathered down to this tol.
SEARCH_TOL = 1e-4


@dataclass(frozen=True)
class RiskSettings:
    """How to descend; the names are those of `ContinuousRisk`."""

    solver: str = "gradient"
    start: str = "best"
    corrective: bool = False
    tol: float = 1e-3
    tol_fun: float = 1e-5
    max_iter: int = 100
    n_starts: int = 3


@dataclass
class Atom:
    """One kernel of the mixture, its weight, and its Gram matrix where that is needed again."""

    family: int
    z: Array
    weight: float
    gram: Array | None = None


@dataclass(frozen=True)
class Candidate:
    """The kernel that a search found.

    gram : G there;  upper : no kernel has c'Gc above this, as far as the search can tell.
    """

    family: int
    z: Array
    gram: Array
    upper: float


@dataclass
class Descent:
    """Where a descent ended: the mixture, and one record per iteration."""

    atoms: list[Atom]
    gap: float = np.inf
    history: list[dict[str, Any]] = field(default_factory=list)


class HullSearch:
    """argmax c'G(sigma)c over several families on given rows; what rows determine is kept."""

    def __init__(
        self,
        families: Sequence[Family],
        spaces: Sequence[SearchSpace],
        X: Array,
        settings: RiskSettings,
        rng: np.random.Generator,
    ):
        self._rng = rng
        self.families = list(families)
        self.spaces = list(spaces)
        self.settings = settings
        gathered = settings.tol >= SEARCH_TOL
        pairs = list(zip(families, spaces, strict=True))
        self.forms = [quadratic_forms(f, X, space, gathered=gathered) for f, space in pairs]
        self._certified = (
            [certified_search(f, space) for f, space in zip(self.forms, spaces, strict=True)]
            if settings.solver == "dc"
            else None
        )

    def kernel(self, atom: Atom | Candidate) -> FamilyMember:
        family = self.families[atom.family]
        return FamilyMember(family, family.from_search(atom.z))

    @property
    def doubtful(self) -> bool:
        """Whether a search may well miss the largest c'Gc: several parameters, no certificate."""
        return self._certified is None and any(space.p > 1 for space in self.spaces)

    def best(self, c: Array, atoms: Sequence[Atom], effort: int = 1) -> Candidate:
        """The kernel with the largest c'Gc; `effort` multiplies the starts of a search."""
        found = []
        for f in range(len(self.families)):
            known = [atom.z for atom in atoms if atom.family == f]
            found.append(self._best_of_family(f, c, known, effort))
        values = [value for _, value, _ in found]
        best = int(np.argmax(values))
        z = found[best][0]
        gram = self.forms[best].gram(z)
        # Gathered pairs may err in the eighth digit; the Gram matrix is at hand anyway.
        value = float(np.vdot(c, gram @ c))
        return Candidate(best, z, gram, max(value, *(upper for _, _, upper in found)))

    def _best_of_family(
        self, f: int, c: Array, known: Sequence[Array], effort: int
    ) -> tuple[Array, float, float]:
        """z, its value, and an upper bound (-inf where the search has none)."""
        if self._certified is not None:
            tol = min(SEARCH_TOL, self.settings.tol / 10)
            certified = self._certified[f].maximise(c, known[-1:], max(tol, 1e-12))
            return certified.z, certified.value, certified.upper
        form = self.forms[f].of(c)
        starts, n_starts = list(known), self.settings.n_starts * effort
        if self.spaces[f].p > 1:
            # Every start is a local search; the best kernel of the model is worth one more.
            starts = [max(known, key=form.value)] if known else []
            n_starts += len(starts)
            starts += self._mixed_starts(f, form, n_starts - len(starts) - effort, effort)
        found = maximise(FormObjective(), form, self.spaces[f], starts, n_starts)
        return found.z, found.value, -np.inf

    def _mixed_starts(self, f: int, form: QuadraticForm, number: int, effort: int) -> list[Array]:
        """Points that take each coordinate from another point of the scan, the best of many.

        The scan itself has one bandwidth for all features: no start to find that only some matter.
        """
        scan = self.spaces[f].scan
        rows = self._rng.integers(0, len(scan), (MIXED * effort, scan.shape[1]))
        points = scan[rows, np.arange(scan.shape[1])]
        values = np.array([form.value(z) for z in points])
        return [points[i] for i in np.argsort(-values, kind="stable")[:number]]

    def spread(self) -> list[Atom]:
        """Equally spaced parameters over the box of each family, with equal weights."""
        atoms = []
        for f, (family, space) in enumerate(zip(self.families, self.spaces, strict=True)):
            if space.p == 1:
                ends = family.from_search(space.lower)[0], family.from_search(space.upper)[0]
                points = [family.to_search(np.array([s])) for s in np.linspace(*ends, SPREAD)]
            else:
                points = list(
                    space.scan[np.unique(np.linspace(0, len(space.scan) - 1, SPREAD, dtype=int))]
                )
            atoms += [Atom(f, z, 1.0) for z in points]
        for atom in atoms:
            atom.weight = 1 / len(atoms)
        return atoms


def descend(
    search: HullSearch,
    risk: RegularisedRisk,
    warm: Sequence[Atom] = (),
    callback: Callback | None = None,
) -> Descent:
    """Minimise S from K = 0, or from the mixture that a similar problem found."""
    settings = search.settings
    state = Descent(_start(search, risk, warm))
    for t in range(1, settings.max_iter + 1):
        # 2. c and S belong to risk.K.   3. Inner search and certificate.
        found = search.best(risk.c, state.atoms)
        state.gap = risk.gap(found.upper)
        if state.gap <= settings.tol and search.doubtful:
            # A certificate is as good as the search behind it.
            again = search.best(risk.c, state.atoms, CERTIFYING)
            found = max(found, again, key=lambda candidate: candidate.upper)
            state.gap = risk.gap(found.upper)
        record = _record(t, search, risk, state, found)
        state.history.append(record)
        # 4. Stop?
        record["stop"] = _reason(state, settings)
        if asked_to_stop(callback, record) and record["stop"] is None:
            record["stop"] = "callback"
        if record["stop"] is not None:
            break
        # 5. Line search.   6. New weights.
        atom, gram = _merged(search, state.atoms, found)
        if settings.corrective:
            # The line search overwrites what it is given.
            atom.gram, gram = gram, gram.copy()
        record["lambda"] = _move(state, risk, atom, gram)
        # 7. All weights anew.
        if settings.corrective:
            state.atoms = _reweighted(risk, state.atoms, settings.tol)
    return state


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

    A greedy descent leaves dozens of kernels around each peak; along a path they would add up. S
    hardly feels it: mostly it falls.
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
    """Why to stop, if at all."""
    if state.gap <= settings.tol:
        return "tol"
    S = [record["objective"] for record in state.history]
    patience = PATIENCE if settings.corrective else 1
    if len(S) > patience and S[-1 - patience] - S[-1] < settings.tol_fun * S[-1 - patience]:
        return "tol_fun"
    return "max_iter" if len(S) == settings.max_iter else None


def _record(
    t: int, search: HullSearch, risk: RegularisedRisk, state: Descent, found: Candidate
) -> dict[str, Any]:
    kernel = search.kernel(found)
    weights = np.array([atom.weight for atom in state.atoms])
    return {
        "iteration": t,
        "objective": risk.value,
        "gap": state.gap,
        "kernel": kernel,
        "sigma": float(kernel.sigma[0]) if kernel.sigma.size == 1 else kernel.sigma.tolist(),
        "lambda": 0.0,
        "kernels": int((weights > COUNTED * weights.max()).sum()),
        "jitter": risk.jitter,
    }


def _merged(search: HullSearch, atoms: Sequence[Atom], found: Candidate) -> tuple[Atom, Array]:
    """The atom to move to and its Gram matrix: an existing one where the two hardly differ."""
    family = search.families[found.family]
    alike = [atom for atom in atoms if atom.family == found.family]
    if alike:
        sigma = family.from_search(found.z)
        others = np.stack([family.from_search(atom.z) for atom in alike])
        # isclose knows that an infinite bandwidth is close to nothing but itself.
        same = np.isclose(others, sigma, rtol=SAME, atol=0.0)
        for k in np.flatnonzero(same.all(axis=1))[:1]:
            gram = alike[k].gram
            return alike[k], search.forms[found.family].gram(alike[k].z) if gram is None else gram
    return Atom(found.family, found.z, 0.0), found.gram


def _move(state: Descent, risk: RegularisedRisk, atom: Atom, gram: Array) -> float:
    """K <- (1 - lambda) K + lambda G with the best lambda; `gram` is overwritten."""
    step = risk.step_towards(gram, LINE_TOL)
    if all(atom is not known for known in state.atoms):
        state.atoms.append(atom)
    for known in state.atoms:
        known.weight *= 1 - step
    atom.weight += step
    # lambda = 1 discards all earlier kernels, lambda = 0 the new one.
    state.atoms = [known for known in state.atoms if known.weight > 0]
    return step


def _reweighted(risk: RegularisedRisk, atoms: list[Atom], tol: float) -> list[Atom]:
    """7. The best weights of these kernels; those without weight are dropped."""
    grams = [atom.gram for atom in atoms if atom.gram is not None]
    w = best_risk_weights(risk, grams, np.array([atom.weight for atom in atoms]), 0.1 * tol)
    for atom, weight in zip(atoms, w, strict=True):
        atom.weight = float(weight)
    return [atom for atom in atoms if atom.weight > 0]
