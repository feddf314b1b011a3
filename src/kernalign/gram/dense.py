"""Size and alignment of one Gram matrix that is at hand."""

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
