"""Scales of data, computed without overflow for values of any magnitude."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from kernalign._typing import Array

#: Rows looked at to learn the scale of the data.
SAMPLE = 1000


def spread(X: Array, weight: Array) -> Array:
    """Weighted standard deviation of each column; that of the widest for a constant one."""
    if hasattr(X, "spread"):
        # Rows that live elsewhere know how to sum over themselves.
        remote: Array = X.spread(weight)
        return remote
    largest = np.abs(X).max(axis=0)
    largest[largest == 0] = 1.0
    scaled = X / largest
    scaled -= weight @ scaled / weight.sum()
    deviation = np.sqrt(weight @ scaled**2 / weight.sum())
    # What is left of a constant column after rounding is not a scale.
    scale = np.where(deviation > 1e-12, deviation * largest, 0.0)
    return np.where(scale > 0, scale, scale.max() or largest)


def distance_range(X: Array, rng: np.random.Generator, metric: str) -> tuple[float, float]:
    """A small nearest-neighbour distance and the largest distance, from a sample of rows.

    Returns (0, 0) where all rows sampled are equal.
    """
    n = len(X)
    rows = X[np.arange(n) if n <= SAMPLE else rng.choice(n, SAMPLE, replace=False)]
    rows = np.unique(rows, axis=0)
    scale = np.abs(rows - rows[0]).max()
    if scale == 0 or not np.isfinite(scale):
        return 0.0, 0.0
    D = cdist(rows / scale, rows / scale, metric)
    D[D < 1e-12] = np.inf
    nearest = D.min(axis=1)
    nearest = nearest[np.isfinite(nearest)]
    largest = D[np.isfinite(D)].max()
    return float(np.quantile(nearest, 0.1) * scale), float(largest * scale)
