"""The search of `hull`: the kernel with the largest c'G(sigma)c of several families.

The search is a scan with refinement, quasi-Newton from several starts, or, if the families allow
it, a certified one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernalign._typing import Array
from kernalign.gram.quadratic_form import FormObjective, QuadraticForm, quadratic_forms
from kernalign.kernels import Family, FamilyMember, SearchSpace
from kernalign.solvers.dc_search import certified_search
from kernalign.solvers.inner_search import maximise

#: Number of scan points that are mixed in a search over several parameters.
MIXED = 24
#: Number of kernels of the start "spread".
SPREAD = 5
#: Tolerance of the certificates of the inner search; pairs are gathered down to this tol.
SEARCH_TOL = 1e-4


@dataclass(frozen=True)
class RiskSettings:
    """Settings of the descent; the names are those of `ContinuousRisk`."""

    solver: str = "gradient"
    start: str = "best"
    corrective: bool = False
    tol: float = 1e-3
    tol_fun: float = 1e-5
    max_iter: int = 100
    n_starts: int = 3


@dataclass
class Atom:
    """One kernel of the mixture, its weight, and its Gram matrix if that is needed again."""

    family: int
    z: Array
    weight: float
    gram: Array | None = None


@dataclass(frozen=True)
class Candidate:
    """Result of a search.

    gram : G of the kernel;  upper : an upper bound of c'Gc, as far as the search can tell.
    """

    family: int
    z: Array
    gram: Array
    upper: float


class HullSearch:
    """argmax c'G(sigma)c over several families on given rows; quantities of the rows are kept."""

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
        """Whether a search may miss the largest c'Gc: several parameters, no certificate."""
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
        # Gathered pairs are accurate to eight digits; the Gram matrix is exact.
        value = float(np.vdot(c, gram @ c))
        return Candidate(best, z, gram, max(value, *(upper for _, _, upper in found)))

    def _best_of_family(
        self, f: int, c: Array, known: Sequence[Array], effort: int
    ) -> tuple[Array, float, float]:
        """z, its value, and an upper bound (-inf if the search has none)."""
        if self._certified is not None:
            tol = min(SEARCH_TOL, self.settings.tol / 10)
            certified = self._certified[f].maximise(c, known[-1:], max(tol, 1e-12))
            return certified.z, certified.value, certified.upper
        form = self.forms[f].of(c)
        starts, n_starts = list(known), self.settings.n_starts * effort
        if self.spaces[f].p > 1:
            # Every start is a local search; add one from the best kernel of the model.
            starts = [max(known, key=form.value)] if known else []
            n_starts += len(starts)
            starts += self._mixed_starts(f, form, n_starts - len(starts) - effort, effort)
        found = maximise(FormObjective(), form, self.spaces[f], starts, n_starts)
        return found.z, found.value, -np.inf

    def _mixed_starts(self, f: int, form: QuadraticForm, number: int, effort: int) -> list[Array]:
        """The best of many points that take each coordinate from another point of the scan.

        The scan itself has one bandwidth for all features, and cannot find irrelevant features.
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
