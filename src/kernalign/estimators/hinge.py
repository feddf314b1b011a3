"""The squared hinge along a path of C: a few values around the best one of least squares.

It costs a pass over kept features for each of its iterations, so it is for as many rows as have
their features, in single precision, in scikit-learn's `working_memory`, and for rows in memory.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernalign._memory import working_memory
from kernalign._typing import Array
from kernalign.estimators.losses import Loss
from kernalign.estimators.problem import Problem
from kernalign.features import FeatureMap
from kernalign.machines import LinearModel, SquaredHinge
from kernalign.machines.least_squares import outputs

#: C that are tried, in units of the best one of least squares: rows outside the margin no longer
#: hold the machine back, so that it wants less of C, and more where classes overlap.
LEAST, MOST = 0.01, 10.0
#: Values of C in a row that may fail to improve before no larger one, and costlier, is tried.
PATIENCE = 2
#: Of kept features.
PRECISION = np.float32


def features_fit(rows: int, n_features: int) -> bool:
    """Whether features of all rows may be kept."""
    needed = rows * n_features * np.dtype(PRECISION).itemsize
    return needed <= working_memory()


def hinge_path(
    hinge: SquaredHinge,
    features: FeatureMap,
    squares: Sequence[LinearModel],
    found: Array,
    test: Problem,
    values: Array,
    loss: Loss,
    places: list[int] | None = None,
) -> tuple[Array, list[int]]:
    """Outputs on held-out rows at the C that are tried, and their places among the values.

    The outputs are (values, rows, c) as `found`, those of least squares; NaN where C is not tried.

    loss : what decides between C.
    places : those of the first split, in every other split.
    """
    first = places is None
    if places is None:
        best = int(np.argmin(_losses(loss, found, test)))
        ratio = values / values[best]
        places = np.flatnonzero((ratio >= LEAST / 1.01) & (ratio <= MOST * 1.01)).tolist()
    out = np.full_like(found, np.nan)
    tried: list[int] = []
    losses: list[float] = []
    model = squares[places[0]]
    for place in places:
        model = hinge.solve(float(values[place]), model)
        out[place] = outputs(features, [model], test.X)[0]
        tried.append(place)
        losses.append(float(_losses(loss, out[[place]], test)[0]))
        if first and len(losses) - 1 - int(np.argmin(losses)) >= PATIENCE:
            break
    return out, tried


def _losses(loss: Loss, found: Array, test: Problem) -> Array:
    flat = found[:, :, 0] if found.shape[2] == 1 else found
    mean: Array = loss.deciding(test.y, flat, test.target.weight) @ test.target.weight
    return mean
