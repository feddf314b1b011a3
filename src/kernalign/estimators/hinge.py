"""The squared hinge loss along a path of C: a few values around the best C of least squares.

Each iteration is a pass over stored features. The loss is therefore tried only if these, in single
precision, fit in scikit-learn's `working_memory`: that of this process for rows in memory, and that
of all workers together for rows on a cluster.
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

#: Range of C that is tried, relative to the best C of least squares. Rows outside the margin have
#: no loss, so that a smaller C is often enough; a larger one can be better if classes overlap.
MIN_C_RATIO, MAX_C_RATIO = 0.01, 10.0
#: The path ends after this many consecutive values of C without improvement, or where the machine
#: is not solved.
PATIENCE = 2
#: Precision of the stored features.
PRECISION = np.float32


def features_fit(rows: int, n_features: int, processes: int = 1) -> bool:
    """Whether the features of all rows may be stored in this number of processes."""
    needed = rows * n_features * np.dtype(PRECISION).itemsize
    return needed <= processes * working_memory()


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
    """Outputs on held-out rows at the tried values of C, and the places of these values.

    The outputs are (values, rows, c) like `found`, those of least squares; NaN where C is not
    tried.

    loss : selects C.
    places : of the values tried in the first split; the other splits try the same.
    """
    first = places is None
    if places is None:
        best = int(np.argmin(_losses(loss, found, test)))
        ratio = values / values[best]
        places = np.flatnonzero(
            (ratio >= MIN_C_RATIO / 1.01) & (ratio <= MAX_C_RATIO * 1.01)
        ).tolist()
    out = np.full_like(found, np.nan)
    tried: list[int] = []
    losses: list[float] = []
    model = squares[places[0]]
    for place in places:
        model, converged = hinge.solve(float(values[place]), model)
        out[place] = outputs(features, [model], test.X)[0]
        tried.append(place)
        losses.append(float(_losses(loss, out[[place]], test)[0]))
        # Larger values of C are harder to solve.
        worse = len(losses) - 1 - int(np.argmin(losses)) >= PATIENCE
        if first and (worse or not converged):
            break
    return out, tried


def _losses(loss: Loss, found: Array, test: Problem) -> Array:
    flat = found[:, :, 0] if found.shape[2] == 1 else found
    mean: Array = loss.deciding(test.y, flat, test.target.weight) @ test.target.weight
    return mean
