"""How much f can change beyond the range of the training rows, where predictions do not change.

A kernel in units clips each number to the range of the training rows, so f(x) = f(c) with c the
nearest point in the range. Without the clipping, f(x) - f(c) would have the prior variance
k(x, x) - 2 k(x, c) + k(c, c).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kernalign._typing import Array
from kernalign.kernels.base import FamilyMember
from kernalign.kernels.learned import LearnedKernel
from kernalign.kernels.units import Units

#: Farthest point, in spreads of the column.
FARTHEST = 1e6
#: Number of pairs that are computed at a time.
ROWS = 64


def variance_beyond(kernel: LearnedKernel, X: Array) -> Array:
    """The prior variance of f(x) - f(c) of each row x of X; 0 for rows inside the range."""
    found = np.zeros(len(X))
    units = kernel.kernels[0].family.units if len(kernel.kernels) else None
    if units is None:
        return found
    inside = np.where(_numbers(units), np.clip(X, units.low, units.high), X)
    outside = np.flatnonzero((inside != X).any(axis=1))
    if not outside.size:
        return found
    free = _unclipped(kernel, units)
    for start in range(0, len(outside), ROWS):
        rows = outside[start : start + ROWS]
        x, c = X[rows], inside[rows]
        found[rows] = free.diag(x) + free.diag(c) - 2 * np.diagonal(free(x, c))
    return np.maximum(found, 0.0)


def _numbers(units: Units) -> Array:
    """Whether each column is clipped: codes of categories are not."""
    clipped = np.ones(len(units.low), dtype=bool)
    if units.codes is not None:
        clipped &= units.codes == 0
    if units.pairs is not None:
        clipped &= ~units.pairs
    return clipped


def _unclipped(kernel: LearnedKernel, units: Units) -> LearnedKernel:
    far = FARTHEST * units.spread
    free = replace(units, low=units.centre - far, high=units.centre + far)
    members = [FamilyMember(k.family.in_units(free), k.sigma) for k in kernel.kernels]
    return LearnedKernel(members, kernel.weights)
