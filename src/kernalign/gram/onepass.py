"""Families with one parameter: tabulate inner products once, then interpolate them.

One pass over the pairs gives every inner product between members at the nodes of a grid; between
nodes they are smooth in z. Each search then costs O(G^2) for any n. The selected kernels are summed
exactly in a second pass (`refine`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline

from kernalign._typing import Array
from kernalign.gram.base import FIRST_ATOM, IDENTITY, TARGET, Element, PairSums, Probe
from kernalign.gram.dictionary import CentredProducts, dictionary_products
from kernalign.gram.semigroup import gamma_step, saved_in_pass, semigroup_products
from kernalign.gram.target import Target
from kernalign.kernels import FamilyMember, SearchSpace
from kernalign.kernels.structure import ScalarFamily

#: Number of nodes outside the searched range, and the degree of the interpolant.
MARGIN, DEGREE = 3, 9


class OnePassSums(PairSums):
    """Inner products of members of one-parameter families, from one streamed pass."""

    def __init__(
        self,
        families: Sequence[ScalarFamily],
        spaces: Sequence[SearchSpace],
        X: Any,
        target: Target,
    ):
        super().__init__(families, target)
        self._X = X
        self._saved = 0.0
        if len(families) == 1 and families[0].semigroup:
            grid = _nodes(spaces[0], gamma_step(families[0]))[::-1]
            sigmas = np.array([families[0].from_search(np.array([z]))[0] for z in grid])
            self._nodes = [grid]
            self._products = semigroup_products(families[0], sigmas, X, target)
            self._saved = saved_in_pass(len(X))
        else:
            pairs = list(zip(families, spaces, strict=True))
            self._nodes = [_nodes(space, family.node_step) for family, space in pairs]
            kernels = [
                FamilyMember(family, family.from_search(np.array([z])))
                for family, grid in zip(families, self._nodes, strict=True)
                for z in grid
            ]
            self._products = dictionary_products(kernels, X, target)
        self._bases = [_cardinal_splines(grid) for grid in self._nodes]
        ends = np.cumsum([0, *(grid.size for grid in self._nodes)])
        self._parts = [slice(a, b) for a, b in pairwise(ends)]

    def weights_at(self, family: int, z: Array, derivative: int = 0) -> Array:
        """Interpolation weights (k, all nodes) of the points z (k,) of one family."""
        weights = np.zeros((z.size, self._products.trace.size))
        weights[:, self._parts[family]] = self._bases[family](z, nu=derivative)
        return weights

    def functionals(self, elements: Sequence[Element]) -> Array:
        """<E, K> at every node for each element E: (all nodes, m)."""
        products: CentredProducts = self._products
        columns = [products.with_target, products.trace]
        for family, z in self.atoms:
            columns.append(products.between @ self.weights_at(family, z)[0])
        generators = np.stack(columns, axis=1)
        return generators @ np.stack([e.padded() for e in elements], axis=1)

    def between(self) -> Array:
        """<K_c, L_c> at the nodes."""
        return self._products.between

    def probe(self, elements: Sequence[Element], family: int) -> Probe:
        return _OnePassProbe(self, self.functionals(elements), family)

    def refine(self) -> None:
        """Replace the interpolated products of the selected kernels by exact ones."""
        if not self.atoms:
            return
        kernels = [self.kernel(i) for i in range(len(self.atoms))]
        exact = dictionary_products(kernels, self._X, self.target, self._saved)
        self.table[FIRST_ATOM:, FIRST_ATOM:] = exact.between
        for row, values in ((TARGET, exact.with_target), (IDENTITY, exact.trace)):
            self.table[row, FIRST_ATOM:] = self.table[FIRST_ATOM:, row] = values


class _OnePassProbe(Probe):
    def __init__(self, sums: OnePassSums, functionals: Array, family: int):
        self._sums = sums
        self._functionals = functionals
        self._family = family

    def scan(self, Z: Array) -> tuple[Array, Array]:
        weights = self._sums.weights_at(self._family, Z[:, 0])
        norms = np.einsum("kg,kg->k", weights @ self._sums.between(), weights)
        return weights @ self._functionals, np.maximum(norms, 0)

    def products(self, z: Array) -> tuple[Array, float]:
        products, norms = self.scan(z[None])
        return products[0], float(norms[0])

    def gradient(self, z: Array, d_products: Array, d_norm: float) -> Array:
        weights = self._sums.weights_at(self._family, z)[0]
        slope = self._sums.weights_at(self._family, z, derivative=1)[0]
        by_product = slope @ self._functionals @ d_products
        by_norm = 2 * slope @ self._sums.between() @ weights
        return np.array([by_product + d_norm * by_norm])


def _nodes(space: SearchSpace, step: float) -> Array:
    """Equally spaced nodes that cover the searched range with a margin on both sides."""
    low, high = float(space.lower[0]), float(space.upper[0])
    count = max(int(np.ceil((high - low) / step)) + 1, DEGREE + 1 - 2 * MARGIN)
    middle = (low + high) / 2
    half = count / 2 + MARGIN
    return np.asarray(middle + step * (np.arange(int(2 * half) + 1) - half), dtype=float)


def _cardinal_splines(grid: Array) -> BSpline:
    """Splines that are one at one node and zero at the others."""
    order = np.argsort(grid)
    spline = make_interp_spline(grid[order], np.eye(grid.size)[order], k=DEGREE)
    return spline
