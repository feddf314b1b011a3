"""Second stages that cost O(n): a linear machine on features of the learned kernel.

The kernel is learned on a sample of the rows, and C is selected on rows outside the sample. One
pass over the rows gives the sums that determine the least squares solution for every C.
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from kernalign._memory import working_memory
from kernalign._typing import Array, IntArray
from kernalign._warnings import AlignmentWarning, SampleWarning
from kernalign.estimators.classes import class_counts
from kernalign.estimators.hinge import PRECISION, features_fit, hinge_path
from kernalign.estimators.losses import Loss
from kernalign.estimators.problem import Problem
from kernalign.estimators.stages import Candidate, HeldOut, Outputs, Stages
from kernalign.features import (
    ExplicitMap,
    FeatureMap,
    NystroemMap,
    has_exact_features,
)
from kernalign.gram import Target
from kernalign.gram.sampling import stratified_order
from kernalign.kernels import LearnedKernel
from kernalign.learners import Learner, Sampled
from kernalign.learners.base import STREAMED_SAMPLE
from kernalign.machines import NormalEquations, SquaredHinge, normal_equations
from kernalign.machines.iterative_ridge import ridge_by_conjugate_gradients
from kernalign.machines.least_squares import outputs, stored_features
from kernalign.machines.model import DualModel, Model, linear_model
from kernalign.rows import AllBut, all_different, as_rows, has_all, others, taken

SOLVERS = ("auto", "exact", "nystroem", "fourier", "cg")
#: Up to this number of rows, "auto" is exact.
EXACT_ROWS = 2000
#: Default number of features. It is constant, so that the cost is linear in the number of rows.
FEATURES = 3000
#: The number grows if there are at least this many rows per feature, and as long as the total cost
#: stays below that of `FEATURES` features of this many rows.
ROWS_PER_FEATURE, FULL_COST_ROWS = 10, 250_000
#: Number of random features per row, and their minimum, for few rows.
RANDOM_PER_ROW, MIN_RANDOM = 10, 200
#: Up to this number of rows, C is selected on all folds; above it, on one hold-out set of limited
#: size, so that the cost never falls when rows are added.
FOLDS_ROWS, MAX_HELD_OUT = EXACT_ROWS, 20_000
#: Machines of the second stage: least squares and squared hinge.
SQUARES, HINGE = Candidate(0, 0), Candidate(0, 1)


@dataclass(frozen=True)
class Sums:
    """Normal equations of the rows `index` of a problem, and their features if they are stored.

    kept : (all rows, r); the first `len(index)` rows are filled.
    """

    features: FeatureMap
    sums: NormalEquations
    index: Any
    kept: Array | None


@dataclass(frozen=True)
class LinearStages(Stages):
    """Learn the kernel, then a linear machine on its features, or least squares by iterations.

    The machine is least squares. For classification, a squared hinge loss is also tried, and used
    if it is better on held-out rows. It is tried only if the features of all rows can be stored
    (`estimators.hinge`), in memory or on the workers of a cluster; not for "cg".

    fitted : the learner, fitted to all rows.
    solver : "nystroem", "fourier" or "cg".
    candidates : SQUARES, and HINGE if it is tried.
    nested : learn the kernel again if a split holds out rows that it was learned from.
    free : size of the hold-out set for the selection of C; 0 to use all folds.
    apart : rows on which the kernel was selected; they are not used to select C.
    loss : selects C, and the range of C for the squared hinge.
    """

    fitted: Learner
    solver: str
    candidates: Sequence[Candidate]
    n_components: int
    nested: bool
    free: int
    apart: IntArray
    loss: Loss

    @classmethod
    def learned(
        cls,
        learner: Learner,
        problem: Problem,
        *,
        solver: str,
        n_components: int | None,
        nested: bool,
        free: int,
        apart: IntArray,
        loss: Loss,
    ) -> LinearStages:
        """Fit a copy of the learner to a problem and return the stages.

        solver : "auto" becomes "fourier" if the kernel's features are exact, otherwise "nystroem".
        """
        n = len(problem)
        sampled = on_sample(learner, n, problem.remote, free)
        with warnings.catch_warnings():
            # Only a user who asks for a sample is warned about its size; history_ has the interval.
            if sampled is not learner:
                warnings.simplefilter("ignore", SampleWarning)
            fitted = clone(sampled).fit_target(problem.X, problem.target, problem.feature_names)
        number = default_features(n, solver) if n_components is None else int(n_components)
        if solver == "auto":
            solver = "fourier" if has_exact_features(fitted.kernel_) else "nystroem"
        stages = cls(fitted, solver, (SQUARES,), number, nested, free, apart, loss)
        return replace(stages, candidates=(SQUARES, HINGE)) if stages._keeps(problem) else stages

    def _keeps(self, problem: Problem) -> bool:
        """Whether this is classification and the features can be stored."""
        processes = as_rows(problem.X).processes
        if not problem.target.classes or not processes or self.solver == "cg":
            return False
        number = self.n_components
        if self.solver == "fourier":
            number = self._features(self.fitted.kernel_, problem.X).n_features
        return features_fit(len(problem), min(number, len(problem)), processes)

    def splits(self, folds: Any, problem: Problem) -> Any:
        """One hold-out set of the given size, or the folds if there is none."""
        if folds is None or not self.free:
            return folds
        used = np.union1d(self._sample(), self.apart).astype(np.intp)
        return [held_out_split(problem.target, self.free, used)]

    def _sample(self) -> IntArray:
        """The rows that the kernel was learned from, if it was learned on a sample."""
        return np.asarray(getattr(self.fitted, "rows_", ()), dtype=np.intp)

    def path(self, train: Problem, test: Problem, values: Array, tried: Any = None) -> HeldOut:
        kernel = self._kernel_for(train)
        features = self._features(kernel, train.X)
        # If a row occurs twice, as in a bootstrap, the sums cannot be reused by the final fit.
        once = train.index is not None and all_different(train.index)
        serves = kernel is self.fitted.kernel_ and once
        kept = self._room(features, train, train.whole if serves else len(train))
        sums = _normal_equations(features, train, None, kept)
        known = Sums(features, sums, train.index, kept) if serves else None
        models = sums.path(features.root, values)
        found = outputs(features, models, test.X)
        # Computing the held-out alignment would take a pass over all pairs: it is left unknown.
        held = [Outputs(SQUARES, _flat(found), np.nan)]
        if HINGE in self.candidates:
            phi = _elsewhere(features, train) if kept is None else kept[: len(train)]
            Y, weight = _wanted(train), train.target.weight
            hinge = SquaredHinge(phi, Y, weight, sums, features.root)
            out, tried = hinge_path(hinge, features, models, found, test, values, self.loss, tried)
            held.append(Outputs(HINGE, _flat(out), np.nan))
        return HeldOut(held, tried, known)

    def train(
        self, problem: Problem, candidate: Candidate, C: float, known: Sums | None = None
    ) -> tuple[Learner, Model]:
        kernel = self.fitted.kernel_
        Y, weight = _wanted(problem), problem.target.weight
        if self.solver == "cg":
            features = known.features if known else self._features(kernel, problem.X)
            dual = ridge_by_conjugate_gradients(kernel, features, problem.X, Y, weight, C)
            return self.fitted, DualModel(*dual).on_rows(kernel, problem.X, problem.seen)
        if candidate == SQUARES and known is not None:
            known = replace(known, kept=None)
        every = self._all_sums(problem, known, candidate == HINGE)
        root = every.features.root
        model = every.sums.path(root, np.array([C]))[0]
        if candidate == HINGE:
            phi = every.kept
            if phi is None:
                phi = _elsewhere(every.features, problem)
            else:
                Y, weight = Y[every.index], weight[every.index]
            model, _ = SquaredHinge(phi, Y, weight, every.sums, root).solve(C, model)
        trained = linear_model(every.features, model.coefficients, model.intercept, problem.seen)
        return self.fitted, trained

    def learner(self, candidate: Candidate) -> Learner:
        return self.fitted

    def machine_name(self, candidate: Candidate) -> str:
        name = "squared hinge" if candidate == HINGE else "least squares"
        return f"{name} ({self.solver})"

    def _all_sums(self, problem: Problem, known: Sums | None, keep: bool) -> Sums:
        """Sums over all rows; the sums from the selection of C are reused."""
        n = len(problem)
        if known is None:
            features = self._features(self.fitted.kernel_, problem.X)
            kept = self._room(features, problem, n) if keep else None
            sums = _normal_equations(features, problem, None, kept)
            return Sums(features, sums, None if kept is None else np.arange(n), kept)
        features, done = known.features, len(known.index)
        rest = others(known.index, n)
        kept = None if known.kept is None else known.kept[done:]
        sums = known.sums + _normal_equations(features, problem, rest, kept)
        # The order of the rows is that of the stored features.
        order = None if kept is None else np.concatenate([known.index, rest])
        return Sums(features, sums, order, known.kept)

    def _room(self, features: FeatureMap, problem: Problem, rows: int) -> Array | None:
        """An empty array for the features, or None if they are not stored in this process."""
        if HINGE not in self.candidates or problem.remote:
            return None
        return np.empty((rows, features.n_features), dtype=PRECISION)

    def _kernel_for(self, train: Problem) -> LearnedKernel:
        """A kernel that has not seen the held-out rows."""
        used = self._sample()
        seen = not used.size or train.index is None or not has_all(train.index, used)
        if not (self.nested and seen):
            return self.fitted.kernel_
        with warnings.catch_warnings():
            # The fit on all rows has already warned.
            warnings.simplefilter("ignore", AlignmentWarning)
            warnings.simplefilter("ignore", SampleWarning)
            copy = self.fitted.for_folds()
            return copy.fit_target(train.X, train.target, train.feature_names).kernel_

    def _features(self, kernel: LearnedKernel, X: Array) -> FeatureMap:
        rng = np.random.default_rng(0)
        if self.solver == "fourier":
            return ExplicitMap(kernel, self.n_components, X.shape[1], rng)
        return NystroemMap.on(kernel, X, self.n_components, rng)


def _normal_equations(
    features: FeatureMap, problem: Problem, rows: Any = None, kept: Array | None = None
) -> NormalEquations:
    Y, weight = _wanted(problem), problem.target.weight
    return normal_equations(features, problem.X, Y, weight, rows, kept)


def _elsewhere(features: FeatureMap, problem: Problem) -> Any:
    """The features of rows that are not in memory, stored where the rows are."""
    return as_rows(problem.X).map(partial(stored_features, features, PRECISION))


def _wanted(problem: Problem) -> Array:
    """The target of least squares: -1/+1 by class, or the response."""
    return problem.target.signs if problem.target.classes else problem.target.values


def default_features(n: int, solver: str) -> int:
    """The default number of features for n rows.

    The normal equations cost n times the square of this number; the total never falls as n grows.
    For "cg" the features only precondition. The number of random features is limited to a few per
    row, because their cost is quadratic even for few rows.
    """
    if solver == "cg":
        return FEATURES
    if solver == "fourier" and n < FEATURES // RANDOM_PER_ROW:
        return max(MIN_RANDOM, RANDOM_PER_ROW * n)
    affordable = int(FEATURES * np.sqrt(FULL_COST_ROWS / n))
    return max(FEATURES, min(n // ROWS_PER_FEATURE, affordable))


def can_load(n: int, d: int, solver: str, n_components: int | None) -> bool:
    """Whether rows outside memory are loaded: if both they and their features fit in
    `working_memory`. Above that, features are not stored for rows in memory either."""
    number = default_features(n, solver) if n_components is None else int(n_components)
    return n * d * 8 <= working_memory() and features_fit(n, min(number, n))


def on_sample(learner: Learner, n: int, remote: bool = False, free: int = 0) -> Learner:
    """The learner, or `Sampled(learner)` if its cost or memory grow faster than linearly in n.

    remote : whether the rows are not in memory; then only a single pass over pairs is possible.
    free : rows left out of the sample to select C without learning the kernel again.
    """
    largest = learner.largest_sample()
    if remote and not learner.one_pass:
        largest = min(largest, STREAMED_SAMPLE)
    streamed = learner.one_pass or not remote
    if np.isinf(largest) or (n <= largest and not free and streamed):
        return learner
    return Sampled(learner, max_rows=int(min(largest, max(n - free, 2))))


def rows_held_out(problem: Problem, cv: Any) -> int:
    """Size of the hold-out set for the selection of C: that of a fold, up to a limit. It is 0, and
    all folds are used, for few rows in memory, folds given by the user, or groups."""
    n = len(problem)
    given = not isinstance(cv, numbers.Integral) or problem.groups is not None
    if given or (n <= FOLDS_ROWS and not problem.remote):
        return 0
    return max(1, min(n // int(cv), MAX_HELD_OUT))


def held_out_split(target: Target, number: int, used: Any) -> tuple[AllBut, IntArray]:
    """(train, test): a stratified hold-out set of rows that no learner has seen.

    A class with a single row is in the training set.
    """
    used = np.asarray(used, dtype=np.intp)
    order = stratified_order(target, np.random.default_rng(0), number + len(used))
    if target.classes:
        count = class_counts(target.codes, max(2, len(target.mean)))
        order = order[count[taken(target.codes, order)] > 1]
    candidates = order[~np.isin(order, used)]
    if len(candidates) < number:
        candidates = order
    test = np.sort(candidates[:number])
    return AllBut(len(target.weight), test), test


def _flat(out: Array) -> Array:
    """(models, n, c) without the last axis if c = 1."""
    return out[:, :, 0] if out.shape[2] == 1 else out
