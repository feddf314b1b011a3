"""The certified global maximum of Q_c(sigma) = c'G(sigma)c over Gaussian kernels.

`dc_split` describes the lower bound of f = g - h = -Q. With one width, the vertices lie between
neighbouring tangents and are kept in a heap; with several, they are those of a polytope.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, pairwise

import numpy as np
from scipy.optimize import minimize_scalar

from kernalign._typing import Array
from kernalign.gram.quadratic_form import PairForms, ScalarForms
from kernalign.kernels import Gaussian, SearchSpace
from kernalign.solvers.dc_polytope import SeveralWidths
from kernalign.solvers.dc_split import Certified, CertifiedSearch, ConvexPair

#: Maximum number of widths of the polytope search.
MOST_WIDTHS = 4
#: Maximum number of tangents of one search; the bound is valid for any number.
EVALUATIONS = 2000
#: Slopes that differ by less than this share are parallel.
PARALLEL = 1e-15


def certified_search(forms: PairForms, space: SearchSpace) -> CertifiedSearch:
    """The search for a family whose Q is a difference of convex functions in closed form."""
    family = forms.family
    if isinstance(forms, ScalarForms) and forms.family.semigroup:
        return OneWidth(forms, space)
    if type(family) is Gaussian and space.p <= MOST_WIDTHS:
        return SeveralWidths(family, forms.X, space)
    what = f"{type(family).__name__} with {space.p} parameters on these data"
    raise ValueError(
        "solver='dc' certifies Gaussian kernels with one bandwidth, or with one per feature on at "
        f'most {MOST_WIDTHS} features. Got {what}: use solver="gradient" instead.'
    )


class OneWidth(CertifiedSearch):
    """The search over omega = (unit / sigma)^power in an interval."""

    def __init__(self, forms: ScalarForms, space: SearchSpace):
        self._forms = forms
        self._space = space
        self._low, self._high = self._omega(space.upper), self._omega(space.lower)

    def maximise(self, c: Array, starts: Sequence[Array] = (), tol: float = 1e-4) -> Certified:
        form = self._forms.of(c)
        pair = ConvexPair(self._forms.nodes[:, None], form.weights)
        search = _Interval(pair, self._low, self._high, [self._omega(z) for z in starts])
        search.run(tol)
        # Largest error of the hat functions of gathered pairs.
        error = self._forms.gathering_error() * form.negative
        z = np.clip(self._z(search.polished()), self._space.lower, self._space.upper)
        value = form.value(z)
        return Certified(z, value, max(value, -search.lower()) + error, search.evaluations)

    def _omega(self, z: Array) -> float:
        family = self._forms.family
        return float((family.unit() / family.from_search(z)[0]) ** family.power)

    def _z(self, omega: float) -> Array:
        family = self._forms.family
        return family.to_search(np.array([family.unit() * omega ** (-1 / family.power)]))


@dataclass(frozen=True)
class _Tangent:
    """g(x) + slope (v - x) <= g(v), and f(x)."""

    x: float
    g: float
    slope: float
    f: float

    def at(self, v: float) -> float:
        return self.g + self.slope * (v - self.x)


class _Interval:
    """min f over an interval by the heap of vertices between neighbouring tangents."""

    def __init__(self, pair: ConvexPair, low: float, high: float, starts: Sequence[float]):
        self._pair = pair
        self.evaluations = 0
        inner = {x for x in starts if low < x < high}
        points = [self._tangent(x) for x in sorted({low, high} | inner)]
        self.best = min(points, key=lambda point: point.f)
        self._low, self._high = low, high
        self._heap: list[tuple[float, int, float, float, _Tangent, _Tangent]] = []
        self._number = count()
        for left, right in pairwise(points):
            self._push(left, right)

    def run(self, tol: float) -> None:
        while self._heap and self.evaluations < EVALUATIONS:
            bound, _, v, h, left, right = self._heap[0]
            if self.best.f - bound <= tol * abs(self.best.f):
                return
            heapq.heappop(self._heap)
            middle = self._tangent(v, h)
            if middle.f < self.best.f:
                self.best = middle
            self._push(left, middle)
            self._push(middle, right)

    def lower(self) -> float:
        """A lower bound of min f."""
        return min(self.best.f, self._heap[0][0]) if self._heap else self.best.f

    def polished(self) -> float:
        """The local minimum near the best point; a search may stop before it."""
        low = max((v[-2].x for v in self._heap if v[-1] is self.best), default=self._low)
        high = min((v[-1].x for v in self._heap if v[-2] is self.best), default=self._high)
        low, high = np.log(low), np.log(high)
        if not low < high:
            return self.best.x

        def f(log_omega: float) -> float:
            omega = np.array([np.exp(log_omega)])
            return self._pair.g(omega)[0] - self._pair.h(omega)

        found = minimize_scalar(f, bounds=(low, high), method="bounded", options={"xatol": 1e-5})
        return float(np.exp(found.x)) if found.fun < self.best.f else self.best.x

    def _tangent(self, x: float, h: float | None = None) -> _Tangent:
        self.evaluations += 1
        omega = np.array([x])
        g, slope = self._pair.g(omega)
        return _Tangent(x, g, float(slope[0]), g - (self._pair.h(omega) if h is None else h))

    def _push(self, left: _Tangent, right: _Tangent) -> None:
        """The vertex where two tangents meet, with its bound; h is kept for its evaluation."""
        bend = right.slope - left.slope
        if bend > PARALLEL * abs(left.slope):
            v = (left.g - left.slope * left.x - right.g + right.slope * right.x) / bend
        else:
            v = (left.x + right.x) / 2
        if not left.x < v < right.x:
            v = (left.x + right.x) / 2
            if not left.x < v < right.x:
                return
        h = self._pair.h(np.array([v]))
        # If rounding makes the two differ, the lower one is safe.
        bound = min(left.at(v), right.at(v)) - h
        heapq.heappush(self._heap, (bound, next(self._number), v, h, left, right))
