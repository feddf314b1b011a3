"""Transform a response to the scale on which a Gaussian process explains it best.

A skewed response is predicted on the scale of its square root, its logarithm or its inverse
hyperbolic sine if the evidence, including the Jacobian of the curve, prefers it. Predictions are
means, not medians: the inverse curve is averaged over leave-one-out residuals (Duan's smearing).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import norm

from kernalign._threads import map_tasks
from kernalign._typing import Array
from kernalign.criteria.sum_evidence import SumEvidence
from kernalign.gram import Target
from kernalign.gram.packed import PackedRows
from kernalign.gram.sampling import order_by_content, rows_in_proportion, rows_to_stratify
from kernalign.gram.target import meant_weights
from kernalign.kernels import Additive, Family, Gaussian, Laplacian, Linear, Matern
from kernalign.kernels.units import Units, weighted_median
from kernalign.rows import as_rows, exactly_summed, mapped, reduced, taken
from kernalign.solvers.family_search import Effort, Found, best_of, tied_kernel, tied_kernels
from kernalign.tables import TableFeatures

#: Number of rows on which curves are compared.
ROWS = 200
#: A curve must raise the evidence by this many nats, and may raise the leave-one-out error of the
#: untransformed response by at most this factor.
MIN_GAIN, MAX_ERROR_RATIO = 3.0, 1.05
#: Number of quantiles that represent the residuals in the average.
QUANTILES = 21
#: A response with fewer distinct values is not transformed.
FEWEST_VALUES = 3
#: Predictions on the curve's scale are limited to this distance from the training range, in
#: standard deviations.
MAX_EXTRAPOLATION = 0.5
#: Kernels of one bandwidth that are used to compare the curves.
FAMILIES: tuple[Family, ...] = (
    Linear(),
    Additive(),
    Gaussian(ard=True),
    Matern(1.5, ard=True),
    Laplacian(ard=True),
)


@dataclass(frozen=True)
class Curve:
    """g, its inverse and log g', for y in its own units; and whether y must be positive."""

    forward: Callable[[Array], Array]
    back: Callable[[Array], Array]
    log_slope: Callable[[Array], Array]
    positive: bool = False


CURVES = {
    "identity": Curve(lambda y: y, lambda t: t, np.zeros_like),
    "root": Curve(np.sqrt, lambda t: np.maximum(t, 0.0) ** 2, lambda y: -np.log(4 * y) / 2, True),
    "log": Curve(np.log, np.exp, lambda y: -np.log(y), True),
    "asinh": Curve(np.arcsinh, np.sinh, lambda y: -np.log1p(y * y) / 2),
}


@dataclass(frozen=True)
class Response:
    """The transformation t = (g((y - centre) / unit) - offset) / spread, and its inverse.

    curve : the name of g.
    low, high : the range of t over the training rows.
    residuals : of t, over which predictions are averaged.
    """

    curve: str
    centre: float
    unit: float
    offset: float
    spread: float
    low: float
    high: float
    residuals: tuple[float, ...] = (0.0,)

    @classmethod
    def of(cls, y: Array, weight: Array, curve: str = "identity", centre: float = 0.0) -> Response:
        """Scale the response to weighted mean 0 and spread 1; the spread of a constant is 1.

        Sums do not depend on the order and the place of the rows: their last digits would affect a
        search.

        y, weight : arrays or columns.
        """
        total = exactly_summed(np.positive, weight)
        # Neither sums nor squares may overflow.
        size = float(reduced(partial(_largest, centre), max, y)) or 1.0
        unit = size
        if curve != "identity":
            unit = size * exactly_summed(partial(_sizes, centre, size, total), y, weight)
        t = partial(_on_curve, curve, centre, unit)
        offset = exactly_summed(partial(_means, t, total), y, weight)
        spread = float(np.sqrt(exactly_summed(partial(_squares, t, offset, total), y, weight)))
        if spread <= 1e-14:
            # Rounding errors of a constant response are not a spread.
            offset, spread = float(t(taken(y, slice(0, 1)))[0]), 1 / unit
        ends = reduced(partial(_ends, t), _outer, y)
        return cls(curve, centre, unit, offset, spread, *((ends - offset) / spread).tolist())

    @property
    def scale(self) -> float:
        """Units of y per unit of t, if the curve is the identity."""
        return self.spread * self.unit

    def forward(self, y: Array) -> Array:
        t = _on_curve(self.curve, self.centre, self.unit, y)
        return (t - self.offset) / self.spread

    def log_slope(self, y: Array) -> Array:
        """log dt/dy of each row."""
        inner = CURVES[self.curve].log_slope((y - self.centre) / self.unit)
        return inner - np.log(self.spread) - np.log(self.unit)

    def back(self, t: Array) -> Array:
        """The mean response at output t of the machine."""
        if self.curve == "identity":
            return (t * self.spread + self.offset) * self.unit + self.centre
        total = np.zeros_like(t)
        for residual in self.residuals:
            at = np.clip(t + residual, self.low - MAX_EXTRAPOLATION, self.high + MAX_EXTRAPOLATION)
            total += CURVES[self.curve].back(at * self.spread + self.offset)
        mean: Array = total / len(self.residuals) * self.unit + self.centre
        return mean

    @property
    def identity(self) -> bool:
        """Whether the transformation is linear."""
        return self.curve == "identity"

    def inverse(self, t: Array) -> Array:
        """The response at t, without averaging; it maps quantiles exactly."""
        y: Array = CURVES[self.curve].back(t * self.spread + self.offset) * self.unit + self.centre
        return y

    def deviation(self, t: Array, deviation: Array) -> Array:
        """Standard deviation of the response if t is normal with this mean and deviation."""
        if self.identity:
            return deviation * self.scale
        places = norm.ppf((np.arange(QUANTILES) + 0.5) / QUANTILES)
        ends = self.low - MAX_EXTRAPOLATION, self.high + MAX_EXTRAPOLATION
        at = np.clip(t[:, None] + deviation[:, None] * places / places.std(), *ends)
        found: Array = self.inverse(at).std(axis=1)
        return found

    def smeared(self, residuals: Array) -> Response:
        """A response whose predictions are averaged over these residuals of t."""
        if self.identity:
            return self
        known = residuals[np.isfinite(residuals)]
        found = np.quantile(known, (np.arange(QUANTILES) + 0.5) / QUANTILES)
        return replace(self, residuals=tuple(found.tolist()))


def _on_curve(curve: str, centre: float, unit: float, y: Array) -> Array:
    return CURVES[curve].forward((y - centre) / unit)


def _largest(centre: float, y: Array) -> float:
    return float(np.abs(y - centre).max())


def _sizes(centre: float, size: float, total: float, y: Array, weight: Array) -> Array:
    return weight / total * (np.abs(y - centre) / size)


def _means(t: Callable[[Array], Array], total: float, y: Array, weight: Array) -> Array:
    return weight / total * t(y)


def _squares(
    t: Callable[[Array], Array], offset: float, total: float, y: Array, weight: Array
) -> Array:
    return weight / total * (t(y) - offset) ** 2


def _ends(t: Callable[[Array], Array], y: Array) -> Array:
    on_curve = t(y)
    return np.array([on_curve.min(), on_curve.max()])


def _outer(first: Array, second: Array) -> Array:
    return np.array([min(first[0], second[0]), max(first[1], second[1])])


@dataclass(frozen=True)
class Responses:
    """Several responses (n, m), each on its own scale.

    columns : the scale of each response; names : of the responses.
    """

    columns: tuple[Response, ...]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def curve(self) -> tuple[str, ...]:
        """The name of each curve."""
        return tuple(one.curve for one in self.columns)

    @property
    def identity(self) -> bool:
        """Whether all transformations are linear."""
        return all(one.identity for one in self.columns)

    @property
    def scale(self) -> Array:
        """(m,) units of y per unit of t, if the curves are the identity."""
        return np.array([one.scale for one in self.columns])

    def forward(self, y: Array) -> Array:
        return np.column_stack([one.forward(v) for one, v in zip(self.columns, y.T, strict=True)])

    def back(self, t: Array) -> Array:
        """(n, m) mean responses at outputs t of the machine."""
        return np.column_stack([one.back(v) for one, v in zip(self.columns, t.T, strict=True)])

    def smeared(self, residuals: Array) -> Responses:
        """Responses whose predictions are averaged over these residuals (n, m) of t."""
        pairs = zip(self.columns, residuals.T, strict=True)
        return replace(self, columns=tuple(one.smeared(r) for one, r in pairs))


def responses_of(
    y: Array, weight: Array, names: tuple[str, ...], choose: Callable[[Array], Response] | None
) -> Response | Responses:
    """The scale of one response (n,), or of each of several (n, m).

    choose : function that selects the curve of a response; None for the identity.
    """
    one = choose or (lambda values: Response.of(values, weight))
    if y.ndim == 1:
        return one(y)
    columns = (mapped(partial(_column, k), y) for k in range(y.shape[1]))
    return Responses(tuple(one(values) for values in columns), names)


def _column(k: int, y: Array) -> Array:
    return y[:, k]


def choose_response(X: Any, y: Array, weight: Array, feature_names: Any = None) -> Response:
    """The curve of largest evidence on a sample, unless it raises the error of y itself."""
    order, weight = None, meant_weights(weight)
    if isinstance(feature_names, TableFeatures) and feature_names.mixed:
        order = order_by_content(X, Target(y[:, None], weight), feature_names.codes)
        y, weight = y[order], weight[order]
    plain = Response.of(y, weight)
    if plain.low == plain.high or len(reduced(_first_values, _joined_values, y)) < FEWEST_VALUES:
        return plain
    target = Target(mapped(partial(_on_scale, plain), y), weight)
    few = rows_in_proportion(target, ROWS, np.random.default_rng(0))
    some, labels, w = target.rows(few), taken(y, few), taken(weight, few)
    X = as_rows(X).take(few if order is None else order[few])
    codes = feature_names.codes if isinstance(feature_names, TableFeatures) else None
    units = Units.of(X, w, codes=codes)
    rows = PackedRows(units(X), some, codes=units.codes)
    effort = Effort()
    tied = tied_kernels(rows, FAMILIES, effort)
    ranked = sorted(tied, key=lambda family: -tied[family].evidence)
    judges = list(dict.fromkeys([*ranked[:2], FAMILIES[1]]))
    positive = float(reduced(np.min, min, y)) > 0
    curves = [name for name, curve in CURVES.items() if positive or not curve.positive]
    responses = [plain, *(_on(y, weight, name) for name in curves[1:])]

    def judged(response: Response) -> tuple[float, float]:
        t = Target(response.forward(labels)[:, None], w)
        on = rows if response is plain else rows.relabelled(t)
        found = tied if response is plain else _near(on, judges, tied, effort)
        return _judged(response, on, t, labels, best_of(found), plain.unit)

    return _simplest(responses, map_tasks(judged, responses))


def _on(y: Array, weight: Array, curve: str) -> Response:
    """The response on a curve. The median of many rows is that of a random part of them."""
    if curve != "asinh":
        return Response.of(y, weight, curve)
    pool = rows_to_stratify(len(y), 0, np.random.default_rng(0))
    part = slice(None) if pool is None else pool
    centre = weighted_median(taken(y, part)[:, None], taken(weight, part))
    return Response.of(y, weight, curve, float(centre[0]))


def _on_scale(response: Response, y: Array) -> Array:
    return response.forward(y)[:, None]


def _first_values(y: Array) -> Array:
    return np.unique(y)[:FEWEST_VALUES]


def _joined_values(first: Array, second: Array) -> Array:
    return _first_values(np.concatenate([first, second]))


def _near(
    rows: PackedRows, families: Sequence[Family], tied: dict[Family, Found], effort: Effort
) -> dict[Family, Found]:
    return {f: tied_kernel(rows, f, effort, tied[f].kernel) for f in families}


def _judged(
    response: Response, rows: PackedRows, target: Target, y: Array, best: Found, unit: float
) -> tuple[float, float]:
    """Evidence of y under a curve, and its leave-one-out error in squared units."""
    problem = SumEvidence.like(rows, best.kernel, 0.0)
    mean = target.weight @ target.values[:, 0] / target.total
    left_out = problem.left_out(best.kernel)[:, 0] + mean
    smeared = response.smeared(target.values[:, 0] - left_out)
    error = float(target.weight @ ((smeared.back(left_out) - y) / unit) ** 2)
    evidence = best.evidence + float(target.weight @ response.log_slope(y))
    return evidence, error


def _simplest(responses: Sequence[Response], judged: Sequence[tuple[float, float]]) -> Response:
    best, (evidence, error) = responses[0], judged[0]
    for response, (nats, missed) in zip(responses[1:], judged[1:], strict=True):
        if nats > evidence + MIN_GAIN and missed < MAX_ERROR_RATIO * error:
            best, evidence, error = response, nats, min(error, missed)
    return best
