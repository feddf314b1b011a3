"""Second stages that cost O(n): a linear machine on features of the learned kernel.

The kernel is learned on a sample of many rows, C is chosen on rows that the sample does not hold,
and one pass over the rows gives the sums from which least squares follow at every C.
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from kernalign._typing import Array, IntArray
from kernalign._warnings import AlignmentWarning, SampleWarning
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
from kernalign.machines.conjugate_gradients import ridge_by_conjugate_gradients
from kernalign.machines.least_squares import outputs
from kernalign.machines.model import DualModel, Model, linear_model

SOLVERS = ("auto", "exact", "nystroem", "fourier", "cg")
#: Up to this many rows "auto" is exact.
EXACT_ROWS = 2000
#: Features by default; a constant, so that cost grows as the number of rows and no faster.
FEATURES = 3000
#: There are more where each has so many rows, and all cost no more than those of so many rows.
ROWS_PER_FEATURE, AS_MANY_ROWS = 10, 250_000
#: Random features of few rows: so many for each, and so many at least.
RANDOM_PER_ROW, FEWEST_RANDOM = 10, 200
#: Up to this many rows C is chosen on all folds; beyond, on one share held out, of at most so many:
#: no number of rows then costs more than a larger one.
FOLDS_ROWS, HELD_OUT = EXACT_ROWS, 20_000
#: Machines of the second stage.
SQUARES, HINGE = Candidate(0, 0), Candidate(0, 1)


@dataclass(frozen=True)
class Sums:
    """Normal equations of some rows of a problem, by `index`, and their features if they are kept.

    kept : (all rows, r) of which the first, as many as in `index`, are known.
    """

    features: FeatureMap
    sums: NormalEquations
    index: Any
    kept: Array | None


@dataclass(frozen=True)
class LinearStages(Stages):
    """Learn the kernel, then a linear machine on its features, or least squares by iterations.

    The machine is least squares. For classes it is the squared hinge where held-out rows say that
    this is better; it is tried where the features of all rows can be kept (`estimators.hinge`), not
    on rows elsewhere and not by "cg".

    fitted : the learner, fitted to all rows.
    solver : "nystroem", "fourier" or "cg".
    candidates : SQUARES, and HINGE where it is tried.
    nested : learn the kernel again where a split holds out rows that it was learned from.
    free : rows held out for the choice of C; 0 where all folds have their turn.
    apart : rows that had a say in the choice between kernels, and have none in that of C.
    loss : by which C is chosen; the squared hinge finds with it where to look.
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
        """The stages with a copy of the learner fitted to a problem.

        solver : "auto" becomes "fourier" where the kernel's features are exact, else "nystroem".
        """
        n = len(problem)
        sampled = on_sample(learner, n, problem.remote, free)
        with warnings.catch_warnings():
            # The interval is in the history; only who asks for a sample is warned of its size.
            if sampled is not learner:
                warnings.simplefilter("ignore", SampleWarning)
            fitted = clone(sampled).fit_target(problem.X, problem.target, problem.feature_names)
        number = default_features(n, solver) if n_components is None else int(n_components)
        if solver == "auto":
            solver = "fourier" if has_exact_features(fitted.kernel_) else "nystroem"
        stages = cls(fitted, solver, (SQUARES,), number, nested, free, apart, loss)
        return replace(stages, candidates=(SQUARES, HINGE)) if stages._keeps(problem) else stages

    def _keeps(self, problem: Problem) -> bool:
        """Whether there are classes, and their features can be kept."""
        if not problem.target.classes or problem.remote or self.solver == "cg":
            return False
        number = self.n_components
        if self.solver == "fourier":
            number = self._features(self.fitted.kernel_, problem.X).n_features
        return features_fit(len(problem), min(number, len(problem)))

    def splits(self, folds: Any, problem: Problem) -> Any:
        """One random share of many rows held out, in the place of folds that nobody gave."""
        if folds is None or not self.free:
            return folds
        used = np.union1d(self._sample(), self.apart).astype(np.intp)
        return [held_out_split(problem.target, self.free, used)]

    def _sample(self) -> IntArray:
        """Rows that the kernel was learned from, where they are not all."""
        return np.asarray(getattr(self.fitted, "rows_", ()), dtype=np.intp)

    def path(self, train: Problem, test: Problem, values: Array, tried: Any = None) -> HeldOut:
        kernel = self._kernel_for(train)
        features = self._features(kernel, train.X)
        # Rows that are there twice, as in a bootstrap, are not those of the fit.
        once = train.index is not None and len(np.unique(train.index)) == len(train.index)
        serves = kernel is self.fitted.kernel_ and once
        kept = self._room(features, train.whole if serves else len(train))
        sums = _normal_equations(features, train, None, kept)
        known = Sums(features, sums, train.index, kept) if serves else None
        models = sums.path(features.root, values)
        found = outputs(features, models, test.X)
        # Alignment between all rows held out and all others is a pass over pairs: not known here.
        held = [Outputs(SQUARES, _flat(found), np.nan)]
        if kept is not None:
            Y, weight = _wanted(train), train.target.weight
            hinge = SquaredHinge(kept[: len(train)], Y, weight, sums, features.root)
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
            assert every.kept is not None
            order = every.index
            hinge = SquaredHinge(every.kept, Y[order], weight[order], every.sums, root)
            model = hinge.solve(C, model)
        trained = linear_model(every.features, model.coefficients, model.intercept, problem.seen)
        return self.fitted, trained

    def learner(self, candidate: Candidate) -> Learner:
        return self.fitted

    def machine_name(self, candidate: Candidate) -> str:
        name = "squared hinge" if candidate == HINGE else "least squares"
        return f"{name} ({self.solver})"

    def _all_sums(self, problem: Problem, known: Sums | None, keep: bool) -> Sums:
        """Sums over all rows: those of the choice of C, if there was one, and the rest."""
        n = len(problem)
        if known is None:
            features = self._features(self.fitted.kernel_, problem.X)
            kept = self._room(features, n) if keep else None
            sums = _normal_equations(features, problem, None, kept)
            return Sums(features, sums, np.arange(n), kept)
        features, done = known.features, len(known.index)
        free = np.ones(n, dtype=bool)
        free[known.index] = False
        rest = np.flatnonzero(free)
        kept = None if known.kept is None else known.kept[done:]
        sums = known.sums + _normal_equations(features, problem, rest, kept)
        return Sums(features, sums, np.concatenate([known.index, rest]), known.kept)

    def _room(self, features: FeatureMap, rows: int) -> Array | None:
        """Where features are kept, if they are."""
        if HINGE not in self.candidates:
            return None
        return np.empty((rows, features.n_features), dtype=PRECISION)

    def _kernel_for(self, train: Problem) -> LearnedKernel:
        """A kernel that has not seen the rows held out."""
        used = self._sample()
        seen = not used.size or train.index is None or not np.isin(used, train.index).all()
        if not (self.nested and seen):
            return self.fitted.kernel_
        with warnings.catch_warnings():
            # The fit on all rows has said it.
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


def _wanted(problem: Problem) -> Array:
    """What least squares fits: -1/+1 by class, or the response."""
    return problem.target.signs if problem.target.classes else problem.target.values


def default_features(n: int, solver: str) -> int:
    """Features for so many rows: their sums cost n times the square, and never less for more rows.

    For "cg" they only precondition. Random ones are no more than a few for each row: their sums
    cost the square, whatever the rows.
    """
    if solver == "cg":
        return FEATURES
    if solver == "fourier" and n < FEATURES // RANDOM_PER_ROW:
        return max(FEWEST_RANDOM, RANDOM_PER_ROW * n)
    affordable = int(FEATURES * np.sqrt(AS_MANY_ROWS / n))
    return max(FEATURES, min(n // ROWS_PER_FEATURE, affordable))


def on_sample(learner: Learner, n: int, remote: bool = False, free: int = 0) -> Learner:
    """The learner itself, or on a sample where its cost or memory grow faster than the rows.

    remote : whether the rows are not in memory; only one pass over pairs can be sent to them.
    free : rows that the sample leaves for the choice of C, which then needs no kernel of its own.
    """
    largest = learner.largest_sample()
    if remote:
        if learner.one_pass and n <= largest:
            return learner
        return Sampled(learner, max_rows=int(min(largest, STREAMED_SAMPLE, max(n - free, 2))))
    if np.isinf(largest) or (n <= largest and not free):
        return learner
    return Sampled(learner, max_rows=int(min(largest, n - free)))


def rows_held_out(problem: Problem, cv: Any) -> int:
    """Rows held out for the choice of C: as many as in a fold, up to a limit; 0 where all folds
    have their turn: few rows in memory, folds that the user gave, or groups."""
    n = len(problem)
    given = not isinstance(cv, numbers.Integral) or problem.groups is not None
    if given or (n <= FOLDS_ROWS and not problem.remote):
        return 0
    return max(1, min(n // int(cv), HELD_OUT))


def held_out_split(target: Target, number: int, used: Any) -> tuple[IntArray, IntArray]:
    """(train, test): so many rows, of each class in proportion, that no learner has seen.

    The only row of a class is trained on.
    """
    n = len(target.weight)
    order = stratified_order(target, np.random.default_rng(0))
    free = np.ones(n, dtype=bool)
    free[np.asarray(used, dtype=np.intp)] = False
    if target.classes:
        codes = target.values.argmax(axis=1) if target.values.shape[1] > 1 else target.values[:, 0]
        _, code, count = np.unique(codes, return_inverse=True, return_counts=True)
        order = order[count[code][order] > 1]
    candidates = order[free[order]]
    if len(candidates) < number:
        candidates = order
    test = np.sort(candidates[:number])
    train = np.ones(n, dtype=bool)
    train[test] = False
    return np.flatnonzero(train), test


def _flat(out: Array) -> Array:
    """(models, n, c) without the last axis where it is one."""
    return out[:, :, 0] if out.shape[2] == 1 else out
