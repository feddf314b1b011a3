"""Scales of data, computed without overflow for values of any magnitude."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from kernalign._typing import Array
from kernalign.rows import as_rows

#: Number of rows sampled to determine the scale of the data.
SAMPLE = 1000
#: Decimal exponent of the largest kernel value, whose square is still a number.
LARGEST_POWER = 150
#: Limit of a feature in units of the training data: products are at most the largest value.
LARGEST_FEATURE = 10.0 ** (LARGEST_POWER / 2)


def in_units(X: Array, scale: Any) -> Array:
    """X / scale, limited for rows far outside the training data: squares fit the type of X."""
    largest = min(LARGEST_FEATURE, float(np.sqrt(np.finfo(X.dtype).max)))
    with np.errstate(over="ignore"):
        return np.clip(X / scale, -largest, largest)


def per_unit(z: Array, scale: Any) -> Array:
    """z / scale, limited for data so small that it would overflow."""
    largest = np.finfo(float).max
    with np.errstate(over="ignore"):
        return np.clip(z / scale, -largest, largest)


def distance_range(
    X: Any,
    rng: np.random.Generator,
    metric: str,
    distances: Callable[[Array], Array] | None = None,
) -> tuple[float, float]:
    """A small nearest-neighbour distance and the largest distance, from a sample of rows.

    distances : function of rows, if it is not scipy's `metric`.

    Returns (0, 0) if all sampled rows are equal.
    """
    n = len(X)
    rows = as_rows(X).take(np.arange(n) if n <= SAMPLE else rng.choice(n, SAMPLE, replace=False))
    rows = np.unique(rows, axis=0)
    scale = np.abs(rows - rows[0]).max()
    if scale == 0 or not np.isfinite(scale):
        return 0.0, 0.0
    if distances is None:
        D = cdist(rows / scale, rows / scale, metric)
    else:
        D, scale = distances(rows), 1.0
    D[D < 1e-12] = np.inf
    nearest = D.min(axis=1)
    nearest = nearest[np.isfinite(nearest)]
    largest = D[np.isfinite(D)].max()
    return float(np.quantile(nearest, 0.1) * scale), float(largest * scale)
