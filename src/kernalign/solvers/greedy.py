"""The paper's algorithm: grow a combination of kernels by a criterion F, one kernel at a time.

K^0 = eps C_n                                   (or the best single kernel)
for t = 1..T
    P      = dF/dK at K^{t-1}
    sigma* = argmax_sigma <P, K(kappa_sigma)>   (or the largest F after the step)
    eta    = argmax_{0 <= eta <= eta_max} F(K^{t-1} + eta K')
    K^t    = K^{t-1} + eta K'                   (or optimise all weights)
    stop when F(K^t) <= F(K^{t-1}) + theta

F is centred alignment in the paper. `grow` accepts any criterion that has a `Growth`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign.criteria import CenteredAlignment
from kernalign.criteria.growth import (
    GROWTH,
    AlignmentGrowth,
    Growth,
    Objective,
    check_needs,
)
from kernalign.gram import Element, PairSums
from kernalign.gram.base import FIRST_ATOM
from kernalign.gram.centring import VANISHING
from kernalign.kernels import FamilyMember, SearchSpace
from kernalign.solvers.callback import Callback, asked_to_stop
from kernalign.solvers.inner_search import Found, Penalty, maximise

#: Weights below this share of the largest are dropped: they do not affect the alignment.
NEGLIGIBLE = 1e-8


@dataclass(frozen=True)
class Settings:
    """The inputs of the algorithm box, and the options that go beyond it."""

    eps: float = 1e-10
    T: int = 50
    theta: float = 1e-3
    eta_max: float = 1.0
    start: str = "identity"
    selection: str = "slope"
    corrective: bool = False
    n_starts: int = 3
    #: lambda |sigma - mean sigma|^2 for each family, as functions of z.
    penalties: Sequence[Penalty | None] | None = None
    callback: Callback | None = None


@dataclass(frozen=True)
class Combination:
    """sum_t weights_t kernels_t, normalised, and its history.

    kernels, weights : those with positive weight.
    atoms : every kernel (family, z) that the search found, in order.
    alignment : F of the combination, without the identity that the path started from.
    aligned : whether any kernel raised the alignment.
    """

    kernels: list[FamilyMember]
    weights: Array
    atoms: list[tuple[int, Array]]
    alignment: float
    history: list[dict[str, Any]]
    aligned: bool


def continuous_alignment(
    sums: PairSums,
    spaces: Sequence[SearchSpace],
    settings: Settings,
    warm: Sequence[tuple[int, Array]] = (),
) -> Combination:
    """Run the algorithm on the rows and families of `sums`.

    warm : kernels (family, z) of a similar problem, from which the t-th search starts.
    """
    path = alignment_growth(sums, settings)
    search_values = grow(path, spaces, settings, warm) if sums.target.norm > 0 else []
    atoms = list(sums.atoms)
    # Searches may use interpolated sums, but weights are computed from exact ones.
    sums.refine()
    weights, history = replay(sums, search_values, settings)
    weights, aligned = normalised(weights, sums)
    if not aligned:
        sums.append(*_best_single(sums, spaces, settings))
        sums.refine()
        weights = np.append(np.zeros(len(atoms)), 1.0)
        weights, _ = normalised(weights, sums)
    K = Element(sums, np.concatenate([np.zeros(FIRST_ATOM), weights]))
    used = np.flatnonzero(weights)
    return Combination(
        kernels=[sums.kernel(int(t)) for t in used],
        weights=weights[used],
        atoms=atoms,
        alignment=CenteredAlignment(sums.T).value(K),
        history=history,
        aligned=aligned,
    )


def grow(
    path: Growth,
    spaces: Sequence[SearchSpace],
    settings: Settings,
    warm: Sequence[tuple[int, Array]] = (),
) -> list[float]:
    """Add kernels one at a time; returns the value of each search.

    warm : kernels (family, z) of a similar problem, from which the t-th search starts.
    """
    check_needs("The greedy loop", path, GROWTH)
    search_values: list[float] = []
    while len(path.atoms) < settings.T:
        before = -np.inf if path.empty else path.value()
        # 1. P, or the criterion of a single kernel.   2. sigma*.
        objective = path.objective("step" if path.empty else settings.selection)
        known = warm[len(path.atoms) : len(path.atoms) + 1]
        family, found = best_of_families(objective, path, spaces, settings, known)
        # 3. eta.   4. K^t.
        path.add(family, found.z)
        search_values.append(found.value)
        # 5. Stop?
        interrupted = asked_to_stop(settings.callback, path.record(found.value))
        if interrupted or path.empty or path.value() <= before + settings.theta:
            break
    return search_values


def best_of_families(
    objective: Objective,
    path: Growth,
    spaces: Sequence[SearchSpace],
    settings: Settings,
    warm: Sequence[tuple[int, Array]] = (),
) -> tuple[int, Found]:
    """The best kernel of any family; searches also start from the kernels already added."""
    results = []
    for f, space in enumerate(spaces):
        # A kernel of a similar problem replaces the full search.
        known = [z for family, z in warm if family == f]
        starts = known or [z for family, z in path.atoms[-2:] if family == f]
        results.append(
            maximise(
                objective,
                path.probe(objective, f),
                space,
                starts,
                n_starts=settings.n_starts,
                penalty=settings.penalties[f] if settings.penalties is not None else None,
                scan=not known,
            )
        )
    best = int(np.argmax([found.value for found in results]))
    return best, results[best]


def alignment_growth(sums: PairSums, settings: Settings, *, best: bool = False) -> AlignmentGrowth:
    """A growth by alignment from the given start, or from the best single kernel."""
    best = best or settings.start == "best"
    corrective = settings.corrective
    return AlignmentGrowth(sums, settings.eps, settings.eta_max, corrective=corrective, best=best)


def replay(
    sums: PairSums, search_values: Sequence[float], settings: Settings
) -> tuple[Array, list[dict[str, Any]]]:
    """The weights of the kernels along the path, and a record of each iteration."""
    path = alignment_growth(sums, settings)
    history = []
    for t, search_value in enumerate(search_values):
        path.take(sums.atom(t))
        history.append(path.record(search_value))
    return path.weights(), history


def normalised(weights: Array, sums: PairSums) -> tuple[Array, bool]:
    """Weights for which tr(C_n K C_n) / n = 1, and whether K exceeds rounding errors."""
    if not weights.any():
        return weights, False
    weights = weights / weights.max()
    weights = np.where(weights > NEGLIGIBLE, weights, 0.0)
    mean_diagonal = float(weights @ sums.mean_diagonal())
    if mean_diagonal <= VANISHING * weights.sum():
        return weights, False
    return weights / mean_diagonal, True


def _best_single(
    sums: PairSums, spaces: Sequence[SearchSpace], settings: Settings
) -> tuple[int, Array]:
    """The single kernel of largest alignment, or one from the middle of the range."""
    if sums.target.norm > 0:
        path = alignment_growth(sums, settings, best=True)
        path.atoms += sums.atoms
        family, found = best_of_families(path.objective("step"), path, spaces, settings)
        if np.isfinite(found.value):
            return family, found.z
    return 0, spaces[0].scan[len(spaces[0].scan) // 2]
