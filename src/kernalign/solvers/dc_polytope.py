"""The certified search over several widths: cut the polytope above all tangents of g."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from scipy.optimize import minimize
from scipy.spatial import HalfspaceIntersection, QhullError

from kernalign._typing import Array
from kernalign.kernels import Family, SearchSpace
from kernalign.solvers.dc_split import Certified, CertifiedSearch, ConvexPair

#: Maximum number of tangents of one search; the bound is valid for any number.
CUTS = 300
#: Distance, in units of the polytope, below which a vertex lies on a new tangent.
TOUCHING = 1e-9


class SeveralWidths(CertifiedSearch):
    """The search over omega_k = (s_k / sigma_k)^2, which are the family's search coordinates."""

    def __init__(self, family: Family, X: Array, space: SearchSpace):
        rows, columns = np.triu_indices(len(X), 1)
        squared_scale = family.to_search(np.ones(space.p))
        self._rows, self._columns = rows, columns
        self._distances = (X[rows] - X[columns]) ** 2 / squared_scale
        self._space = space

    def maximise(self, c: Array, starts: Sequence[Array] = (), tol: float = 1e-4) -> Certified:
        weights = 2 * np.einsum("po,po->p", c[self._rows], c[self._columns])
        diagonal = float(np.vdot(c, c))
        pair = ConvexPair(self._distances, weights)
        box = _Box(pair, self._space.lower, self._space.upper, diagonal)
        box.run(starts, tol)
        return Certified(box.omega, diagonal - box.f, diagonal - box.lower(), box.evaluations)


class _Box:
    """min f over a box by cutting the polytope {(omega, t) : t above all tangents of g}.

    The polytope has the coordinates u = (omega - low) / (high - low) and t / g(low).
    diagonal : added to -f before tolerances are taken relative to it.
    """

    #: Upper bound of the polytope, above g everywhere, and the height of an interior point.
    LID, INSIDE = 2.0, 1.5

    def __init__(self, pair: ConvexPair, low: Array, high: Array, diagonal: float):
        self._pair = pair
        self._low, self._free = low, high > low
        self._width = high - low
        self._diagonal = diagonal
        self._size = pair.g(low)[0]
        self.evaluations = 0
        self.omega, self.f = low, np.inf
        B = int(self._free.sum())
        self._tangents = np.zeros((0, B + 1))
        self._offsets = np.zeros(0)
        self._u = np.array(list(product([0.0, 1.0], repeat=B)))
        self._h = pair.h_many(self._omegas(self._u))
        self._cut_off = False

    def run(self, starts: Sequence[Array], tol: float) -> None:
        corners = self._omegas(self._u)
        for omega in [*corners, self._omegas(np.full((1, self._u.shape[1]), 0.5))[0], *starts]:
            self._consider(np.clip(omega, self._low, self._low + self._width))
        self._polish()
        if self._size <= 0 or not self._free.any():
            # f is concave: its minimum is at a corner, and all corners have been evaluated.
            self._u, self._h = self._u[:0], self._h[:0]
            return
        polytope = self._polytope()
        while polytope is not None and self.evaluations < CUTS:
            bounds = self._bounds()
            lowest = int(np.argmin(bounds))
            if self.f - bounds[lowest] <= tol * abs(self._diagonal - self.f):
                return
            known = len(self._tangents)
            if self._consider(self._omegas(self._u[[lowest]])[0]):
                self._polish()
            polytope = self._cut(polytope, known)

    def lower(self) -> float:
        """A lower bound of min f."""
        return min(self.f, float(self._bounds().min(initial=np.inf)))

    # -- f ------------------------------------------------------------------------------------

    def _omegas(self, u: Array) -> Array:
        omegas = np.tile(self._low, (len(u), 1))
        omegas[:, self._free] += u * self._width[self._free]
        return omegas

    def _consider(self, omega: Array) -> bool:
        """Add the tangent of g at omega; return whether f is the lowest so far."""
        self.evaluations += 1
        g, slope = self._pair.g(omega)
        if self._size > 0:
            scaled = slope[self._free] * self._width[self._free] / self._size
            u = (omega - self._low)[self._free] / self._width[self._free]
            self._tangents = np.vstack([self._tangents, np.append(scaled, -1.0)])
            self._offsets = np.append(self._offsets, g / self._size - scaled @ u)
        f = g - self._pair.h(omega)
        if f >= self.f:
            return False
        self.omega, self.f = omega, f
        return True

    def _polish(self) -> None:
        """Find the local minimum near the best point, and add its tangent."""
        if not self._free.any():
            return
        size = max(abs(self._diagonal - self.f), 1e-300)

        def scaled(u: Array) -> tuple[float, Array]:
            omega = self._omegas(u[None])[0]
            g, g_slope = self._pair.g(omega)
            h, h_slope = self._pair.h_slope(omega)
            slope = (g_slope - h_slope)[self._free] * self._width[self._free]
            return (g - h) / size, slope / size

        start = (self.omega - self._low)[self._free] / self._width[self._free]
        bounds = [(0.0, 1.0)] * start.size
        found = minimize(scaled, start, jac=True, method="L-BFGS-B", bounds=bounds)
        self._consider(self._omegas(np.clip(found.x, 0, 1)[None])[0])

    # -- the polytope -------------------------------------------------------------------------

    def _bounds(self) -> Array:
        """t - h at the vertices, t taken from the tangents themselves."""
        if not len(self._u) or not len(self._offsets):
            return np.zeros(0)
        heights = self._u @ self._tangents[:, :-1].T + self._offsets
        return self._size * heights.max(axis=1) - self._h

    def _polytope(self) -> HalfspaceIntersection | None:
        B = self._u.shape[1]
        walls = np.vstack(
            [
                np.hstack([np.eye(B), np.zeros((B, 1)), -np.ones((B, 1))]),
                np.hstack([-np.eye(B), np.zeros((B, 2))]),
                np.append(np.zeros(B), [1.0, -self.LID]),
            ]
        )
        cuts = np.column_stack([self._tangents, self._offsets])
        inside = np.append(np.full(B, 0.5), self.INSIDE)
        try:
            polytope = HalfspaceIntersection(np.vstack([walls, cuts]), inside, incremental=True)
        except QhullError:
            return None
        self._replace(polytope, np.zeros((0, B)), np.zeros(0))
        return polytope

    def _cut(self, polytope: HalfspaceIntersection, known: int) -> HalfspaceIntersection | None:
        """Add the new tangents; remove vertices below them, add those on them."""
        A, b = self._tangents[known:], self._offsets[known:]
        before = self._tangents[:known, :-1], self._offsets[:known]
        heights = (self._u @ before[0].T + before[1]).max(axis=1, initial=-np.inf)
        now = (self._u @ A[:, :-1].T + b).max(axis=1)
        kept = now <= heights + TOUCHING
        try:
            polytope.add_halfspaces(np.column_stack([A, b]))
        except QhullError:
            return None
        self._replace(polytope, self._u[kept], self._h[kept], A, b)
        return polytope

    def _replace(
        self,
        polytope: HalfspaceIntersection,
        u: Array,
        h: Array,
        A: Array | None = None,
        b: Array | None = None,
    ) -> None:
        """Vertices kept, and those of the polytope that lie on the new cuts (all, without cuts)."""
        found = polytope.intersections
        found = found[np.isfinite(found).all(axis=1)]
        if A is not None and b is not None:
            touching = np.abs(found @ A.T + b) <= TOUCHING * np.abs(A).max(axis=1)
            found = found[touching.any(axis=1)]
        # Vertices on the upper bound are artificial: the polytope is unbounded above.
        found = found[found[:, -1] < self.LID - TOUCHING]
        fresh = np.clip(found[:, :-1], 0, 1)
        self._u = np.vstack([u, fresh])
        self._h = np.append(h, self._pair.h_many(self._omegas(fresh)))
