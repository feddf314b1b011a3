"""The paper's algorithm: grow a combination of kernels that is maximally aligned.

K^0 = eps C_n                                   (or the best single kernel)
for t = 1..T
    P      = dF/dK at K^{t-1}
    sigma* = argmax_sigma <P, K(kappa_sigma)>   (or the largest F after the step)
    eta    = argmax_{0 <= eta <= eta_max} F(K^{t-1} + eta K')
    K^t    = K^{t-1} + eta K'                   (or all weights anew)
    stop when F(K^t) <= F(K^{t-1}) + theta
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign.criteria import CenteredAlignment, SlopeObjective, StepObjective, best_weights
from kernalign.gram import Element, PairSums
from kernalign.gram.base import FIRST_ATOM, IDENTITY, TARGET
from kernalign.gram.centring import VANISHING
from kernalign.kernels import FamilyMember, SearchSpace
from kernalign.solvers.callback import Callback, asked_to_stop
from kernalign.solvers.inner_search import Found, Objective, Penalty, maximise

#: Weights below this share of the largest are dropped: the alignment cannot tell.
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
    """sum_t weights_t kernels_t, normalised, and how it came about.

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

    warm : kernels (family, z) that a similar problem chose, to start the t-th search from.
    """
    search_values = grow(sums, spaces, settings, warm) if sums.T.norm() > 0 else []
    atoms = list(sums.atoms)
    # The searches may have seen interpolated sums; the weights never do.
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
    sums: PairSums,
    spaces: Sequence[SearchSpace],
    settings: Settings,
    warm: Sequence[tuple[int, Array]],
) -> list[float]:
    """Choose kernels one after the other; returns the value of each search."""
    F = CenteredAlignment(sums.T)
    search_values: list[float] = []

    def search(make: Callable[[CenteredAlignment, Element], Objective], t: int) -> Element:
        family, found = _best_of_families(make(F, K), sums, spaces, settings, warm[t : t + 1])
        search_values.append(found.value)
        return sums.append(family, found.z)

    def interrupted() -> bool:
        record = _record(sums, F, K, len(search_values) - 1, search_values[-1])
        return asked_to_stop(settings.callback, record)

    K = sums.identity * settings.eps
    if settings.start == "best":
        K = K * 0.0
        # As small as the identity would be, so that eta_max does not cut the steps to follow.
        K = search(StepObjective, 0) * settings.eps
        if interrupted():
            return search_values
    choose = StepObjective if settings.selection == "step" else SlopeObjective
    while len(sums.atoms) < settings.T:
        before = F.value(K)
        K_new = search(choose, len(sums.atoms))
        K = _combine(F, K, K_new, settings)
        if interrupted() or F.value(K) <= before + settings.theta:
            break
    return search_values


def _best_of_families(
    objective: Objective,
    sums: PairSums,
    spaces: Sequence[SearchSpace],
    settings: Settings,
    warm: Sequence[tuple[int, Array]],
) -> tuple[int, Found]:
    """The best kernel of any family; starts include the kernels already chosen."""
    results = []
    for f, space in enumerate(spaces):
        # A kernel from a similar problem replaces the search from scratch.
        known = [z for family, z in warm if family == f]
        starts = known or [z for family, z in sums.atoms[-2:] if family == f]
        results.append(
            maximise(
                objective,
                sums.probe(objective.elements, f),
                space,
                starts,
                n_starts=settings.n_starts,
                penalty=settings.penalties[f] if settings.penalties is not None else None,
                scan=not known,
            )
        )
    best = int(np.argmax([found.value for found in results]))
    return best, results[best]


def _combine(F: CenteredAlignment, K: Element, K_new: Element, settings: Settings) -> Element:
    """K + eta K' with the best eta, or the best non-negative weights of all generators of K."""
    if settings.corrective:
        return _reweighted(K + K_new)
    return K + F.step(K, K_new, settings.eta_max) * K_new


def _reweighted(K: Element) -> Element:
    """The combination of largest alignment of the identity and the kernels in K."""
    used = np.flatnonzero(K.padded())
    table = K.sums.table
    coefficients = np.zeros(len(table))
    coefficients[used] = best_weights(table[np.ix_(used, used)], table[used, TARGET])
    # Kernels whose weight came out as zero can return later, the identity keeps the path alive.
    if not coefficients.any():
        coefficients[IDENTITY] = 1.0
    return Element(K.sums, coefficients)


def replay(
    sums: PairSums, search_values: Sequence[float], settings: Settings
) -> tuple[Array, list[dict[str, Any]]]:
    """The weights of the kernels along the path, and a record of each iteration."""
    F = CenteredAlignment(sums.T)
    K = sums.identity * settings.eps
    history = []
    for t, search_value in enumerate(search_values):
        K_new = sums.atom(t)
        if t == 0 and settings.start == "best":
            K = K_new * settings.eps
        else:
            K = _combine(F, K, K_new, settings)
        history.append(_record(sums, F, K, t, search_value))
    # The identity steers the path; it is not part of the kernel that predicts.
    return K.padded()[FIRST_ATOM:], history


def _record(
    sums: PairSums, F: CenteredAlignment, K: Element, t: int, search_value: float
) -> dict[str, Any]:
    """What `history_` and a callback are told of the iteration that led to K."""
    return {
        "iteration": t + 1,
        "kernel": sums.kernel(t),
        "eta": float(K.padded()[FIRST_ATOM + t]),
        "objective": F.value(K),
        "search_value": search_value,
        "weights": K.padded()[FIRST_ATOM : FIRST_ATOM + t + 1].tolist(),
    }


def normalised(weights: Array, sums: PairSums) -> tuple[Array, bool]:
    """Weights for which tr(C_n K C_n) / n = 1, and whether K is more than rounding."""
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
    """The kernel with the largest alignment by itself, or one from the middle of the range."""
    if sums.T.norm() > 0:
        objective = StepObjective(CenteredAlignment(sums.T), sums.identity * 0.0)
        family, found = _best_of_families(objective, sums, spaces, settings, ())
        if np.isfinite(found.value):
            return family, found.z
    return 0, spaces[0].scan[len(spaces[0].scan) // 2]
