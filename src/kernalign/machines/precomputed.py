"""A user's scikit-learn estimator with kernel="precomputed" as a machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC, SVR, NuSVC, NuSVR

from kernalign._typing import Array
from kernalign.gram.labels import signs
from kernalign.kernels import LearnedKernel
from kernalign.machines.base import ITERATIONS, LibraryMachine, class_signs
from kernalign.machines.model import DualModel, GivenMachineModel, GramModel, PairwiseDual, Seen
from kernalign.machines.svm import dual_model


class Precomputed(LibraryMachine[GramModel]):
    """Any scikit-learn estimator with kernel="precomputed".

    For support vector machines and kernel ridge regression, only the dual coefficients are stored.
    Other estimators are stored as they are and called to predict.

    owner, also : class of the parameter and its other allowed values, for the error message.
    classes : whether the labels are class codes; a regressor is then fitted to -1/+1 by class.
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
            # Without a limit, libsvm may not terminate.
            self.estimator.set_params(max_iter=ITERATIONS)
        if params.get("decision_function_shape") == "ovo":
            self.estimator.set_params(decision_function_shape="ovr")
        self.signed = classes and is_regressor(estimator)
        self.classes = classes
        self.parameter = next((name for name in ("C", "alpha") if name in params), None)
        self.regularised = self.parameter is not None

    def unfitted(self, value: float) -> Any:
        machine = clone(self.estimator)
        if self.parameter == "alpha":
            machine.set_params(alpha=1 / value)
        elif self.parameter == "C":
            machine.set_params(C=value)
        return machine

    def labels(self, y: Array) -> Array:
        return class_signs(y) if self.signed else y

    def gram_model(self, fitted: Any, n: int) -> GramModel:
        # A subclass may override predict.
        if type(fitted) is KernelRidge:
            return DualModel(fitted.dual_coef_, np.zeros(fitted.dual_coef_.shape[1:]))
        if type(fitted) in (SVC, NuSVC) and len(fitted.classes_) > 2:
            return pairwise_model(fitted, n)
        if type(fitted) in (SVC, NuSVC, SVR, NuSVR):
            return dual_model(fitted, n)
        known = ("decision_function", "predict_proba", "predict")
        method = next(name for name in known if hasattr(fitted, name))
        codes = method == "predict" and self.classes and not self.signed
        return FittedEstimator(fitted, method, len(fitted.classes_) if codes else 0)


def pairwise_model(fitted: Any, n: int) -> PairwiseDual:
    """libsvm's machines for every pair of classes, on n training rows.

    Its support vectors are grouped by class, and `dual_coef_` has a row for each other class.
    """
    ends = np.cumsum(fitted.n_support_)
    of_class = [slice(end - size, end) for end, size in zip(ends, fitted.n_support_, strict=True)]
    first, second = np.triu_indices(len(of_class), k=1)
    dual = np.zeros((n, len(first)))
    for pair, (a, b) in enumerate(zip(first, second, strict=True)):
        dual[fitted.support_[of_class[a]], pair] = fitted.dual_coef_[b - 1, of_class[a]]
        dual[fitted.support_[of_class[b]], pair] = fitted.dual_coef_[a, of_class[b]]
    return PairwiseDual(dual, fitted.intercept_, len(of_class))


@dataclass(frozen=True)
class FittedEstimator(GramModel):
    """Outputs of a fitted estimator.

    method : the method that computes them.
    n_classes : if the method returns class codes, which are turned into scores; otherwise 0.
    """

    estimator: Any
    method: str
    n_classes: int = 0

    def predict(self, K: Array) -> Array:
        out: Array = np.asarray(getattr(self.estimator, self.method)(K), dtype=float)
        if self.method == "predict_proba" and out.shape[1] == 2:
            return out[:, 1] - out[:, 0]
        return signs(out.astype(int), self.n_classes) if self.n_classes else out

    def on_rows(self, kernel: LearnedKernel, X: Array, seen: Seen) -> GivenMachineModel:
        used = getattr(self.estimator, "support_", None)
        index = np.arange(len(X)) if used is None else np.asarray(used)
        return GivenMachineModel(kernel, seen, X[index], index, self, index)
