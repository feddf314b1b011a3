"""The interface of a continuous set of kernels, and of one member of such a set.

A family is a set {kappa_sigma : sigma in Sigma}, Sigma a box of R^p. It defines its formula and the
scale of its parameters on given data. It knows nothing of labels, Gram sums or learners.

Parameters have two forms. `sigma` is the natural one: the paper's symbol, which is shown to users
and passed to `gram`. `z = to_search(sigma)` is the coordinate in which the objective is well
conditioned; the search and all gradients use it (log sigma for one bandwidth, 1/sigma^2 for one per
feature, so that a feature's relevance can be exactly zero).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from kernalign._typing import Array
from kernalign.kernels._columns import column_positions, no_codes
from kernalign.kernels.codes import CodeColumns
from kernalign.kernels.units import Units
from kernalign.rows import as_rows, columns_of
from kernalign.tables import TableFeatures

#: (X, out) -> a value for each row of X and each of other rows; in `out`, or in a new array.
ValuesTo = Callable[[Array, Array], Array]


@dataclass(frozen=True)
class SearchSpace:
    """The box that the search of one family explores on given data, in search coordinates z.

    lower, upper : (p,) bounds of z.
    scan : (m, p) points. With one parameter they are dense enough that the best of them lies in the
        basin of the global maximum; with several they are starting points.
    unit : (p,) typical size of a change in z, by which a quasi-Newton search scales its steps.
    ordered : whether consecutive points of the scan are neighbours in the space.
    """

    lower: Array
    upper: Array
    scan: Array
    unit: Array
    ordered: bool = True

    @property
    def p(self) -> int:
        return int(self.lower.size)


class Family(BaseEstimator, ABC):
    """A continuous set of kernels.

    A subclass defines the formula (`gram`, `diag`), its gradient contracted with a weight matrix
    (`gradient`), and the range to search on given data (`search_space`). The data passed to these
    methods contain only the family's own columns, which `select` extracts.
    """

    #: The columns of X that the family uses; a family with this parameter sets it in `__init__`.
    columns: Sequence[int | str] | slice | None = None
    #: Name of each parameter group in `describe`, in the order of sigma.
    parameter: str = "sigma"

    def __eq__(self, other: object) -> bool:
        """Equality of class, parameters and data-dependent constants."""
        if type(self) is not type(other):
            return False
        mine, others = vars(self), vars(other)
        return mine.keys() == others.keys() and all(_same(mine[k], others[k]) for k in mine)

    def __hash__(self) -> int:
        return hash(type(self))

    #: If the kernels depend on a pair only through one sum over features (`gram.packed`): the term
    #: of one feature, "square", "absolute", "product" or "bump". Empty otherwise.
    pair_feature: str = ""
    #: Seconds that compiled loops save per kernel value. Zero: the family has none.
    saved_per_value: float = 0.0

    # -- formula ------------------------------------------------------------------------------

    @abstractmethod
    def gram(self, sigma: Array, X: Array, Z: Array | None = None) -> Array:
        """K[i, j] = kappa_sigma(x_i, z_j); z = x if Z is None."""

    def values_to(self, sigma: Array, Z: Array) -> ValuesTo:
        """`gram` of any rows and Z, written to an array if that is possible.

        What depends on Z only is computed once.
        """
        return lambda X, out: self.gram(sigma, X, Z)

    @abstractmethod
    def diag(self, sigma: Array, X: Array) -> Array:
        """kappa_sigma(x_i, x_i) for each row of X."""

    @abstractmethod
    def gradient(self, sigma: Array, X: Array, Z: Array | None, W: Array, K: Array) -> Array:
        """d/dz sum_ij W_ij kappa_sigma(x_i, z_j), given K = gram(sigma, X, Z): shape (p,)."""

    # -- parameters ---------------------------------------------------------------------------

    def to_search(self, sigma: Array) -> Array:
        """z = log sigma, unless a family overrides it."""
        return np.log(sigma)

    def from_search(self, z: Array) -> Array:
        """The inverse of `to_search`."""
        return np.exp(z)

    def d_sigma_d_z(self, sigma: Array) -> Array:
        """d sigma_k / d z_k, for penalties that are functions of sigma."""
        return sigma

    @abstractmethod
    def search_space(self, X: Array, rng: np.random.Generator) -> SearchSpace:
        """Bounds and scan, derived from the scale of the data."""

    def tied(self) -> Family | None:
        """The one-parameter family in which all parameters are equal, if there is one."""
        return None

    def untie(self, sigma: Array, p: int) -> Array:
        """The parameters of this family that equal the tied family's `sigma`."""
        return np.full(p, sigma[0])

    def from_relevances(self, r: Array) -> Array:
        """sigma of the kernel that depends on sum_k r_k f(x_k, x'_k), f its `pair_feature`."""
        return self.from_search(r)

    def to_relevances(self, sigma: Array) -> Array:
        """The inverse of `from_relevances`."""
        return self.to_search(sigma)

    def profile_and_slope(self, D: Array) -> tuple[Array, Array]:
        """The kernel as a function of that sum, and its derivative; D may be overwritten.

        Only for families with a `pair_feature`.
        """
        raise NotImplementedError(f"{type(self).__name__} has no pair_feature.")

    def describe(self, sigma: Array) -> dict[str, float | list[float]]:
        """Parameters by name, in readable form."""
        return {self.parameter: float(sigma[0]) if sigma.size == 1 else sigma.tolist()}

    def constants(self) -> dict[str, float]:
        """Further constants that distinguish the kernels of this family."""
        return {}

    def relevance(self, sigma: Array, d: int) -> Array | None:
        """1/sigma_k^2 or its equivalent: how fast kappa_sigma changes along each of its d columns.
        None if the parameters do not determine it."""
        return None

    def words(self, sigma: Array, names: Sequence[str], scale: Array | None = None) -> str:
        """When two rows are similar, in words for a reader who does not know kernels.

        names : of the family's own columns.
        scale : units of each column, as the reader knows it, in one unit that the kernel sees; None
            if these are the same.
        """
        return "a similarity that was given"

    #: Whether `frequencies` can be sampled: the kernel is stationary with a known spectrum.
    has_frequencies: bool = False

    def frequencies(self, sigma: Array, d: int, number: int, rng: np.random.Generator) -> Array:
        """omega (d, number) with kappa_sigma(x, x') = E cos(omega'(x - x'))   (Bochner).

        Only if `has_frequencies`.
        """
        raise NotImplementedError(f"{type(self).__name__} has no known spectrum.")

    # -- data ---------------------------------------------------------------------------------

    def resolve(
        self,
        X: Array,
        feature_names: Sequence[str] | None = None,
        weight: Array | None = None,
    ) -> Self:
        """A copy with columns as integer positions and with data-dependent constants set.

        For a table with columns other than numbers, columns are scaled to their own units.
        """
        resolved: Self = clone(self)
        weight = np.ones(len(X)) if weight is None else weight
        owner = type(self).__name__
        if self.columns is not None:
            resolved.columns = column_positions(owner, self.columns, X.shape[1], feature_names)
        if self._units is not None:
            resolved._units = self._units
        elif isinstance(feature_names, TableFeatures) and feature_names.mixed:
            resolved._units = Units.of(X, weight, codes=feature_names.codes)
            if not self.takes_codes and resolved.codes is not None:
                raise no_codes(owner, feature_names.codes, resolved.columns, feature_names)
        resolved._fix_constants(resolved.select(X), weight)
        return resolved

    def _fix_constants(self, X: Array, weight: Array) -> None:
        """Check parameters and set constants that depend on the family's columns."""
        return

    def in_units(self, units: Units) -> Self:
        """The family on columns scaled to their own units; `select` then applies the scaling."""
        copy: Self = clone(self)
        copy._units = units
        return copy

    @property
    def units(self) -> Units | None:
        """Units of all columns of the data; None if they are not scaled."""
        return self._units

    #: Units that all columns are converted to before some are selected.
    _units: Units | None = None
    #: Whether the kernels are defined on columns of codes.
    takes_codes: bool = False

    @property
    def codes(self) -> CodeColumns | None:
        """The family's own columns that contain codes; None if there are none."""
        if self._units is None or self._units.codes is None:
            return None
        counts = self.own_columns(self._units.codes[None, :].astype(float))[0].astype(np.intp)
        return CodeColumns(counts) if counts.any() else None

    def scale_of(self, X: Array, weight: Array) -> Array:
        """The spread of each of the family's own columns; 1 for codes."""
        scale = as_rows(X).spread(weight)
        if self.codes is not None:
            scale[self.codes.codes] = 1.0
        return scale

    def select(self, X: Array) -> Array:
        """The family's own columns of X, in the family's units."""
        return self.own_columns(X if self._units is None else self._units(X))

    def own_columns(self, X: Array) -> Array:
        """The family's own columns of X, unscaled."""
        if self.columns is None:
            return X
        columns = self.columns if isinstance(self.columns, slice) else list(self.columns)
        if isinstance(columns, list) and any(isinstance(column, str) for column in columns):
            raise ValueError(
                f"The 'columns' parameter of {type(self).__name__} contains names: a kernel built "
                "by hand needs positions. Names work when fitting to a DataFrame."
            )
        selected: Array = columns_of(X, columns)
        return selected

    def members(self) -> list[Family]:
        """The families that a search chooses from: itself, unless it is a union."""
        return [self]

    def at(self, *sigma: float | Sequence[float]) -> FamilyMember:
        """The kernel kappa_sigma of this family, e.g. ``Gaussian().at(1.5)``."""
        parts = [np.zeros(0), *(np.atleast_1d(np.asarray(s, dtype=float)) for s in sigma)]
        return FamilyMember(self, np.concatenate(parts))

    def grid(self, low: float, high: float, number: int) -> list[FamilyMember]:
        """Kernels of a one-parameter family at geometrically spaced parameters."""
        return [self.at(sigma) for sigma in np.geomspace(low, high, number)]

    def linspace(self, low: float, high: float, number: int) -> list[FamilyMember]:
        """Kernels of a one-parameter family at equally spaced parameters."""
        return [self.at(sigma) for sigma in np.linspace(low, high, number)]


class FamilyMember:
    """One kernel kappa_sigma of a family, callable on data with all columns."""

    def __init__(self, family: Family, sigma: Array):
        self.family = family
        self.sigma = np.asarray(sigma, dtype=float)

    def __call__(self, X: Array, Z: Array | None = None) -> Array:
        other = None if Z is None else self.family.select(Z)
        return self.family.gram(self.sigma, self.family.select(X), other)

    def diag(self, X: Array) -> Array:
        return self.family.diag(self.sigma, self.family.select(X))

    def resolved(self, family: Family) -> FamilyMember:
        """The same kernel, with the family resolved on some rows."""
        return type(self)(family, self.sigma)

    @property
    def parameters(self) -> dict[str, float | list[float]]:
        return self.family.describe(self.sigma)

    def __repr__(self) -> str:
        named = {**self.family.constants(), **self.parameters}
        shown = [f"{name}={_short(value)}" for name, value in named.items()]
        if self.family.columns is not None:
            shown.append(f"columns={_short_columns(self.family.columns)}")
        return f"{type(self.family).__name__}({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, FamilyMember)
            and self.family == other.family
            and np.array_equal(self.sigma, other.sigma)
        )

    def __hash__(self) -> int:
        return hash((type(self.family), self.sigma.tobytes()))


def _same(first: Any, second: Any) -> bool:
    """Whether two parameters are equal; arrays are supported."""
    if hasattr(first, "__array__") or hasattr(second, "__array__"):
        return first is second or np.array_equal(first, second)
    return bool(first == second)


def _short(value: float | list[float]) -> str:
    if isinstance(value, list):
        head = ", ".join(f"{v:.4g}" for v in value[:6])
        return f"[{head}{', ...' if len(value) > 6 else ''}]"
    return f"{value:.4g}"


def _short_columns(columns: Sequence[int | str] | slice) -> str:
    shown = list(columns) if not isinstance(columns, slice) else columns
    if isinstance(shown, list) and len(shown) > 6:
        return f"[{', '.join(map(repr, shown[:6]))}, ...]"
    return repr(shown)
