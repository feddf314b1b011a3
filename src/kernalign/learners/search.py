"""The inner search: argmax over a family of an objective of <E, K> and |K_c|^2.

One parameter: a scan fine enough not to miss a basin, then refinement around the best points:
global up to the scan's step. Several: bounded quasi-Newton from several starts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from kernalign._typing import Array
from kernalign.gram import Element, Probe
from kernalign.kernels import SearchSpace

#: Local maxima of a scan that are refined.
REFINED = 3
#: Relative accuracy of one parameter, as a share of the scan's step.
ACCURACY = 1e-4
#: Iterations of one quasi-Newton run.
ITERATIONS = 200


class Objective(Protocol):
    """A function of the inner products with `elements` and of the squared centred norm."""

    elements: list[Element]

    def value(self, products: Array, norm: Array | float) -> Any: ...

    def derivative(self, products: Array, norm: float) -> tuple[Array, float]: ...


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
) -> Found:
    """The best member of one family.

    starts : further points to start from, such as the kernels already in the model.
    """
    if space.p == 1 and penalty is None:
        return _scan_and_refine(objective, probe, space, starts)
    return _multi_start(objective, probe, space, starts, n_starts, penalty)


def _scan_and_refine(
    objective: Objective, probe: Probe, space: SearchSpace, starts: Sequence[Array]
) -> Found:
    points = np.concatenate([space.scan[:, 0], [s[0] for s in starts]])
    points = np.unique(np.clip(points, space.lower[0], space.upper[0]))
    values = np.asarray(objective.value(*probe.scan(points[:, None])), dtype=float)
    values = np.where(np.isfinite(values), values, -np.inf)
    best = Found(points[[int(values.argmax())]], float(values.max()))
    for i in _local_maxima(values)[:REFINED]:
        low, high = points[max(i - 1, 0)], points[min(i + 1, points.size - 1)]
        if high <= low:
            continue

        def negative(z: float) -> float:
            return -float(objective.value(*probe.products(np.array([z]))))

        result = minimize_scalar(
            negative,
            bounds=(low, high),
            method="bounded",
            options={"xatol": ACCURACY * (high - low)},
        )
        if -result.fun > best.value:
            best = Found(np.array([result.x]), -float(result.fun))
    return best


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

    given = [np.clip(s, space.lower, space.upper) for s in starts]
    scanned = np.array([value_of(z) for z in space.scan])
    best = np.argsort(-scanned, kind="stable")[: max(n_starts - len(given), 1)]
    candidates = given + [space.scan[i] for i in best]
    found = Found(space.scan[best[0]], float(scanned[best[0]]))
    # Absolute tolerances of the quasi-Newton search need an objective of size one.
    size = max(np.abs(scanned[np.isfinite(scanned)]).max(initial=0.0), 1e-300)

    def scaled(u: Array) -> tuple[float, Array]:
        value, slope = evaluate(np.clip(u * space.unit, space.lower, space.upper))
        return -value / size, -slope * space.unit / size

    bounds = list(zip(space.lower / space.unit, space.upper / space.unit, strict=True))
    for start in candidates:
        result = minimize(
            scaled,
            start / space.unit,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": ITERATIONS, "ftol": 1e-8, "gtol": 1e-7},
        )
        value = -float(result.fun) * size
        if value > found.value:
            found = Found(np.clip(result.x * space.unit, space.lower, space.upper), value)
    return found
