"""Regression: learn a kernel, train a machine on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from kernalign._documented import includes_parameters
from kernalign._fitted import publish
from kernalign._typing import Array, IntArray
from kernalign._validation import check_choice, is_integer
from kernalign.estimators.base import shows_progress
from kernalign.estimators.error import RowErrors
from kernalign.estimators.folds import Split, group_folds, number_folds, splits_of_used_rows
from kernalign.estimators.intervals import (
    PredictsIntervals,
    searched_certainty,
    selected_certainty,
)
from kernalign.estimators.losses import numbers_loss, squared
from kernalign.estimators.problem import Problem, positive
from kernalign.estimators.response import (
    Response,
    Responses,
    choose_response,
    responses_of,
)
from kernalign.estimators.searched import searched_attributes
from kernalign.gram import Target
from kernalign.learners import KernelSearch
from kernalign.machines import Precomputed, RidgeRegressor, SupportVectorRegressor
from kernalign.machines.base import Machine
from kernalign.rows import as_rows, kept, mapped, summed, taken
from kernalign.rows.input import labelled_rows, of_rows
from kernalign.rows.table import kernel_features
from kernalign.tables import group_codes, responses, warn_of_column

#: Machines by name. Cross-validation selects one; epsilon is in units of the response's spread.
MACHINES: dict[str, list[Machine]] = {
    "ridge": [RidgeRegressor()],
    "svr": [SupportVectorRegressor(epsilon) for epsilon in (0.1, 0.03, 0.3)],
}


@includes_parameters
class KernelRegressor(RegressorMixin, PredictsIntervals):
    """A regressor that learns its kernel from the data.

    The default fit searches families of kernels by the evidence of a Gaussian process
    (`KernelSearch`) and trains kernel ridge regression at the noise of largest evidence. It chooses
    nothing by cross-validation, and it does not depend on the units of the columns. The response
    is transformed by a square root, a logarithm or an inverse hyperbolic sine if that raises the
    evidence; predictions are means on the original scale of y.

    Parameters
    ----------
    learner : Learner or list of Learners from the simplest to the most complex
        How the kernel is learned; `KernelSearch()` by default. As in `KernelClassifier`, with
        squared errors as the loss.
    machine : {"ridge", "svr"} or estimator with kernel="precomputed", optional
        "ridge" is kernel ridge regression. "svr" is support vector regression with epsilon 0.03,
        0.1 or 0.3 of the response's spread, selected by cross-validation. The `C` (or 1/`alpha`) of
        each machine is chosen as described under `C`. By default it is the machine of the default
        fit if the learner is a `KernelSearch`, the learner's own machine for one-stage learners,
        and otherwise "ridge".
    C : "cv", float or sequence of floats
        Weight of the loss; 1/alpha for ridge regression. In the default fit, "cv" sets C to 1/noise
        at the noise of largest evidence; above 5000 rows, of the smallest error of held-out rows,
        or more noise if the machine needs it. Otherwise as in `KernelClassifier`.
    cv : int or cross-validation splitter
        Folds for `cv_error_` and, outside the default fit, for the selection of C. If it is an int,
        the default fit evaluates only as many folds as are needed to hold out 1000 rows.
    nested : bool
        Learn the kernel again inside each fold. As in `KernelClassifier`.
    solver : {"auto", "exact", "nystroem", "fourier", "cg"}
        How the machine is solved; `solver_` is the solver that was used. "exact" trains the machine
        on the Gram matrix. The others fit least squares in O(n): "nystroem" on Nystroem features,
        "fourier" on random Fourier features (exact ones for Fourier and Linear kernels), "cg" on
        all rows by preconditioned conjugate gradients. They learn the kernel on a sample of the
        rows (`Sampled`) if there are many. Above 2000 rows, if `cv` is an int, they select C on one
        hold-out set outside that sample. "auto" is "exact" up to 5000 rows in the default fit, up
        to 2000 rows with other learners, and for any number of rows if a machine other than "ridge"
        is given. Otherwise it is "nystroem", or "fourier" if these features are exact. Above 5000
        rows, the default fit trains its machine by preconditioned conjugate gradients, on all
        rows up to 12,000 to 17,000 ("cg") and on landmarks above ("nystroem"), and estimates
        `cv_error_` on one hold-out set.
    n_components : int or None
        Number of features or landmarks, for the solvers that use them. The default is 3000; between
        30,000 and 250,000 rows it grows to at most 6000. In the default fit all rows are landmarks
        up to 12,000 to 17,000 rows. Above, or if the hold-out set prefers it, there are half as
        many as rows, between 2500 and 4000, and up to 16,000 if more of them lower the error of the
        hold-out set. More than 4000 are solved in blocks. For fewer than 300 rows,
        "fourier" uses ten features per row, at least 200.
    {categorical_features}
    {kinds}
    {verbose}

    Attributes
    ----------
    model_, learner_, kernel_, alignment_, history_, C_, cv_results_, path_, n_features_in_, \
feature_names_in_ :
        As in `KernelClassifier`; errors are mean squared errors. The machine, and the objectives in
        `history_`, use the response on the scale of `response_`: centred, in units of its standard
        deviation.
    response_ : Response
        The scale on which the response is predicted. `response_.curve` is "identity", "root", "log"
        or "asinh"; always "identity" if `machine` or a learner other than `KernelSearch` is given.
        For several responses it is a `Responses`, whose `columns` hold one scale per response.
    certainty_ : Certainty
        The Gaussian process and the residuals of held-out rows, which
        `predict(X, return_std=True)`, `predict_interval` and `predict_quantiles` use.
    held_out_ : HeldOutRows
        The rows that folds held out: `index`, `fold`, `outputs`, `y` and `errors` of each. Outputs,
        and the `deviations` beside them, are on the scale of `response_`.
    cv_error_, cv_error_std_, cv_error_interval_, cv_error_unknown_ :
        As in `KernelClassifier`, in squared units of y. The curve of the response is chosen once,
        from a sample of all rows. For several responses the error is the mean of their squared
        errors, as in scikit-learn's `mean_squared_error`: a response of large numbers dominates.
    feature_importances_, feature_importances_interval_, stability_ :
        As in `KernelClassifier`; effects are on the scale of `response_`.
    columns_ : Columns
        For a table: the kind of each column, and the features that it is encoded as.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from kernalign import KernelRegressor
    >>> X, y = make_friedman1(200, random_state=0)
    >>> KernelRegressor().fit(X[:150], y[:150]).score(X[150:], y[150:]) > 0.8
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
        self.categorical_features = categorical_features
        self.kinds = kinds
        self.verbose = verbose

    @shows_progress
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn the kernel, select C and train the machine.

        Parameters
        ----------
        X : (n, d) array or data frame, also of Dask
        y : (n,) list, array or series of numbers, or (n, m) array or data frame of m responses
            Numbers written as text are converted. A missing number raises an error that names the
            row. Several responses share one kernel and one C; each has its own scale.
        sample_weight : (n,) array, optional
            Whole numbers of which the smallest is 1 are numbers of equal rows. In the default fit,
            only the ratios of other weights count. If C is given, a row of weight w has the cost
            C w.
        groups : (n,) list, array or series, optional
            Group of each row. No fold divides a group. If `cv` is an int, the folds are those of
            `GroupKFold`; a splitter receives the groups. As in `KernelClassifier`.
        """
        names: list[str] = []
        read = partial(_read, names, self._takes_several())
        X, y, weight, columns = labelled_rows(
            self, X, y, sample_weight, read, stay="biuf", y_numeric=True, multi_output=True
        )
        X, y, weight = self._placed(X, y, weight, groups)
        used = mapped(positive, weight)
        together = None if groups is None else group_codes(groups, len(y))
        folds = self._folds(X, y, used, together)
        together = None if together is None else together[used]
        y, weight = kept(y, used), kept(weight, used)
        machines = self._machines(y)
        rows, features = as_rows(X).subset(used), kernel_features(columns)
        choose = None
        if isinstance(self._checked_learners()[0], KernelSearch) and not machines:
            choose = partial(choose_response, rows, weight=weight, feature_names=features)
        response = responses_of(y, weight, tuple(names), choose)
        # The machine is given a response of unit spread, so that C and epsilon have one meaning.
        scaled = mapped(response.forward, y)
        target = Target(mapped(_as_columns, scaled), weight)
        problem = Problem(rows, scaled, target, weight, features, together)
        found = None if machines else self._search(problem, folds)
        if found is not None:
            # Leaving out a single row would keep the rest of its group, which reveals its response.
            judged = found.left_out if together is None else found.outputs_of_folds()
            response = response.smeared(taken(scaled, judged.index) - judged.outputs)

            def errors(index: IntArray, outputs: Array) -> Array:
                return squared_errors(response.back(outputs), taken(y, index))

            row_errors = found.errors(errors, weight, together, shares=False)
            fitted = searched_attributes(found, row_errors, y, nested=self.nested)
            fitted["certainty_"] = searched_certainty(found, scaled, weight, nested=self.nested)
        else:
            fitted, response = self._selected(problem, machines, folds, response, y)
        for name in ("model_", "held_out_"):
            fitted[name] = fitted[name].renumbered(kept(as_rows(X).positions(), used))
        publish(self, response_=response, **columns, **fitted)
        return self

    def _selected(
        self,
        problem: Problem,
        machines: list[Machine],
        folds: Sequence[Split] | None,
        response: Response | Responses,
        y: Array,
    ) -> tuple[dict[str, Any], Response | Responses]:
        """Fitted attributes with C selected on held-out rows, and the inverse of the response."""
        largest = np.max(response.scale)
        with np.errstate(over="ignore"):
            unit = float(np.float64(largest) ** 2)
        loss = numbers_loss((response.scale / largest) ** 2)
        fitted, chosen = self._learn(problem, machines, MACHINES["ridge"], folds, loss, unit)
        held_out = fitted["held_out_"]
        fitted["held_out_"] = replace(held_out, y=taken(y, held_out.index))
        known = chosen.held_out.known
        if not response.identity and len(known):
            at, outputs = known.index, known.outputs
            response = response.smeared(taken(problem.y, at) - outputs)
            errors = squared_errors(response.back(outputs), taken(y, at))
            if self.nested:
                alone = at if problem.groups is None else problem.groups[at]
                weight = taken(problem.weight, at)
                row_errors = RowErrors(errors, weight, alone, shares=False, rows=at)
                fitted |= row_errors.estimate().attributes()
                if len(held_out):
                    labels = taken(y, held_out.index)
                    own = squared_errors(response.back(held_out.outputs), labels)
                    fitted["held_out_"] = replace(fitted["held_out_"], errors=own)
        fitted["certainty_"] = selected_certainty(
            fitted, chosen.held_out, problem, nested=self.nested
        )
        return fitted, response

    def _machines(self, y: Array) -> list[Machine]:
        if self.machine is None:
            return []
        if isinstance(self.machine, str):
            check_choice(self, "machine", tuple(MACHINES))
            machines = MACHINES[self.machine]
        else:
            machines = [Precomputed(self.machine, "KernelRegressor", "'ridge', 'svr' or ")]
        if y.ndim == 2 and not self._takes_several():
            raise ValueError(
                "The 'machine' parameter of KernelRegressor must be None, 'ridge' or an estimator "
                f"of several responses, such as KernelRidge(kernel='precomputed'), because y has "
                f"{y.shape[1]} columns. Got {self.machine!r} instead."
            )
        return machines

    def _takes_several(self) -> bool:
        """Whether the machine supports several responses."""
        if self.machine is None or isinstance(self.machine, str):
            return self.machine != "svr"
        if not isinstance(self.machine, BaseEstimator):
            # Another check refuses an object that is not a machine.
            return True
        return bool(get_tags(self.machine).target_tags.multi_output)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._takes_several()
        return tags

    def _folds(self, X: Array, y: Array, used: Any, groups: Any) -> list[Split] | None:
        if is_integer(self.cv) and groups is not None:
            return group_folds(groups[used], int(self.cv))
        if is_integer(self.cv):
            rows = int(summed(np.count_nonzero, used))
            if rows < 2:
                raise ValueError(f"KernelRegressor needs at least two rows. Got {rows}.")
            if not as_rows(X).in_memory:
                # One hold-out set replaces the folds.
                return []
            return number_folds(rows, int(self.cv))
        splits = splits_of_used_rows(check_cv(self.cv, y).split(X, y, groups), used)
        if not all(len(train) and len(test) for train, test in splits):
            raise ValueError(
                "The 'cv' parameter of KernelRegressor must leave rows of positive weight in both "
                "parts of every split. Got a split with an empty part."
            )
        return splits

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The response of each row: (n,), or (n, m) for m responses.

        Parameters
        ----------
        X : rows
        return_std : bool
            Also return the standard deviation of a new response at each row, including the noise,
            as predicted by the Gaussian process with the learned kernel and noise.

        Returns
        -------
        array of shape (n,) or (n, m), or two of shape (n,)
        """
        check_is_fitted(self)
        if return_std:
            return self._with_deviations(X)
        outputs, back = self.model_.outputs, self.response_.back
        width = len(self.response_) if isinstance(self.response_, Responses) else None
        return of_rows(self, X, lambda rows: back(outputs(rows)), width)


def _read(names: list[str], several: bool, y: Any) -> Array:
    """The responses as numbers; `names` becomes the names of the response columns.

    several : whether the machine supports several responses.
    """
    values, names[:] = responses(y)
    if values.ndim == 1 and not several:
        warn_of_column(y)
    return values


def _as_columns(values: Array) -> Array:
    return values.reshape(len(values), -1)


def squared_errors(found: Array, y: Array) -> Array:
    """Squared error of each row, averaged over responses; infinite if it overflows."""
    with np.errstate(over="ignore"):
        return squared(y, found)
