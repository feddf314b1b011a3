"""Which training rows made a prediction what it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from kernalign._typing import Array
from kernalign.plots._model import View, view

#: Rows of the matrix of changed predictions that are alive at once.
BLOCK = 256


@dataclass(frozen=True)
class Influence:
    """One training row: how alike it is (0 to 1), and what it adds to the output.

    push : the output minus the output without this row; None where the machine does not tell.
    """

    row: int
    similarity: float
    push: float | None


@dataclass(frozen=True)
class InfluenceInfo:
    """A prediction and the training rows behind it, the most influential first.

    toward : the class whose score `push` adds to, or "a larger value".
    """

    prediction: Any
    toward: str
    rows: list[Influence]


def influence_info(model: Any, x: Any, number: int = 8) -> InfluenceInfo:
    """The `number` training rows that a prediction depends on most.

    For f(x) = g(k(x, x_1), ..., k(x, x_n)) the push of row i is f minus f with k(x, x_i) set to
    zero: for a machine that is linear in its kernel values, the row's own term. Where a machine
    works on something else than kernel values, rows are ordered by similarity.

    Parameters
    ----------
    model : fitted KernelClassifier or KernelRegressor, or a pipeline that ends in one
    x : one row, as (1, d) array or data frame
    """
    seen = view(model)
    if seen.rows is None or not hasattr(seen.estimator, "predict"):
        raise ValueError("Influence needs a model that keeps its training rows and predicts.")
    prediction = model.predict(x)[0]
    row = seen.seen(x)
    K = seen.kernel(row, seen.rows)[0]
    norms = np.sqrt(np.maximum(seen.kernel.diag(row)[0] * seen.kernel.diag(seen.rows), 0))
    similarity = np.divide(K, norms, out=np.zeros_like(K), where=norms > 0)
    push, toward = _pushes(seen, K, prediction)
    order = np.argsort(-np.abs(similarity if push is None else push), kind="stable")[:number]
    rows = [
        Influence(int(i), float(similarity[i]), None if push is None else float(push[i]))
        for i in order
        if push is None or push[i] != 0
    ]
    return InfluenceInfo(prediction, toward, rows)


def _pushes(seen: View, K: Array, prediction: Any) -> tuple[Array | None, str]:
    """What each training row adds to the output that decided, and what that output stands for."""
    estimator = seen.estimator
    regression = is_regressor(estimator)
    toward = "a larger value" if regression else str(prediction)

    def outputs(rows: Array) -> Array:
        out: Array = np.asarray(
            estimator.stages_.outputs(estimator.candidate_, estimator.machine_, rows), dtype=float
        )
        if regression:
            return out * getattr(estimator, "_spread", 1.0)
        code = int(np.flatnonzero(estimator.classes_ == prediction)[0])
        if out.ndim == 2:
            return out[:, code]
        return out if code == 1 else -out

    try:
        full = outputs(K[None])[0]
        push = np.zeros(len(K))
        used = np.flatnonzero(K)
        for start in range(0, len(used), BLOCK):
            some = used[start : start + BLOCK]
            changed = np.repeat(K[None], len(some), axis=0)
            changed[np.arange(len(some)), some] = 0.0
            push[some] = full - outputs(changed)
    except (AttributeError, TypeError, ValueError):
        # A machine on explicit features has no kernel values to take away.
        return None, toward
    return push, toward
