"""Fit and predict on rows that are not in memory: chunks of a Dask array or data frame."""

from __future__ import annotations

import numbers
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from kernalign._typing import Array
from kernalign._validation import check_choice, check_weights
from kernalign.distributed.dask import DaskRows, column_names, gathered, map_rows_of
from kernalign.estimators.linear import LinearStages
from kernalign.estimators.losses import Loss
from kernalign.estimators.stages import Problem
from kernalign.gram.pairs import rows_of


def labelled_chunks(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Array]:
    """Rows of positive weight where they are, and their labels and weights in memory."""
    if y is None:
        raise ValueError(f"{type(model).__name__} requires y to be passed, but y is None.")
    check_choice(model, "nested", (True, False))
    check_choice(model, "solver", ("auto", "nystroem", "fourier"))
    if not isinstance(model.cv, numbers.Integral) or model.cv < 2:
        raise ValueError(
            f"The 'cv' parameter of {type(model).__name__} must be an int in [2, inf) on a Dask "
            f"array. Got {model.cv!r} instead."
        )
    rows = DaskRows.of(X)
    names = column_names(X)
    model.n_features_in_ = rows.shape[1]
    if names is not None:
        model.feature_names_in_ = names
    elif hasattr(model, "feature_names_in_"):
        del model.feature_names_in_
    labels = gathered(y, "y", len(rows))
    given = None if sample_weight is None else gathered(sample_weight, "sample_weight", len(rows))
    weight = check_weights(given, rows)
    used = weight > 0
    return rows_of(rows, used), labels[used], weight[used]


def stages_on_chunks(model: Any, problem: Problem, loss: Loss) -> LinearStages:
    """The stages of a model on rows that are not in memory."""
    if model.machine is not None and model.machine != "ridge":
        raise ValueError(
            f"The 'machine' parameter of {type(model).__name__} must be None on a Dask array: a "
            f"machine on the Gram matrix needs all rows. Got {model.machine!r} instead."
        )
    learners = model._checked_learners(problem.X.shape[1])
    stages: LinearStages = model._linear_stages(
        learners, problem, model.solver, model._values([]), loss
    )
    return stages


def on_chunks(model: Any, method: str, X: Any, width: int | None, dtype: Any) -> Any:
    """A method of a fitted model on every chunk, as a Dask array."""
    check_is_fitted(model)
    if column_names(X) is not None:
        _check_feature_names(model, X._meta, reset=False)
    found = X.shape[1]
    if found != model.n_features_in_:
        raise ValueError(
            f"X has {found} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input."
        )
    shape = () if width is None else (width,)
    return map_rows_of(X, partial(_call, model, method, shape, dtype), width, dtype)


def _call(model: Any, method: str, shape: tuple[int, ...], dtype: Any, chunk: Any) -> Any:
    if not len(chunk):
        return np.empty((0, *shape), dtype=dtype)
    if hasattr(model, "feature_names_in_"):
        # A chunk of a data frame is an array by now; the model wants its names.
        import pandas

        chunk = pandas.DataFrame(chunk, columns=model.feature_names_in_)
    return getattr(model, method)(chunk)
