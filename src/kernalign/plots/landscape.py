"""What each step of the search maximised, over sigma, and what it picked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign.criteria.growth import AlignmentGrowth
from kernalign.gram import PairSums, Target, pair_sums
from kernalign.kernels import Family, FamilyMember, SearchSpace
from kernalign.learners import ContinuousAlignment, Sampled
from kernalign.plots._axes import COLOURS, axes, plain
from kernalign.plots._model import check_pair, some_rows, view

#: Kernels of several parameters are looked at along multiples of those picked.
MULTIPLES = (1 / 16, 16.0)


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
    """One iteration: a curve per family, the pick and its objective."""

    iteration: int
    curves: list[Curve]
    picked: FamilyMember
    at: float
    value: float


@dataclass(frozen=True)
class LandscapeInfo:
    """The steps, and whether the objective is the slope <P, K> or the alignment after a step."""

    steps: list[Step]
    objective: str


def landscape_info(
    model: Any,
    X: Any,
    y: Any,
    *,
    max_steps: int = 6,
    number: int = 200,
    max_rows: int = 1000,
) -> LandscapeInfo:
    """The objective of `ContinuousAlignment` over sigma at each step of its path.

    At step t the paper's objective is <P, K(kappa_sigma)> with P = dF/dK at the combination of the
    kernels before; with ``selection="step"`` it is the alignment after the best step.

    Parameters
    ----------
    model : fitted ContinuousAlignment, or an estimator or pipeline that learned with it
    X, y : the rows and labels that it was fitted to
    max_steps : the first so many steps
    number : points of each curve
    max_rows : rows used, spread evenly, of larger data
    """
    check_pair(X, y)
    seen = view(model)
    learner = seen.learner
    if isinstance(learner, Sampled):
        # The search was that of the last sample.
        learner = learner.learner_
    if not isinstance(learner, ContinuousAlignment):
        raise ValueError(
            "plot_landscape shows the search of ContinuousAlignment. The kernel of this model "
            f"comes from {type(learner).__name__}, which has no such search."
        )
    rows = seen.seen(X)
    kept = some_rows(len(rows), max_rows, groups=np.asarray(y))
    rows, target = rows[kept], seen.target(np.asarray(y)[kept], np.ones(len(kept)))
    history = learner.history_[:max_steps]
    picked = [record["kernel"] for record in history]
    families = _families(learner, picked, rows, seen.names)
    spaces = [f.search_space(f.select(rows), np.random.default_rng(0)) for f in families]
    sums = pair_sums(families, spaces, rows, target)
    steps = _steps(learner, sums, families, spaces, picked, number, target)
    return LandscapeInfo(steps, learner.selection)


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


def plot_landscape(model: Any, X: Any, y: Any, ax: Any = None, **options: Any) -> Any:
    """Draw the objective over sigma, one curve per step, each with its pick.

    Each step's curves are divided by their largest value, so that late steps, whose slopes are
    small, can be read beside the first. Options are those of `landscape_info`.
    """
    info = landscape_info(model, X, y, **options)
    ax = axes(ax, (6.4, 3.8))
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


def _finite(values: Array) -> Array:
    return np.where(np.isfinite(values), values, np.nan)
