"""Rational quadratic kernels: mixtures of Gaussians over all bandwidths."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernalign._typing import Array
from kernalign.kernels._radial import Radial
from kernalign.kernels.base import Family, SearchSpace, ValuesTo

ALPHA_BOUNDS = (0.1, 30.0)
ALPHA_SCAN = (0.3, 1.0, 5.0)


class RationalQuadratic(Radial):
    """kappa(x, x') = (1 + D / alpha)^-alpha, D = |x - x'|^2 / sigma^2.

    sigma (one, or one per feature) and alpha are both searched; the last entry of the parameter
    vector is alpha. As alpha grows, the kernel tends to the Gaussian with the same sigma.
    scikit-learn uses D / (2 alpha l^2): length_scale = sigma / sqrt(2).
    """

    untied_names = ("alpha",)

    def gram(self, sigma: Array, X: Array, Z: Array | None = None) -> Array:
        return _power(self.distances(sigma[:-1], X, Z), float(sigma[-1]))

    def values_to(self, sigma: Array, Z: Array) -> ValuesTo:
        distances, alpha = self.distances_to(sigma[:-1], Z), float(sigma[-1])
        return lambda X, out: _power(distances(X, out), alpha)

    def gradient(self, sigma: Array, X: Array, Z: Array | None, W: Array, K: Array) -> Array:
        alpha = sigma[-1]
        D = self.distances(sigma[:-1], X, Z)
        base = 1 + D / alpha
        A = -W * K / base
        if self.ard:
            by_bandwidth = self._contract(A, X, X if Z is None else Z)
        else:
            by_bandwidth = np.array([-2 * np.vdot(A, D)])
        # d log kappa / d log alpha = alpha (-log(base) + (D / alpha) / base)
        by_alpha = np.vdot(W * K, alpha * (D / (alpha * base) - np.log(base)))
        return np.append(by_bandwidth, by_alpha)

    def profile(self, D: Array) -> Array:
        raise TypeError("The profile of RationalQuadratic depends on alpha: use gram.")

    def profile_slope(self, distances: Callable[[], Array], K: Array) -> Array:
        raise TypeError("The profile of RationalQuadratic depends on alpha: use gradient.")

    def to_search(self, sigma: Array) -> Array:
        return np.append(super().to_search(sigma[:-1]), np.log(sigma[-1]))

    def from_search(self, z: Array) -> Array:
        return np.append(super().from_search(z[:-1]), np.exp(z[-1]))

    def d_sigma_d_z(self, sigma: Array) -> Array:
        return np.append(super().d_sigma_d_z(sigma[:-1]), sigma[-1])

    def describe(self, sigma: Array) -> dict[str, float | list[float]]:
        return {**super().describe(sigma[:-1]), "alpha": float(sigma[-1])}

    def one_parameter(self) -> bool:
        return False

    def tied(self) -> Family | None:
        return None

    def search_space(self, X: Array, rng: np.random.Generator) -> SearchSpace:
        low, high = self.bandwidth_range(X, rng)
        d = X.shape[1] if self.ard else 1
        widths = np.exp(np.linspace(np.log(low), np.log(high), 9))
        scan = np.array(
            [self.to_search(np.append(np.full(d, s), a)) for s in widths for a in ALPHA_SCAN]
        )
        ends = np.array(
            [self.to_search(np.append(np.full(d, s), ALPHA_BOUNDS[0])) for s in (low, high)]
        )
        lower, upper = ends.min(axis=0), ends.max(axis=0)
        if self.ard and self.bounds is None:
            lower[:-1], upper[:-1] = 0.0, self._z_of(0.1)
        lower[-1], upper[-1] = np.log(ALPHA_BOUNDS)
        scan = np.clip(scan, lower, upper)
        return SearchSpace(lower, upper, scan, np.ones(d + 1), ordered=False)


def _power(D: Array, alpha: float) -> Array:
    """(1 + D / alpha)^-alpha, in place."""
    D /= alpha
    np.log1p(D, out=D)
    D *= -alpha
    return np.exp(D, out=D)
