"""Minimise a criterion of the Gram matrix over a kernel of each family, weights and noise.

K = sum_f e^{s_f} K(kappa_{z_f}), A = K + nu: all parameters at once, by L-BFGS-B. One bandwidth per
feature is searched in log z, where z_k = (s_k / sigma_k)^2 is the relevance of a feature. Steps in
log z treat features equally from an equal start; steps in z itself would favour the first relevant
one. Relevances that are negligible are set to exactly zero afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from kernalign._typing import Array
from kernalign.criteria.evidence import RidgeCriterion
from kernalign.criteria.growth import check_needs
from kernalign.kernels import Family, SearchSpace
from kernalign.solvers.callback import Callback, asked_to_stop

#: Range of the noise, in units of the kernel's diagonal.
NOISE = (1e-4, 1e3)
#: Range of the weights of further kernels, in units of the first one's.
WEIGHT = (1e-4, 1e4)
#: Lower bound of relevances in the search; afterwards they are set to zero if that costs nothing.
FAINT = 1e-7
#: Shares of the largest relevance below which relevances are set to zero, the largest share first,
#: if that raises the criterion, a log-likelihood per row, by at most CHEAP.
SWITCHES, CHEAP = (1e-2, 1e-3, 1e-4, 1e-5), 1e-4
#: The search ends at this relative gain.
FLAT = 1e-5


#: Attributes that the descent requires of a criterion and of a family.
CRITERION = ("evaluate", "total")
FAMILY = ("gram", "gradient", "from_search", "tied")


@dataclass(frozen=True)
class Point:
    """One kernel per family: search coordinates z and log weights s, and the log noise."""

    z: list[Array]
    s: Array
    log_noise: float


@dataclass
class Descent:
    """A criterion as a function of all parameters.

    data : each family's own columns of the rows.
    callback : receives the record of each iteration.
    objective, converged : the final value of the last search, and whether it converged.
    prior : strength of sum_k log(1 + (log z_k - mean log z)^2), a log-prior in units of one row's
        log-likelihood. It favours equal relevances; a relevance that already differs from the
        others is hardly penalised further.
    """

    criterion: RidgeCriterion
    families: Sequence[Family]
    spaces: Sequence[SearchSpace]
    data: Sequence[Array]
    prior: float = 0.0
    callback: Callback | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    objective: float = np.inf
    converged: bool = False

    def __post_init__(self) -> None:
        check_needs("The descent of all parameters", self.criterion, CRITERION)
        for family in self.families:
            check_needs("The descent of all parameters", family, FAMILY)
        self.relevances = [
            family.tied() is not None and bool((space.lower >= 0).all())
            for family, space in zip(self.families, self.spaces, strict=True)
        ]

    def minimise(self, start: Point, iterations: int) -> Point:
        """The local minimum that L-BFGS-B finds from a start."""
        bounds = np.concatenate(self._bounds())
        x0 = np.clip(self._join(start), bounds[:, 0], bounds[:, 1])

        def record(intermediate_result: Any) -> None:
            found = self._split(intermediate_result.x)
            self.history.append(
                {
                    "iteration": len(self.history) + 1,
                    "objective": float(intermediate_result.fun),
                    "noise": float(np.exp(found.log_noise)),
                }
            )
            if asked_to_stop(self.callback, self.history[-1]):
                raise StopIteration

        result = minimize(
            self._value_and_slope,
            x0,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            callback=record,
            options={"maxiter": iterations, "ftol": FLAT},
        )
        self.objective, self.converged = float(result.fun), bool(result.success)
        return self._split(result.x)

    def value(self, point: Point) -> float:
        """The criterion without the prior."""
        K = self.gram(point)
        return self.criterion.evaluate(K, float(np.exp(point.log_noise))).value

    def switched_off(self, point: Point) -> Point:
        """The point with negligible relevances set to zero, if the family allows it."""
        limit = self.value(point) + CHEAP
        for share in SWITCHES:
            z = [
                np.where((v < share * v.max()) & (space.lower == 0), 0.0, v) if relevant else v
                for v, space, relevant in zip(point.z, self.spaces, self.relevances, strict=True)
            ]
            if any((new != old).any() for new, old in zip(z, point.z, strict=True)):
                switched = replace(point, z=z)
                if self.value(switched) <= limit:
                    return switched
        return point

    def gram(self, point: Point, parts: list[Array] | None = None) -> Array:
        """K = sum_f e^{s_f} K_f; the K_f are appended to `parts`."""
        K = np.zeros((len(self.data[0]),) * 2)
        for family, z, s, X in zip(self.families, point.z, point.s, self.data, strict=True):
            part = family.gram(family.from_search(z), X)
            if parts is not None:
                parts.append(part)
            K += np.exp(s) * part
        return K

    def _value_and_slope(self, x: Array) -> tuple[float, Array]:
        point = self._split(x)
        noise = float(np.exp(point.log_noise))
        parts: list[Array] = []
        slope = self.criterion.evaluate(self.gram(point, parts), noise)
        if not np.isfinite(slope.value):
            return 1e10, np.zeros_like(x)
        value = slope.value
        slopes, weights = [], []
        for f, (family, z, X, K) in enumerate(
            zip(self.families, point.z, self.data, parts, strict=True)
        ):
            factor = float(np.exp(point.s[f]))
            weights.append(factor * float(np.vdot(slope.G, K)))
            slope_z = factor * family.gradient(family.from_search(z), X, None, slope.G, K)
            if self.relevances[f]:
                slope_z = slope_z * z
                excess, pull = self._log_prior(np.log(z))
                value, slope_z = value + excess, slope_z + pull
            slopes.append(slope_z)
        return value, np.concatenate([*slopes, weights[1:], [slope.noise * noise]])

    def _log_prior(self, u: Array) -> tuple[float, Array]:
        strength = self.prior / self.criterion.total
        r = u - u.mean()
        pull = 2 * r / (1 + r * r)
        return strength * float(np.log1p(r * r).sum()), strength * (pull - pull.mean())

    # -- one vector: u of each family, log weights of all kernels but the first, log noise --------

    def _bounds(self) -> list[Array]:
        boxes = []
        for space, relevant in zip(self.spaces, self.relevances, strict=True):
            low, high = space.lower, space.upper
            if relevant:
                low, high = np.log(np.maximum(low, FAINT)), np.log(high)
            boxes.append(np.column_stack([low, high]))
        for limits in [WEIGHT] * (len(self.families) - 1) + [NOISE]:
            boxes.append(np.log([limits]))
        return boxes

    def _join(self, point: Point) -> Array:
        u = [
            np.log(np.maximum(z, FAINT)) if relevant else z
            for z, relevant in zip(point.z, self.relevances, strict=True)
        ]
        return np.concatenate([*u, point.s[1:] - point.s[0], [point.log_noise]])

    def _split(self, x: Array) -> Point:
        sizes = [space.p for space in self.spaces]
        *u, rest = np.split(x, np.cumsum(sizes))
        z = [
            np.clip(np.exp(v) if relevant else v, space.lower, space.upper)
            for v, space, relevant in zip(u, self.spaces, self.relevances, strict=True)
        ]
        return Point(z, np.concatenate([[0.0], rest[:-1]]), float(rest[-1]))
