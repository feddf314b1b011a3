"""Solvers for the minimum of J(theta) over non-negative weights with |theta|_p <= 1.

A solver is an infinite generator: from an iterate it yields one iterate per round, including the
start, each with its certificate. The caller decides when to stop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.optimize import linprog

from kernalign._typing import Array
from kernalign.solvers.lp_norm_problem import Iterate, LpNormProblem, normalised

Solver = Callable[[LpNormProblem, Iterate], Iterator[Iterate]]
#: 1'alpha and q/2 of a machine: J(theta) >= 1'alpha - theta'q/2. It keeps no n x n matrix in
#: memory.
Cut = tuple[float, Array]

#: Maximum number of trial steps of a line search before another kind of step is tried.
TRIALS = 8
GOLDEN = (np.sqrt(5) - 1) / 2


def newton(problem: LpNormProblem, start: Iterate) -> Iterator[Iterate]:
    """Steps to the minimum of the second-order model of J, shortened until J decreases.

    J is piecewise smooth, and near the optimum each round gains several digits (Chapelle and
    Rakotomamonjy 2008 for p = 1).
    """
    now = start
    while True:
        yield now
        target = problem.newton_weights(now)
        found = None if target is None else _towards(problem, now, target)
        if found is None:
            # The closed form always decreases J, but keeps zero weights at zero.
            found = problem.evaluate(problem.closed_form(_opened(problem, now)))
        now = found


def alternating(problem: LpNormProblem, start: Iterate) -> Iterator[Iterate]:
    """Machines at fixed weights, weights at fixed machines in closed form (Kloft et al. 2011).

    theta_m <- |w_m|^(2/(p+1)) / (sum_k |w_k|^(2p/(p+1)))^(1/p)
    """
    yield start
    now = _opened(problem, start)
    while True:
        now = problem.evaluate(problem.closed_form(now))
        yield now


def reduced_gradient(problem: LpNormProblem, start: Iterate) -> Iterator[Iterate]:
    """SimpleMKL (Rakotomamonjy et al. 2008): descent along the simplex, golden-section steps."""
    now, precision = start, 0.1
    while True:
        yield now
        found = _reduced_gradient_round(problem, now, precision)
        if found.primal < now.primal:
            now = found
        else:
            precision = max(precision / 10, 1e-8)


def cutting_plane(problem: LpNormProblem, start: Iterate) -> Iterator[Iterate]:
    """The semi-infinite linear program (Sonnenburg et al. 2006), stabilised.

    Each machine gives a cut J(theta) >= 1'alpha - theta'q/2. The next weights minimise the largest
    of the cuts within a box around the best weights so far; if that overshoots, the step is
    shortened. Without box and step length, the weights would jump between vertices.
    """
    best, radius = start, 1.0
    cuts = [_cut(start)]
    while True:
        yield best
        target, lower = _lowest(cuts, best.theta, radius)
        expected = best.primal - lower
        found = _towards(problem, best, target, cuts)
        if found is None:
            radius = max(radius / 4, 1e-9)
            continue
        # The cuts are only accurate nearby: adapt the radius to the actual decrease.
        radius = min(2 * radius, 1.0) if best.primal - found.primal > expected / 2 else radius / 2
        best = found


# -- steps ----------------------------------------------------------------------------------------


def _opened(problem: LpNormProblem, now: Iterate) -> Iterate:
    """The iterate, or one near it without tiny weights, which the closed form would not change."""
    opened = problem.opened(now.theta)
    locked = now.theta < 0.5 * opened if problem.p == 1 else now.theta == 0
    return problem.evaluate(opened) if locked.any() else now


def _towards(
    problem: LpNormProblem, now: Iterate, target: Array, cuts: list[Cut] | None = None
) -> Iterate | None:
    """A step towards `target` that lowers J and leaves less than half its slope; else None.

    J is convex along the step, with known values and slopes. Steps that are too long or too short
    bracket the minimum, and the next one is the minimum of the cubic through both ends of the
    bracket. cuts : list to which the cut of each machine is appended.
    """
    direction = target - now.theta
    slope = -0.5 * float(now.q @ direction)
    if slope >= 0:
        return None
    low, high = (0.0, now.primal, slope), (np.inf, np.inf, np.inf)
    best, step = None, 1.0
    for _ in range(TRIALS):
        trial = problem.evaluate(normalised(now.theta + step * direction, problem.p))
        if cuts is not None:
            cuts.append(_cut(trial))
        at = (step, trial.primal, -0.5 * float(trial.q @ direction))
        falls = trial.primal < (now if best is None else best).primal
        if falls:
            best = trial
            if at[2] >= 0.5 * slope or step == 1.0:
                break
        low, high = (at, high) if falls and at[2] < 0 else (low, at)
        step = _cubic_minimum(low, high)
    return best


def _cubic_minimum(low: tuple[float, ...], high: tuple[float, ...]) -> float:
    """The minimum of the cubic with given (position, value, slope) at two ends, between them."""
    width = high[0] - low[0]
    z = 3 * (low[1] - high[1]) / width + low[2] + high[2]
    root = np.sqrt(max(z**2 - low[2] * high[2], 0.0))
    share = 1 - (high[2] + root - z) / ((high[2] - low[2] + 2 * root) or 1.0)
    return float(low[0] + width * np.clip(share, 0.1, 0.9))


def _cut(at: Iterate) -> Cut:
    return sum(float(np.abs(machine.beta).sum()) for machine in at.machines), 0.5 * at.q


def _lowest(cuts: list[Cut], centre: Array, radius: float) -> tuple[Array, float]:
    """argmin and min of max_k 1'alpha_k - theta'q_k/2 over the simplex, within a box."""
    M = len(centre)
    heights = np.array([height for height, _ in cuts])
    slopes = np.array([slope for _, slope in cuts])
    # Scaled by the best bound, because the solver has absolute tolerances.
    unit = float(heights.max()) or 1.0
    found = linprog(
        np.append(np.zeros(M), 1.0),
        A_ub=np.column_stack([-slopes / unit, -np.ones(len(cuts))]),
        b_ub=-heights / unit,
        A_eq=np.append(np.ones(M), 0.0)[None],
        b_eq=[1.0],
        bounds=[
            *zip(np.maximum(centre - radius, 0), np.minimum(centre + radius, 1), strict=True),
            (None, None),
        ],
        method="highs",
    )
    if found.x is None:
        return centre, np.inf
    theta = np.maximum(found.x[:M], 0.0)
    return theta / theta.sum(), unit * float(found.x[M])


def _reduced_gradient_round(problem: LpNormProblem, now: Iterate, precision: float) -> Iterate:
    """One descent direction followed as far as weights reach zero, then a line search along it."""
    gradient = -now.q / (np.linalg.norm(now.q) or 1.0)
    pivot = int(now.theta.argmax())
    reduced = gradient - gradient[pivot]
    direction = np.where((now.theta > 0) | (reduced < 0), -reduced, 0.0)
    while True:
        direction[pivot] = 0.0
        direction[pivot] = -direction.sum()
        falling = direction < 0
        ends = -now.theta[falling] / direction[falling]
        longest = float(ends.min(initial=np.inf))
        # No direction is left, or the pivot itself has reached zero.
        if not 1e-12 < longest < np.inf:
            return now
        trial = problem.evaluate(_on_simplex(now.theta + longest * direction))
        if trial.primal >= now.primal:
            break
        now = trial
        direction[falling & (now.theta <= 0)] = 0.0
    return _golden_section(problem, now, direction, longest, precision)


def _golden_section(
    problem: LpNormProblem, now: Iterate, direction: Array, longest: float, precision: float
) -> Iterate:
    """The best of the points tried on [0, longest], until the bracket is a small share of it."""

    def at(step: float) -> Iterate:
        return problem.evaluate(_on_simplex(now.theta + step * direction))

    low, high = 0.0, longest
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = at(left), at(right)
    best = min(now, at_left, at_right, key=lambda trial: trial.primal)
    while high - low > precision * longest:
        if at_left.primal < at_right.primal:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = trial = at(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = trial = at(right)
        best = min(best, trial, key=lambda found: found.primal)
    return best


def _on_simplex(theta: Array) -> Array:
    """Weights with negligible values set to zero, scaled to sum one."""
    theta = np.where(theta > 1e-8, theta, 0.0)
    return theta / theta.sum()


#: Solvers for any p, those for p = 1 only, and all of them.
ANY_NORM: dict[str, Solver] = {"newton": newton, "alternating": alternating}
SIMPLEX: dict[str, Solver] = {
    "reduced-gradient": reduced_gradient,
    "cutting-plane": cutting_plane,
}
SOLVERS = {**ANY_NORM, **SIMPLEX}
