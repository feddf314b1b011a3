"""Squared Euclidean distances of tiles, computed by one matrix product each."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from kernalign._typing import Array

#: A squared distance below this share of |a|^2 + |b|^2 has lost half its digits and is computed
#: directly. In single precision this accuracy is not needed, but a square must not be negative.
CANCELLED = {np.dtype(np.float64): 1e-8, np.dtype(np.float32): 0.0}
#: Squared lengths above the first value overflow in sums. Such distances are computed one by one
#: and limited to the second value.
HUGE, FAR = 1e300, 1e200


class SquaredDistances:
    """|x_i - z_j|^2 / sigma^2 of any rows i and j, from terms that are computed once for all rows.

    The precision is that of the rows.
    """

    def __init__(self, sigma: Array, X: Array, Z: Array | None = None):
        # A common shift does not change D. Shifting the data to their centre avoids cancellation in
        # |a|^2 - 2a'b + |b|^2.
        shift = middle(X if Z is None else Z)
        self.with_itself = Z is None
        self.left = _scaled(X, shift, sigma)
        self.right = self.left.copy() if Z is None else _scaled(Z, shift, sigma)
        self.huge = _huge(self.left) or _huge(self.right)
        _turn(self.right)

    def __call__(self, rows: slice, columns: slice, out: Array | None = None) -> Array:
        """D of some rows and columns."""
        left, right = self.left[rows], self.right[columns]
        if self.huge:
            return _of_any_size(left[:, :-2], -0.5 * right[:, :-2], out)
        return _products(left, right, self.with_itself and rows == columns, out)


class SquaredDistancesTo:
    """|x_i - z_j|^2 / sigma^2 of any rows x and given rows z, of which the terms are computed once.

    Both are in the same precision.
    """

    def __init__(self, sigma: Array, Z: Array):
        self.sigma, self.shift = sigma, middle(Z)
        self.right = _scaled(Z, self.shift, sigma)
        self.huge = _huge(self.right)
        _turn(self.right)

    def __call__(self, X: Array, out: Array) -> Array:
        """D of rows X and all rows z."""
        left = _scaled(X, self.shift, self.sigma)
        if self.huge or _huge(left):
            return _of_any_size(left[:, :-2], -0.5 * self.right[:, :-2], out)
        return _products(left, self.right, False, out)


def _products(left: Array, right: Array, same: bool, out: Array | None) -> Array:
    """D = |a|^2 - 2 a'b + |b|^2 as one product of rows (a, |a|^2, 1) and (-2b, 1, |b|^2).

    same : whether a and b are the same rows.
    """
    D: Array = np.matmul(left, right.T, out=out)
    a2, b2 = left[:, -2], right[:, -1]
    if same:
        np.fill_diagonal(D, np.inf)
    share = CANCELLED[D.dtype]
    if not share:
        # numpy clips with vector instructions, which its maximum with a number does not use.
        np.clip(D, 0.0, np.inf, out=D)
    elif D.min(initial=np.inf) < share * (a2.max(initial=0.0) + b2.max(initial=0.0)):
        i, j = np.nonzero(share * np.add.outer(a2, b2) > D)
        D[i, j] = ((left[i, :-2] + 0.5 * right[j, :-2]) ** 2).sum(axis=1)
    if same:
        np.fill_diagonal(D, 0)
    return D


def _huge(rows: Array) -> bool:
    """Whether the square of a row (a, |a|^2, 1) could overflow in a sum."""
    return not float(rows[:, -2].max(initial=0.0)) < HUGE


def _turn(rows: Array) -> None:
    """From (b, |b|^2, 1) to (-2b, 1, |b|^2), in place."""
    rows[:, -2:] = rows[:, :-3:-1].copy()
    rows[:, :-2] *= -2


def _of_any_size(A: Array, B: Array, out: Array | None) -> Array:
    """|a - b|^2, limited to FAR, computed without sums of products that could overflow."""
    largest = min(HUGE, float(np.finfo(A.dtype).max))
    A, B = (np.clip(rows, -largest, largest) for rows in (A, B))
    D = np.minimum(cdist(A, B, "sqeuclidean"), min(FAR, largest / 10))
    if out is None:
        return D.astype(A.dtype, copy=False)
    out[...] = D
    return out


def _scaled(X: Array, shift: Array, sigma: Array) -> Array:
    """Rows (a, |a|^2, 1) with a = (x - shift) / sigma."""
    n, d = X.shape
    rows = np.empty((n, d + 2), dtype=X.dtype)
    A = rows[:, :d]
    # The squared length shows which rows overflow.
    with np.errstate(over="ignore", invalid="ignore"):
        np.subtract(X, shift, out=A)
        A /= sigma
        np.einsum("ik,ik->i", A, A, out=rows[:, d])
    rows[:, d + 1] = 1.0
    return rows


def middle(X: Array) -> Array:
    """The median of a few rows: a centre that is robust to outliers."""
    few = X[:: max(1, len(X) // 9)]
    found: Array = np.sort(few, axis=0)[len(few) // 2]
    return found
