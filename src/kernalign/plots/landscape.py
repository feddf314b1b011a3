"""What the search maximised along bandwidths, and what it picked.

A search by alignment picks one kernel in each step. A search by evidence picks one combination of
kernels: its landscape is the evidence with all bandwidths multiplied by a factor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign.criteria.growth import AlignmentGrowth
from kernalign.gram import PairSums, Target, pair_sums
from kernalign.kernels import Family, FamilyMember, LearnedKernel, SearchSpace
from kernalign.learners import ContinuousAlignment, Sampled
from kernalign.plots._axes import COLOURS, axes, plain, shortened
from kernalign.plots._model import some_rows, view
from kernalign.plots.evidence import (
    BY_EVIDENCE,
    evidence_along,
    has_bandwidth,
    tried_kernels,
)

#: Kernels of several parameters are looked at along multiples of those picked.
MULTIPLES = (1 / 16, 16.0)
#: Rows and points of a landscape of evidence: each point inverts a matrix of all rows.
EVIDENCE_ROWS, EVIDENCE_POINTS = 250, 17


@dataclass(frozen=True)
class Curve:
    """The objective along the parameters of one family.

    across : sigma, or the multiples of the parameters picked where there are several.
    """

    family: str
    across: Array
    value: Array
    several: bool


@dataclass(frozen=True)
class Step:
    """One iteration: a curve per family, the pick and its objective.

    picked : a kernel, or the combination that a search by evidence found.
    """

    iteration: int
    curves: list[Curve]
    picked: FamilyMember | LearnedKernel
    at: float
    value: float


@dataclass(frozen=True)
class LandscapeInfo:
    """The steps, and the objective: "slope" <P, K>, "step" (the alignment after a step), or
    "evidence" in nats, of which there is one step whose first curve is that of the pick."""

    steps: list[Step]
    objective: str


def landscape_info(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    max_steps: int = 6,
    number: int = 200,
    max_rows: int = 1000,
) -> LandscapeInfo:
    """The objective of a search along bandwidths, on the rows that it was fitted to.

    `ContinuousAlignment`: over sigma, at each step of its path. At step t the paper's objective is
    <P, K(kappa_sigma)> with P = dF/dK at the combination of the kernels before; with
    ``selection="step"`` it is the alignment after the best step.
    `KernelSearch` and `ContinuousEvidence`: over multiples of the bandwidths that were found.

    Parameters
    ----------
    model : a fitted learner of these, or an estimator or pipeline that learned with it
    X, y : the rows and labels that it was fitted to; by default those that the model keeps
    max_steps : the first so many steps
    number : points of each curve; of evidence fewer
    max_rows : rows used, spread evenly, of larger data; of evidence fewer
    """
    seen = view(model)
    learner = seen.learner
    if isinstance(learner, Sampled):
        # The search was that of the last sample.
        learner = learner.learner_
    by_evidence = isinstance(learner, BY_EVIDENCE)
    if not by_evidence and not isinstance(learner, ContinuousAlignment):
        raise ValueError(
            "A landscape shows a search over bandwidths. The kernel of this model comes from "
            f"{type(learner).__name__}, which has no such search: see plot_spectrum."
        )
    rows, labels = seen.labelled(X, y)
    kept = some_rows(len(rows), min(max_rows, EVIDENCE_ROWS) if by_evidence else max_rows, labels)
    rows, target = rows[kept], seen.target(labels[kept], np.ones(len(kept)))
    if by_evidence:
        return _by_evidence(learner, rows, target, max(2, min(number, EVIDENCE_POINTS)))
    history = learner.history_[:max_steps]
    picked = [record["kernel"] for record in history]
    families = _families(learner, picked, rows, seen.names)
    spaces = [f.search_space(f.select(rows), np.random.default_rng(0)) for f in families]
    sums = pair_sums(families, spaces, rows, target)
    steps = _steps(learner, sums, families, spaces, picked, number, target)
    return LandscapeInfo(steps, learner.selection)


def _by_evidence(learner: Any, rows: Array, target: Target, number: int) -> LandscapeInfo:
    tried = tried_kernels(learner)
    if not any(has_bandwidth(member) for _, kernel, _ in tried for member in kernel.kernels):
        raise ValueError("A landscape shows bandwidths, and no kernel of this search has one.")
    across = np.geomspace(*MULTIPLES, number)
    curves = [
        Curve(label, across, evidence_along(kernel, noise, rows, target, across), True)
        for label, kernel, noise in tried
    ]
    _, kernel, noise = tried[0]
    value = float(evidence_along(kernel, noise, rows, target, np.ones(1))[0])
    return LandscapeInfo([Step(1, curves, kernel, 1.0, value)], "evidence")


def _families(
    learner: ContinuousAlignment, picked: list[FamilyMember], rows: Array, names: Any
) -> list[Family]:
    """Every family that was searched, the resolved ones of the kernels picked first."""
    families: dict[str, Family] = {}
    for kernel in picked:
        families.setdefault(_key(kernel.family), kernel.family)
    given = learner.family
    if given is not None:
        for member in given.resolve(rows, names).members():
            tied = member.tied()
            used = tied if np.isinf(learner.penalty_) and tied is not None else member
            families.setdefault(_key(used), used)
    return list(families.values())


def _key(family: Family) -> str:
    return f"{type(family).__name__} {sorted(family.get_params(deep=False).items())!r}"


def _steps(
    learner: ContinuousAlignment,
    sums: PairSums,
    families: list[Family],
    spaces: list[SearchSpace],
    picked: list[FamilyMember],
    number: int,
    target: Target,
) -> list[Step]:
    keys = [_key(family) for family in families]
    path = AlignmentGrowth(
        sums,
        learner.eps,
        learner.eta_max,
        corrective=learner.corrective,
        best=learner.start == "best",
    )
    steps: list[Step] = []
    for t, kernel in enumerate(picked):
        objective = path.objective("step" if path.empty else learner.selection)
        own = keys.index(_key(kernel.family))
        curves = []
        for f, (family, space) in enumerate(zip(families, spaces, strict=True)):
            if space.p > 1 and f != own:
                continue
            z, across = _line(family, space, kernel if f == own else None, number)
            products, norms = path.probe(objective, f).scan(z)
            values = np.asarray(objective.value(products, norms), dtype=float)
            curves.append(Curve(type(family).__name__, across, values, space.p > 1))
        z = families[own].to_search(kernel.sigma)
        products, norms = path.probe(objective, own).scan(z[None])
        at = 1.0 if spaces[own].p > 1 else float(kernel.sigma[0])
        value = float(np.asarray(objective.value(products, norms))[0])
        steps.append(Step(t + 1, curves, kernel, at, value))
        path.add(own, z)
    return steps


def _line(
    family: Family, space: SearchSpace, picked: FamilyMember | None, number: int
) -> tuple[Array, Array]:
    """Points z to look at, and where they are on the horizontal axis."""
    if space.p == 1 or picked is None:
        z = np.linspace(space.lower, space.upper, number)
        return z, np.array([float(family.from_search(point)[0]) for point in z])
    across = np.geomspace(*MULTIPLES, max(2, number // 4))
    return np.array([family.to_search(c * picked.sigma) for c in across]), across


def plot_landscape(model: Any, X: Any = None, y: Any = None, ax: Any = None, **options: Any) -> Any:
    """Draw the objective over sigma, one curve per step, each with its pick.

    Each step's curves are divided by their largest value, so that late steps, whose slopes are
    small, can be read beside the first. Options are those of `landscape_info`.
    """
    info = landscape_info(model, X, y, **options)
    ax = axes(ax, (6.4, 3.8))
    if info.objective == "evidence":
        return _plot_evidence(info, ax)
    names = {curve.family for step in info.steps for curve in step.curves}
    styles = dict(zip(sorted(names), ["-", "--", ":", "-.", "-", "--"] * 4, strict=False))
    for step in info.steps:
        colour = COLOURS[(step.iteration - 1) % len(COLOURS)]
        size = max(step.value, *(float(np.nanmax(_finite(c.value))) for c in step.curves))
        size = size if size > 0 else 1.0
        for number, curve in enumerate(step.curves):
            name = f"step {step.iteration}" if number == 0 else None
            ax.plot(
                curve.across,
                _finite(curve.value) / size,
                styles[curve.family],
                color=colour,
                label=name,
                lw=1.4,
            )
        ax.plot(step.at, step.value / size, "o", color=colour, ms=8, mec="white", zorder=5)
    ax.set_ylim(-1.1, 1.15)
    several = any(curve.several for step in info.steps for curve in step.curves)
    if all((curve.across > 0).all() for step in info.steps for curve in step.curves):
        ax.set_xscale("log")
    of_slope = "slope of the alignment" if info.objective == "slope" else "alignment after the step"
    ax.set(
        xlabel="multiple of the parameters picked" if several else "sigma",
        ylabel=f"{of_slope} / its maximum",
        title="What each step saw, and its pick (dots)",
    )
    if len(names) > 1:
        for name, style in styles.items():
            ax.plot([], [], style, color="0.4", label=name)
    ax.legend(frameon=False, fontsize=8)
    plain(ax)
    return ax


def _plot_evidence(info: LandscapeInfo, ax: Any) -> Any:
    (step,) = info.steps
    top = max(step.value, *(float(curve.value.max()) for curve in step.curves))
    for number, curve in enumerate(step.curves):
        colour = COLOURS[number % len(COLOURS)]
        label = shortened(curve.family, 30) + (" (chosen)" if number == 0 else "")
        width = 2.2 if number == 0 else 1.2
        ax.plot(curve.across, curve.value - top, color=colour, label=label, lw=width)
    ax.plot(step.at, step.value - top, "o", color=COLOURS[0], ms=8, mec="white", zorder=5)
    ax.set_xscale("log", base=2)
    shown = [1 / 16, 1 / 4, 1, 4, 16]
    ax.set_xticks(shown, ["1/16", "1/4", "1", "4", "16"])
    ax.set(
        xlabel="bandwidths, as multiples of those found",
        ylabel="evidence below the best, nats",
        title="What the search saw, and its pick (dot)",
    )
    ax.legend(frameon=False, fontsize=8)
    plain(ax)
    return ax


def _finite(values: Array) -> Array:
    return np.where(np.isfinite(values), values, np.nan)
