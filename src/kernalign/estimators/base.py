"""What the estimators share: parameters, the learned kernel, evaluation in blocks."""

from __future__ import annotations

import logging
import numbers
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from kernalign._typing import Array
from kernalign._validation import check_choice, check_number, check_rows
from kernalign._warnings import AlignmentWarning, find_stack_level
from kernalign.estimators.linear import EXACT_ROWS, SOLVERS, LinearStages, rows_held_out
from kernalign.estimators.losses import Loss
from kernalign.estimators.preselection import preselect
from kernalign.estimators.selection import Selection, Split, path_records, select
from kernalign.estimators.stages import OneStage, Problem, Stages, Trained, TwoStages
from kernalign.kernels.learned import rows_within_budget
from kernalign.learners import (
    ContinuousAlignment,
    ContinuousEvidence,
    Learner,
    ScreenedAlignment,
)
from kernalign.machines.dual import C_GRID, Machine, Precomputed, RidgeRegressor

logger = logging.getLogger("kernalign.estimators")

#: Strengths of the prior that features matter alike, for the kernels that the default tries: a
#: careful one, and a bold one for the many rows or few features that allow it.
CAREFUL, BOLD = 3.0, 0.3
#: Alignments part when the one in training exceeds the one held out by this factor, by this much,
#: and by this many standard deviations over folds.
PARTED, MUCH, SURE = 2.0, 0.2, 2.0


def default_learners(n_features: int) -> list[Learner]:
    """What is tried where the user names no learner, from the simplest to the most complex.

    One bandwidth for all features, by alignment; then one for each: from what each says by itself,
    and by evidence.
    """
    learners: list[Learner] = [ContinuousAlignment()]
    if n_features > 1:
        learners.append(ScreenedAlignment())
        learners += [ContinuousEvidence(prior=p) for p in (CAREFUL, BOLD)]
    return learners


class KernelEstimator(BaseEstimator):
    """Base of `KernelClassifier`, `KernelRegressor` and `KernelFeatures`."""

    def _checked_learner(self) -> Learner:
        """The learner, where there is one."""
        (learner,) = self._checked(
            [ContinuousAlignment() if self.learner is None else self.learner]
        )
        return learner

    def _checked(self, learners: Sequence[Any]) -> list[Learner]:
        for learner in learners:
            if not isinstance(learner, Learner):
                raise ValueError(
                    f"The 'learner' parameter of {type(self).__name__} must be a kernel learner "
                    f"such as ContinuousAlignment(){self._also_allowed}. Got {learner!r} instead."
                )
        return list(learners)

    #: What else the 'learner' parameter may be, for the error message.
    _also_allowed = ""

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

    _also_allowed = ", or a list of them from the simplest to the most complex"

    def _stages(
        self,
        machines: Sequence[Machine],
        default: Sequence[Machine],
        problem: Problem,
        values: Array,
        loss: Loss,
        folds: Sequence[Split] | None,
    ) -> Stages:
        """The learner's own machine where it has one and the user asked for no other."""
        learners = self._checked_learners(problem.X.shape[1])
        solver = self._checked_solver(machines, learners, len(problem.X))
        if solver != "exact":
            return self._linear_stages(learners, problem, solver, values, loss, folds)
        if len(learners) == 1 and not machines and learners[0].one_stage:
            return OneStage(learners[0])
        return TwoStages(learners, machines or default, problem, self.nested)

    def _linear_stages(
        self,
        learners: Sequence[Learner],
        problem: Problem,
        solver: str,
        values: Array,
        loss: Loss,
        folds: Sequence[Split] | None = None,
    ) -> LinearStages:
        """Stages for many rows; between several kernels a sample of them decides."""
        classes = is_classifier(self)
        tried = None
        if len(learners) > 1:
            free = rows_held_out(problem, self.cv)
            tried = preselect(learners, problem, values, loss, folds, classes, free)
        return LinearStages(
            learners[0 if tried is None else tried.number],
            problem,
            preselection=tried,
            solver=solver,
            n_components=self.n_components,
            nested=self.nested,
            cv=self.cv,
            classes=classes,
            loss=loss,
        )

    def _checked_learners(self, n_features: int) -> list[Learner]:
        if self.learner is None:
            return default_learners(n_features)
        if not isinstance(self.learner, list | tuple):
            return self._checked([self.learner])
        if not self.learner:
            raise ValueError(
                f"The 'learner' parameter of {type(self).__name__} must name at least one learner. "
                "Got an empty list."
            )
        learners = self._checked(self.learner)
        for learner in learners:
            if learner.one_stage and len(learners) > 1:
                raise ValueError(
                    f"The 'learner' parameter of {type(self).__name__} must list learners of "
                    f"kernels only: {type(learner).__name__} trains its own machine and cannot be "
                    "one of several."
                )
        return learners

    def _select(
        self,
        stages: Stages,
        problem: Problem,
        values: Array,
        folds: Sequence[Split] | None,
        loss: Loss,
        unit: float = 1.0,
    ) -> Selection | None:
        """Choose kernel, machine and C, if there is a choice and rows to choose by.

        unit : of the error, in which it is reported.
        """
        if folds is None:
            self._report_no_choice(stages, values, unit)
            return None
        chosen = select(stages, problem, values, folds, loss)
        self._report_choice(stages, chosen, unit)
        _warn_if_parted(
            getattr(stages.learner(chosen.candidate), "alignment_", np.nan),
            *chosen.alignments[chosen.candidate],
        )
        return chosen

    def _report_no_choice(self, stages: Stages, values: Array, unit: float) -> None:
        self.candidate_ = stages.candidates[0]
        self.C_ = float(values[np.argmin(np.abs(np.log(values)))])
        nothing = np.array([np.nan])
        self.cv_results_ = {"C": np.array([self.C_]), "error": nothing, "loss": nothing}
        self.path_ = self._sample_path(stages, unit)
        self.cv_error_ = self.cv_error_std_ = float("nan")

    def _report_choice(self, stages: Stages, chosen: Selection, unit: float) -> None:
        self.candidate_, self.C_ = chosen.candidate, chosen.C
        with np.errstate(over="ignore"):
            scale = np.float64(unit)
            self.cv_results_ = {
                "C": chosen.values,
                "error": chosen.errors[chosen.candidate] * scale,
                "loss": chosen.losses[chosen.candidate],
            }
            honest = chosen.honest
            if stages.preselection is not None and not stages.preselection.apart:
                # Rows that judge had a say in the choice between kernels.
                honest = stages.preselection.selection.honest
            self.cv_error_, self.cv_error_std_ = (float(v * scale) for v in honest)
        self.path_ = self._sample_path(stages, unit) + path_records(stages, chosen, unit)

    def _sample_path(self, stages: Stages, unit: float) -> list[dict[str, Any]]:
        tried = stages.preselection
        return [] if tried is None else path_records(tried.stages, tried.selection, unit)

    def _checked_solver(
        self, machines: Sequence[Machine], learners: Sequence[Learner], n: int
    ) -> str:
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
        own = any(not isinstance(machine, RidgeRegressor) for machine in machines)
        trains = not machines and learners[0].one_stage
        if not own and not trains:
            return "exact" if self.solver == "auto" and n <= EXACT_ROWS else str(self.solver)
        if self.solver == "auto":
            return "exact"
        trained = f"learner={learners[0]!r}, which trains its own"
        what = f"machine={self.machine!r}" if own else trained
        raise ValueError(
            f"solver={self.solver!r} of {type(self).__name__} trains a linear machine on the "
            f"learned kernel and takes no other machine. Got {what}: use solver='exact'."
        )

    def _values(self, machines: Sequence[Machine]) -> Array:
        """The values of C to choose from; a single one where there is no choice."""
        if any(isinstance(m, Precomputed) and m.parameter is None for m in machines):
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
        logger.info("%s: C = %g on %d rows", type(self).__name__, self.C_, len(X))
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
        parts = [
            self.stages_.outputs(self.candidate_, self.machine_, K)
            for K in self._blocks(rows, columns)
        ]
        return np.concatenate(parts)


def _warn_if_parted(train: float, held: float, deviation: float) -> None:
    """Say that the alignment with the training labels does not carry over to others."""
    if train > PARTED * held and train - max(held, 0.0) > max(MUCH, SURE * deviation):
        warnings.warn(
            f"The learned kernel aligns {train:.2f} with the labels it was learned from and "
            f"{held:.2f} with held-out ones: it fits their noise, or there is little else in them. "
            "Fewer parameters (one bandwidth, ard=False), a penalty, early_stopping=True or more "
            "rows may help.",
            AlignmentWarning,
            stacklevel=find_stack_level(),
        )
