"""From the words of the command line to models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from kernalign.cli.tables import numbers_only
from kernalign.estimators import KernelClassifier, KernelRegressor
from kernalign.kernels import FamilyMember, Gaussian
from kernalign.learners import (
    ContinuousAlignment,
    ContinuousRisk,
    DiscreteAlignment,
    LpNormMKL,
    RidgeMKL,
    UniformWeights,
)

#: Kernels of the learners over a finite list, over this range of the rows' spread.
GRID, RANGE = 20, (0.1, 10.0)
#: Penalties that hold the bandwidths of the features together; infinity is always tried as well.
PENALTIES = (1.0, 100.0)


def _grid(spread: float) -> list[FamilyMember]:
    """Gaussians around the spread of the rows, for learners over a list."""
    return Gaussian().grid(RANGE[0] * spread, RANGE[1] * spread, GRID)


#: Name -> what it is, and how it is made for rows of a given spread (None: as the estimator does).
LEARNERS: dict[str, tuple[str, Callable[[float], Any]]] = {
    "auto": ("what the library recommends", lambda spread: None),
    "ca": ("alignment, one bandwidth", lambda spread: ContinuousAlignment()),
    "ca-nd": (
        "alignment, one bandwidth per feature",
        lambda spread: ContinuousAlignment(Gaussian(ard=True), penalty=PENALTIES),
    ),
    "cr": ("regularised risk", lambda spread: ContinuousRisk(corrective=True)),
    "da": ("alignment over a list of kernels", lambda spread: DiscreteAlignment(_grid(spread))),
    "d1": ("multiple kernel learning, p = 1", lambda spread: LpNormMKL(_grid(spread), p=1)),
    "d2": ("multiple kernel learning, p = 2", lambda spread: LpNormMKL(_grid(spread), p=2)),
    "ridge": ("ridge multiple kernel learning", lambda spread: RidgeMKL(_grid(spread))),
    "du": ("equal weights", lambda spread: UniformWeights(_grid(spread))),
}


def model(X: Any, classification: bool, learner: str, *, scale: bool, **options: Any) -> Any:
    """An unfitted model of a table as it is.

    Learners other than "auto" take columns of numbers in the units that they have, so these are
    scaled before, unless the table has other columns: then every column has units of its own.
    """
    estimator = KernelClassifier if classification else KernelRegressor
    scaled = scale and learner != "auto" and numbers_only(X)
    own = scaled or not numbers_only(X)
    spread = np.sqrt(X.shape[1]) if own else np.sqrt(np.var(X.to_numpy(float), axis=0).sum())
    last = estimator(LEARNERS[learner][1](float(spread) or 1.0), **options)
    return Pipeline([("prepare", StandardScaler()), ("model", last)]) if scaled else last
