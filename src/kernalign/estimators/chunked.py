"""Fit and predict on rows that are not in memory: chunks of a Dask array or data frame."""

from __future__ import annotations

import numbers
from functools import partial
from typing import Any

from kernalign._typing import Array
from kernalign._validation import check_choice
from kernalign.estimators.linear import LinearStages
from kernalign.estimators.losses import Loss
from kernalign.estimators.stages import Problem
from kernalign.rows import as_rows
from kernalign.rows.input import labelled_rows, of_rows


def labelled_chunks(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Array]:
    """Rows of positive weight where they are, and their labels and weights in memory."""
    check_choice(model, "nested", (True, False))
    check_choice(model, "solver", ("auto", "nystroem", "fourier"))
    if not isinstance(model.cv, numbers.Integral) or model.cv < 2:
        raise ValueError(
            f"The 'cv' parameter of {type(model).__name__} must be an int in [2, inf) on a Dask "
            f"array. Got {model.cv!r} instead."
        )
    rows, labels, weight = labelled_rows(model, X, y, sample_weight)
    used = weight > 0
    return as_rows(rows).subset(used), labels[used], weight[used]


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
    return of_rows(model, X, partial(_call, model, method), width, dtype)


def _call(model: Any, method: str, rows: Array) -> Any:
    if hasattr(model, "feature_names_in_"):
        # Chunks of a data frame are arrays by now; the model wants its names.
        import pandas

        return getattr(model, method)(pandas.DataFrame(rows, columns=model.feature_names_in_))
    return getattr(model, method)(rows)
