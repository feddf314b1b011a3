"""C K C and centred alignment of dense Gram matrices.

Every centred alignment of the library is `cosine` of three sums over pairs. Here they are computed
from dense matrices; `PairSums` and `CentredProducts` compute them without.
"""

from __future__ import annotations

import numpy as np

from kernalign._typing import Array
from kernalign.gram.target import Target

#: If the centred mean diagonal is below this share of the raw one, the kernel is constant.
VANISHING = 1e-9


def cosine(inner: float, square: float, other: float, nothing: float = 0.0) -> float:
    """<K, L> / (|K| |L|) from <K, L>, <K, K> and <L, L>; `nothing` if K or L vanishes."""
    # Rounding may give a tiny negative number for a matrix that vanishes.
    norms = float(np.sqrt(max(square, 0.0))) * float(np.sqrt(max(other, 0.0)))
    return float(np.clip(inner / norms, -1.0, 1.0)) if norms > 0 else nothing


def centre(K: Array, rows: Array, columns: Array | None = None) -> Array:
    """C_rows K C_columns with weighted rows and columns; K is overwritten."""
    columns = rows if columns is None else columns
    means = K @ columns / columns.sum()
    return centre_block(K, means, rows @ K / rows.sum(), float(rows @ means / rows.sum()))


def centre_block(K: Array, row_means: Array, column_means: Array, grand: float) -> Array:
    """A block of C K C from the means of all of K; K is overwritten."""
    K -= row_means[:, None]
    K -= column_means
    K += grand
    return K


def centred_cosine(K: Array, L: Array, weight: Array) -> float:
    """<K_c, L_c> / (|K_c| |L_c|) of two Gram matrices of the same rows; both are overwritten."""
    root = np.sqrt(weight)
    for G in (K, L):
        centre(G, weight)
        G *= root
        G *= root[:, None]
    return cosine(float(np.vdot(K, L)), float(np.vdot(K, K)), float(np.vdot(L, L)))


def size_and_alignment(K: Array, target: Target) -> tuple[float, float]:
    """tr K_c / n (1 if K_c vanishes) and the centred alignment of K, which is overwritten.

    K is centred before it is squared, because sums of squares would be inaccurate for wide kernels.
    """
    weight = target.weight
    raw = float(weight @ np.diagonal(K)) / target.total
    centre(K, weight)
    size = float(weight @ np.diagonal(K)) / target.total
    if size <= VANISHING * raw:
        return 1.0, 0.0
    return size, _with_target(K, target, target, 0.0)


def cross_alignment(K: Array, rows: Target, columns: Target) -> float:
    """Centred alignment of K = k(rows, columns), for disjoint sets of rows, with Y_rows Y_columns'.

    This is the alignment on rows that the kernel was not learned from. No row is compared with
    itself, so that, unlike the alignment within a few held-out rows, it does not grow as they get
    fewer. NaN if there is nothing to align, such as a single row. K is overwritten.
    """
    return _with_target(centre(K, rows.weight, columns.weight), rows, columns, float("nan"))


def _with_target(K: Array, rows: Target, columns: Target, nothing: float) -> float:
    """The alignment of a centred K, which is overwritten."""
    inner = float(np.vdot(rows.weighted, K @ columns.weighted))
    square = float(rows.weight @ np.square(K, out=K) @ columns.weight)
    return cosine(inner, square, float(np.vdot(rows.covariance, columns.covariance)), nothing)
