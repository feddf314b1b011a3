"""Pairs of many rows with a few landmarks, in blocks, for searches that evaluate them often.

As in `gram.packed`, kernels depend on a pair through sum_k r_k f(x_ik, z_jk) with relevances r. The
numbers f of single features would take too much memory here, so that they are computed each time:
by products of matrices where f is a square or a product.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from kernalign._typing import Array, IntArray
from kernalign.gram.packed import OF_DIFFERENCE
from kernalign.gram.target import Target
from kernalign.kernels.codes import CodeColumns

#: Numbers beyond this, from the median, are rounded to it: in single precision, squares of larger
#: ones overflow, and their kernel values are zero either way.
LARGEST = 1e15
#: Rows whose differences in one feature are computed at a time: they stay in the cache.
TILE = 32


class CrossedRows:
    """Rows in their units, of which the first m are the landmarks, and their labels.

    U : (n, d) rows.  Y : (n, c) centred labels; w : (n,) weights.
    precision : of pairs and sums over features.
    codes : (d,) the number of codes of a categorical column; 0 for numbers. None if there are none.
    """

    def __init__(
        self,
        U: Array,
        target: Target,
        m: int,
        precision: Any = np.float32,
        codes: IntArray | None = None,
    ):
        self.n, self.d = U.shape
        self.m = m
        self.precision = np.dtype(precision).type
        self.Y, self.w, self.total = target.centred, target.weight, target.total
        counts = np.zeros(self.d, dtype=np.intp) if codes is None else codes
        self.codes = CodeColumns(counts)
        Z = U[:m]
        self.coded_rows, self.coded_landmarks = U, Z
        some = self.codes.numbers
        # Differences are those of any origin; near the data fewer digits cancel.
        origin = np.median(Z[:, some], axis=0)
        X = np.clip(U[:, some] - origin, -LARGEST, LARGEST)
        self.X = np.ascontiguousarray(X, dtype=precision)
        self.Z = self.X[:m]
        self.origin = origin.astype(precision)

    def summed(self, feature: str, r: Array, rows: slice) -> Array:
        """sum_k r_k f(x_ik, z_jk) of some rows with all landmarks; a single r applies to all."""
        r = np.broadcast_to(r, (self.d,))
        out = SUMMED[feature](self, r[self.codes.numbers].astype(self.precision), rows)
        if self.codes.codes.size:
            r = r.astype(self.precision)
            some = self.coded_rows[rows]
            out = self.codes.summed(feature, r, some, self.coded_landmarks, out)
        return out

    def contracted(self, feature: str, W: Array, rows: slice) -> Array:
        """sum_ij W_ij f(x_ik, z_jk) for each feature k, over some rows and all landmarks."""
        of_numbers = CONTRACTED[feature](self, W, rows).astype(float)
        if not self.codes.codes.size:
            return of_numbers
        of_codes = self.codes.contracted(feature, W, self.coded_rows[rows], self.coded_landmarks)
        return self.codes.merged(of_numbers, of_codes)

    def own(self, feature: str) -> Array:
        """f(z_jk, z_jk) of the landmarks, where the kernel is the sum itself: (m, d)."""
        found = np.ones((self.m, self.d))
        if feature == "product":
            found[:, self.codes.numbers] = (self.Z + self.origin).astype(float) ** 2
        return found


def _squares(rows: CrossedRows, r: Array, some: slice) -> Array:
    root = np.sqrt(r)
    A, B = rows.X[some] * root, rows.Z * root
    D: Array = A @ (-2 * B.T)
    D += np.einsum("ik,ik->i", A, A)[:, None]
    D += np.einsum("ik,ik->i", B, B)
    return np.maximum(D, 0, out=D)


def _products(rows: CrossedRows, r: Array, some: slice) -> Array:
    found: Array = ((rows.X[some] + rows.origin) * r) @ (rows.Z + rows.origin).T
    return found


def _absolutes(rows: CrossedRows, r: Array, some: slice) -> Array:
    return cdist(rows.X[some] * r, rows.Z * r, "cityblock").astype(rows.precision, copy=False)


def _bumps(rows: CrossedRows, r: Array, some: slice) -> Array:
    out = np.zeros((len(rows.X[some]), rows.m), dtype=rows.precision)
    for part, k, values in _by_feature(rows, "bump", some):
        values *= r[k]
        out[part] += values
    return out


def _contracted_squares(rows: CrossedRows, W: Array, some: slice) -> Array:
    X, Z = rows.X[some], rows.Z
    cross = np.einsum("ik,ik->k", X, W @ Z)
    found: Array = W.sum(axis=1) @ X**2 + W.sum(axis=0) @ Z**2 - 2 * cross
    return found


def _contracted_products(rows: CrossedRows, W: Array, some: slice) -> Array:
    X, Z = rows.X[some] + rows.origin, rows.Z + rows.origin
    found: Array = np.einsum("ik,ik->k", X, W @ Z)
    return found


def _contracted_differences(feature: str) -> Callable[[CrossedRows, Array, slice], Array]:
    def contracted(rows: CrossedRows, W: Array, some: slice) -> Array:
        total = np.zeros(rows.X.shape[1])
        for part, k, values in _by_feature(rows, feature, some):
            total[k] += np.vdot(W[part], values)
        return total

    return contracted


def _by_feature(rows: CrossedRows, feature: str, some: slice) -> Any:
    """(rows of a tile, k, f(x_ik, z_jk) of the tile), one after the other."""
    x, z = np.ascontiguousarray(rows.X[some].T), np.ascontiguousarray(rows.Z.T)
    n, of_difference = x.shape[1], OF_DIFFERENCE[feature]
    away, out = np.empty((2, min(TILE, n), rows.m), dtype=rows.precision)
    for start in range(0, n, TILE):
        part = slice(start, min(start + TILE, n))
        size = part.stop - part.start
        for k in range(len(x)):
            np.subtract.outer(x[k, part], z[k], out=away[:size])
            yield part, k, of_difference(away[:size], out=out[:size])


#: What the feature of a pair (`pair_feature` of a family) is summed and contracted by.
SUMMED: dict[str, Callable[[CrossedRows, Array, slice], Array]] = {
    "square": _squares,
    "absolute": _absolutes,
    "product": _products,
    "bump": _bumps,
}
CONTRACTED: dict[str, Callable[[CrossedRows, Array, slice], Array]] = {
    "square": _contracted_squares,
    "absolute": _contracted_differences("absolute"),
    "product": _contracted_products,
    "bump": _contracted_differences("bump"),
}
