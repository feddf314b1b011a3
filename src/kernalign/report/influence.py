"""Which training rows speak for a prediction, and which against it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor

from kernalign._typing import Array, IntArray
from kernalign.machines.model import KernelModel
from kernalign.plots._model import View, view
from kernalign.report.removal import TrainingRows, is_default_ridge, removed

#: Training rows among which the most similar ones are looked for.
MOST_SEARCHED = 20_000
#: Why effects are not computed.
LANDMARKS = (
    "This model keeps landmarks or features instead of its training rows, and the effect of a "
    "single row is not computed. The most similar training rows are shown."
)
WEIGHTS = (
    "Some rows have no weight, and the effect of a single row is not computed. The most similar "
    "rows are shown."
)


@dataclass(frozen=True)
class Influence:
    """One training row.

    row : its position among the rows that the model was fitted to.
    similarity : k(x, x_i) over the root of k(x, x) k(x_i, x_i): 1 for rows that the kernel cannot
        tell apart.
    effect : the prediction minus the prediction without this row; None if it is not computed.
    """

    row: int
    similarity: float
    effect: float | None


@dataclass(frozen=True)
class InfluenceInfo:
    """A prediction and the training rows behind it, the largest effect first.

    prediction : what the model predicts; without the row itself if it is a training row.
    value : the probability of the predicted class, or the predicted number.
    fitted_prediction, fitted_value : the same of the model as it is, with the row itself.
    itself : whether the row was a training row and is left out.
    unknown : why effects are not computed, in which case the most similar rows are listed.
    """

    prediction: Any
    value: float
    fitted_prediction: Any
    fitted_value: float
    itself: bool
    rows: list[Influence]
    unknown: str = ""


def influence_info(
    model: Any, x: Any, X: Any, y: Any, *, row: int | None = None, number: int = 8
) -> InfluenceInfo:
    """The training rows whose removal changes a prediction most.

    The machine is solved again without a row, with the same kernel and the same C. A training row
    does not explain itself: it is left out first.

    Parameters
    ----------
    model : fitted KernelClassifier or KernelRegressor, or a pipeline that ends in one
    x : one row, as (1, d) array or data frame
    X, y : the rows and labels that the model was fitted to
    row : position of x in X, if it is a training row
    number : rows that are listed
    """
    seen = view(model)
    estimator, trained = seen.estimator, seen.trained
    if trained is None or not hasattr(estimator, "predict"):
        raise ValueError("Influence needs a fitted KernelClassifier or KernelRegressor.")
    labels = np.asarray(y)
    if labels.ndim > 1:
        raise ValueError("The influence of rows is that on one response: this model has several.")
    rows, place = _training_rows(seen, X)
    at = seen.seen(x)
    own = None if row is None else next(iter(np.flatnonzero(place == row).tolist()), None)
    k = seen.kernel(at, rows)[0]
    norms = np.sqrt(np.maximum(seen.kernel.diag(at)[0] * seen.kernel.diag(rows), 0))
    similarity = np.divide(k, norms, out=np.zeros_like(k), where=norms > 0)
    output = np.asarray(trained.outputs(at))[0]
    fitted_value, fitted_prediction, _ = _said(estimator, output)
    fitted = fitted_prediction, fitted_value
    try:
        if getattr(trained, "index", None) is None:
            raise ValueError(LANDMARKS)
        if trained.n_rows != len(place):
            raise ValueError(WEIGHTS)
        codes = _on_the_machines_scale(estimator, labels[place])
        found = removed(estimator, trained, TrainingRows(seen.kernel(rows), k, codes, own), output)
    except ValueError as problem:
        alike = np.argsort(-similarity, kind="stable")
        alike = alike[alike != own] if own is not None else alike
        similar = [Influence(int(place[i]), float(similarity[i]), None) for i in alike[:number]]
        return InfluenceInfo(*fitted, *fitted, False, similar, str(problem))
    value, prediction, shown = _said(estimator, found.base)
    effects = value - np.array([shown(out) for out in found.without])
    order = np.argsort(-np.abs(effects), kind="stable")[:number]
    listed = [
        Influence(int(place[i]), float(similarity[i]), float(effect))
        for i, effect in zip(found.rows[order].tolist(), effects[order].tolist(), strict=True)
    ]
    return InfluenceInfo(prediction, value, *fitted, own is not None, listed)


def _training_rows(seen: View, X: Any) -> tuple[Array, IntArray]:
    """Training rows as the kernel sees them, and their positions in X."""
    trained = seen.trained
    if isinstance(trained, KernelModel) and is_default_ridge(seen.estimator, trained):
        return trained.rows, np.asarray(trained.index)
    rows = seen.seen(X)[:MOST_SEARCHED]
    return rows, np.arange(len(rows))


def _on_the_machines_scale(estimator: Any, labels: Any) -> Array:
    """Codes of classes, or responses as the machine sees them."""
    if is_regressor(estimator):
        return estimator.response_.forward(np.asarray(labels, dtype=float))
    codes = np.searchsorted(estimator.classes_, labels)
    known = np.minimum(codes, len(estimator.classes_) - 1)
    if (estimator.classes_[known] != labels).any():
        raise ValueError("The labels given are not those that the model was fitted to.")
    return codes


def _said(estimator: Any, output: Array) -> tuple[float, Any, Any]:
    """Probability or number behind an output, the prediction, and a function for other outputs."""
    if not is_classifier(estimator):

        def number(out: Array) -> float:
            return float(np.ravel(estimator.response_.back(np.asarray(out).reshape(1)))[0])

        return number(output), number(output), number
    probabilities = estimator.calibration_.probabilities(np.asarray(output)[None])[0]
    code = int(probabilities.argmax())

    def probability(out: Array) -> float:
        return float(estimator.calibration_.probabilities(np.asarray(out)[None])[0, code])

    return float(probabilities[code]), estimator.classes_[code], probability
