"""The machines of the second stage, trained on a precomputed Gram matrix.

A machine knows how to train along a path of its regularisation parameter, from the strongest to
the weakest, as cheaply as it can.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR

from kernalign._typing import Array
from kernalign._warnings import find_stack_level
from kernalign.machines.model import DualModel
from kernalign.machines.tridiagonal import Tridiagonal

#: 10^{-5, -4.5, ..., 5}: the paper's values of C.
C_GRID = 10.0 ** np.arange(-5, 5.01, 0.5)
#: Iterations after which libsvm is stopped: large C on a low-rank Gram would go on for hours.
ITERATIONS = 100_000


class Machine(ABC):
    """A second stage with one regularisation parameter, larger being weaker."""

    #: As a person knows it.
    name: str

    @abstractmethod
    def fit(self, K: Array, y: Array, weight: Array, value: float) -> Any:
        """Train at one value; the result predicts from rows of the Gram matrix."""

    def path(self, K: Array, y: Array, weight: Array, K_test: Array, values: Array) -> Array:
        """Outputs on K_test (values, rows, ...) for ascending values.

        Where a larger value changes nothing, or the solver stopped short of its optimum, as it
        would with every larger one, the last good outputs stand for the rest.
        """
        outputs: list[Array] = []
        for value in values:
            fitted = self.fit(K, y, weight, value)
            stopped = _stopped(fitted)
            if not outputs or not stopped:
                outputs.append(self.outputs(fitted, K_test))
            if stopped or self.settled(fitted, weight, value):
                break
        outputs += [outputs[-1]] * (len(values) - len(outputs))
        return np.stack(outputs)

    def settled(self, fitted: Any, weight: Array, value: float) -> bool:
        """Whether larger values would give the same machine."""
        return False

    @abstractmethod
    def outputs(self, fitted: Any, K: Array) -> Array:
        """Decision values (classification) or predictions (regression)."""


class SupportVectorClassifier(Machine):
    """min 1/2 |f|^2 + C sum_i w_i hinge(y_i, f(x_i) + b), by libsvm; each class against the rest.

    libsvm's own way, every class against every other and a count of votes, leaves no measure of
    how sure a class is.
    """

    name = "support vector machine"

    def fit(self, K: Array, y: Array, weight: Array, value: float) -> SVC | DualModel:
        if y.max() == 1:
            return self._binary(K, y, weight, value)
        coefficients, intercepts = [], []
        for signs in scores(y).T:
            fitted = self._binary(K, signs, weight, value)
            warn_if_stopped(fitted, value)
            dual = np.zeros(len(K))
            dual[fitted.support_] = fitted.dual_coef_[0]
            coefficients.append(dual)
            intercepts.append(float(fitted.intercept_[0]))
        return DualModel(np.column_stack(coefficients), np.array(intercepts))

    def path(self, K: Array, y: Array, weight: Array, K_test: Array, values: Array) -> Array:
        if y.max() == 1:
            return super().path(K, y, weight, K_test, values)
        of_class = [
            self.path(K, one, weight, K_test, values) for one in np.eye(y.max() + 1, dtype=int)[y].T
        ]
        return np.stack(of_class, axis=-1)

    def outputs(self, fitted: SVC | DualModel, K: Array) -> Array:
        return fitted.predict(K) if isinstance(fitted, DualModel) else fitted.decision_function(K)

    def settled(self, fitted: SVC, weight: Array, value: float) -> bool:
        """No dual variable is at its bound, so a larger C changes nothing."""
        return _unbounded(fitted, weight, value)

    def _binary(self, K: Array, y: Array, weight: Array, value: float) -> SVC:
        machine = SVC(kernel="precomputed", C=value, max_iter=ITERATIONS)
        return _fit_quietly(machine, K, y, weight)


class RidgeRegressor(Machine):
    """Kernel ridge regression with a constant: min sum_i w_i (y_i - b - f(x_i))^2 + |f|^2 / C.

    One decomposition serves every C; several responses are several columns of y.
    """

    name = "ridge regression"

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

    def outputs(self, fitted: DualModel, K: Array) -> Array:
        return fitted.predict(K)

    def _decompose(self, K: Array, y: Array, weight: Array) -> tuple[Any, ...]:
        Y = y[:, None] if y.ndim == 1 else y
        mean = weight @ Y / weight.sum()
        root = np.sqrt(weight)
        tridiagonal = Tridiagonal(K * np.outer(root, root))
        return mean, root, tridiagonal, tridiagonal.rotate(root[:, None] * (Y - mean))


def _as_given(values: Array, y: Array) -> Any:
    """One column as none, where the response had none."""
    return values[..., 0] if y.ndim == 1 else values


class RidgeClassifier(RidgeRegressor):
    """Ridge regression on -1/+1, a column for each class where there are more than two."""

    name = "ridge classifier"

    def fit(self, K: Array, y: Array, weight: Array, value: float) -> DualModel:
        return super().fit(K, scores(y), weight, value)

    def path(self, K: Array, y: Array, weight: Array, K_test: Array, values: Array) -> Array:
        return super().path(K, scores(y), weight, K_test, values)


class SupportVectorRegressor(Machine):
    """Epsilon-insensitive regression by libsvm, epsilon in units of the response's spread."""

    def __init__(self, epsilon: float = 0.1):
        self.epsilon = epsilon
        self.name = f"support vector regression, epsilon {epsilon:g}"

    def fit(self, K: Array, y: Array, weight: Array, value: float) -> SVR:
        machine = SVR(kernel="precomputed", C=value, epsilon=self.epsilon, max_iter=ITERATIONS)
        return _fit_quietly(machine, K, y, weight)

    def outputs(self, fitted: SVR, K: Array) -> Array:
        return fitted.predict(K)


class Precomputed(Machine):
    """Any scikit-learn estimator with kernel="precomputed".

    owner, also : whose parameter it is, and what else that takes, for the error message.
    classes : whether the labels are codes of classes; a regressor then sees -1/+1, by class.
    """

    def __init__(self, estimator: Any, owner: str, also: str = "", *, classes: bool = False):
        known = hasattr(estimator, "get_params") and not isinstance(estimator, type)
        params = estimator.get_params() if known else {}
        if params.get("kernel") != "precomputed":
            raise ValueError(
                f"The 'machine' parameter of {owner} must be {also}an estimator with "
                f"kernel='precomputed'. Got {estimator!r} instead."
            )
        self.estimator = clone(estimator)
        self.name = type(estimator).__name__
        if params.get("max_iter") == -1:
            # libsvm without a limit may never come back.
            self.estimator.set_params(max_iter=ITERATIONS)
        if params.get("decision_function_shape") == "ovo":
            self.estimator.set_params(decision_function_shape="ovr")
        self.signed = classes and is_regressor(estimator)
        self.classes = classes
        self.parameter = next((name for name in ("C", "alpha") if name in params), None)

    def fit(self, K: Array, y: Array, weight: Array, value: float) -> Any:
        machine = clone(self.estimator)
        if self.parameter == "alpha":
            machine.set_params(alpha=1 / value)
        elif self.parameter == "C":
            machine.set_params(C=value)
        return _fit_quietly(machine, K, scores(y) if self.signed else y, weight)

    def outputs(self, fitted: Any, K: Array) -> Array:
        for name in ("decision_function", "predict_proba", "predict"):
            if hasattr(fitted, name):
                out = np.asarray(getattr(fitted, name)(K), dtype=float)
                break
        if name == "predict_proba" and out.shape[1] == 2:
            out = out[:, 1] - out[:, 0]
        if name == "predict" and self.classes and not self.signed:
            out = scores(out.astype(int), len(fitted.classes_))
        return out


def scores(codes: Any, n_classes: int | None = None) -> Array:
    """-1/+1 for two classes, (n, classes) of them for more."""
    n_classes = int(codes.max()) + 1 if n_classes is None else n_classes
    if n_classes <= 2:
        return 2.0 * codes - 1
    return 2 * np.eye(n_classes)[codes] - 1


def warn_if_stopped(machine: Any, C: float) -> None:
    """Say that a machine met its limit of iterations, which `_fit_quietly` kept to itself."""
    if _stopped(machine):
        warnings.warn(
            f"{type(machine).__name__} stopped after {machine.max_iter} iterations at C={C:g}, "
            "short of its optimum: scale the features, or choose a smaller C.",
            ConvergenceWarning,
            stacklevel=find_stack_level(),
        )


def _stopped(machine: Any) -> bool:
    """Whether a machine of scikit-learn met its limit of iterations."""
    limit = getattr(machine, "max_iter", None)
    if limit is None or limit == -1:
        return False
    return bool(np.max(getattr(machine, "n_iter_", 0)) >= limit)


def _fit_quietly(machine: Any, K: Array, y: Array, weight: Array) -> Any:
    """Fit; only the machine that is kept is asked whether it met its limit of iterations."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if (weight == 1).all():
            return machine.fit(K, y)
        return machine.fit(K, y, sample_weight=weight)


def _unbounded(fitted: SVC, weight: Array, C: float) -> bool:
    """Whether every dual variable is strictly below its bound C w_i."""
    bound = C * weight[fitted.support_]
    return bool((np.abs(fitted.dual_coef_) < bound * (1 - 1e-6)).all())
