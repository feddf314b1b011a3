"""Kernel ridge regression on a Gram matrix, with one decomposition for all values of C."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign.machines.base import Machine, class_signs
from kernalign.machines.model import DualModel
from kernalign.machines.tridiagonal import Tridiagonal


class RidgeRegressor(Machine):
    """Kernel ridge regression with a constant: min sum_i w_i (y_i - b - f(x_i))^2 + |f|^2 / C.

    Several responses are several columns of y.
    """

    name = "ridge regression"
    least_squares = True

    def fit(self, K: Array, y: Array, weight: Array, value: float) -> DualModel:
        mean, root, tridiagonal, right = self._decompose(K, y, weight)
        dual = tridiagonal.back(tridiagonal.solve(1 / value, right))
        return DualModel(_as_given(root[:, None] * dual, y), _as_given(mean, y))

    def path(self, K: Array, y: Array, weight: Array, K_test: Array, values: Array) -> Array:
        mean, root, tridiagonal, right = self._decompose(K, y, weight)
        left = tridiagonal.rotate((K_test * root).T).T
        solutions = np.hstack([tridiagonal.solve(1 / value, right) for value in values])
        out = (left @ solutions).reshape(len(K_test), len(values), -1)
        return _as_given(mean + np.moveaxis(out, 1, 0), y)

    def _decompose(self, K: Array, y: Array, weight: Array) -> tuple[Any, ...]:
        Y = y[:, None] if y.ndim == 1 else y
        mean = weight @ Y / weight.sum()
        root = np.sqrt(weight)
        tridiagonal = Tridiagonal(K * np.outer(root, root))
        return mean, root, tridiagonal, tridiagonal.rotate(root[:, None] * (Y - mean))


class RidgeClassifier(RidgeRegressor):
    """Ridge regression on -1/+1, with one column per class if there are more than two."""

    name = "ridge classifier"

    def fit(self, K: Array, y: Array, weight: Array, value: float) -> DualModel:
        return super().fit(K, class_signs(y), weight, value)

    def path(self, K: Array, y: Array, weight: Array, K_test: Array, values: Array) -> Array:
        return super().path(K, class_signs(y), weight, K_test, values)


def _as_given(values: Array, y: Array) -> Any:
    """A single column as (n,) if the response was (n,)."""
    return values[..., 0] if y.ndim == 1 else values
