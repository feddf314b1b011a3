"""Which training rows made a prediction what it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from kernalign._typing import Array
from kernalign.machines.model import RowsModel
from kernalign.plots._model import View, view

#: Rows of the matrix of changed predictions that are alive at once.
BLOCK = 256


@dataclass(frozen=True)
class Influence:
    """One training row: how alike it is (0 to 1), and what it adds to the output.

    row : its position among the rows that the model was fitted to.
    push : the output minus the output without this row.
    """

    row: int
    similarity: float
    push: float


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
    zero: for a machine that is linear in its kernel values, the row's own term.

    Parameters
    ----------
    model : fitted KernelClassifier or KernelRegressor, or a pipeline that ends in one
    x : one row, as (1, d) array or data frame
    """
    seen = view(model)
    trained = seen.trained
    if trained is None or not hasattr(seen.estimator, "predict"):
        raise ValueError("Influence needs a fitted KernelClassifier or KernelRegressor.")
    if not isinstance(trained, RowsModel) or trained.index is None:
        raise ValueError(
            "The influence of training rows is known of models that compare with them. With "
            f"solver={seen.estimator.solver_!r} this one predicts from features that all "
            f"{trained.n_rows} rows have made together: solver='exact' keeps them apart."
        )
    prediction = model.predict(x)[0]
    row = seen.seen(x)
    if not len(trained.rows):
        return InfluenceInfo(prediction, _toward(seen, prediction), [])
    K = seen.kernel(row, trained.rows)[0]
    norms = np.sqrt(np.maximum(seen.kernel.diag(row)[0] * seen.kernel.diag(trained.rows), 0))
    similarity = np.divide(K, norms, out=np.zeros_like(K), where=norms > 0)
    push = _pushes(seen, trained, K, prediction)
    order = np.argsort(-np.abs(push), kind="stable")[:number]
    rows = [
        Influence(int(trained.index[i]), float(similarity[i]), float(push[i]))
        for i in order
        if push[i] != 0
    ]
    return InfluenceInfo(prediction, _toward(seen, prediction), rows)


def _toward(seen: View, prediction: Any) -> str:
    return "a larger value" if is_regressor(seen.estimator) else str(prediction)


def _pushes(seen: View, trained: RowsModel, K: Array, prediction: Any) -> Array:
    """What each training row adds to the output that decided."""
    estimator = seen.estimator

    def outputs(rows: Array) -> Array:
        out = trained.from_gram(rows)
        if is_regressor(estimator):
            return estimator.response_.back(out)
        code = int(np.flatnonzero(estimator.classes_ == prediction)[0])
        if out.ndim == 2:
            return out[:, code]
        return out if code == 1 else -out

    full = outputs(K[None])[0]
    push = np.zeros(len(K))
    used = np.flatnonzero(K)
    for start in range(0, len(used), BLOCK):
        some = used[start : start + BLOCK]
        changed = np.repeat(K[None], len(some), axis=0)
        changed[np.arange(len(some)), some] = 0.0
        push[some] = full - outputs(changed)
    return push
