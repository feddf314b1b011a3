"""Size and alignment of Gram matrices that are at hand."""

from __future__ import annotations

import numpy as np

from kernalign._typing import Array
from kernalign.gram.target import Target

#: A centred mean diagonal below this share of the raw one is what rounding left of a constant.
VANISHING = 1e-9


def size_and_alignment(K: Array, target: Target) -> tuple[float, float]:
    """tr K_c / n (1 where K_c vanishes) and the centred alignment of K, which is overwritten.

    K is centred before it is squared: sums of squares would lose the digits of wide kernels.
    """
    w, N = target.weight, target.total
    means = K @ w / N
    raw = float(w @ np.diagonal(K)) / N
    size = raw - float(w @ means) / N
    if size <= VANISHING * raw:
        return 1.0, 0.0
    inner = float(np.vdot(target.weighted, K @ target.weighted))
    K -= means
    K -= (means - w @ means / N)[:, None]
    np.square(K, out=K)
    norms = float(np.sqrt(w @ K @ w)) * float(np.linalg.norm(target.centred.T @ target.weighted))
    return size, inner / norms if norms > 0 else 0.0


def cross_alignment(K: Array, rows: Target, columns: Target) -> float:
    """Centred alignment of K = k(rows, columns), other rows than columns, with Y_rows Y_columns'.

    How much of an alignment carries over to rows that it was not learned from. No row meets
    itself, so that, unlike the alignment within a few held-out rows, it is not the larger the
    fewer they are. NaN where there is nothing to align, such as a single row. K is overwritten.
    """
    K -= (rows.weight @ K) / rows.total
    K -= (K @ columns.weight / columns.total)[:, None]
    inner = float(np.vdot(rows.weighted, K @ columns.weighted))
    squares = float(rows.weight @ np.square(K, out=K) @ columns.weight)
    between = (rows.centred.T @ rows.weighted, columns.centred.T @ columns.weighted)
    norms = np.sqrt(squares * float(np.vdot(*between)))
    return inner / norms if norms > 0 else float("nan")


def centred_cosine(K: Array, L: Array, weight: Array) -> float:
    """<K_c, L_c> / (|K_c| |L_c|) of two Gram matrices of the same rows; 1 where both vanish."""
    share = weight / weight.sum()

    def centred(G: Array) -> Array:
        means = G @ share
        return (G - means - means[:, None] + share @ means) * np.sqrt(np.outer(share, share))

    K, L = centred(K), centred(L)
    norms = float(np.linalg.norm(K)) * float(np.linalg.norm(L))
    if norms == 0:
        return 1.0 if not (K.any() or L.any()) else 0.0
    return float(np.vdot(K, L)) / norms
