"""Support vector machines on a Gram matrix, by libsvm."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.svm import SVC, SVR

from kernalign._typing import Array
from kernalign.machines.base import ITERATIONS, LibraryMachine, class_signs
from kernalign.machines.model import DualModel


class _SupportVectorMachine(LibraryMachine[DualModel]):
    """Shared code of the libsvm machines."""

    def gram_model(self, fitted: Any, n: int) -> DualModel:
        return dual_model(fitted, n)


def dual_model(fitted: Any, n: int) -> DualModel:
    """The dual model of a libsvm machine with one output, on n training rows."""
    dual = np.zeros(n)
    dual[fitted.support_] = fitted.dual_coef_[0]
    return DualModel(dual, float(fitted.intercept_[0]))


class SupportVectorClassifier(_SupportVectorMachine):
    """min 1/2 |f|^2 + C sum_i w_i hinge(y_i, f(x_i) + b), by libsvm; each class against the rest.

    libsvm's own one-vs-one voting would give no decision value per class.
    """

    name = "support vector machine"

    def unfitted(self, value: float) -> SVC:
        return SVC(kernel="precomputed", C=value, max_iter=ITERATIONS)

    def fit(self, K: Array, y: Array, weight: Array, value: float) -> DualModel:
        binary = super().fit
        if y.max() == 1:
            return binary(K, y, weight, value)
        of_class = [binary(K, one, weight, value) for one in class_signs(y).T]
        return DualModel(
            np.column_stack([model.coefficients for model in of_class]),
            np.array([model.intercept for model in of_class]),
        )

    def path(self, K: Array, y: Array, weight: Array, K_test: Array, values: Array) -> Array:
        if y.max() == 1:
            return super().path(K, y, weight, K_test, values)
        of_class = [
            self.path(K, one, weight, K_test, values) for one in np.eye(y.max() + 1, dtype=int)[y].T
        ]
        return np.stack(of_class, axis=-1)

    def settled(self, fitted: SVC, weight: Array, value: float) -> bool:
        """No dual variable is at its bound C w_i, so a larger C changes nothing."""
        bound = value * weight[fitted.support_]
        return bool((np.abs(fitted.dual_coef_) < bound * (1 - 1e-6)).all())


class SupportVectorRegressor(_SupportVectorMachine):
    """Epsilon-insensitive regression by libsvm, epsilon in units of the response's spread."""

    def __init__(self, epsilon: float = 0.1):
        self.epsilon = epsilon
        self.name = f"support vector regression, epsilon {epsilon:g}"

    def unfitted(self, value: float) -> SVR:
        return SVR(kernel="precomputed", C=value, epsilon=self.epsilon, max_iter=ITERATIONS)
