"""The inner search: argmax over a family of an objective of <E, K> and |K_c|^2.

One parameter: a scan that is fine enough not to miss a basin, then refinement of the best points.
The result is global up to the step of the scan. Several parameters: bounded quasi-Newton from
several starts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from kernalign._typing import Array
from kernalign.criteria.growth import Objective
from kernalign.gram import Probe
from kernalign.kernels import SearchSpace

#: Number of local maxima of a scan that are refined.
REFINED = 3
#: Relative accuracy of one parameter, as a share of the scan's step.
ACCURACY = 1e-4
#: Maximum number of iterations of one quasi-Newton run.
ITERATIONS = 100
#: A run ends at this relative gain, or at this slope relative to the objective.
FLAT = 1e-6


#: A smooth term subtracted from the objective: z -> value, gradient.
Penalty = Callable[[Array], tuple[float, Array]]


@dataclass(frozen=True)
class Found:
    """The best point of a search, in search coordinates, and its objective."""

    z: Array
    value: float


def maximise(
    objective: Objective,
    probe: Probe,
    space: SearchSpace,
    starts: Sequence[Array] = (),
    n_starts: int = 3,
    penalty: Penalty | None = None,
    scan: bool = True,
) -> Found:
    """The best member of one family.

    starts : points to start from, such as the kernels already in the model.
    scan : with several parameters, whether to start from the best points of the scan too.
    n_starts : with several parameters, the number of starts; the best points are used.
    """
    if space.p == 1 and penalty is None:
        return _scan_and_refine(objective, probe, space, starts)
    return _multi_start(objective, probe, space, starts, n_starts, penalty, scan)


def _scan_and_refine(
    objective: Objective, probe: Probe, space: SearchSpace, starts: Sequence[Array]
) -> Found:
    points = np.concatenate([space.scan[:, 0], [s[0] for s in starts]])
    points = np.unique(np.clip(points, space.lower[0], space.upper[0]))
    values = np.asarray(objective.value(*probe.scan(points[:, None])), dtype=float)
    values = np.where(np.isfinite(values), values, -np.inf)
    best = Found(points[[int(values.argmax())]], float(values.max()))
    # Differences of infinite values are not numbers: outside its domain an objective is as bad as
    # at the worst point.
    worst = float(values[np.isfinite(values)].min(initial=np.inf))
    for i in _local_maxima(values)[:REFINED]:
        low, high = points[max(i - 1, 0)], points[min(i + 1, points.size - 1)]
        if high <= low:
            continue

        def negative(z: float) -> float:
            value = float(objective.value(*probe.products(np.array([z]))))
            return -value if np.isfinite(value) else -worst

        result = minimize_scalar(
            negative,
            bounds=(low, high),
            method="bounded",
            options={"xatol": ACCURACY * (high - low)},
        )
        if -result.fun > best.value:
            best = Found(np.array([result.x]), -float(result.fun))
    return best


def _finite(value: float) -> float:
    """A value to maximise; NaN becomes -inf."""
    return value if np.isfinite(value) else -np.inf


def _local_maxima(values: Array) -> Any:
    """Indices of the local maxima, the largest first."""
    padded = np.concatenate([[-np.inf], values, [-np.inf]])
    peaks = (padded[1:-1] >= padded[:-2]) & (padded[1:-1] >= padded[2:])
    found = np.flatnonzero(peaks & np.isfinite(values))
    return found[np.argsort(-values[found], kind="stable")]


def _multi_start(
    objective: Objective,
    probe: Probe,
    space: SearchSpace,
    starts: Sequence[Array],
    n_starts: int,
    penalty: Penalty | None,
    scan: bool,
) -> Found:
    def evaluate(z: Array) -> tuple[float, Array]:
        products, norm = probe.products(z)
        value = float(objective.value(products, norm))
        slope = probe.gradient(z, *objective.derivative(products, norm))
        if penalty is not None:
            excess, excess_slope = penalty(z)
            value, slope = value - excess, slope - excess_slope
        return value, slope

    def value_of(z: Array) -> float:
        value = float(objective.value(*probe.products(z)))
        return value - (penalty(z)[0] if penalty is not None else 0.0)

    candidates = [np.clip(s, space.lower, space.upper) for s in starts]
    if scan or not candidates:
        scanned = np.array([_finite(value_of(z)) for z in space.scan])
        # Neighbours in an ordered scan share a basin: one start per local maximum.
        peaks = _local_maxima(scanned) if space.ordered else np.argsort(-scanned, kind="stable")
        candidates += [space.scan[i] for i in peaks[:n_starts]] or [space.scan[0]]
    values = [_finite(value_of(z)) for z in candidates]
    best = np.argsort(-np.array(values), kind="stable")[:n_starts]
    candidates, values = [candidates[i] for i in best], [values[i] for i in best]
    found = Found(candidates[0], values[0])
    # The absolute tolerances of the quasi-Newton search assume an objective of size one.
    size = np.abs([v for v in values if np.isfinite(v)]).max(initial=0.0) or 1.0

    # With a penalty on sigma no parameter is zero, and log z is the best conditioned coordinate.
    logarithmic = penalty is not None
    to_u = np.log if logarithmic else (lambda z: z / space.unit)
    from_u = np.exp if logarithmic else (lambda u: u * space.unit)

    def scaled(u: Array) -> tuple[float, Array]:
        z = np.clip(from_u(u), space.lower, space.upper)
        value, slope = evaluate(z)
        return -value / size, -slope * (z if logarithmic else space.unit) / size

    bounds = list(zip(to_u(space.lower), to_u(space.upper), strict=True))
    for start in candidates:
        result = minimize(
            scaled,
            to_u(start),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": ITERATIONS, "ftol": FLAT, "gtol": FLAT},
        )
        value = -float(result.fun) * size
        if value > found.value:
            found = Found(np.clip(from_u(result.x), space.lower, space.upper), value)
    return found
