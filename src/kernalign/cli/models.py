"""Models from command-line options."""

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

#: Number of kernels of the learners over a finite list, and their range relative to the spread.
GRID, RANGE = 20, (0.1, 10.0)
#: Penalties on the differences of bandwidths; infinity is always tried as well.
PENALTIES = (1.0, 100.0)


def _grid(spread: float) -> list[FamilyMember]:
    """Gaussians around the spread of the rows, for learners over a list."""
    return Gaussian().grid(RANGE[0] * spread, RANGE[1] * spread, GRID)


#: Name -> description, and a function of the spread that creates it (None: the default).
LEARNERS: dict[str, tuple[str, Callable[[float], Any]]] = {
    "auto": ("the default of the library", lambda spread: None),
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

#: Learners that are compared unless others are asked for: the others take much longer.
QUICK = ("auto", "ca", "da")


def model(X: Any, classification: bool, learner: str, *, scale: bool, **options: Any) -> Any:
    """An unfitted model for a table.

    Learners other than "auto" use numbers in their own units, so a table of numbers is scaled
    first. A table with other columns is not, because its columns are scaled by the estimator.
    """
    estimator = KernelClassifier if classification else KernelRegressor
    scaled = scale and learner != "auto" and numbers_only(X)
    own = scaled or not numbers_only(X)
    spread = np.sqrt(X.shape[1]) if own else np.sqrt(np.var(X.to_numpy(float), axis=0).sum())
    last = estimator(LEARNERS[learner][1](float(spread) or 1.0), **options)
    return Pipeline([("prepare", StandardScaler()), ("model", last)]) if scaled else last
