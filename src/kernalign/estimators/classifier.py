"""Classification: learn a kernel, train a machine on it."""

from __future__ import annotations

import numbers
import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.model_selection import check_cv
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from kernalign._typing import Array
from kernalign._validation import check_choice, check_labelled_rows, check_number, check_weights
from kernalign._warnings import SelectionWarning, find_stack_level
from kernalign.estimators.base import KernelEstimator
from kernalign.estimators.calibration import TemperatureCalibration
from kernalign.estimators.machines import C_GRID, Machine, Precomputed, SupportVectorClassifier
from kernalign.estimators.selection import Split, select, splits_of_used_rows
from kernalign.learners.targets import class_target


class KernelClassifier(ClassifierMixin, KernelEstimator):
    """A classifier that learns its kernel from the data.

    Parameters
    ----------
    learner : Learner, default ContinuousAlignment()
        How the kernel is learned.
    machine : estimator with kernel="precomputed", default a soft-margin SVM
        What is trained on the learned kernel. Its `C` (or 1/`alpha`) is chosen like the SVM's.
    C : "cv", float or sequence of floats
        Weight of the loss. "cv" chooses from 10^{-5, -4.5, ..., 5} by cross-validation, a sequence
        is chosen from in the same way, a number is taken as it is.
    cv : int or cross-validation splitter
        Folds for the choice of C and for the calibration of probabilities.
    nested : bool
        Learn the kernel again inside each fold, so that the choice of C is honest.
    class_weight : dict, "balanced" or None
        Weights of the classes, for the alignment and for the machine.

    Attributes
    ----------
    kernel_ : LearnedKernel
        The learned kernel; `alignment_` and `history_` say how it came about.
    C_ : float
        The C in use; `cv_results_` holds the error of each that was tried.
    classes_ : array
    n_features_in_, feature_names_in_ : what `fit` saw.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kernalign import KernelClassifier
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> clf = KernelClassifier().fit(X[:100], y[:100])
    >>> clf.score(X[100:], y[100:]) > 0.95
    True
    """

    def __init__(
        self,
        learner: Any = None,
        machine: Any = None,
        *,
        C: Any = "cv",
        cv: Any = 5,
        nested: bool = True,
        class_weight: Any = None,
    ):
        self.learner = learner
        self.machine = machine
        self.C = C
        self.cv = cv
        self.nested = nested
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the kernel, choose C, train the machine."""
        X, y = check_labelled_rows(self, X, y)
        check_classification_targets(y)
        check_choice(self, "nested", (True, False))
        weight = check_weights(sample_weight, X)
        used = weight > 0
        self.classes_ = np.unique(y[used])
        if len(self.classes_) < 2:
            raise ValueError(
                "KernelClassifier needs at least two classes in y. Got one class: "
                f"{self.classes_[0]!r}."
            )
        machine = self._machine()
        values = regularisation_values(self, machine)
        folds = None
        if values.size > 1:
            folds = self._folds(X, np.searchsorted(self.classes_, y), used)
        X, y, weight = X[used], y[used], weight[used]
        codes = np.searchsorted(self.classes_, y)
        weight = weight * self._class_weights(y, codes)
        target = class_target(codes, len(self.classes_), weight)
        self._learn(X, target)
        held_out = None
        if folds is not None:
            chosen = select(
                machine,
                values,
                folds,
                _zero_one_loss,
                X,
                codes,
                target,
                self.learner_,
                self.nested,
                getattr(self, "feature_names_in_", None),
            )
            self.C_ = chosen.value
            self.cv_results_ = {"C": chosen.values, "error": chosen.losses}
            held_out = chosen.held_out
        else:
            self.C_ = float(values[np.argmin(np.abs(np.log(values)))])
            self.cv_results_ = {"C": np.array([self.C_]), "error": np.array([np.nan])}
        K = self.kernel_(X)
        self.machine_ = machine.fit(K, codes, weight, self.C_)
        if held_out is None:
            held_out = machine.outputs(self.machine_, K)
        self.calibration_ = TemperatureCalibration().fit(held_out, codes, weight)
        return self

    def _class_weights(self, y: Array, codes: Array) -> Array:
        if self.class_weight is None:
            return np.ones(len(codes))
        return compute_class_weight(self.class_weight, classes=self.classes_, y=y)[codes]

    def _machine(self) -> Machine:
        return SupportVectorClassifier() if self.machine is None else Precomputed(self.machine)

    def _folds(self, X: Array, codes: Array, used: Any) -> list[Split] | None:
        """Splits of the used rows, or None where a class has a single one."""
        cv = self.cv
        counts = np.bincount(codes[used])
        if isinstance(cv, numbers.Integral) and counts.min() < cv:
            if counts.min() < 2:
                warnings.warn(
                    f"Class {self.classes_[counts.argmin()]!r} has a single row: C cannot be "
                    "chosen by cross-validation and is the value nearest to 1.",
                    SelectionWarning,
                    stacklevel=find_stack_level(),
                )
                return None
            cv = int(counts.min())
        splits = check_cv(cv, codes, classifier=True).split(X, codes)
        return splits_of_used_rows(splits, used)

    def decision_function(self, X: Any) -> Array:
        """Decision values: (n,) for two classes, positive for the second; (n, classes) for more."""
        check_is_fitted(self)
        machine = self._machine()
        parts = [machine.outputs(self.machine_, K) for _, K in self._gram_blocks(X)]
        return np.concatenate(parts)

    def predict(self, X: Any) -> Array:
        """The class of each row."""
        parts = [self.machine_.predict(K) for _, K in self._gram_blocks(X)]
        return self.classes_[np.concatenate(parts)]

    def predict_proba(self, X: Any) -> Array:
        """Probability of each class, calibrated on held-out decision values."""
        decision = self.decision_function(X)
        return self.calibration_.probabilities(decision)

    def _gram_blocks(self, X: Any) -> Any:
        return self._blocks(X, getattr(getattr(self, "machine_", None), "support_", None))


def regularisation_values(estimator: Any, machine: Machine) -> Array:
    """The values of C to choose from; a single one where there is no choice."""
    if isinstance(machine, Precomputed) and machine.parameter is None:
        return np.ones(1)
    C = estimator.C
    if isinstance(C, str):
        check_choice(estimator, "C", ("cv",))
        return C_GRID
    if isinstance(C, numbers.Real):
        check_number(estimator, "C", 0)
        return np.array([float(C)])
    values = np.asarray(C, dtype=float)
    if values.ndim != 1 or not values.size or not ((values > 0) & np.isfinite(values)).all():
        raise ValueError(
            f"The 'C' parameter of {type(estimator).__name__} must be 'cv', a number in (0, inf) "
            f"or a sequence of such numbers. Got {C!r} instead."
        )
    return values


def _zero_one_loss(codes: Array, outputs: Array) -> Array:
    """1 where the class is wrong: (values, rows)."""
    predicted = outputs > 0 if outputs.ndim == 2 else outputs.argmax(axis=2)
    return (predicted != codes).astype(float)
