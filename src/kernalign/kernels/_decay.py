"""exp(-u) without subnormal numbers, with which the processor is several times slower."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernalign._compiled import loops_in_use
from kernalign._typing import Array

#: The exponent from which the value is zero, by precision. The square of the value there (1e-152,
#: or 2e-19) is not subnormal either.
LARGEST: dict[Any, float] = {np.dtype(np.float64): 350.0, np.dtype(np.float32): 43.0}
SMALLEST = {kind: float(np.exp(np.array(-u, dtype=kind))) for kind, u in LARGEST.items()}


def decay(u: Array, out: Array | None = None) -> Array:
    """exp(-u) of u >= 0, zero from LARGEST on, in the precision of u; `out` may be u itself."""
    value = np.empty_like(u) if out is None else out
    loops = loops_in_use()
    if loops is not None and value.flags.c_contiguous:
        if value is not u:
            value[...] = u
        loops.DECAY[value.dtype](value.reshape(-1), LARGEST[value.dtype])
        return value
    np.negative(u, out=value)
    # Faster than the maximum with a number, for which numpy uses no vector instructions.
    np.clip(value, -LARGEST[value.dtype], 0.0, out=value)
    np.exp(value, out=value)
    # Continuous, and far below a rounding error of values that matter.
    value -= SMALLEST[value.dtype]
    return value
