"""Q_c(sigma) = sum_o c_o' G(sigma) c_o over the members of a family, and its gradient in z.

This is the objective of the search in learners that minimise a risk. It is evaluated thousands of
times on the same rows. Quantities that depend only on the rows are computed once per fit
(`quadratic_forms`), those that depend on the dual vectors once per iteration (`PairForms.of`).

- Explicit features: Q = |Phi'c|^2 in O(n).
- One parameter: the statistic of each pair is computed once. If there are many pairs, they are
  gathered on a grid of the statistic; an evaluation then costs one value per node.
- Several parameters: dense contraction over blocks on and above the diagonal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy import sparse

from kernalign._threads import map_rows
from kernalign._typing import Array
from kernalign.gram import Element, Probe
from kernalign.gram.blocks import ROWS, block_gram
from kernalign.kernels import Family, FeatureFamily, SearchSpace
from kernalign.kernels.structure import ScalarFamily, has_features, is_scalar

#: Step of log(statistic) between the nodes on which pairs are gathered.
NODE_STEP = 1 / 1024
#: Below this number, pairs are not gathered.
FEW = 5000
#: The grid starts at this quantile of the positive statistics; smaller ones are nodes themselves.
SMALLEST = 0.005
#: Memory limit for stored values of the family at the points of a scan.
TABLE_BYTES = 64 << 20


class QuadraticForm(Probe):
    """z -> Q_c(sigma(z)) for one c, as the only inner product of a probe."""

    #: Points (k, p) whose values `scanned` returns at once.
    known: Array = np.zeros((0, 0))

    @abstractmethod
    def value(self, z: Array) -> float:
        """Q_c(sigma(z))."""

    @abstractmethod
    def slope(self, z: Array) -> Array:
        """dQ_c/dz: shape (p,)."""

    def scanned(self) -> Array:
        """Q_c at the `known` points: shape (k,)."""
        return np.zeros(len(self.known))

    def products(self, z: Array) -> tuple[Array, float]:
        return np.array([self.value(z)]), 0.0

    def gradient(self, z: Array, d_products: Array, d_norm: float) -> Array:
        return d_products[0] * self.slope(z)

    def scan(self, Z: Array) -> tuple[Array, Array]:
        # Most points of a scan are the family's own; the others are kernels of the model.
        at_once = {z.tobytes(): v for z, v in zip(self.known, self.scanned(), strict=True)}
        values = [at_once[k] if (k := z.tobytes()) in at_once else self.value(z) for z in Z]
        return np.array(values)[:, None], np.zeros(len(values))


class FormObjective:
    """The objective that is the quadratic form itself."""

    def __init__(self) -> None:
        self.elements: list[Element] = []

    def value(self, products: Array, norm: Array | float) -> Any:
        return products[..., 0]

    def derivative(self, products: Array, norm: float) -> tuple[Array, float]:
        return np.ones(1), 0.0


class PairForms(ABC):
    """The quadratic forms of one family on given rows."""

    def __init__(self, family: Family, X: Array):
        self.family = family
        self.X = np.ascontiguousarray(family.select(X))

    @abstractmethod
    def of(self, c: Array) -> QuadraticForm:
        """Q_c for dual vectors c (n, outputs); this invalidates the previous one."""

    def gram(self, z: Array) -> Array:
        """G(sigma(z)) on the rows."""
        return self.family.gram(self.family.from_search(z), self.X)


def quadratic_forms(
    family: Family, X: Array, space: SearchSpace, *, gathered: bool = True
) -> PairForms:
    """The cheapest way to evaluate the quadratic forms of a family on these rows.

    gathered : allow the grid of the statistic, accurate to about 1e-7 of sum_ij |c_i c_j|.
    """
    if has_features(family):
        return FeatureForms(family, X, space)
    if is_scalar(family):
        return ScalarForms(family, X, space, gathered=gathered)
    return DenseForms(family, X)


# -- explicit features ----------------------------------------------------------------------------


class FeatureForms(PairForms):
    """Q = |Phi'c|^2."""

    family: FeatureFamily

    def __init__(self, family: FeatureFamily, X: Array, space: SearchSpace):
        super().__init__(family, X)
        self.scan = space.scan
        size = self.features(space.scan[0]).nbytes * len(space.scan)
        #: Phi (n, k r) at the points of the scan, side by side.
        self.table = (
            np.hstack([self.features(z) for z in space.scan]) if size <= TABLE_BYTES else None
        )

    def of(self, c: Array) -> QuadraticForm:
        return _FeatureForm(self, c)

    def features(self, z: Array) -> Array:
        return self.family.features(self.family.from_search(z), self.X)


class _FeatureForm(QuadraticForm):
    def __init__(self, forms: FeatureForms, c: Array):
        self._forms = forms
        self._c = c
        if forms.table is not None:
            self.known = forms.scan

    def value(self, z: Array) -> float:
        cross = self._c.T @ self._forms.features(z)
        return float(np.vdot(cross, cross))

    def slope(self, z: Array) -> Array:
        family = self._forms.family
        V = self._c @ (self._c.T @ self._forms.features(z))
        return 2 * family.features_gradient(family.from_search(z), self._forms.X, V)

    def scanned(self) -> Array:
        if self._forms.table is None:
            return super().scanned()
        cross = (self._c.T @ self._forms.table).reshape(self._c.shape[1], len(self.known), -1)
        return np.einsum("okr,okr->k", cross, cross)


# -- one parameter --------------------------------------------------------------------------------


class ScalarForms(PairForms):
    """Q = sum_p w_p kappa_sigma(statistic_p) over pairs p, w_p the products of dual vectors."""

    family: ScalarFamily

    def __init__(
        self, family: ScalarFamily, X: Array, space: SearchSpace, *, gathered: bool = True
    ):
        super().__init__(family, X)
        n = len(self.X)
        self._statistic = family.statistic(self.X)
        self._above = np.flatnonzero(np.triu(np.ones((n, n), dtype=bool), 1))
        above = self._statistic.reshape(-1)[self._above]
        statistic = np.concatenate([above, np.diagonal(self._statistic)])
        self._outer = np.empty((n, n))
        self._pairs = np.empty(statistic.size)
        grid = _grid_of(statistic) if gathered else None
        self.nodes = statistic if grid is None else grid
        self._hats = None if grid is None else _hat_functions(statistic, grid)
        self.scan = space.scan
        #: kappa_sigma at every node (k, nodes), for the points of the scan.
        self.table = (
            np.stack([self.values(z) for z in space.scan])
            if len(space.scan) * self.nodes.nbytes <= TABLE_BYTES
            else None
        )

    def of(self, c: Array) -> ScalarForm:
        w, above = self._pairs, self._above.size
        np.matmul(c, c.T, out=self._outer)
        np.take(self._outer.reshape(-1), self._above, out=w[:above])
        w[:above] *= 2
        w[above:] = np.diagonal(self._outer)
        # Adding pairs of opposite sign makes the gathered form better conditioned.
        weights = w.copy() if self._hats is None else self._hats @ w
        negative = (float(np.abs(w).sum()) - float(w.sum())) / 2
        return ScalarForm(self, c, weights, negative)

    def gram(self, z: Array) -> Array:
        # With many features, the distances cost far more than the exponentials.
        return self.family.from_statistic(self._statistic, self.family.from_search(z))

    def values(self, z: Array) -> Array:
        """kappa_sigma at every node."""
        return self.family.from_statistic(self.nodes, self.family.from_search(z))

    def gathering_error(self) -> float:
        """Largest amount by which hat functions exceed exp(-omega statistic), for any omega > 0."""
        if self._hats is None:
            return 0.0
        # The chord of a cell [a, a e^h] has an error of at most
        # ((e^h - 1) omega a)^2 exp(-omega a) / 8, and t^2 e^-t <= 4 e^-2.
        return float(np.expm1(NODE_STEP) ** 2 * np.exp(-2) / 2)


class ScalarForm(QuadraticForm):
    """Q = sum_k weights_k kappa_sigma(nodes_k).

    negative : the sum of |w_p| over the pairs with w_p < 0, for bounds on the gathering error.
    """

    def __init__(self, forms: ScalarForms, c: Array, weights: Array, negative: float):
        self.forms = forms
        self.weights = weights
        self.negative = negative
        self._c = c
        if forms.table is not None:
            self.known = forms.scan

    def value(self, z: Array) -> float:
        return float(self.weights @ self.forms.values(z))

    def scanned(self) -> Array:
        if self.forms.table is None:
            return super().scanned()
        return self.forms.table @ self.weights

    def slope(self, z: Array) -> Array:
        family = self.forms.family
        sigma = family.from_search(z)
        if family.semigroup:
            scaled = self.forms.nodes * (family.unit() / sigma[0]) ** family.power
            values = self.forms.values(z)
            return np.array([family.power * self.weights @ (scaled * values)])
        X = self.forms.X
        return family.gradient(sigma, X, None, self._c @ self._c.T, family.gram(sigma, X))


def _grid_of(statistic: Array) -> Array | None:
    """Nodes that cover the statistic, or None if pairs are too few, or signed.

    Zero, the smallest statistics individually, and a geometric grid for the others.
    """
    largest = float(statistic.max())
    if statistic.size < FEW or float(statistic.min()) < 0:
        return None
    if largest == 0:
        return np.array([0.0])
    positive = statistic[statistic > 0]
    start = float(np.quantile(positive, SMALLEST))
    small = np.unique(positive[positive < start])
    cells = max(1, int(np.ceil(np.log(largest / start) / NODE_STEP)))
    if 2 * (cells + small.size) > statistic.size:
        return None
    grid = np.geomspace(start, largest, cells + 1) if start < largest else np.array([largest])
    return np.concatenate([[0.0], small, grid])


def _hat_functions(statistic: Array, nodes: Array) -> Any:
    """(nodes, pairs) sparse: each pair is divided between its two neighbouring nodes.

    Shares are non-negative, so a kernel that is convex in the statistic remains so.
    """
    pairs = np.arange(statistic.size)
    if nodes.size == 1:
        return sparse.csr_array(np.ones((1, statistic.size)))
    cell = np.clip(np.searchsorted(nodes, statistic, side="right") - 1, 0, nodes.size - 2)
    share = np.clip((statistic - nodes[cell]) / (nodes[cell + 1] - nodes[cell]), 0, 1)
    entries = np.concatenate([1 - share, share])
    where = (np.concatenate([cell, cell + 1]), np.concatenate([pairs, pairs]))
    hats = sparse.csr_array((entries, where), shape=(nodes.size, statistic.size))
    hats.eliminate_zeros()
    return hats


# -- several parameters ---------------------------------------------------------------------------


class DenseForms(PairForms):
    """Q by blocks of rows, on and above the diagonal."""

    def of(self, c: Array) -> QuadraticForm:
        return _DenseForm(self, c)


class _DenseForm(QuadraticForm):
    def __init__(self, forms: DenseForms, c: Array):
        self._family = forms.family
        self._X = forms.X
        self._c = c
        self._at: bytes | None = None
        self._grams: list[Array] = []

    def value(self, z: Array) -> float:
        sigma = self._family.from_search(z)

        def block(rows: slice) -> tuple[Array, float]:
            K = block_gram(self._family, sigma, self._X, rows)
            left, inside = self._c[rows], rows.stop - rows.start
            both = float(np.vdot(left, K @ self._c[rows.start :]))
            return K, 2 * both - float(np.vdot(left, K[:, :inside] @ left))

        self._grams, total = [], 0.0
        for _, (K, part) in map_rows(block, len(self._X), ROWS):
            self._grams.append(K)
            total += part
        self._at = z.tobytes()
        return total

    def slope(self, z: Array) -> Array:
        if self._at != z.tobytes():
            self.value(z)
        sigma = self._family.from_search(z)

        def block(rows: slice) -> Array:
            a, b = rows.start, rows.stop
            X, K = self._X, self._grams[a // ROWS]
            W = self._c[rows] @ self._c[a:].T
            inside = b - a
            part = self._family.gradient(sigma, X[rows], None, W[:, :inside], K[:, :inside])
            if b < len(X):
                W[:, inside:] *= 2
                beyond = self._family.gradient(sigma, X[rows], X[b:], W[:, inside:], K[:, inside:])
                part = part + beyond
            return part

        slope = np.zeros(z.size)
        for _, part in map_rows(block, len(self._X), ROWS):
            slope += part
        return slope
