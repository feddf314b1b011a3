"""Classification: learn a kernel, train a machine on it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.model_selection import check_cv
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from kernalign._fitted import publish
from kernalign._typing import Array, IntArray
from kernalign._validation import is_integer
from kernalign._warnings import SelectionWarning, find_stack_level
from kernalign.estimators.base import shows_progress
from kernalign.estimators.folds import Split, class_folds, group_folds, splits_of_used_rows
from kernalign.estimators.linear import EXACT_ROWS
from kernalign.estimators.losses import CLASSES, predicted_codes
from kernalign.estimators.problem import Problem
from kernalign.estimators.searched import searched_attributes
from kernalign.estimators.sets import PredictsSets, set_scores
from kernalign.gram.labels import class_target
from kernalign.machines import Precomputed, RidgeClassifier, SupportVectorClassifier
from kernalign.machines.base import Machine
from kernalign.machines.calibration import TemperatureCalibration
from kernalign.rows import as_rows
from kernalign.rows.input import labelled_rows, of_rows
from kernalign.rows.table import kernel_features
from kernalign.tables import class_labels, group_codes
from kernalign.tables.problems import listed

#: What is trained where the user names no machine; of the two the one that predicts better.
MACHINES: list[Machine] = [SupportVectorClassifier(), RidgeClassifier()]


class KernelClassifier(ClassifierMixin, PredictsSets):
    """A classifier that learns its kernel from the data.

    The default fit searches families of kernels by the evidence of a Gaussian process
    (`KernelSearch`) and trains a ridge machine on labels -1/+1 at the noise that the search finds.
    It chooses nothing by cross-validation, and it does not depend on the units of the columns.

    Parameters
    ----------
    learner : Learner or list of Learners from the simplest to the most complex
        How the kernel is learned; `KernelSearch()` by default. From a list, cross-validation
        selects the simplest learner whose loss is within one standard error of the best. The loss
        is the Brier score of calibrated probabilities.
    machine : estimator with kernel="precomputed", optional
        What is trained on the learned kernel, with its `C` (or 1/`alpha`) chosen as `C` says. By
        default it is the ridge machine of the default fit if the learner is a `KernelSearch`, the
        machine of the learner if that trains one (one-stage learners), and otherwise a soft-margin
        SVM or a ridge classifier, whichever predicts better in cross-validation.
    C : "cv", float or sequence of floats
        Weight of the loss. In the default fit, "cv" takes 1/noise: the search finds the noise, and
        leave-one-out predictions correct it. In other fits, "cv" chooses from 10^{-5, -4.5, ..., 5}
        by cross-validation. A sequence is always chosen from by cross-validation. A number is
        taken as it is.
    cv : int or cross-validation splitter
        Folds for `cv_error_` and, outside the default fit, for the choice of C and for the
        calibration of probabilities. A number of folds holds for all classes: a class with fewer
        rows is held out in as many folds as it has rows, and a single row is in every training
        set. The default fit uses only as many of these folds as hold out 1000 rows together.
    nested : bool
        Learn the kernel again inside each fold, so that `cv_error_` and the choice of C do not use
        a kernel that has seen the held-out rows. The default fit searches with `effort="quick"`
        there. (One-stage learners always learn again. A penalty that the learner chose on its own
        held-out rows stays.)
    solver : {"auto", "exact", "nystroem", "fourier", "cg"}
        How the machine is solved; `solver_` is the solver that was used. "exact" trains the machine
        on the Gram matrix. The others train least squares on labels -1/+1 in O(n): "nystroem" on
        features of landmarks, "fourier" on random features (exact ones for Fourier and Linear
        kernels), "cg" on all rows by preconditioned conjugate gradients. On features, a squared
        hinge loss is also tried, and used if held-out rows prefer it. It is tried if the features
        of all rows, in single precision, fit in scikit-learn's `working_memory` (about 50,000 rows
        by default), and not on Dask arrays. These solvers learn the kernel on a sample of the rows
        (`Sampled`) if there are many. Beyond 2000 rows, if `cv` is a number, they choose C on one
        hold-out set outside that sample. "auto" is "exact" up to 5000 rows in the default fit, up
        to 2000 rows with other learners, and for any number of rows if a machine is given.
        Otherwise it is "nystroem", or "fourier" if these features are exact. The default fit then
        trains its ridge machine on landmarks by preconditioned conjugate gradients, and takes
        `cv_error_` from one hold-out set.
    n_components : int or None
        Features, or landmarks, of the solvers that have them. 3000 by default, and more between
        30,000 and 250,000 rows, up to 6000. In the default fit one for each two rows, at least 2500
        and at most 4000. For fewer than 300 rows, "fourier" takes ten for each row, and 200
        at least.
    class_weight : dict, "balanced" or None
        Weights of the classes, for the alignment, for the machine and for the losses that decide
        between kernels and values of C; not for `cv_error_`.
    categorical_features : {"from_dtype"}, list of names or positions, boolean mask or None
        Which columns of a table hold categories. With "from_dtype", these are the columns of a
        categorical dtype, and text of which at least half of the cells hold a value that another
        row holds too. With a list or a mask, exactly the columns in it.
    kinds : dictionary of names or positions, optional
        The kind of single columns, before all other rules: "numeric", "categorical", "ordered" (in
        the order of its dtype), "datetime", "drop", or the list of the levels of an ordered column
        from the lowest to the highest.
    verbose : int
        1 shows the progress of the fit on standard error: the number of steps, and the time left.
        In the default fit this time is estimated before it begins.

    Attributes
    ----------
    model_ : Model
        What predicts: `model_.outputs(X)` are decision values. It keeps the training rows that it
        needs (`model_.rows`, at positions `model_.index`), landmarks, or frequencies; `model_.kept`
        says which, and `model_.n_rows` from how many rows it was learned.
    learner_ : Learner
        The fitted learner. A `KernelSearch` also has `noise_`, `units_` and `rows_`.
    kernel_ : LearnedKernel
        The learned kernel; `alignment_` is its alignment, `history_` the steps of the search.
    C_ : float
        The C in use; 1/noise in the default fit.
    cv_results_ : dict of arrays
        Values of `C` with their `error` and the `loss` (Brier score) by which one was chosen, for
        the chosen kernel and machine; infinite where a value was not tried. After a default fit it
        holds `C_` and `cv_error_` only, as there was no choice.
    path_ : list of dict
        The kernels and machines that were compared by cross-validation, the simplest first:
        learner, machine, alignment on the training rows and on held-out rows, number of rows,
        cross-validated error at the best C, whether it was chosen. After a default fit it has one
        record; `history_` has the kernels that the search compared. If a sample of many rows
        selected the kernel, its records come first, then those of the machines.
    cv_error_, cv_error_std_ : float
        Error of the whole procedure on rows that it has not seen, and its standard error. In the
        default fit, each fold searches its own kernel on its training rows. In other fits, the rows
        of a fold are judged in parts, each by the choice that the other parts of the fold would
        have made: no row has a say in the choice that judges it, and none trained a machine that
        takes part in it. A choice by fewer rows is a little worse than the one that is made, so
        that the error is rather too large than too small. Rows count by `sample_weight`.
    cv_error_interval_ : (float, float)
        Holds the error of the fitted model on new rows with a confidence of 95 %.
    cv_error_unknown_ : str
        Why `cv_error_` or its interval is NaN: `nested=False`, folds of a single row, too few rows,
        or fewer than two classes with rows to hold out. Empty if they are known.
    scores_ : Scores
        Of held-out rows; what `predict_set` works with.
    classes_ : array
        In order, of the type that y has as an array.
    n_features_in_, feature_names_in_ : what `fit` saw.
    columns_ : Columns
        Of a table: what was decided about each column, and the features that it becomes.

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
        categorical_features: Any = "from_dtype",
        kinds: Any = None,
        verbose: int = 0,
    ):
        self.learner = learner
        self.machine = machine
        self.C = C
        self.cv = cv
        self.nested = nested
        self.solver = solver
        self.n_components = n_components
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.kinds = kinds
        self.verbose = verbose

    @shows_progress
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn the kernel, choose C, train the machine.

        Parameters
        ----------
        X : (n, d) array or data frame, also of Dask
        y : (n,) list, array or series of labels
            Text, numbers, booleans or categories. Rows without a label are named in the error.
        sample_weight : (n,) array, optional
            An integer weight counts as that many equal rows.
        groups : (n,) list, array or series, optional
            Rows that belong together, such as those of one patient: no fold divides a group. A
            number of folds is then of `StratifiedGroupKFold`; a splitter is given the groups. They
            hold for `cv_error_`, the choice of C and the calibration of probabilities. The search
            of the default fit does not use them.
        """
        X, y, weight, columns = labelled_rows(self, X, y, sample_weight, class_labels)
        check_classification_targets(y)
        X, used = self._placed(X), weight > 0
        classes = _classes(y[used])
        machines: list[Machine] = []
        if self.machine is not None:
            machines = [Precomputed(self.machine, "KernelClassifier", classes=True)]
        together = None if groups is None else group_codes(groups, len(y))
        folds = self._folds(X, y, used, classes, together)
        names = kernel_features(columns)
        problem = self._problem(as_rows(X).subset(used), y[used], weight[used], classes, names)
        problem = problem if together is None else replace(problem, groups=together[used])
        fitted, judged, left_out, held_out = self._fitted(problem, machines, folds)
        calibration = TemperatureCalibration().fit(left_out, judged.y, judged.target.weight)
        fitted["scores_"] = set_scores(
            held_out, problem.y, problem.weight, calibration, nested=self.nested
        )
        fitted["model_"] = fitted["model_"].renumbered(np.flatnonzero(used))
        publish(self, classes_=classes, calibration_=calibration, **columns, **fitted)
        return self

    def _fitted(
        self, problem: Problem, machines: list[Machine], folds: Sequence[Split] | None
    ) -> tuple[dict[str, Any], Problem, Array, list[tuple[IntArray, Array]]]:
        """Fitted attributes; rows, with outputs that have not seen them where there are such, to
        calibrate on; and rows that folds held out, by position, with the outputs for them."""
        found = None if machines else self._search(problem, folds)
        if found is not None:

            def errors(index: IntArray, outputs: Array) -> Array:
                return (predicted_codes(outputs) != problem.y[index]).astype(float)

            row_errors = found.errors(errors, problem.weight, problem.groups, shares=True)
            fitted = searched_attributes(found, row_errors, nested=self.nested)
            held_out = [(part.index, part.outputs) for part in found.held_out]
            if problem.groups is not None and found.held_out:
                # A row that is left out has others of its group to tell its class.
                left_out = found.outputs_of_folds()
            else:
                left_out = found.left_out.copy()
                left_out[~_not_alone(problem.target.codes)] = np.nan
            return fitted, problem, left_out, held_out
        fitted, chosen = self._learn(problem, machines, MACHINES, folds, CLASSES)
        if chosen.places:
            known = np.isfinite(chosen.held_out.reshape(len(problem), -1)).all(axis=1)
            held_out = [(np.flatnonzero(known), chosen.held_out[known])] if known.any() else []
            return fitted, problem, chosen.held_out, held_out
        judged = problem.near(EXACT_ROWS)
        return fitted, judged, fitted["model_"].outputs(judged.X), []

    def _problem(self, X: Any, y: Any, weight: Array, classes: Any, names: Any) -> Problem:
        codes = np.searchsorted(classes, y)
        of_classes = self._class_weights(y, codes, classes)
        target = class_target(codes, len(classes), weight * of_classes)
        return Problem(X, codes, target, weight, names)

    def _class_weights(self, y: Array, codes: Array, classes: Any) -> Array:
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
        return compute_class_weight(given, classes=classes, y=y)[codes]

    def _folds(
        self, X: Array, y: Array, used: Any, classes: Any, groups: Any
    ) -> list[Split] | None:
        """Splits of the used rows; None where fewer than two classes have rows to hold out."""
        codes = np.searchsorted(classes, y[used])
        if is_integer(self.cv):
            if groups is not None:
                return group_folds(groups[used], int(self.cv), codes)
            folds = class_folds(codes, int(self.cv))
            _warn_of_single_rows(classes[np.bincount(codes) == 1].tolist(), folds is None)
            return folds
        splitter = check_cv(self.cv, y, classifier=True)
        splits = splits_of_used_rows(splitter.split(X, y, groups), used)
        for train, test in splits:
            if len(np.unique(codes[train])) < 2 or not len(test):
                what = "test rows" if not len(test) else "two classes to train on"
                raise ValueError(
                    "The 'cv' parameter of KernelClassifier must leave rows of two classes to "
                    f"train on, and rows to test, in every split. Got a split without {what}."
                )
        return splits

    def decision_function(self, X: Any) -> Array:
        """Decision values: (n,) for two classes, positive for the second; (n, classes) for more."""
        check_is_fitted(self)
        width = len(self.classes_) if len(self.classes_) > 2 else None
        return of_rows(self, X, self.model_.outputs, width)

    def predict(self, X: Any) -> Array:
        """The class of each row."""
        check_is_fitted(self)
        classes, outputs = self.classes_, self.model_.outputs
        return of_rows(
            self, X, lambda rows: classes[predicted_codes(outputs(rows))], dtype=classes.dtype
        )

    def predict_proba(self, X: Any) -> Array:
        """Probability of each class, calibrated on decision values of held-out rows.

        In the default fit these are leave-one-out values of at most 2000 rows, or, beyond 5000
        rows, values of a hold-out set.
        """
        check_is_fitted(self)
        probabilities, outputs = self.calibration_.probabilities, self.model_.outputs
        return of_rows(self, X, lambda rows: probabilities(outputs(rows)), len(self.classes_))


def _warn_of_single_rows(labels: list[Any], alone: bool) -> None:
    """Say which classes no row can be held out of; alone : at most one class has more."""
    if not labels:
        return
    shown = listed([repr(label) for label in labels])
    each = "" if len(labels) == 1 else " each"
    warnings.warn(
        f"{'Class' if len(labels) == 1 else 'Classes'} {shown} {'has' if not each else 'have'} a "
        f"single row{each}, "
        + (
            "and at most one class has more: C cannot be chosen by cross-validation and is the "
            "value nearest to 1."
            if alone
            else "which every fold trains on: held-out rows of the other classes choose C and give "
            "cv_error_."
        ),
        SelectionWarning,
        stacklevel=find_stack_level(),
    )


def _not_alone(codes: IntArray) -> Any:
    """Rows of classes with others, if there are two such classes; else all rows.

    No machine that has not seen the only row of a class knows that class.
    """
    several = np.bincount(codes) > 1
    return several[codes] if several.sum() > 1 else np.ones(len(codes), dtype=bool)


def _classes(y: Any) -> Any:
    """The classes, of which there must be two."""
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(
            "KernelClassifier needs at least two classes in y. Got one class: "
            f"{classes.tolist()[0]!r}."
        )
    return classes
