"""Families with more structure: kernels of one scalar per pair, or with explicit features."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TypeGuard

import numpy as np

from kernalign._typing import Array
from kernalign.kernels.base import Family, ValuesTo

#: (rows, columns, out) -> out: a value for each pair of a row and a column.
Tiles = Callable[[slice, slice, Array], Array]


class ScalarFamily(Family):
    """A one-parameter family whose kernels depend on a pair of rows only through one scalar.

    The scalar (a distance or an inner product) is computed once per pair and used for every sigma.
    Sums over pairs are smooth in z, so learners can tabulate them in a single pass.
    """

    #: Step of z at which a tabulated sum over pairs interpolates to a relative error of about 1e-7.
    node_step: float = 0.25
    #: exp(-statistic / sigma^power): then products of members are members of the family.
    semigroup: bool = False
    power: float = 2.0
    #: For semigroups: nodes per octave of sigma^-power in the table of sums over pairs.
    nodes_per_octave: int = 2

    def one_parameter(self) -> bool:
        """Whether this object has a single parameter (no bandwidth per feature)."""
        return True

    @abstractmethod
    def statistic(self, X: Array, Z: Array | None = None) -> Array:
        """The scalar (n, m) that determines kappa_sigma(x_i, z_j) for every sigma."""

    def unit(self) -> float:
        """The sigma that is the unit of the statistic."""
        return 1.0

    @abstractmethod
    def from_statistic(self, statistic: Array, sigma: Array) -> Array:
        """K from the statistic, which is not changed."""

    def gram(self, sigma: Array, X: Array, Z: Array | None = None) -> Array:
        return self.from_statistic(self.statistic(X, Z), sigma)

    # A pass over pairs allocates small arrays repeatedly. If the system reclaims freed memory at
    # once, as on a Dask worker, allocation costs about as much as the computation.

    def statistic_tiles(self, X: Array, Z: Array | None = None) -> Tiles:
        """`statistic` of some rows of X and of Z, written to an array."""
        other = X if Z is None else Z

        def tile(rows: slice, columns: slice, out: Array) -> Array:
            same = Z is None and rows == columns
            out[...] = self.statistic(X[rows], None if same else other[columns])
            return out

        return tile

    def statistic_to(self, Z: Array) -> ValuesTo:
        """`statistic` of any rows and Z. What depends on Z only is computed once."""
        return lambda X, out: self.statistic(X, Z)

    def from_statistic_into(self, out: Array, statistic: Array, sigma: Array) -> None:
        """`from_statistic`, written to `out`."""
        out[...] = self.from_statistic(statistic, sigma)


def is_scalar(family: Family) -> TypeGuard[ScalarFamily]:
    """Whether sums over pairs of this family can be tabulated in one pass."""
    return isinstance(family, ScalarFamily) and family.one_parameter()


class FeatureFamily(Family):
    """A family with explicit features: kappa_sigma(x, z) = phi_sigma(x)' phi_sigma(z).

    Sums over pairs then cost O(n), and no n x n matrix is formed.
    """

    @abstractmethod
    def features(self, sigma: Array, X: Array) -> Array:
        """Phi (n, r) with gram = Phi Phi'."""

    @abstractmethod
    def features_gradient(self, sigma: Array, X: Array, V: Array) -> Array:
        """d/dz sum_ir V_ir Phi_ir: shape (p,)."""

    def gram(self, sigma: Array, X: Array, Z: Array | None = None) -> Array:
        phi = self.features(sigma, X)
        return phi @ (phi if Z is None else self.features(sigma, Z)).T

    def diag(self, sigma: Array, X: Array) -> Array:
        phi = self.features(sigma, X)
        return np.einsum("ir,ir->i", phi, phi)

    def gradient(self, sigma: Array, X: Array, Z: Array | None, W: Array, K: Array) -> Array:
        Z = X if Z is None else Z
        left = self.features_gradient(sigma, X, W @ self.features(sigma, Z))
        return left + self.features_gradient(sigma, Z, W.T @ self.features(sigma, X))


def has_features(family: Family) -> TypeGuard[FeatureFamily]:
    """Whether a family has explicit features; on columns of codes there would be too many."""
    return isinstance(family, FeatureFamily) and family.codes is None
