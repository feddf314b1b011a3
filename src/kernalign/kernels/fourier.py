"""Cosine kernels: Fourier in any dimension, Dirichlet (the paper's) in one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernalign._typing import Array
from kernalign.kernels._scale import per_unit
from kernalign.kernels.base import SearchSpace
from kernalign.kernels.structure import FeatureFamily
from kernalign.rows import as_rows

#: By default the largest frequency has one wave per this many points, on average.
POINTS_PER_WAVE = 16
#: Maximum number of scanned frequencies.
LARGEST_SCAN = 4096
#: Starting frequencies in several dimensions: in random directions, and along each axis.
RANDOM_STARTS, AXIS_STARTS = 256, 8
#: Largest dimensionless frequency omega_k s_k along one axis in several dimensions.
LARGEST_FREQUENCY = 10.0


def phases(X: Array, omega: Array) -> Array:
    """X omega, the places of rows on waves; zero for a row so far away that it has none."""
    with np.errstate(over="ignore", invalid="ignore"):
        found: Array = X @ omega
    return np.where(np.isfinite(found), found, 0.0)


class Fourier(FeatureFamily):
    """kappa_omega(x, x') = 1 + 2 cos(omega'(x - x')), with a frequency vector omega.

    Positive definite in any dimension, with the features (1, sqrt2 cos omega'x, sqrt2 sin omega'x).

    Parameters
    ----------
    columns : positions, names or slice, optional
        The columns of X that the kernel uses; all of them by default.
    bounds : (low, high), optional
        Range of each entry of omega, in radians per unit of X; derived from the data by default.
    """

    parameter = "omega"

    def __init__(
        self,
        *,
        columns: Sequence[int | str] | slice | None = None,
        bounds: tuple[float, float] | None = None,
    ):
        self.columns = columns
        self.bounds = bounds

    def features(self, sigma: Array, X: Array) -> Array:
        phase = phases(self._from_origin(X), sigma)
        one = np.ones(len(X))
        return np.stack([one, np.sqrt(2) * np.cos(phase), np.sqrt(2) * np.sin(phase)], axis=1)

    def words(self, sigma: Array, names: Sequence[str], scale: Array | None = None) -> str:
        return "rows are similar when they are at the same place of a wave"

    def relevance(self, sigma: Array, d: int) -> Array:
        return sigma**2

    def features_gradient(self, sigma: Array, X: Array, V: Array) -> Array:
        X = self._from_origin(X)
        phase = phases(X, sigma)
        by_phase = np.sqrt(2) * (V[:, 2] * np.cos(phase) - V[:, 1] * np.sin(phase))
        slope: Array = by_phase @ (X / self._feature_scale(X.shape[1]))
        return slope

    def diag(self, sigma: Array, X: Array) -> Array:
        return np.full(len(X), 3.0)

    def _fix_constants(self, X: Array, weight: Array) -> None:
        self._scale = as_rows(X).spread(weight)
        self._origin = X[0].copy()

    def _from_origin(self, X: Array) -> Array:
        """X relative to a training row: the kernel is unchanged and phases stay small."""
        shifted: Array = X - getattr(self, "_origin", 0.0)
        return shifted

    def _feature_scale(self, d: int) -> Array:
        scale: Array = getattr(self, "_scale", np.ones(d))
        return scale

    def to_search(self, sigma: Array) -> Array:
        """z_k = omega_k s_k, radians per spread of the feature."""
        z: Array = sigma * self._feature_scale(sigma.size)
        return z

    def from_search(self, z: Array) -> Array:
        return per_unit(z, self._feature_scale(z.size))

    def d_sigma_d_z(self, sigma: Array) -> Array:
        return per_unit(np.ones(sigma.size), self._feature_scale(sigma.size))

    def search_space(self, X: Array, rng: np.random.Generator) -> SearchSpace:
        if X.shape[1] == 1:
            return self._line(X)
        return self._directions(X, rng)

    def _line(self, X: Array) -> SearchSpace:
        """Each lobe of the objective has width 2 pi / range: scan at a sixth of it."""
        width = float(np.ptp(X / self._scale)) or 1.0
        step = 1 / width
        if self.bounds is None:
            low, high = 0.0, len(np.unique(X)) * 2 * np.pi / (POINTS_PER_WAVE * width)
        else:
            low, high = (self.to_search(np.array([b]))[0] for b in self.checked_bounds())
        number = min(LARGEST_SCAN, max(2, int(np.ceil((high - low) / step)) + 1))
        scan = np.linspace(low, high, number)[:, None]
        return SearchSpace(scan[0], scan[-1], scan, np.full(1, step))

    def _directions(self, X: Array, rng: np.random.Generator) -> SearchSpace:
        """Random directions with log-uniform lengths, and each single axis."""
        d = X.shape[1]
        if self.bounds is None:
            lower, upper = np.full(d, -LARGEST_FREQUENCY), np.full(d, LARGEST_FREQUENCY)
        else:
            low, high = self.checked_bounds()
            lower, upper = self.to_search(np.full(d, low)), self.to_search(np.full(d, high))
        length = np.exp(rng.uniform(np.log(0.1), np.log(LARGEST_FREQUENCY), RANDOM_STARTS))
        directions = rng.standard_normal((RANDOM_STARTS, d))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        along = np.geomspace(0.2, LARGEST_FREQUENCY, AXIS_STARTS)
        axes = np.concatenate([f * np.eye(d) for f in along])
        scan = np.concatenate([length[:, None] * directions, axes])
        return SearchSpace(lower, upper, np.clip(scan, lower, upper), np.ones(d), ordered=False)

    def checked_bounds(self) -> tuple[float, float]:
        try:
            low, high = (float(b) for b in self.bounds or ())
            valid = -np.inf < low <= high < np.inf
        except (TypeError, ValueError):
            valid = False
        if not valid:
            raise ValueError(
                f"The 'bounds' parameter of {type(self).__name__} must be a pair of finite "
                f"frequencies low <= high. Got {self.bounds!r} instead."
            )
        return low, high


class Dirichlet(Fourier):
    """kappa_sigma(x, x') = 1 + 2 cos(sigma |x - x'|) on one-dimensional inputs.

    The Dirichlet kernel of degree one of the paper. For vectors the cosine of a distance is not
    positive definite; use `Fourier` for them.
    """

    parameter = "sigma"

    def _fix_constants(self, X: Array, weight: Array) -> None:
        if X.shape[1] != 1:
            raise ValueError(
                "Dirichlet is defined on one column: cos(sigma |x - x'|) is not positive definite "
                f"on vectors. Got {X.shape[1]} columns; use Fourier, or choose one with columns=."
            )
        super()._fix_constants(X, weight)
