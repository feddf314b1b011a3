"""The one-dimensional Matern kernel of smoothness 3/2."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernalign.kernels._decay import decay

ROOT = float(np.sqrt(3.0))


def bump(u: Any, weight: Any = 1.0, out: Any = None) -> Any:
    """weight m(|u|), m(u) = (1 + v) e^-v, v = sqrt(3) |u|, in the precision of u.

    out : an array to write to; u is then overwritten.
    """
    if out is None:
        v = ROOT * np.abs(u)
        return weight * (1 + v) * decay(v)
    np.abs(u, out=u)
    u *= ROOT
    decay(u, out=out)
    u += 1
    u *= weight
    out *= u
    return out
