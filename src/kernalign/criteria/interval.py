"""The alignment of a kernel on rows that it was not learned from, and its standard error.

The rows are two halves, A and B. The alignment is F = a / sqrt(b c), where a = <K_c, T_c>,
b = <K_c, K_c> and c = <T_c, T_c> are means over the pairs of a row of A and a row of B. No row
meets itself: for labels that have nothing to do with the rows, a is zero on average. To first order
in 1/n, F is a mean over the rows of A plus a mean over those of B (Hoeffding's projection) of
(a_i - a) / sqrt(b c) - F/2 ((b_i - b) / b + (c_i - c) / c), where a_i is the mean of a over the
pairs of row i; centring adds nothing at this order. The spread of these terms is the error.
"""

from __future__ import annotations

import numpy as np

from kernalign._threads import map_rows
from kernalign._typing import Array
from kernalign.gram import Target
from kernalign.gram.centring import centre_block, cosine
from kernalign.kernels import LearnedKernel

#: Rows of the Gram matrix at a time.
ROWS = 128


def held_out_alignment(kernel: LearnedKernel, X: Array, target: Target) -> tuple[float, float]:
    """Centred alignment between the even and the odd rows, and its standard error; O(n) memory."""
    A, B = X[::2], X[1::2]
    first, second = target.rows(slice(0, None, 2)), target.rows(slice(1, None, 2))
    u, v = first.weight / first.total, second.weight / second.total
    means, other_means, grand = _means(kernel, A, B, u, v)

    def products(rows: slice) -> tuple[Array, Array, Array, Array]:
        K = centre_block(kernel(A[rows], B), means[rows], other_means, grand)
        Y, share = first.centred[rows], u[rows]
        a_A = np.einsum("ic,ic->i", K @ (v[:, None] * second.centred), Y)
        a_B = np.einsum("jc,jc->j", K.T @ (share[:, None] * Y), second.centred)
        np.square(K, out=K)
        return a_A, K @ v, a_B, share @ K

    parts = [part for _, part in map_rows(products, len(A), ROWS)]
    a_A, b_A = (np.concatenate(some) for some in list(zip(*parts, strict=True))[:2])
    a_B, b_B = (np.sum(some, axis=0) for some in list(zip(*parts, strict=True))[2:])
    c_A, c_B = _squares(first, second), _squares(second, first)
    a, b, c = (float(u @ part) for part in (a_A, b_A, c_A))
    if b <= 0 or c <= 0:
        return 0.0, 0.0
    F = cosine(a, b, c)
    variance = 0.0
    for share, a_i, b_i, c_i in ((u, a_A, b_A, c_A), (v, a_B, b_B, c_B)):
        terms = (a_i - a) / np.sqrt(b * c) - F / 2 * ((b_i - b) / b + (c_i - c) / c)
        variance += float(share**2 @ terms**2)
    return F, float(np.sqrt(variance))


def _means(
    kernel: LearnedKernel, A: Array, B: Array, u: Array, v: Array
) -> tuple[Array, Array, float]:
    """Means of the rows and the columns of k(A, B), and of all values."""

    def of_block(rows: slice) -> tuple[Array, Array]:
        K: Array = kernel(A[rows], B)
        return K @ v, u[rows] @ K

    parts = [part for _, part in map_rows(of_block, len(A), ROWS)]
    means = np.concatenate([rows for rows, _ in parts])
    return means, np.sum([columns for _, columns in parts], axis=0), float(u @ means)


def _squares(rows: Target, others: Target) -> Array:
    """The mean of (Y_i'Y_j)^2 over the other half, for each row i."""
    Y = rows.centred
    return np.einsum("ic,ic->i", Y @ (others.covariance / others.total), Y)
