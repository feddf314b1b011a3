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

from kernalign._typing import Array
from kernalign._validation import (
    check_choice,
    check_labelled_rows,
    check_weights,
)
from kernalign._warnings import SelectionWarning, find_stack_level
from kernalign.estimators.base import KernelPredictor
from kernalign.estimators.calibration import TemperatureCalibration
from kernalign.estimators.chunked import labelled_chunks, on_chunks, stages_on_chunks
from kernalign.estimators.losses import CLASSES, predicted_codes
from kernalign.estimators.selection import Split, splits_of_used_rows
from kernalign.estimators.stages import Problem
from kernalign.gram.labels import class_target
from kernalign.machines.dual import (
    Machine,
    Precomputed,
    RidgeClassifier,
    SupportVectorClassifier,
)
from kernalign.rows.input import source_of


class KernelClassifier(ClassifierMixin, KernelPredictor):
    """A classifier that learns its kernel from the data.

    Parameters
    ----------
    learner : Learner or list of Learners, from the simplest to the most complex
        How the kernel is learned. Of several the simplest is taken that predicts as well as the
        best, to within a standard error, under the cross-validation; what is compared are Brier
        scores of calibrated probabilities. The default tries one bandwidth for all features
        (`ContinuousAlignment()`), then one for each (`ScreenedAlignment()`,
        `ContinuousEvidence(prior=3)`, `ContinuousEvidence(prior=0.3)`).
    machine : estimator with kernel="precomputed", default a soft-margin SVM or a ridge classifier
        What is trained on the learned kernel; of the two defaults the one that predicts better.
        The `C` (or 1/`alpha`) of a machine given here is chosen like the SVM's. One-stage
        learners bring their own machine, which is used unless one is given here.
    C : "cv", float or sequence of floats
        Weight of the loss. "cv" chooses from 10^{-5, -4.5, ..., 5} by cross-validation, a sequence
        is chosen from in the same way, a number is taken as it is.
    cv : int or cross-validation splitter
        Folds for the choice of C and for the calibration of probabilities.
    nested : bool
        Learn the kernel again inside each fold, so that the choice of C is honest. (One-stage
        learners always do. A penalty that the learner chose on its own held-out rows stays.)
    solver : {"auto", "exact", "nystroem", "fourier", "cg"}
        How the second stage is solved; `solver_` says how it was. "exact" trains the machine on
        the Gram matrix. The others take least squares for the machine (-1/+1 by class) and cost
        O(n): "nystroem" on features of landmarks, "fourier" on random features (exact ones for
        Fourier and Linear kernels); "cg" solves for all rows by preconditioned conjugate gradients.
        On features the machine is a squared hinge instead where held-out rows say that it is
        better; it is tried where the features of all rows, in single precision, fit in
        scikit-learn's `working_memory` (about 50,000 rows by default), and not on Dask arrays.
        The kernel is then learned on a sample of many rows (`Sampled`) and, beyond 2000 rows and
        where `cv` is a number, C is chosen on one share of the rows, outside the sample. "auto" is
        "exact" up to 2000 rows, and wherever the machine is given, else "nystroem", or "fourier"
        where its features are exact.
    n_components : int or None
        Features, or landmarks, of the solvers that have them. 3000 by default, and between 30,000
        and 250,000 rows as many more, up to twice, as make them cost what 250,000 rows do.
    class_weight : dict, "balanced" or None
        Weights of the classes, for the alignment and for the machine.

    Attributes
    ----------
    kernel_ : LearnedKernel
        The learned kernel; `alignment_` and `history_` say how it came about.
    C_ : float
        The C in use; `cv_results_` holds the error of each that was tried with this kernel and
        machine, and the loss (Brier score) that decided; infinite where it was not tried.
    path_ : list of dict
        What was chosen from, the simplest first: learner, machine, alignment on the training rows
        and on held-out rows, number of rows, cross-validated error at the best C, whether it was
        chosen. With many rows those of the sample that decided between kernels come first, and
        then the machines on the one that was chosen.
    cv_error_, cv_error_std_ : float
        Error on held-out rows, and its standard error, of the choice that the other folds (parts
        of the rows, where one share is held out) would have made: no row has a say in the choice
        that it judges. (The values of C at which a squared hinge is tried are placed by all.)
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
        solver: str = "auto",
        n_components: int | None = None,
        class_weight: Any = None,
    ):
        self.learner = learner
        self.machine = machine
        self.C = C
        self.cv = cv
        self.nested = nested
        self.solver = solver
        self.n_components = n_components
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the kernel, choose C, train the machine."""
        if source_of(X) is not None:
            return self._fit_on_chunks(X, y, sample_weight)
        X, y = check_labelled_rows(self, X, y)
        check_classification_targets(y)
        check_choice(self, "nested", (True, False))
        weight = check_weights(sample_weight, X)
        used = weight > 0
        self.classes_ = np.unique(y[used])
        if len(self.classes_) < 2:
            raise ValueError(
                "KernelClassifier needs at least two classes in y. Got one class: "
                f"{self.classes_[0].item()!r}."
            )
        machines: list[Machine] = []
        if self.machine is not None:
            machines = [Precomputed(self.machine, "KernelClassifier", classes=True)]
        values = self._values(machines)
        folds = self._folds(X, y, used, choose=values.size > 1)
        X, y, weight = X[used], y[used], weight[used]
        codes = np.searchsorted(self.classes_, y)
        target = class_target(codes, len(self.classes_), weight * self._class_weights(y, codes))
        problem = Problem(X, codes, target, getattr(self, "feature_names_in_", None))
        default = [SupportVectorClassifier(), RidgeClassifier()]
        stages = self._stages(machines, default, problem, values, CLASSES, folds)
        splits = stages.splits(folds, problem)
        chosen = self._select(stages, problem, values, splits, CLASSES)
        self._publish(stages, stages.train(problem, self.candidate_, self.C_), X)
        held_out = self._evaluated(X) if chosen is None else chosen.held_out
        self.calibration_ = TemperatureCalibration().fit(held_out, codes, target.weight)
        return self

    def _fit_on_chunks(self, X: Any, y: Any, sample_weight: Any) -> Self:
        X, y, weight = labelled_chunks(self, X, y, sample_weight)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        codes: Any = np.searchsorted(self.classes_, y)
        if len(self.classes_) < 2:
            raise ValueError(
                "KernelClassifier needs at least two classes in y. Got one class: "
                f"{self.classes_[0].item()!r}."
            )
        target = class_target(codes, len(self.classes_), weight * self._class_weights(y, codes))
        problem = Problem(X, codes, target, getattr(self, "feature_names_in_", None))
        stages = stages_on_chunks(self, problem, CLASSES)
        splits = stages.splits((), problem)
        chosen = self._select(stages, problem, self._values([]), splits, CLASSES)
        assert chosen is not None
        self._publish(stages, stages.train(problem, self.candidate_, self.C_), X)
        self.calibration_ = TemperatureCalibration().fit(chosen.held_out, codes, target.weight)
        return self

    def _class_weights(self, y: Array, codes: Array) -> Array:
        if self.class_weight is None:
            return np.ones(len(codes))
        given = self.class_weight
        if isinstance(given, dict):
            valid = all(
                isinstance(w, int | float | np.number) and 0 < w < np.inf for w in given.values()
            )
        else:
            valid = isinstance(given, str) and given == "balanced"
        if not valid:
            raise ValueError(
                "The 'class_weight' parameter of KernelClassifier must be None, 'balanced' or a "
                f"dict of positive numbers by class. Got {given!r} instead."
            )
        return compute_class_weight(given, classes=self.classes_, y=y)[codes]

    def _folds(self, X: Array, y: Array, used: Any, choose: bool) -> list[Split] | None:
        """Splits of the used rows, or None where a class has a single one.

        choose : whether there is a C to choose, and so something to warn of.
        """
        codes = np.searchsorted(self.classes_, y[used])
        counts = np.bincount(codes)
        if isinstance(self.cv, numbers.Integral):
            if counts.min() >= 2:
                folds = check_cv(min(int(self.cv), int(counts.min())), codes, classifier=True)
                return list(folds.split(X[used], codes))
            if choose:
                warnings.warn(
                    f"Class {self.classes_[counts.argmin()].item()!r} has a single row: C cannot "
                    "be chosen by cross-validation and is the value nearest to 1.",
                    SelectionWarning,
                    stacklevel=find_stack_level(),
                )
            return None
        splits = splits_of_used_rows(check_cv(self.cv, y, classifier=True).split(X, y), used)
        for train, test in splits:
            missing = np.setdiff1d(np.arange(len(self.classes_)), codes[train])
            if missing.size or not len(test):
                what = (
                    f"class {self.classes_[missing[0]].item()!r}" if missing.size else "test rows"
                )
                raise ValueError(
                    "The 'cv' parameter of KernelClassifier must leave rows of every class to "
                    f"train on, and rows to test, in every split. Got a split without {what}."
                )
        return splits

    def decision_function(self, X: Any) -> Array:
        """Decision values: (n,) for two classes, positive for the second; (n, classes) for more."""
        if source_of(X) is not None:
            width = len(self.classes_) if len(self.classes_) > 2 else None
            return on_chunks(self, "decision_function", X, width, float)
        return self._outputs(X)

    def predict(self, X: Any) -> Array:
        """The class of each row."""
        if source_of(X) is not None:
            return on_chunks(self, "predict", X, None, self.classes_.dtype)
        decision = self.decision_function(X)
        return self.classes_[predicted_codes(decision)]

    def predict_proba(self, X: Any) -> Array:
        """Probability of each class, calibrated on held-out decision values."""
        if source_of(X) is not None:
            return on_chunks(self, "predict_proba", X, len(self.classes_), float)
        decision = self.decision_function(X)
        return self.calibration_.probabilities(decision)
