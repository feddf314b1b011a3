"""The one-dimensional Matern kernel of smoothness 3/2."""

from __future__ import annotations

from typing import Any

import numpy as np

ROOT = float(np.sqrt(3.0))


def bump(u: Any) -> Any:
    """m(|u|) = (1 + v) e^-v, v = sqrt(3) |u|, in the precision of u."""
    v = ROOT * np.abs(u)
    return (1 + v) * np.exp(-v)
