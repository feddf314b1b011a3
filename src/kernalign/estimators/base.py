"""What the estimators share: parameters, the learned kernel, evaluation in blocks."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from kernalign._typing import Array
from kernalign._validation import check_choice, check_number, check_rows
from kernalign.estimators.linear import EXACT_ROWS, SOLVERS, LinearStages
from kernalign.estimators.machines import C_GRID, Machine, Precomputed, RidgeRegressor
from kernalign.estimators.stages import OneStage, Problem, Stages, Trained, TwoStages
from kernalign.kernels.learned import rows_within_budget
from kernalign.learners import ContinuousAlignment, Learner


class KernelEstimator(BaseEstimator):
    """Base of `KernelClassifier`, `KernelRegressor` and `KernelFeatures`."""

    def _checked_learner(self) -> Learner:
        learner = ContinuousAlignment() if self.learner is None else self.learner
        if not isinstance(learner, Learner):
            raise ValueError(
                f"The 'learner' parameter of {type(self).__name__} must be a kernel learner such "
                f"as ContinuousAlignment(). Got {learner!r} instead."
            )
        return learner

    def _keep(self, learner: Learner, X: Array) -> None:
        """Publish a fitted learner and the rows that its kernel is evaluated against."""
        self.learner_ = learner
        self.kernel_ = learner.kernel_
        self.alignment_ = learner.alignment_
        self.history_ = learner.history_
        self.X_fit_ = X

    def _rows(self, X: Any) -> Array:
        """Rows to predict, checked."""
        check_is_fitted(self)
        return check_rows(self, X)

    def _blocks(self, X: Array, columns: Any = None) -> Iterator[Array]:
        """k(X, X_fit) in blocks of rows; zero outside `columns`, if given."""
        n = len(self.X_fit_)
        rows_fit = self.X_fit_ if columns is None else self.X_fit_[columns]
        for rows in gen_batches(len(X), rows_within_budget(n)):
            if not len(rows_fit):
                # A machine without support vectors is a constant.
                yield np.zeros((len(X[rows]), n))
                continue
            K = self.kernel_(X[rows], rows_fit)
            if columns is not None:
                full = np.zeros((len(K), n))
                full[:, columns] = K
                K = full
            yield K


class KernelPredictor(KernelEstimator):
    """Base of the estimators that train a machine on the learned kernel."""

    def _stages(self, machine: Machine | None, default: Machine, problem: Problem) -> Stages:
        """The learner's own machine where it has one and the user asked for no other."""
        learner = self._checked_learner()
        solver = self._checked_solver(machine, learner, len(problem.X))
        if solver != "exact":
            return LinearStages(
                learner,
                problem,
                solver=solver,
                n_components=self.n_components,
                nested=self.nested,
                cv=self.cv,
                classes=is_classifier(self),
            )
        if machine is None and learner.one_stage:
            return OneStage(learner)
        return TwoStages(learner, machine or default, problem, self.nested)

    def _checked_solver(self, machine: Machine | None, learner: Learner, n: int) -> str:
        """The solver asked for; "auto" is exact for few rows, and for machines of their own."""
        check_choice(self, "solver", SOLVERS)
        wanted = self.n_components
        counted = isinstance(wanted, numbers.Integral) and not isinstance(wanted, bool)
        if wanted is not None and not (counted and wanted >= 1):
            raise ValueError(
                f"The 'n_components' parameter of {type(self).__name__} must be an int in "
                f"[1, inf) or None. Got {wanted!r} instead."
            )
        if self.solver == "exact":
            return "exact"
        own = not (machine is None or isinstance(machine, RidgeRegressor))
        if not own and not (machine is None and learner.one_stage):
            return "exact" if self.solver == "auto" and n <= EXACT_ROWS else str(self.solver)
        if self.solver == "auto":
            return "exact"
        what = f"machine={self.machine!r}" if own else f"learner={learner!r}, which trains its own"
        raise ValueError(
            f"solver={self.solver!r} of {type(self).__name__} trains least squares on the learned "
            f"kernel and takes no other machine. Got {what}: use solver='exact'."
        )

    def _values(self, machine: Machine | None) -> Array:
        """The values of C to choose from; a single one where there is no choice."""
        if isinstance(machine, Precomputed) and machine.parameter is None:
            return np.ones(1)
        if isinstance(self.C, str):
            check_choice(self, "C", ("cv",))
            return C_GRID
        if isinstance(self.C, numbers.Real):
            check_number(self, "C", 0)
            return np.array([float(self.C)])
        try:
            values = np.asarray(self.C, dtype=float)
        except (TypeError, ValueError):
            values = np.zeros(0)
        if values.ndim != 1 or not values.size or not ((values > 0) & np.isfinite(values)).all():
            raise ValueError(
                f"The 'C' parameter of {type(self).__name__} must be 'cv', a number in (0, inf) "
                f"or a sequence of such numbers. Got {self.C!r} instead."
            )
        return values

    def _publish(self, stages: Stages, trained: Trained, X: Array) -> None:
        self._keep(trained.learner, X if trained.rows is None else trained.rows)
        self.solver_ = stages.solver
        self.machine_ = trained.machine
        self.stages_ = stages

    def _outputs(self, X: Any) -> Array:
        """Outputs of the machine for each row."""
        return self._evaluated(self._rows(X))

    def _evaluated(self, rows: Array) -> Array:
        """`_outputs` for rows that are known to be valid."""
        direct = self.stages_.direct_outputs(self.machine_, rows)
        if direct is not None:
            return direct
        columns = getattr(self.machine_, "support_", None)
        parts = [self.stages_.outputs(self.machine_, K) for K in self._blocks(rows, columns)]
        return np.concatenate(parts)
