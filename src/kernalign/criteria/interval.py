"""How well a sample knows the alignment of a kernel.

The alignment a / sqrt(b c) of a sample, a = <K_c, T_c> / n^2, b = <K_c, K_c> / n^2 and
c = <T_c, T_c> / n^2, is a smooth function of three averages over pairs of rows. To first order in
1/n it is an average over rows (Hoeffding's projection) of
2 [(a_i - a) / sqrt(b c) - F/2 ((b_i - b) / b + (c_i - c) / c)], where a_i is the mean of a over the
pairs of row i; centring adds nothing at this order. The spread of these terms is its error.
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


def alignment_error(kernel: LearnedKernel, X: Array, target: Target) -> float:
    """Standard error of the centred alignment of a kernel on a sample; memory is O(n)."""
    w, N = target.weight, target.total
    Y = target.centred
    n = len(X)

    def means_of(rows: slice) -> Array:
        K: Array = kernel(X[rows], X)
        return K @ w / N

    means = np.concatenate([part for _, part in map_rows(means_of, n, ROWS)])
    grand = float(w @ means) / N

    def products_of(rows: slice) -> tuple[Array, Array]:
        K = centre_block(kernel(X[rows], X), means[rows], means, grand)
        with_target = np.einsum("ic,ic->i", K @ (w[:, None] * Y), Y[rows])
        return with_target / N, (K * K) @ w / N

    parts = [part for _, part in map_rows(products_of, n, ROWS)]
    a_i, b_i = (np.concatenate(some) for some in zip(*parts, strict=True))
    c_i = np.einsum("ic,ic->i", Y @ (Y.T @ target.weighted), Y) / N
    a, b, c = (float(w @ part) / N for part in (a_i, b_i, c_i))
    if b <= 0 or c <= 0:
        return 0.0
    F = cosine(a, b, c)
    terms = 2 * ((a_i - a) / np.sqrt(b * c) - F / 2 * ((b_i - b) / b + (c_i - c) / c))
    return float(np.sqrt(w @ (w * terms**2)) / N)
