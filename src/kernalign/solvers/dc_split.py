"""Q_c(sigma) = c'G(sigma)c over Gaussian kernels as a difference of convex functions.

With omega = 1/sigma^2 (one, or one per feature) Q = sum_p w_p exp(-omega'd_p) over pairs p with
squared distances d_p. Maximising it means minimising f = g - h, where g sums |w_p| exp(-omega'd_p)
over the pairs with w_p < 0 and h those with w_p > 0: both are convex and fall with every omega_k.

Outer approximation: tangents of g bound it from below. In the region where one tangent is the
highest, tangent minus h is concave, so that the lower bound of f over the box is attained at a
vertex (v, t) of the polytope above all tangents: min f >= min over vertices of t - h(v). The next
tangent is added at the vertex with the lowest bound.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernalign._typing import Array

#: Number of exponentials computed at once.
CHUNK = 1 << 21


@dataclass(frozen=True)
class Certified:
    """The best point of a search, in search coordinates.

    value : Q there.
    upper : an upper bound of Q over the box.
    evaluations : number of tangents.
    """

    z: Array
    value: float
    upper: float
    evaluations: int


class CertifiedSearch(ABC):
    """argmax of Q_c over the box of one family on given rows, with an upper bound."""

    @abstractmethod
    def maximise(self, c: Array, starts: Sequence[Array] = (), tol: float = 1e-4) -> Certified:
        """The search for dual vectors c (n, outputs), up to the relative tolerance `tol`.

        starts : points that are tried first, such as the best one for a similar c.
        """


class ConvexPair:
    """g and h for exponents (pairs, widths) and weights (pairs,)."""

    def __init__(self, distances: Array, weights: Array):
        below, above = weights < 0, weights > 0
        self._d_g, self._w_g = distances[below], -weights[below]
        self._d_h, self._w_h = distances[above], weights[above]
        self._slopes = self._w_g[:, None] * self._d_g

    def g(self, omega: Array) -> tuple[float, Array]:
        """g and its gradient."""
        decay = np.exp(-(self._d_g @ omega))
        return float(self._w_g @ decay), -(decay @ self._slopes)

    def h(self, omega: Array) -> float:
        return float(self._w_h @ np.exp(-(self._d_h @ omega)))

    def h_slope(self, omega: Array) -> tuple[float, Array]:
        """h and its gradient."""
        weighted = self._w_h * np.exp(-(self._d_h @ omega))
        return float(weighted.sum()), -(weighted @ self._d_h)

    def h_many(self, omegas: Array) -> Array:
        """h at each row of omegas."""
        size = max(1, CHUNK // max(1, len(self._d_h)))
        parts = [
            np.exp(-(self._d_h @ omegas[i : i + size].T)).T @ self._w_h
            for i in range(0, len(omegas), size)
        ]
        return np.concatenate([np.zeros(0), *parts])
