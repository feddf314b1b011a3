"""Rows that folds held out, as pictures of quality need them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from kernalign._typing import Array
from kernalign.estimators.held_out import HeldOutRows
from kernalign.plots._model import view


def held_out_rows(model: Any) -> tuple[Any, HeldOutRows]:
    """The estimator and the rows that its folds held out, or one sentence why there are none."""
    estimator = view(model).estimator
    found = getattr(estimator, "held_out_", None)
    if found is None:
        raise ValueError(
            "This picture is about the errors of a model and needs a fitted KernelClassifier or "
            f"KernelRegressor. Got {type(estimator or model).__name__}."
        )
    if not len(found):
        raise ValueError(f"Errors on unseen rows are not known of this model: {found.unknown}.")
    return estimator, found


def held_out_probabilities(model: Any) -> tuple[Array, Any]:
    """(m, classes) probabilities of held-out rows, and the codes of their classes."""
    estimator, found = held_out_rows(model)
    if not is_classifier(estimator):
        raise ValueError("Probabilities are those of classes: this model predicts a number.")
    return estimator.calibration_.probabilities(found.outputs), found.y.astype(np.intp)


def held_out_predictions(model: Any) -> tuple[Array, Array]:
    """(m,) predicted numbers of held-out rows, and the true ones."""
    estimator, found = held_out_rows(model)
    if is_classifier(estimator):
        raise ValueError("Residuals are those of numbers: this model predicts classes.")
    if found.y.ndim > 1:
        raise ValueError(
            f"A picture shows one response. This model predicts {found.y.shape[1]} of them."
        )
    return estimator.response_.back(found.outputs), found.y
