"""Classification: learn a kernel, train a machine on it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from kernalign._documented import includes_parameters
from kernalign._fitted import publish
from kernalign._typing import Array, IntArray
from kernalign._validation import is_integer
from kernalign._warnings import SelectionWarning, find_stack_level
from kernalign.estimators.base import shows_progress
from kernalign.estimators.classes import class_counts, classes_of, codes_of, with_class_weights
from kernalign.estimators.folds import Split, class_folds, group_folds, splits_of_used_rows
from kernalign.estimators.left_out import LeftOut
from kernalign.estimators.linear import EXACT_ROWS
from kernalign.estimators.losses import CLASSES, predicted_codes
from kernalign.estimators.problem import Problem, positive
from kernalign.estimators.searched import searched_attributes
from kernalign.estimators.sets import PredictsSets, set_scores
from kernalign.gram.labels import class_target
from kernalign.machines import Precomputed, RidgeClassifier, SupportVectorClassifier
from kernalign.machines.base import Machine
from kernalign.machines.calibration import TemperatureCalibration
from kernalign.rows import as_rows, kept, mapped, taken
from kernalign.rows.input import labelled_rows, of_rows
from kernalign.rows.table import kernel_features
from kernalign.tables import class_labels, group_codes
from kernalign.tables.problems import listed

#: Machines used if the user gives none; cross-validation selects one of them.
MACHINES: list[Machine] = [SupportVectorClassifier(), RidgeClassifier()]


@includes_parameters
class KernelClassifier(ClassifierMixin, PredictsSets):
    """A classifier that learns its kernel from the data.

    The default fit searches families of kernels by the evidence of a Gaussian process
    (`KernelSearch`) and trains a ridge machine on labels -1/+1 at the noise that the search finds.
    It chooses nothing by cross-validation, and it does not depend on the units of the columns.
    Above 5000 rows, the machine is logistic regression if it has the better probabilities on a
    hold-out set.

    Parameters
    ----------
    learner : Learner or list of Learners from the simplest to the most complex
        How the kernel is learned; `KernelSearch()` by default. From a list, cross-validation
        selects the simplest learner whose loss is within one standard error of the best. The loss
        is the Brier score of calibrated probabilities.
    machine : estimator with kernel="precomputed", optional
        The estimator that is trained on the learned kernel. Its `C` (or 1/`alpha`) is chosen as
        described under `C`. By default it is the ridge machine of the default fit if the learner is
        a `KernelSearch`, the learner's own machine for one-stage learners, and otherwise a
        soft-margin SVM or a ridge classifier, whichever has the lower loss in cross-validation.
    C : "cv", float or sequence of floats
        Weight of the loss; a smaller value regularises more. In the default fit, "cv" sets C to
        1/noise: the search finds the noise, and leave-one-out predictions correct it; above 5000
        rows, the hold-out set may, if it prefers logistic regression. In other
        fits, "cv" selects C from 10^{-5, -4.5, ..., 5} by cross-validation. A sequence gives the
        values to select from by cross-validation. A float is used as given.
    cv : int or cross-validation splitter
        Folds for `cv_error_` and, outside the default fit, for the selection of C and the
        calibration of probabilities. An int gives the number of stratified folds. A class with
        fewer rows than folds is held out in as many folds as it has rows; a class with a single row
        is in every training set. The default fit evaluates only as many of these folds as are
        needed to hold out 1000 rows.
    nested : bool
        Learn the kernel again inside each fold, so that `cv_error_` and the selection of C do not
        use a kernel that has seen the held-out rows. The default fit uses `effort="quick"` there.
        One-stage learners always learn again. A penalty that a learner selected on its own
        hold-out set is kept.
    solver : {"auto", "exact", "nystroem", "fourier", "cg"}
        How the machine is solved; `solver_` is the solver that was used. "exact" trains the machine
        on the Gram matrix. The others fit least squares to labels -1/+1 in O(n): "nystroem" on
        Nystroem features, "fourier" on random Fourier features (exact ones for Fourier and Linear
        kernels), "cg" on all rows by preconditioned conjugate gradients. With features, a squared
        hinge loss is also tried, and is used if it has the lower loss on held-out rows. It is tried
        only if the features of all rows, in single precision, fit in scikit-learn's
        `working_memory` (about 50,000 rows by default). These solvers learn the kernel on a sample
        of the rows (`Sampled`) if there are many. Above 2000 rows, if `cv` is an int, they select C
        on one hold-out set outside that sample. "auto" is "exact" up to 5000 rows in the default
        fit, up to 2000 rows with other learners, and for any number of rows if a machine is given.
        Otherwise it is "nystroem", or "fourier" if these features are exact. Above 5000 rows, the
        default fit trains its machine by preconditioned conjugate gradients, on all rows up
        to about 17,000 ("cg") and on landmarks above ("nystroem"), and estimates `cv_error_` on one
        hold-out set.
    n_components : int or None
        Number of features or landmarks, for the solvers that use them. The default is 3000; between
        30,000 and 250,000 rows it grows to at most 6000. In the default fit all rows are landmarks
        up to about 17,000 rows. Above, or if the hold-out set prefers it, there are half as
        many as rows, between 2500 and 4000, and up to 16,000 if more of them lower the error of the
        hold-out set. More than 4000 are solved in blocks. For fewer than 300 rows,
        "fourier" uses ten features per row, at least 200.
    class_weight : dict, "balanced" or None
        Weights of the classes. In the default fit they affect the machine only; the kernel and the
        noise are learned without them. In other fits they affect the alignment, the machine, and
        the losses that select the kernel and C. They do not affect `cv_error_`.
    {categorical_features}
    {kinds}
    {verbose}

    Attributes
    ----------
    model_ : Model
        The fitted model; `model_.outputs(X)` are decision values. It stores the training rows that
        it needs (`model_.rows`, at positions `model_.index`), landmarks, or frequencies.
        `model_.kept` says which, and `model_.n_rows` is the number of rows it was learned from.
    learner_ : Learner
        The fitted learner. A `KernelSearch` also has `noise_`, `units_` and `rows_`.
    kernel_ : LearnedKernel
        The learned kernel; `alignment_` is its alignment, `history_` the steps of the search.
    C_ : float
        The selected C; 1/noise in the default fit.
    cv_results_ : dict of arrays
        The values of `C`, with the `error` and the `loss` (Brier score) of each, for the selected
        kernel and machine; infinite for values that were not tried. After a default fit it contains
        `C_` only, with `cv_error_` as `error` and as `loss`, because C is not selected by
        cross-validation.
    path_ : list of dict
        The kernels and machines that were compared by cross-validation, the simplest first:
        learner, machine, alignment on the training rows and on held-out rows, number of rows,
        cross-validated error at the best C, and whether it was selected. After a default fit it has
        one record; `history_` lists the kernels that the search compared. If the kernel was
        selected on a sample of the rows, the records of the sample come first, then those of the
        machines.
    cv_error_, cv_error_std_ : float
        Estimated error of the whole procedure on new rows, and its standard error. In the default
        fit, each fold searches its own kernel on its training rows; a search that fails is repeated
        from the kernel of all rows. In other fits, the held-out rows of a fold are divided into
        parts, and each part is evaluated with the hyper-parameters that the other parts of the same
        fold select. No row therefore takes part in a selection that is evaluated on it. A selection
        on fewer rows is slightly worse than the final one, so the estimate tends to be too large
        rather than too small. Rows count by `sample_weight`.
    cv_error_interval_ : (float, float)
        95 % confidence interval for the error of the fitted model on new rows.
    cv_error_unknown_ : str
        Why `cv_error_` or its interval is NaN: `nested=False`, folds of a single row, too few rows,
        or fewer than two classes with rows to hold out. Empty if they are known.
    held_out_ : HeldOutRows
        The held-out rows of the folds: `index`, `fold`, `outputs`, `y` (codes) and `errors`.
    scores_ : Scores
        Conformal scores of held-out rows, which `predict_set` uses.
    feature_importances_ : array of shape (n_features_in_,)
        Share of each column of X in the effects of all columns on the outputs of the model. The
        effect of a column is the mean squared change of the output if the column is replaced by
        that of another row (Sobol's total effect). Computed on access.
    feature_importances_interval_ : array of shape (n_features_in_, 2)
        95 % confidence intervals, from the variance over the folds of the default fit, each of
        which learns its own kernel (grouped jackknife). Only available after such a fit.
    stability_ : Stability
        How similar the kernels of the folds are to `kernel_`: `came_back` and `alignment`.
    classes_ : array
        The sorted classes, with the dtype that y has as an array.
    n_features_in_, feature_names_in_ :
        Number and names of the columns seen in `fit`.
    columns_ : Columns
        For a table: the kind of each column, and the features that it is encoded as.

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
        """Learn the kernel, select C and train the machine.

        Parameters
        ----------
        X : (n, d) array or data frame, also of Dask
        y : (n,) list, array or series of labels
            Text, numbers, booleans or categories. A missing label raises an error that names the
            row.
        sample_weight : (n,) array, optional
            Whole numbers of which the smallest is 1 are numbers of equal rows. In the default fit,
            only the ratios of other weights count. If C is given, a row of weight w has the cost
            C w.
        groups : (n,) list, array or series, optional
            Group of each row, such as the patient. No fold divides a group. If `cv` is an int, the
            folds are those of `StratifiedGroupKFold`; a splitter receives the groups. Groups apply
            to `cv_error_`, the selection of C and the calibration of probabilities. The search of
            the default fit does not use them.
        """
        X, y, weight, columns = labelled_rows(
            self, X, y, sample_weight, class_labels, stay="biufUO"
        )
        X, y, weight = self._placed(X, y, weight, groups)
        used = mapped(positive, weight)
        classes = classes_of(kept(y, used))
        machines: list[Machine] = []
        if self.machine is not None:
            machines = [Precomputed(self.machine, "KernelClassifier", classes=True)]
        together = None if groups is None else group_codes(groups, len(y))
        folds = self._folds(X, y, used, classes, together)
        names = kernel_features(columns)
        rows = as_rows(X)
        some = rows.subset(used), kept(y, used), kept(weight, used)
        problem = self._problem(*some, classes, names)
        problem = problem if together is None else replace(problem, groups=together[used])
        fitted, judged, held_out = self._fitted(problem, machines, folds)
        calibration = TemperatureCalibration().fit(*judged)
        fitted["scores_"] = set_scores(
            held_out, problem.y, problem.weight, calibration, nested=self.nested
        )
        for name in ("model_", "held_out_"):
            fitted[name] = fitted[name].renumbered(kept(rows.positions(), used))
        publish(self, classes_=classes, calibration_=calibration, **columns, **fitted)
        return self

    def _fitted(
        self, problem: Problem, machines: list[Machine], folds: Sequence[Split] | None
    ) -> tuple[dict[str, Any], tuple[Array, Array, Array], list[tuple[IntArray, Array]]]:
        """Returns the fitted attributes; rows to calibrate on, as predictions that have not seen
        them, codes and weights; and the rows that folds held out, by position, with outputs."""
        found = None if machines else self._search(problem, folds)
        if found is not None:

            def errors(index: IntArray, outputs: Array) -> Array:
                wrong = predicted_codes(outputs) != taken(problem.y, index)
                return np.asarray(wrong, dtype=float)

            row_errors = found.errors(errors, problem.weight, problem.groups, shares=True)
            fitted = searched_attributes(found, row_errors, problem.y, nested=self.nested)
            held_out = [(part.index, part.outputs) for part in found.held_out]
            if problem.groups is not None and found.held_out:
                # Leaving out one row keeps the rest of its group, which reveals its class.
                left_out = found.outputs_of_folds()
            else:
                left_out = _not_alone(found.left_out, problem)
            return fitted, _to_calibrate(left_out, problem.relative(costs=True)), held_out
        fitted, chosen = self._learn(problem, machines, MACHINES, folds, CLASSES)
        if chosen.places:
            known = chosen.held_out.known
            held_out = [(known.index, known.outputs)] if len(known) else []
            return fitted, _to_calibrate(known, problem), held_out
        judged = problem.near(EXACT_ROWS)
        outputs = fitted["model_"].outputs(judged.X)
        return fitted, (outputs, judged.y, judged.target.weight), []

    def _problem(self, X: Any, y: Any, weight: Array, classes: Any, names: Any) -> Problem:
        codes = codes_of(y, classes)
        costs = with_class_weights(weight, codes, classes, self.class_weight)
        return Problem(X, codes, class_target(codes, len(classes), costs), weight, names)

    def _folds(
        self, X: Array, y: Array, used: Any, classes: Any, groups: Any
    ) -> list[Split] | None:
        """Splits of the used rows; None if fewer than two classes have rows to hold out.

        Empty for rows that are not in memory: one hold-out set replaces the folds.
        """
        codes = codes_of(kept(y, used), classes)
        if is_integer(self.cv):
            if groups is not None:
                return group_folds(groups[used], int(self.cv), codes)
            counts = class_counts(codes, len(classes))
            folds: list[Split] | None = [] if (counts > 1).sum() > 1 else None
            if as_rows(X).in_memory:
                folds = class_folds(codes, int(self.cv))
            _warn_of_single_rows(classes[counts == 1].tolist(), folds is None)
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

        The default fit calibrates on leave-one-out values of at most 2000 rows, or, above 5000
        rows, on a hold-out set.
        """
        check_is_fitted(self)
        probabilities, outputs = self.calibration_.probabilities, self.model_.outputs
        return of_rows(self, X, lambda rows: probabilities(outputs(rows)), len(self.classes_))


def _warn_of_single_rows(labels: list[Any], alone: bool) -> None:
    """Warn about classes with a single row; alone : at most one class has more than one row."""
    if not labels:
        return
    shown = listed([repr(label) for label in labels])
    each = "" if len(labels) == 1 else " each"
    warnings.warn(
        f"{'Class' if len(labels) == 1 else 'Classes'} {shown} {'has' if not each else 'have'} a "
        f"single row{each}, "
        + (
            "and at most one class has more: no rows can be held out, and cv_error_ is not known. "
            "The default fit takes C from the noise that it finds; other fits take the value of C "
            "nearest to 1."
            if alone
            else "which is in every training set: cv_error_ is estimated on held-out rows of the "
            "other classes, and so is C, unless the default fit takes it from the noise."
        ),
        SelectionWarning,
        stacklevel=find_stack_level(),
    )


def _not_alone(left_out: LeftOut, problem: Problem) -> LeftOut:
    """The rows of classes with at least two rows, if there are two such classes; otherwise all.

    A machine that has not seen the only row of a class cannot predict that class.
    """
    several = class_counts(problem.y, max(2, len(problem.target.mean))) > 1
    if several.sum() < 2:
        return left_out
    known = several[taken(problem.y, left_out.index)]
    return LeftOut(left_out.index[known], left_out.outputs[known])


def _to_calibrate(left_out: LeftOut, problem: Problem) -> tuple[Array, Array, Array]:
    """Outputs, codes and weights of these rows."""
    index = left_out.index
    return left_out.outputs, taken(problem.y, index), taken(problem.target.weight, index)
