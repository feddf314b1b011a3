"""The space in which kernels are learned: centred Gram matrices, given by their inner products.

Every matrix in alignment-based learning lies in the span of the centred target Khat*_c, the centred
identity C_n and the centred Gram matrices of the kernels added so far. An `Element` is a vector of
coefficients in that span, and `PairSums` has the table of inner products between its generators.
Subclasses compute these sums over pairs by dense blocks, one streamed pass or explicit features;
other code does not depend on which.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernalign._typing import Array
from kernalign.gram.target import Target
from kernalign.kernels import Family, FamilyMember

#: Positions of the generators that every space has.
TARGET, IDENTITY, FIRST_ATOM = 0, 1, 2


class PairSums(ABC):
    """Inner products of centred Gram matrices on given rows.

    families : resolved families whose members can be added.
    target : Khat* and the row weights.
    """

    def __init__(self, families: Sequence[Family], target: Target):
        self.families = list(families)
        self.target = target
        between = float(np.trace(target.covariance))
        # <Khat*_c, Khat*_c>, <Khat*_c, C_n>, <C_n, C_n>
        self.table = np.array([[target.square, between], [between, target.total - 1]])
        self.atoms: list[tuple[int, Array]] = []

    # -- generators ---------------------------------------------------------------------------

    @property
    def T(self) -> Element:  # noqa: N802 - the target's letter in every formula
        """Khat*_c."""
        return self._generator(TARGET)

    @property
    def identity(self) -> Element:
        """C_n = I - 11'/n."""
        return self._generator(IDENTITY)

    def _generator(self, index: int) -> Element:
        coefficients = np.zeros(len(self.table))
        coefficients[index] = 1.0
        return Element(self, coefficients)

    def append(self, family: int, z: Array) -> Element:
        """Add K' = C_n K(kappa) C_n of one kernel to the generators."""
        generators = [self._generator(i) for i in range(len(self.table))]
        products, norm = self.probe(generators, family).products(z)
        self.table = np.block([[self.table, products[:, None]], [products, np.array([[norm]])]])
        self.atoms.append((family, np.array(z, dtype=float)))
        return self._generator(len(self.table) - 1)

    def atom(self, index: int) -> Element:
        """The index-th kernel added, centred."""
        return self._generator(FIRST_ATOM + index)

    def kernel(self, atom: int) -> FamilyMember:
        """The kernel of a given atom."""
        family, z = self.atoms[atom]
        return FamilyMember(self.families[family], self.families[family].from_search(z))

    def mean_diagonal(self) -> Array:
        """tr(C_n K C_n) / n of each added kernel."""
        diagonal: Array = self.table[IDENTITY, FIRST_ATOM:] / self.target.total
        return diagonal

    def refine(self) -> None:
        """Make the table exact if it was interpolated."""
        return

    # -- sums over pairs ----------------------------------------------------------------------

    @abstractmethod
    def probe(self, elements: Sequence[Element], family: int) -> Probe:
        """Inner products of any member of a family with some elements, for a search."""


class Probe(ABC):
    """sigma -> <E_1, K>, ..., <E_m, K>, <K_c, K_c> for the kernels K of one family."""

    @abstractmethod
    def products(self, z: Array) -> tuple[Array, float]:
        """Inner products with the elements (m,), and the squared centred norm."""

    @abstractmethod
    def gradient(self, z: Array, d_products: Array, d_norm: float) -> Array:
        """d/dz of d_products . products + d_norm * norm, at the z of the last `products`."""

    def scan(self, Z: Array) -> tuple[Array, Array]:
        """`products` at many points: (k, m) and (k,)."""
        pairs = [self.products(z) for z in Z]
        return np.array([p for p, _ in pairs]), np.array([n for _, n in pairs])


@dataclass(frozen=True)
class Element:
    """A symmetric matrix in the span of the generators, with vector operations."""

    sums: PairSums
    coefficients: Array

    def padded(self) -> Array:
        """Coefficients on all current generators."""
        missing = len(self.sums.table) - self.coefficients.size
        return np.pad(self.coefficients, (0, missing))

    def inner(self, other: Element) -> float:
        """<self, other>_F."""
        return float(self.padded() @ self.sums.table @ other.padded())

    def norm(self) -> float:
        """|self|_F."""
        return float(np.sqrt(max(self.inner(self), 0.0)))

    def __add__(self, other: Element) -> Element:
        return Element(self.sums, self.padded() + other.padded())

    def __sub__(self, other: Element) -> Element:
        return Element(self.sums, self.padded() - other.padded())

    def __mul__(self, factor: float) -> Element:
        return Element(self.sums, self.coefficients * factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> Element:
        return Element(self.sums, self.coefficients / divisor)
