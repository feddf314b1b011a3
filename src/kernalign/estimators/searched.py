"""The default fit: search the kernel, then train a ridge machine at the noise that was found.

Nothing is selected by cross-validation. Folds only estimate the error of the whole procedure: each
fold runs its own search, which has not seen the fold's held-out rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from kernalign._progress import Progress, current
from kernalign._threads import begin_beside, blocks_in_threads, in_one_thread, map_beside
from kernalign._typing import Array, IntArray
from kernalign.estimators.error import NOT_HELD_OUT, NOT_NESTED, RowErrors
from kernalign.estimators.failed_search import better_search
from kernalign.estimators.folds import Split
from kernalign.estimators.held_out import HeldOutRows
from kernalign.estimators.importances import fold_probes
from kernalign.estimators.left_out import LeftOut
from kernalign.estimators.outcome import kernel_attributes
from kernalign.estimators.problem import Problem
from kernalign.estimators.stability import FoldKernel, Stability, stability
from kernalign.estimators.steps import Costs, seconds_here
from kernalign.gram.sampling import rows_in_proportion
from kernalign.kernels import LearnedKernel
from kernalign.learners import KernelSearch
from kernalign.learners.base import Learned, generator
from kernalign.machines.model import DualModel, Model
from kernalign.machines.posterior import Posterior
from kernalign.machines.tuned_ridge import (
    MOST_STEPS,
    SolvedRidge,
    TunedRidge,
    mean_diagonal,
    ridge_at,
    solved_ridge,
    tuned_ridge,
)
from kernalign.rows import taken

#: Up to this number of rows, the machine is solved on all of them; its noise is tuned on at most
#: the second number.
SOLVED_ROWS, TUNED_ROWS = 5000, 2000
#: Up to this number of rows, everything runs in one thread.
SERIAL_ROWS = 400
#: Number of held-out rows that is enough to estimate an error.
EVALUATED_ROWS = 1000
MACHINE = "ridge regression"


@dataclass(frozen=True)
class Trained:
    """The machine on all rows.

    C : 1 / noise, as for other machines.
    left_out : leave-one-out outputs of the machine, as far as they are known.
    """

    model: DualModel
    C: float
    left_out: LeftOut
    posterior: Posterior


@dataclass(frozen=True)
class HeldOut:
    """Held-out rows of a fold and the outputs for them.

    deviations : standard deviations that the fold's machine predicts; None for classes.
    learned : the kernel of the fold; None where it is that of all rows.
    """

    index: IntArray
    outputs: Array
    deviations: Array | None
    learned: FoldKernel | None = None


@dataclass(frozen=True)
class Searched:
    """Result of a default fit."""

    learner: KernelSearch
    model: Model
    C: float
    left_out: LeftOut
    posterior: Posterior
    held_out: list[HeldOut]
    stability: Stability
    solver: str = "exact"
    machine: str = MACHINE

    def outputs_of_folds(self) -> LeftOut:
        """Like `left_out`, but from the folds that held out the rows."""
        parts = self.held_out
        return LeftOut.of([part.index for part in parts], [part.outputs for part in parts])

    def errors(self, of_rows: Any, weight: Array, groups: Any, *, shares: bool) -> RowErrors:
        """Errors of the held-out rows, computed by of_rows(index, outputs).

        groups : of rows whose errors are not independent, or None.
        shares : whether an error is 0 or 1.
        """
        if not self.held_out:
            return RowErrors.none(NOT_HELD_OUT)
        found = np.concatenate([of_rows(part.index, part.outputs) for part in self.held_out])
        index = np.concatenate([part.index for part in self.held_out])
        unit = index if groups is None else np.asarray(groups)[index]
        return RowErrors(found, taken(weight, index), unit, shares, rows=index)

    def rows_held_out(self, errors: RowErrors, y: Array) -> HeldOutRows:
        """The rows that folds held out, each by one fold, with these errors."""
        if errors.unknown:
            return HeldOutRows.none(errors.unknown)
        parts = self.held_out
        index = np.concatenate([part.index for part in parts])
        deviations = [part.deviations for part in parts if part.deviations is not None]
        order = np.argsort(index, kind="stable")
        return HeldOutRows(
            index[order],
            np.repeat(np.arange(len(parts)), [len(part.index) for part in parts])[order],
            np.concatenate([part.outputs for part in parts])[order],
            np.concatenate(deviations)[order] if len(deviations) == len(parts) else None,
            taken(y, index[order]),
            errors.values[order],
            errors.weight[order],
        )


def fit_searched(
    search: KernelSearch,
    problem: Problem,
    folds: Sequence[Split] | None,
    *,
    C: float | None,
    nested: bool,
) -> Searched:
    """Search the kernel, train the machine, and estimate the error on folds.

    C : given by the user; None to use the noise that the search finds.
    nested : search the kernel again in each fold.
    """
    progress = current()
    costs = _planned(progress, problem, len(folds or ()))
    learner = clone(search)
    of_folds = learner.for_folds()
    probes = fold_probes(problem.X, problem.feature_names)

    def searched() -> None:
        learner.fit_target(problem.X, problem.unweighted_classes, problem.feature_names)
        progress.tick("kernel", costs[0])

    def search_of_fold(split: Split) -> Learned:
        rows = problem.rows(split[0])
        return of_folds.learn(rows.X, rows.unweighted_classes, rows.feature_names)

    def trained_on_all() -> Trained:
        found = _trained(learner, problem, C)
        progress.tick("machine", costs[1])
        return found

    def held_out(one: tuple[Split, Learned]) -> HeldOut:
        (train, test), found = one
        rows, learned = problem.rows(train), None
        if nested:
            found = better_search(found, learner, rows) or found
        solved = _machine(found, rows, C)
        if nested:
            importances = None
            if probes is not None:
                f = partial(_outputs, solved.model, found.kernel, rows.X)
                importances = probes.importances(f)
            learned = FoldKernel(found.kernel, len(found.extra["rows_"]), importances)
        K = found.kernel(problem.X[test], rows.X)
        outputs = flat(solved.model.predict(K))
        deviations = None
        if not problem.target.classes:
            deviations = solved.posterior.deviations(solved.L, found.kernel, problem.X[test], K)
        progress.tick("fold", costs[-1])
        return HeldOut(np.asarray(test), outputs, deviations, learned)

    splits = folds or ()
    with in_one_thread() if len(problem) <= SERIAL_ROWS else blocks_in_threads():
        # Folds search by themselves; only whether that failed depends on the kernel of all rows.
        _, searches = map_beside(searched, search_of_fold, splits if nested else (), held=True)
        of_splits = searches if nested else [_as_learned(learner)] * len(splits)
        judged = list(zip(splits, of_splits, strict=True))
        trained, parts = map_beside(trained_on_all, held_out, judged, held=True)
        model = trained.model.on_rows(learner.kernel_, problem.X, problem.seen)
        posterior = trained.posterior.at_rows(model.index)
        again = [part.learned for part in parts if part.learned is not None]
        stable = stability(learner.kernel_, len(learner.rows_), again, problem.X)
    return Searched(learner, model, trained.C, trained.left_out, posterior, parts, stable)


def _planned(progress: Progress, problem: Problem, folds: int) -> Sequence[float]:
    """Costs of the kernel, the machine and the folds; they are added to the progress."""
    n, d = problem.X.shape
    costs = Costs.of(n, d).steps(folds)
    seconds = seconds_here(costs) if progress.shown else None
    progress.plan(costs, f"{n} rows", seconds)
    return costs


def enough_folds(folds: Sequence[Split]) -> Sequence[Split]:
    """The first folds that together hold out enough rows."""
    held = np.cumsum([len(test) for _, test in folds])
    return folds[: int(np.searchsorted(held, EVALUATED_ROWS)) + 1]


def _trained(learner: KernelSearch, problem: Problem, C: float | None) -> Trained:
    kernel, target, n = learner.kernel_, problem.target, len(problem)
    few = rows_in_proportion(target, TUNED_ROWS, generator(0))
    tuned, size = tuned_noise(learner, problem.rows(few), C)
    left_out = LeftOut(few, flat(tuned.left_out))
    machine: TunedRidge | SolvedRidge = tuned
    if len(few) < n:
        K = kernel(problem.X)
        begin_beside()
        machine = solved_ridge(K, target, tuned.log_noise)
    C = 1 / (float(np.exp(tuned.log_noise)) * size)
    return Trained(machine.model, C, left_out, machine.posterior)


def tuned_noise(learner: KernelSearch, rows: Problem, C: float | None) -> tuple[TunedRidge, float]:
    """The machine on some rows with its noise tuned, and the mean diagonal of the kernel there."""
    target = rows.unweighted_classes
    K = learner.kernel_(rows.X)
    size = mean_diagonal(K, rows.target)
    codes = target.codes if target.classes else None
    log_noise = np.log(learner.noise_ if C is None else 1 / (C * size))
    steps = MOST_STEPS if C is None else 0
    tuned = tuned_ridge(K, target, float(log_noise), codes, steps)
    if (rows.target.weight != target.weight).any():
        tuned = ridge_at(K, rows.target, tuned.log_noise)
    return tuned, size


def _machine(found: Learned, rows: Problem, C: float | None) -> SolvedRidge:
    K = found.kernel(rows.X)
    size = mean_diagonal(K, rows.target)
    noise = found.extra["noise_"] if C is None else 1 / (C * size)
    return solved_ridge(K, rows.target, float(np.log(noise)))


def _outputs(model: DualModel, kernel: LearnedKernel, X: Array, rows: Array) -> Array:
    """Of a machine that was trained on X, for other rows."""
    return model.predict(kernel(rows, X))


def _as_learned(learner: KernelSearch) -> Learned:
    extra = {"noise_": learner.noise_}
    return Learned(learner.kernel_, learner.alignment_, [], extra=extra)


def flat(outputs: Array) -> Array:
    """Outputs without the last axis if it has one column."""
    return outputs[:, 0] if outputs.ndim == 2 and outputs.shape[1] == 1 else outputs


def searched_attributes(
    found: Searched, errors: RowErrors, y: Array, *, nested: bool
) -> dict[str, Any]:
    """Fitted attributes by name, as for other fits."""
    mean = errors.estimate().mean
    known = errors if nested else RowErrors.none(NOT_NESTED)
    record = {
        "learner": found.learner,
        "machine": found.machine,
        "alignment": found.learner.alignment_,
        "held_out_alignment": float("nan"),
        "rows": found.model.n_rows,
        "error": mean,
        "C": found.C,
        "chosen": True,
    }
    one = np.array([mean])
    return {
        "model_": found.model,
        **kernel_attributes(found.learner),
        "C_": found.C,
        "cv_results_": {"C": np.array([found.C]), "error": one, "loss": one},
        "path_": [record],
        **known.estimate().attributes(),
        "held_out_": found.rows_held_out(known, y),
        "stability_": found.stability,
        "solver_": found.solver,
    }
