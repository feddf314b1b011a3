"""Shared code of the estimators: parameters, and the steps from input rows to fitted attributes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Self, TypeVar, cast

import numpy as np

from kernalign._documented import Documented
from kernalign._progress import Progress, current, watched
from kernalign._typing import Array
from kernalign._validation import check_choice, check_count, check_positive_values, is_integer
from kernalign.estimators.display import ShowsWhatWasLearned
from kernalign.estimators.files import FitsFiles
from kernalign.estimators.importances import HasImportances
from kernalign.estimators.landmarked import fit_landmarked
from kernalign.estimators.linear import (
    EXACT_ROWS,
    SOLVERS,
    LinearStages,
    can_load,
    rows_held_out,
)
from kernalign.estimators.losses import Loss
from kernalign.estimators.outcome import (
    choice_attributes,
    kernel_attributes,
    warn_if_overfitted,
    without_choice,
)
from kernalign.estimators.preselection import FOLDS, Preselection, preselect
from kernalign.estimators.problem import Problem
from kernalign.estimators.searched import SOLVED_ROWS, Searched, enough_folds, fit_searched
from kernalign.estimators.selection import Selection, Split, select
from kernalign.estimators.stability import stability
from kernalign.estimators.stages import OneStage, Stages, TwoStages
from kernalign.learners import KernelSearch, Learner
from kernalign.machines.base import C_GRID, Machine
from kernalign.rows import as_rows, loaded

logger = logging.getLogger("kernalign.estimators")

#: Solvers that also work on rows that are not in memory.
REMOTE_SOLVERS = ("nystroem", "fourier")
#: Maximum number of landmarks for rows that are not in memory: their matrix needs 16 m^2 bytes.
REMOTE_LANDMARKS = 16_000


Fit = TypeVar("Fit", bound=Callable[..., Any])


def shows_progress(fit: Fit) -> Fit:
    """Decorate `fit` so that it shows its progress according to `verbose`."""

    @wraps(fit)
    def shown(self: KernelPredictor, *args: Any, **options: Any) -> Any:
        with watched(self._progress()):
            return fit(self, *args, **options)

    return cast(Fit, shown)


class KernelEstimator(ShowsWhatWasLearned, Documented):
    """Base of `KernelClassifier`, `KernelRegressor` and `KernelFeatures`."""

    #: Other allowed values of 'learner', for the error message.
    _also_allowed = ""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _checked(self, learners: Sequence[Any]) -> list[Learner]:
        for learner in learners:
            if not isinstance(learner, Learner):
                raise ValueError(
                    f"The 'learner' parameter of {type(self).__name__} must be a kernel learner "
                    f"such as ContinuousAlignment(){self._also_allowed}. Got {learner!r} instead."
                )
        return list(learners)


class KernelPredictor(HasImportances, FitsFiles, KernelEstimator):
    """Base of the estimators that train a machine on the learned kernel.

    A fit validates the rows, learns kernels, selects one of them with a machine and C, trains the
    machine on all rows, and sets the fitted attributes.
    """

    _also_allowed = ", or a list of them from the simplest to the most complex"

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; `learner__prior=1` also works if `learner` is the default."""
        learner = params.get("learner", self.learner)
        own = {name: value for name, value in params.items() if name.startswith("learner__")}
        if learner is None and own:
            values = {name.removeprefix("learner__"): value for name, value in own.items()}
            others = {name: value for name, value in params.items() if name not in own}
            params = {**others, "learner": KernelSearch().set_params(**values)}
        found: Self = super().set_params(**params)
        return found

    def _progress(self) -> Progress:
        """The progress of a fit, shown according to `verbose`."""
        if not is_integer(self.verbose) and not isinstance(self.verbose, bool):
            raise ValueError(
                f"The 'verbose' parameter of {type(self).__name__} must be an int or a bool. Got "
                f"{self.verbose!r} instead."
            )
        return Progress(type(self).__name__, shown=self.verbose > 0)

    def _placed(self, X: Any, y: Any, weight: Any, groups: Any) -> tuple[Any, Any, Any]:
        """(rows, y, weight) in memory, or unchanged if there are too many rows to load.

        The fit to loaded rows is that of rows in memory. No more than a sample of rows that are not
        loaded is searched for the kernel. With groups, labels and weights are loaded: folds by
        group need those of all rows.
        """
        check_choice(self, "nested", (True, False))
        check_choice(self, "solver", SOLVERS)
        check_count(self, "n_components", optional=True)
        rows = as_rows(X)
        if rows.in_memory:
            return X, y, weight
        if can_load(*rows.shape, self.solver, self.n_components):
            return rows.take(slice(None)), loaded(y), loaded(weight)
        wrong = None
        if self.solver not in ("auto", *REMOTE_SOLVERS):
            wrong = "solver", "'auto', 'nystroem' or 'fourier'"
        elif self.machine is not None and self.machine != "ridge":
            wrong = "machine", "None, because other machines need the Gram matrix of all rows"
        elif self.solver == "auto" and (self.n_components or 0) > REMOTE_LANDMARKS:
            wrong = "n_components", f"an int in [1, {REMOTE_LANDMARKS}]"
        elif not is_integer(self.cv) or self.cv < 2:
            wrong = "cv", "an int in [2, inf)"
        elif any(learner.one_stage for learner in self._checked_learners()):
            wrong = "learner", "a learner without a machine of its own, which would need all rows"
        if wrong:
            raise ValueError(
                f"The {wrong[0]!r} parameter of {type(self).__name__} must be {wrong[1]}, if the "
                f"rows are not in memory. Got {getattr(self, wrong[0])!r} instead."
            )
        return (X, y, weight) if groups is None else (X, loaded(y), loaded(weight))

    def _search(self, problem: Problem, folds: Sequence[Split] | None) -> Searched | None:
        """The default fit, or None if another one is needed: for a given machine, learner or
        sequence of C, and for solvers on features."""
        values = self._values([])
        given = None if isinstance(self.C, str) else float(values[0])
        (learner, *others) = self._checked_learners()
        solver = self._checked_solver([], [learner], problem)
        searches = isinstance(learner, KernelSearch) and not others and self.machine is None
        if not searches or solver in ("nystroem", "fourier", "cg"):
            return None
        if given is not None and values.size > 1:
            return None
        # A given C is the cost of errors in a row of weight one.
        problem = problem.relative(costs=given is None)
        n = len(problem)
        if problem.remote or (self.solver == "auto" and n > SOLVED_ROWS):
            if not is_integer(self.cv) or problem.groups is not None:
                return None
            return fit_landmarked(learner, problem, C=given, asked=self.n_components)
        if folds is not None and not folds:
            raise ValueError("The 'cv' parameter must yield at least one split. Got none.")
        if folds is not None and is_integer(self.cv):
            folds = enough_folds(folds)
        found = fit_searched(learner, problem, folds, C=given, nested=self.nested)
        logger.info("%s: C = %g on %d rows", type(self).__name__, found.C, len(problem))
        return found

    def _learn(
        self,
        problem: Problem,
        machines: Sequence[Machine],
        default: Sequence[Machine],
        folds: Sequence[Split] | None,
        loss: Loss,
        unit: float = 1.0,
    ) -> tuple[dict[str, Any], Selection]:
        """Learn, select and train: the fitted attributes, and the result of cross-validation.

        machines : given by the user; default : used if there are none.
        folds : None if no rows can be held out.
        unit : in which the error is reported.
        """
        values = self._values(machines)
        learners = self._checked_learners()
        solver = self._checked_solver(machines, learners, problem)
        sample: Preselection | None = None
        stages: Stages
        one_stage = len(learners) == 1 and not machines and learners[0].one_stage
        free = rows_held_out(problem, self.cv) if solver != "exact" else 0
        sampled = (len(learners) + FOLDS) * (solver != "exact" and len(learners) > 1)
        progress = current()
        kernels = 0 if one_stage else 1 if sampled else len(learners)
        tried = 1 if free else len(folds or ())
        progress.plan(sampled + kernels + tried + 1, f"{len(problem)} rows")
        if solver != "exact":
            if len(learners) > 1:
                sample = preselect(learners, problem, values, loss, folds, free)
                progress.reach(sampled)
            stages = LinearStages.learned(
                learners[0 if sample is None else sample.number],
                problem,
                solver=solver,
                n_components=self.n_components,
                nested=self.nested,
                free=free,
                apart=np.empty(0, dtype=np.intp) if sample is None else sample.rows,
                loss=loss,
            )
            progress.tick("kernel")
        elif one_stage:
            stages = OneStage(learners[0])
        else:
            stages = TwoStages.learned(learners, machines or default, problem, self.nested)
        splits = stages.splits(folds, problem)
        if splits is None:
            chosen = without_choice(stages, values)
        else:
            chosen = select(stages, problem, values, splits, loss)
            aligned = stages.alignment(chosen.candidate)
            warn_if_overfitted(aligned, *chosen.alignments[chosen.candidate])
        learner, model = stages.train(problem, chosen.candidate, chosen.C, chosen.known)
        progress.tick("machine")
        logger.info("%s: C = %g on %d rows", type(self).__name__, chosen.C, len(problem))
        kernel, n = learner.kernel_, len(problem)
        return {
            "model_": model,
            **kernel_attributes(learner),
            "stability_": stability(kernel, n, chosen.learned, problem.X),
            **choice_attributes(stages, chosen, sample, problem, unit, nested=self.nested),
            "solver_": stages.solver,
        }, chosen

    def _checked_learners(self) -> list[Learner]:
        if self.learner is None:
            return [KernelSearch()]
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
                    f"The 'learner' parameter of {type(self).__name__} must be a list of learners "
                    f"that learn only a kernel: {type(learner).__name__} trains its own machine "
                    "and cannot be one of several."
                )
        return learners

    def _checked_solver(
        self, machines: Sequence[Machine], learners: Sequence[Learner], problem: Problem
    ) -> str:
        """The solver to use; "auto" is exact for few rows and for machines given by the user."""
        check_choice(self, "solver", SOLVERS)
        check_count(self, "n_components", optional=True)
        if self.solver == "exact":
            return "exact"
        own = any(not machine.least_squares for machine in machines)
        trains = not machines and learners[0].one_stage
        if not own and not trains:
            few = len(problem) <= EXACT_ROWS
            return "exact" if self.solver == "auto" and few else str(self.solver)
        if self.solver == "auto":
            return "exact"
        trained = f"learner={learners[0]!r}, which trains its own"
        what = f"machine={self.machine!r}" if own else trained
        raise ValueError(
            f"solver={self.solver!r} of {type(self).__name__} trains a linear machine on the "
            f"learned kernel and supports no other machine. Got {what}: use solver='exact'."
        )

    def _values(self, machines: Sequence[Machine]) -> Array:
        """The values of C to select from; a single value if there is nothing to select."""
        if not all(machine.regularised for machine in machines):
            return np.ones(1)
        return check_positive_values(self, "C", "cv", C_GRID)
