"""From the words of the command line to models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from kernalign.cli.tables import split_columns
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


def _grid(X: Any) -> list[FamilyMember]:
    """Gaussians around the spread of the rows, for learners over a list."""
    spread = float(np.sqrt(np.var(np.asarray(X, dtype=float), axis=0).sum())) or 1.0
    return Gaussian().grid(RANGE[0] * spread, RANGE[1] * spread, GRID)


#: Name -> what it is, and how it is made for given rows (None: the estimator's own choice).
LEARNERS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "auto": ("what the library recommends", lambda X: None),
    "ca": ("alignment, one bandwidth", lambda X: ContinuousAlignment()),
    "ca-nd": (
        "alignment, one bandwidth per feature",
        lambda X: ContinuousAlignment(Gaussian(ard=True), penalty=PENALTIES),
    ),
    "cr": ("regularised risk", lambda X: ContinuousRisk(corrective=True)),
    "da": ("alignment over a list of kernels", lambda X: DiscreteAlignment(_grid(X))),
    "d1": ("multiple kernel learning, p = 1", lambda X: LpNormMKL(_grid(X), p=1)),
    "d2": ("multiple kernel learning, p = 2", lambda X: LpNormMKL(_grid(X), p=2)),
    "ridge": ("ridge multiple kernel learning", lambda X: RidgeMKL(_grid(X))),
    "du": ("equal weights", lambda X: UniformWeights(_grid(X))),
}


def preparation(X: Any, encode: bool, scale: bool) -> Any:
    """What happens to the columns before a kernel sees them, or None."""
    numbers, text = split_columns(X)
    scaler = [StandardScaler()] if scale else []
    if not encode:
        return StandardScaler() if scale else None
    parts = []
    if numbers:
        steps = make_pipeline(SimpleImputer(strategy="median"), *scaler)
        parts.append(("numbers", steps, numbers))
    if text:
        words = make_pipeline(
            SimpleImputer(strategy="constant", fill_value="missing"),
            OneHotEncoder(handle_unknown="ignore", sparse_output=False),
        )
        parts.append(("text", words, text))
    return ColumnTransformer(parts, verbose_feature_names_out=False)


def as_objects(X: Any) -> Any:
    """Text columns as plain Python strings and None, which all transformers agree on."""
    _, text = split_columns(X)
    others = set(text)
    X = X.astype({name: float for name in X.columns if name not in others})
    for name in text:
        column = X[name].astype(object)
        X[name] = column.where(column.isna(), column.astype(str)).where(~column.isna(), None)
    return X


def model(
    X: Any, classification: bool, learner: str, *, encode: bool, scale: bool, **options: Any
) -> Any:
    """An unfitted pipeline: prepare the columns, learn the kernel, train the machine."""
    before = preparation(X, encode, scale)
    rows = X if before is None else before.fit_transform(X)
    estimator = KernelClassifier if classification else KernelRegressor
    last = estimator(LEARNERS[learner][1](rows), **options)
    if before is None:
        return last
    return Pipeline([("prepare", preparation(X, encode, scale)), ("model", last)])
