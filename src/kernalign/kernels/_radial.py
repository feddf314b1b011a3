"""Kernels that are a function of a scaled distance: kappa_sigma(x, x') = f(D).

With one bandwidth D = |x - x'|^2 / sigma^2; with one per feature (`ard=True`)
D = sum_k (x_k - x'_k)^2 / sigma_k^2. Both gradients contract W o f'(D) with the data by matrix
products: sum_ij A_ij (x_ik - z_jk)^2 = (A 1)' x_k^2 + (A' 1)' z_k^2 - 2 x_k' A z_k, for all k at
once and with no array of size n x n x d.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from kernalign._typing import Array
from kernalign.kernels._distances import SquaredDistances, SquaredDistancesTo, middle
from kernalign.kernels._scale import distance_range
from kernalign.kernels.base import Family, FamilyMember, SearchSpace, ValuesTo
from kernalign.kernels.structure import ScalarFamily, Tiles

#: Step of log sigma in the scan of one bandwidth (eight steps per octave).
LOG_STEP = np.log(2) / 8
#: Largest bandwidth searched, relative to the largest distance (above it, the kernel is linear in
#: x'x), and smallest, relative to the nearest-neighbour distance (below it, the Gram matrix is the
#: identity).
WIDEST, NARROWEST = 4.0, 0.25
#: Smallest bandwidth of one feature, in units of the feature's spread.
NARROWEST_FEATURE = 0.1
#: Number of quantiles of the scan of a common bandwidth that start the search of many bandwidths.
STARTS = 12


class Radial(ScalarFamily):
    """kappa_sigma(x, x') = f(D), D the squared distance in units of sigma."""

    takes_codes = True

    def __init__(
        self,
        ard: bool = False,
        *,
        columns: Sequence[int | str] | slice | None = None,
        bounds: tuple[float, float] | None = None,
    ):
        self.ard = ard
        self.columns = columns
        self.bounds = bounds

    @abstractmethod
    def profile(self, D: Array) -> Array:
        """f(D); D may be overwritten to save memory."""

    @abstractmethod
    def profile_slope(self, distances: Callable[[], Array], K: Array) -> Array:
        """f'(D), given K = f(D); `distances()` computes D if K does not suffice."""

    # -- formula ------------------------------------------------------------------------------

    def distances(self, sigma: Array, X: Array, Z: Array | None = None) -> Array:
        """D[i, j] = sum_k (x_ik - z_jk)^2 / sigma_k^2."""
        out = np.empty((len(X), len(X if Z is None else Z)), dtype=X.dtype)
        return self.distance_tiles(sigma, X, Z)(slice(None), slice(None), out)

    #: Distance in one feature; also the name of scipy's metric.
    distance: ClassVar[str] = "square"
    metric: ClassVar[str] = "euclidean"
    #: (sigma, X, Z) -> `distances` of some rows of X and of Z, written to an array.
    number_tiles: ClassVar[Any] = SquaredDistances
    #: (sigma, Z) -> `distances` of any rows and Z, written to an array.
    numbers_to: ClassVar[Any] = SquaredDistancesTo

    def distance_tiles(self, sigma: Array, X: Array, Z: Array | None = None) -> Tiles:
        """`distances` of some rows of X and of Z, written to an array."""
        codes = self.codes
        if codes is None:
            tiles: Tiles = self.number_tiles(sigma, X, Z)
            return tiles
        other = X if Z is None else Z
        numbers = codes.numbers
        of_numbers = self.number_tiles(
            codes.numbers_of(sigma), X[:, numbers], None if Z is None else Z[:, numbers]
        )

        def tile(rows: slice, columns: slice, out: Array) -> Array:
            if numbers.size:
                out = of_numbers(rows, columns, out)
            else:
                out[...] = 0.0
            return codes.summed(self.distance, sigma**-self.power, X[rows], other[columns], out)

        return tile

    def distances_to(self, sigma: Array, Z: Array) -> ValuesTo:
        """`distances` of any rows and Z, written to an array."""
        if self.codes is not None:
            # Sums over codes are most of the cost: nothing is prepared.
            return lambda X, out: self.distance_tiles(sigma, X, Z)(slice(None), slice(None), out)
        of_numbers: ValuesTo = self.numbers_to(sigma, Z)
        return of_numbers

    def gram(self, sigma: Array, X: Array, Z: Array | None = None) -> Array:
        return self.profile(self.distances(sigma, X, Z))

    def values_to(self, sigma: Array, Z: Array) -> ValuesTo:
        distances = self.distances_to(sigma, Z)
        return lambda X, out: self.profile(distances(X, out))

    def diag(self, sigma: Array, X: Array) -> Array:
        return np.ones(len(X))

    def gradient(self, sigma: Array, X: Array, Z: Array | None, W: Array, K: Array) -> Array:
        if self.ard:
            A = self.profile_slope(lambda: self.distances(sigma, X, Z), K)
            A *= W
            return self._contract(A, X, X if Z is None else Z)
        D = self.distances(sigma, X, Z)
        A = self.profile_slope(lambda: D, K)
        A *= W
        # dD / d log sigma = -2 D
        return np.array([-2 * np.vdot(A, D)])

    def profile_and_slope(self, D: Array) -> tuple[Array, Array]:
        K = self.profile(D)
        return K, self.profile_slope(lambda: D, K)

    def _contract(self, A: Array, X: Array, Z: Array) -> Array:
        """sum_ij A_ij ((x_ik - z_jk) / s_k)^2 for each k: dD/dz_k with z_k = (s_k / sigma_k)^2."""
        s = self._feature_scale(X.shape[1])
        codes = self.codes
        if codes is None:
            return self._contract_numbers(A, X, Z, s)
        some = codes.numbers
        of_numbers = self._contract_numbers(A, X[:, some], Z[:, some], codes.numbers_of(s))
        return codes.merged(of_numbers, codes.contracted(self.distance, A, X, Z))

    def _contract_numbers(self, A: Array, X: Array, Z: Array, s: Array) -> Array:
        shift = middle(Z)
        X = (X - shift) / s
        Z = (Z - shift) / s
        cross = np.einsum("ik,ik->k", X, A @ Z)
        return A.sum(axis=1) @ X**2 + A.sum(axis=0) @ Z**2 - 2 * cross

    # -- one bandwidth: a function of one distance -------------------------------------------

    node_step = float(np.log(2) / 4)

    def one_parameter(self) -> bool:
        return not self.ard

    def unit(self) -> float:
        if self.bounds is not None:
            # A single outlier must not determine the range.
            low, high = check_bounds(self, self.bounds)
            return float(np.sqrt(low) * np.sqrt(high))
        scale = getattr(self, "_scale", None)
        return 1.0 if scale is None else float(scale.max())

    def statistic(self, X: Array, Z: Array | None = None) -> Array:
        return self.distances(np.array([self.unit()]), X, Z)

    def statistic_tiles(self, X: Array, Z: Array | None = None) -> Tiles:
        return self.distance_tiles(np.array([self.unit()]), X, Z)

    def statistic_to(self, Z: Array) -> ValuesTo:
        return self.distances_to(np.array([self.unit()]), Z)

    def from_statistic(self, statistic: Array, sigma: Array) -> Array:
        out = np.empty_like(statistic)
        self.from_statistic_into(out, statistic, sigma)
        return out

    def _factor(self, sigma: Array) -> float:
        """Factor from the units of the statistic to those of sigma; finite even if it overflows."""
        with np.errstate(over="ignore"):
            return float(np.minimum((self.unit() / sigma[0]) ** self.power, 1e100))

    def from_statistic_into(self, out: Array, statistic: Array, sigma: Array) -> None:
        with np.errstate(over="ignore"):
            # Beyond all distances the profile is zero.
            np.multiply(statistic, self._factor(sigma), out=out)
        K = self.profile(out)
        if K is not out:
            out[...] = K

    # -- parameters ---------------------------------------------------------------------------

    def _fix_constants(self, X: Array, weight: Array) -> None:
        if not isinstance(self.ard, bool | np.bool_):
            raise ValueError(
                f"The 'ard' parameter of {type(self).__name__} must be True or False. "
                f"Got {self.ard!r} instead."
            )
        self._scale = self.scale_of(X, weight)

    def _feature_scale(self, d: int) -> Array:
        """s_k, the spread of each feature on the data the family was resolved on."""
        scale: Array = getattr(self, "_scale", np.ones(d))
        return scale

    def to_search(self, sigma: Array) -> Array:
        """log sigma, or z_k = (s_k / sigma_k)^2: exactly zero for an irrelevant feature."""
        if not self.ard:
            return np.log(sigma)
        z: Array = (self._feature_scale(sigma.size) / sigma) ** 2
        return z

    def from_search(self, z: Array) -> Array:
        if not self.ard:
            return np.exp(z)
        sigma = np.full(z.shape, np.inf)
        scale = np.broadcast_to(self._feature_scale(z.size), z.shape)
        with np.errstate(over="ignore"):
            # A relevance that is too small to invert counts as zero.
            return np.divide(scale, np.sqrt(z), out=sigma, where=z > 0)

    def d_sigma_d_z(self, sigma: Array) -> Array:
        if not self.ard:
            return sigma
        slope: Array = -0.5 * sigma * (sigma / self._feature_scale(sigma.size)) ** 2
        return slope

    def at(self, *sigma: float | Sequence[float]) -> FamilyMember:
        """The kernel with these bandwidths, which are positive (inf ignores a feature)."""
        member = super().at(*sigma)
        extra = len(self.untied_names)
        enough = member.sigma.size > extra if self.ard else member.sigma.size == 1 + extra
        if not enough or not (member.sigma > 0).all():
            wanted = "a bandwidth for each feature" if self.ard else "one bandwidth"
            also = "".join(f" and {name}" for name in self.untied_names)
            raise ValueError(
                f"A kernel of {type(self).__name__}(ard={self.ard}) takes {wanted}{also}, all "
                f"positive. Got {member.sigma.tolist()}."
            )
        return member

    #: Parameters other than bandwidths, at the end of sigma.
    untied_names: tuple[str, ...] = ()

    def relevance(self, sigma: Array, d: int) -> Array:
        bandwidths = sigma[: sigma.size - len(self.untied_names)]
        return np.broadcast_to(bandwidths**-2.0, d).copy()

    def words(self, sigma: Array, names: Sequence[str], scale: Array | None = None) -> str:
        bandwidths = sigma[: sigma.size - len(self.untied_names)]
        if not self.ard:
            own = self.units is not None or scale is not None
            measured = ", each in units of its own spread" if own else ""
            return (
                f"rows are similar when they differ by less than about {bandwidths[0]:.3g}, over "
                f"all features together{measured}"
            )
        finite = int(np.isfinite(bandwidths).sum())
        narrow = np.argsort(bandwidths, kind="stable")[: min(3, finite)]
        ignored = bandwidths.size - finite
        plural = "feature is" if ignored == 1 else "features are"
        left = f"; {ignored} {plural} ignored" if ignored else ""
        if finite > len(narrow):
            # The difference that matters is one of all features together: no width of a single
            # one says when rows are similar.
            first = ", ".join(names[k] for k in narrow.tolist())
            return (
                f"rows are similar when they are close in all features, above all in {first}{left}"
            )
        widths, categories = self._widths(bandwidths, scale)
        shown = ", ".join(
            f"{names[k]} is the same"
            if k in categories
            else f"{names[k]} differs by less than about {widths[k]:.3g}"
            for k in narrow.tolist()
        )
        return f"rows are similar when {shown or 'nothing differs'}{left}"

    def _widths(self, bandwidths: Array, scale: Array | None) -> tuple[Array, set[int]]:
        """Bandwidths in units of the columns, and which columns contain categories."""
        categories = set() if self.codes is None else set(self.codes.codes.tolist())
        if self.units is not None:
            slope = self.own_columns(self.units.slope[None, :])[0]
            bandwidths = bandwidths / slope
            if self.units.pairs is not None:
                pairs = self.own_columns(np.asarray(self.units.pairs, dtype=float)[None, :])[0]
                categories |= set(np.flatnonzero(pairs).tolist())
        return bandwidths if scale is None else bandwidths * scale, categories

    def tied(self) -> Family | None:
        if not self.ard:
            return None
        tied = type(self)(**{**self.get_params(deep=False), "ard": False})
        if self._units is not None:
            tied._units = self._units
        if hasattr(self, "_scale"):
            tied._scale = self._scale
        return tied

    def bandwidth_range(self, X: Array, rng: np.random.Generator) -> tuple[float, float]:
        """Smallest and largest sigma to search on these data, or the user's bounds."""
        if self.bounds is not None:
            return check_bounds(self, self.bounds)
        nearest, largest = distance_range(X, rng, self.metric, self._unscaled)
        if largest == 0:
            return 0.5 * self.unit(), 2.0 * self.unit()
        return NARROWEST * nearest, WIDEST * largest

    @property
    def _unscaled(self) -> Callable[[Array], Array] | None:
        """Distances of rows that contain codes, which scipy does not support."""
        if self.codes is None:
            return None
        return lambda rows: self.distances(np.ones(1), rows) ** (1 / self.power)

    def search_space(self, X: Array, rng: np.random.Generator) -> SearchSpace:
        low, high = self.bandwidth_range(X, rng)
        if not self.ard:
            steps = max(2, int(np.ceil(np.log(high / low) / LOG_STEP)) + 1)
            scan = np.linspace(np.log(low), np.log(high), steps)[:, None]
            return SearchSpace(scan[0], scan[-1], scan, np.ones(1))
        d = X.shape[1]
        common = np.exp(np.linspace(np.log(low), np.log(high), STARTS))
        scan = np.array([self.to_search(np.full(d, sigma)) for sigma in common])
        if self.bounds is not None:
            upper = self.to_search(np.full(d, low))
            lower = self.to_search(np.full(d, high))
        else:
            upper = np.full(d, self._z_of(NARROWEST_FEATURE))
            lower = np.zeros(d)
        return SearchSpace(lower, upper, np.clip(scan, lower, upper), np.ones(d))

    def _z_of(self, ratio: float) -> float:
        """The search coordinate of sigma_k = ratio * s_k."""
        return ratio**-2


def check_bounds(family: Family, bounds: tuple[float, float]) -> tuple[float, float]:
    """Check the bounds of a positive parameter."""
    try:
        low, high = (float(b) for b in bounds)
        valid = 0 < low <= high < np.inf
    except (TypeError, ValueError):
        valid = False
    if not valid:
        raise ValueError(
            f"The 'bounds' parameter of {type(family).__name__} must be a pair of numbers "
            f"0 < low <= high < inf. Got {bounds!r} instead."
        )
    return low, high
