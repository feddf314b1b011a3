"""All pairs of a few hundred rows, feature by feature, for searches that evaluate them often.

Kernels of many families depend on a pair (i, j) through a weighted sum over features of one number
each: sum_k r_k f(x_ik, x_jk) with relevances r. The numbers are computed once, for i < j, in single
precision. A Gram matrix, or a derivative with respect to all relevances, is then one matrix-vector
product.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from kernalign import _lapack
from kernalign._typing import Array, IntArray
from kernalign.gram.target import Target
from kernalign.kernels._bump import bump
from kernalign.kernels.base import Family
from kernalign.kernels.codes import OF_PAIR

#: f of the difference of two features, by the name that a family declares (`pair_feature`); it is
#: written to `out`, and the difference may be overwritten.
OF_DIFFERENCE: dict[str, Callable[..., Array]] = {
    "square": np.square,
    "absolute": np.abs,
    "bump": bump,
}
#: Names of SciPy's distances that are sums of f over features.
DISTANCES = {"square": "sqeuclidean", "absolute": "cityblock"}
#: For these, the kernel is the sum itself; for the others, a function of it that is 1 at zero.
SUMS = ("product", "bump")


class PackedRows:
    """Rows in their units, the features of their pairs, and their labels.

    U : (n, d) rows.  Y : (n, c) centred labels; w : (n,) weights.
    precision : of the stored pairs.
    codes : (d,) the number of codes of a categorical column; 0 for numbers. None if there are none.
    """

    def __init__(
        self,
        U: Array,
        target: Target,
        precision: Any = np.float32,
        codes: IntArray | None = None,
    ):
        self.U = U
        self.codes = np.zeros(U.shape[1], dtype=np.intp) if codes is None else codes
        self.precision = np.dtype(precision).type
        self.Y = np.asfortranarray(target.centred)
        self.w = target.weight
        self.total = target.total
        self.n, self.d = U.shape
        self.log_weights = float(np.log(self.w).sum())
        #: The number of pairs i < j of each i. In their order, pairs are the columns below the
        #: diagonal of an (n, n) array.
        self._further = np.arange(self.n - 1, -1, -1)
        first = np.arange(1, self.n + 1) - np.cumsum(self._further) + self._further
        self._second = np.repeat(first, self._further)
        self._second += np.arange(len(self._second))
        self._pairs: dict[str, Array] = {}
        self._sums: dict[str, Array] = {}
        self._own: dict[str, Array] = {}
        self._own_sums: dict[str, Array] = {}

    def relabelled(self, target: Target) -> PackedRows:
        """The same rows with other labels."""
        other = copy(self)
        other.Y = np.asfortranarray(target.centred)
        return other

    def pairs(self, feature: str) -> Array:
        """f(x_ik, x_jk): (d, pairs)."""
        if feature not in self._pairs:
            found = np.empty((self.d, len(self._second)), dtype=self.precision)
            for k, out in enumerate(found):
                self._of_column(feature, k, out)
            self._pairs[feature] = found
        return self._pairs[feature]

    def _of_column(self, feature: str, k: int, out: Array) -> Array:
        """f(x_ik, x_jk) of one feature, written to an array."""
        column, K = self.U[:, k].astype(self.precision), self.codes[k]
        # column[first] and column[second], in half the time.
        x, z = np.repeat(column, self._further), column.take(self._second)
        if K:
            equal, different = OF_PAIR[feature](float(K))
            out[:] = np.where(x == z, equal, different)
        elif feature == "product":
            np.multiply(x, z, out=out)
        else:
            OF_DIFFERENCE[feature](np.subtract(x, z, out=x), out=out)
        return out

    def summed(self, feature: str, r: Array) -> Array:
        """sum_k r_k f(x_ik, x_jk) of each pair; a single r applies to all features."""
        if len(r) > 1:
            return r.astype(self.precision) @ self.pairs(feature)
        return self.precision(r[0]) * self._unit_sum(feature)

    def contracted(self, feature: str, W: Array, tied: bool) -> Array:
        """sum over pairs of W f for each feature, or for all features together."""
        if tied:
            return np.array([float(self._unit_sum(feature) @ W)])
        return (self.pairs(feature) @ W).astype(float)

    def _unit_sum(self, feature: str) -> Array:
        if feature not in self._sums:
            self._sums[feature] = self._summed_directly(feature).astype(self.precision, copy=False)
        return self._sums[feature]

    def _summed_directly(self, feature: str) -> Array:
        """sum_k f(x_ik, x_jk): kernels with one bandwidth do not need the single features, which
        take more time and memory."""
        if not self.codes.any():
            if feature in DISTANCES:
                found: Array = pdist(self.U, DISTANCES[feature])
                return found
            if feature == "product":
                return _lapack.pack(_lapack.symmetric(self.U @ self.U.T))
        total, one = np.zeros((2, len(self._second)), dtype=self.precision)
        for k in range(self.d):
            total += self._of_column(feature, k, one)
        return total

    def own(self, feature: str) -> Array:
        """f(x_ik, x_ik): (n, d)."""
        if feature not in self._own:
            ones = np.ones_like(self.U)
            squares = feature == "product"
            self._own[feature] = np.where(self.codes == 0, self.U**2, 1.0) if squares else ones
        return self._own[feature]

    def own_summed(self, feature: str, r: Array) -> Array:
        """`summed` of the pairs of a row with itself."""
        return self.own(feature) @ r if len(r) > 1 else r[0] * self._own_unit_sum(feature)

    def own_contracted(self, feature: str, w: Array, tied: bool) -> Array:
        """`contracted` of the pairs of a row with itself."""
        if tied:
            return np.array([float(w @ self._own_unit_sum(feature))])
        found: Array = w @ self.own(feature)
        return found

    def _own_unit_sum(self, feature: str) -> Array:
        if feature not in self._own_sums:
            self._own_sums[feature] = self.own(feature).sum(axis=1)
        return self._own_sums[feature]

    def fill(self, A: Array, packed: Array, diagonal: Array) -> None:
        """Write these entries to a symmetric matrix; its upper triangle is undefined."""
        _lapack.unpack(packed.astype(float, copy=False), A)
        A.ravel(order="K")[:: self.n + 1] = diagonal

    def entries(self, A: Array) -> tuple[Array, Array]:
        """Packed entries below the diagonal, and the diagonal."""
        packed = _lapack.pack(A).astype(self.precision, copy=False)
        return packed, A.ravel(order="K")[:: self.n + 1].copy()


def packable(family: Family) -> bool:
    """Whether kernels of a family depend on a pair through one weighted sum over features."""
    return bool(family.pair_feature)
