"""The penalty lambda |sigma - mean sigma|^2 and the choice of lambda on held-out rows.

lambda decreases from inf, where all parameters are equal, to 0. Each problem starts from the
kernels of the previous one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kernalign._typing import Array
from kernalign.gram import Target, pair_sums
from kernalign.gram.centring import size_and_alignment
from kernalign.gram.sampling import split_in_proportion
from kernalign.kernels import Family, LearnedKernel, SearchSpace
from kernalign.kernels.tied import Ground
from kernalign.solvers.greedy import Combination, Settings, continuous_alignment
from kernalign.solvers.inner_search import Penalty

#: The paper's values.
PATH = [10.0**k for k in range(-5, 15)]
#: With a penalty, sigma is finite: at most this multiple of the widest common bandwidth.
WIDEST = 10.0
#: Upper limit of the penalty and its slope, and lower limit of a search coordinate.
LARGEST, SMALLEST = 1e150, 1e-300


@dataclass(frozen=True)
class AlignmentProblem:
    """Families, where to search them and how, for one lambda."""

    families: list[Family]
    spaces: list[SearchSpace]
    settings: Settings

    def solve(
        self, X: Array, target: Target, warm: Sequence[tuple[int, Array]] = ()
    ) -> Combination:
        sums = pair_sums(self.families, self.spaces, X, target)
        return continuous_alignment(sums, self.spaces, self.settings, warm)


def penalised_problem(ground: Ground, penalty: float, settings: Settings) -> AlignmentProblem:
    """The problem for one lambda; infinity ties the parameters of each family."""
    if np.isinf(penalty):
        return AlignmentProblem(ground.tied, ground.tied_spaces, settings)
    if penalty == 0:
        return AlignmentProblem(ground.families, ground.spaces, settings)
    spaces = list(ground.spaces)
    terms: list[Penalty | None] = [None] * len(spaces)
    for f, (family, tied) in enumerate(zip(ground.families, ground.tied, strict=True)):
        if tied is not family:
            widest = float(tied.from_search(ground.tied_spaces[f].upper)[0])
            spaces[f] = _finite(family, spaces[f], widest)
            terms[f] = _deviation(family, penalty)
    return AlignmentProblem(ground.families, spaces, replace(settings, penalties=terms))


def _finite(family: Family, space: SearchSpace, widest: float) -> SearchSpace:
    """The space without sigma = inf, where the penalty would be infinite."""
    # Positive also for a column that is smaller than the widest by more than any number.
    end = np.maximum(family.to_search(np.full(space.p, WIDEST * widest)), SMALLEST)
    lower, upper = np.maximum(space.lower, end), np.maximum(space.upper, end)
    return replace(space, lower=lower, upper=upper, scan=np.clip(space.scan, lower, upper))


def _deviation(family: Family, penalty: float) -> Penalty:
    """z -> lambda |sigma - mean sigma|^2 and its gradient."""

    def term(z: Array) -> tuple[float, Array]:
        sigma = family.from_search(z)
        # The penalty is in units of the columns and may overflow.
        with np.errstate(over="ignore", invalid="ignore"):
            deviation = sigma - sigma.mean()
            slope = np.nan_to_num(2 * penalty * deviation * family.d_sigma_d_z(sigma))
            value = penalty * float(deviation @ deviation)
        return value if value < LARGEST else LARGEST, np.clip(slope, -LARGEST, LARGEST)

    return term


@dataclass(frozen=True)
class Choice:
    """lambda, the path it was chosen from, and the kernels (family, z) found with it."""

    penalty: float
    path: list[dict[str, float]]
    atoms: list[tuple[int, Array]]


def choose_penalty(
    families: list[Family],
    values: Sequence[float],
    X: Array,
    target: Target,
    settings: Settings,
    validation_fraction: float,
    rng: np.random.Generator,
) -> Choice:
    """The lambda with the largest alignment on held-out rows.

    lambda = inf is always tried first. Ties go to the larger lambda; so does the choice if there
    are too few rows for a hold-out set.
    """
    train, held_out = split_in_proportion(target, validation_fraction, rng)
    if min(len(train), len(held_out)) < 2:
        return Choice(np.inf, [], [])
    X_train, T_train = X[train], target.rows(train)
    X_held, T_held = X[held_out], target.rows(held_out)
    # The kernels of the previous penalty are a good start.
    one_start = replace(settings, n_starts=1, callback=None)
    ground = Ground.of(families, X_train, rng)
    path: list[dict[str, float]] = []
    chosen: list[tuple[int, Array]] = []
    warm: list[tuple[int, Array]] = []
    for penalty in [np.inf, *sorted((v for v in values if not np.isinf(v)), reverse=True)]:
        problem = penalised_problem(ground, penalty, one_start)
        found = problem.solve(X_train, T_train, warm)
        if np.isinf(penalty):
            warm = [(f, ground.untied(f, z)) for f, z in found.atoms]
        else:
            warm = found.atoms
        K = LearnedKernel(found.kernels, found.weights)(X_held)
        held = size_and_alignment(K, T_held)[1]
        if all(held > record["held_out"] for record in path):
            best, chosen = penalty, found.atoms
        path.append({"penalty": penalty, "alignment": found.alignment, "held_out": held})
    return Choice(best, path, chosen)
