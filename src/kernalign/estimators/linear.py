"""Second stages that cost O(n): a linear machine on features of the learned kernel.

The kernel is learned on a sample of many rows, C is chosen on rows that the sample does not hold,
and one pass over the rows gives the sums from which the machine follows at every C.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from kernalign._typing import Array, IntArray
from kernalign._warnings import AlignmentWarning, SampleWarning
from kernalign.estimators.machines import scores
from kernalign.estimators.stages import Candidate, Outputs, Problem, Stages, Trained
from kernalign.features import (
    ExplicitMap,
    FeatureMap,
    LinearModel,
    NormalEquations,
    NystroemMap,
    has_exact_features,
    normal_equations,
)
from kernalign.features.conjugate import ridge_by_conjugate_gradients
from kernalign.features.least_squares import outputs
from kernalign.gram import RemoteRows, Target
from kernalign.kernels import Family, Gaussian, LearnedKernel
from kernalign.kernels.base import FeatureFamily, is_scalar
from kernalign.learners import ContinuousAlignment, DualModel, Learner, Sampled
from kernalign.learners.sampled import stratified_order

SOLVERS = ("auto", "exact", "nystroem", "fourier", "cg")
#: Up to this many rows "auto" is exact.
EXACT_ROWS = 4000
#: Features by default; a constant, so that cost grows as the number of rows and no faster.
FEATURES = 3000
#: The largest samples: of families that are summed in one pass, and of all others.
STREAMED_SAMPLE, DENSE_SAMPLE = 20_000, 4000
#: Up to this many rows C is chosen on all folds; beyond, on one share held out, of at most so many.
FOLDS_ROWS, HELD_OUT = 10_000, 20_000


@dataclass(frozen=True)
class FeatureModel:
    """A linear model on features: f(x) = phi(x)'v + b."""

    features: FeatureMap
    model: LinearModel

    def outputs(self, X: Array) -> Array:
        return _flat(outputs(self.features, [self.model], X)[0])


class LinearStages(Stages):
    """Learn the kernel, then least squares on its features, or on all rows by iterations.

    solver : "auto", "nystroem", "fourier" or "cg"; `self.solver` says what "auto" became.
    """

    candidates = (Candidate(0),)

    def __init__(
        self,
        learner: Learner,
        problem: Problem,
        *,
        solver: str,
        n_components: int | None,
        nested: bool,
        cv: Any,
        classes: bool,
    ):
        self.nested = nested
        self.n_components = FEATURES if n_components is None else int(n_components)
        self.n_classes = int(problem.y.max()) + 1 if classes else 0
        self.cv = cv
        with warnings.catch_warnings():
            # The interval is in the history; only who asks for a sample is warned of its size.
            if not isinstance(learner, Sampled):
                warnings.simplefilter("ignore", SampleWarning)
            sampled = on_sample(learner, len(problem.X), isinstance(problem.X, RemoteRows))
            self.fitted = clone(sampled).fit_target(
                problem.X, problem.target, problem.feature_names
            )
        self.solver = self._resolved(solver)
        self._sums: tuple[FeatureMap, NormalEquations, Any] | None = None

    def _resolved(self, solver: str) -> str:
        if solver != "auto":
            return solver
        return "fourier" if has_exact_features(self.fitted.kernel_) else "nystroem"

    def splits(self, folds: Any, problem: Problem) -> Any:
        """One random share of many rows held out, in the place of folds that nobody gave."""
        given = not isinstance(self.cv, int | np.integer)
        few = len(problem.X) <= FOLDS_ROWS and not isinstance(problem.X, RemoteRows)
        if folds is None or given or few:
            return folds
        return [held_out_split(problem.target, 1 / int(self.cv), getattr(self.fitted, "rows_", ()))]

    def path(self, train: Problem, test: Problem, values: Array) -> Iterator[Outputs]:
        (candidate,) = self.candidates
        kernel = self._kernel_for(train)
        features = self._features(kernel, train.X)
        sums = self._normal_equations(features, train)
        if kernel is self.fitted.kernel_ and train.index is not None:
            self._sums = features, sums, train.index
        models = sums.path(features.root, values)
        found = outputs(features, models, test.X)
        # Alignment between all rows held out and all others is a pass over pairs: not known here.
        yield Outputs(candidate, found[:, :, 0] if found.shape[2] == 1 else found, np.nan)

    def train(self, problem: Problem, candidate: Candidate, C: float) -> Trained:
        features, sums = self._all_sums(problem)
        if self.solver == "cg":
            coefficients, constant = ridge_by_conjugate_gradients(
                self.fitted.kernel_,
                features,
                problem.X,
                self._outputs_of(problem.y),
                problem.target.weight,
                C,
            )
            one = coefficients.shape[1] == 1
            dual = DualModel(
                *((coefficients[:, 0], constant[0]) if one else (coefficients, constant))
            )
            return Trained(self.fitted, dual)
        assert sums is not None
        model = FeatureModel(features, sums.path(features.root, np.array([C]))[0])
        return Trained(
            self.fitted, model, getattr(features, "landmarks", np.empty((0, problem.X.shape[1])))
        )

    def outputs(self, candidate: Candidate, machine: Any, K: Array) -> Array:
        return machine.predict(K)

    def learner(self, candidate: Candidate) -> Learner:
        return self.fitted

    def machine_name(self, candidate: Candidate) -> str:
        return f"least squares ({self.solver})"

    def direct_outputs(self, machine: Any, X: Array) -> Array | None:
        return machine.outputs(X) if isinstance(machine, FeatureModel) else None

    def _all_sums(self, problem: Problem) -> tuple[FeatureMap, NormalEquations | None]:
        """Sums over all rows: those of the choice of C, if there was one, and the rest."""
        if self._sums is None:
            features = self._features(self.fitted.kernel_, problem.X)
            if self.solver == "cg":
                return features, None
            return features, self._normal_equations(features, problem)
        features, sums, index = self._sums
        self._sums = None
        if self.solver == "cg":
            return features, None
        rest = np.ones(len(problem.X), dtype=bool)
        rest[index] = False
        return features, sums + self._normal_equations(features, problem, np.flatnonzero(rest))

    def _normal_equations(
        self, features: FeatureMap, problem: Problem, rows: Any = None
    ) -> NormalEquations:
        Y = self._outputs_of(problem.y)
        return normal_equations(features, problem.X, Y, problem.target.weight, rows)

    def _outputs_of(self, y: Array) -> Array:
        """What least squares fits: -1/+1 by class, or the response."""
        wanted = scores(y, self.n_classes) if self.n_classes else y
        return wanted[:, None] if wanted.ndim == 1 else wanted

    def _kernel_for(self, train: Problem) -> LearnedKernel:
        """A kernel that has not seen the rows held out."""
        used = getattr(self.fitted, "rows_", None)
        seen = used is None or train.index is None or not np.isin(used, train.index).all()
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


def on_sample(learner: Learner, n: int, remote: bool = False) -> Learner:
    """The learner itself, or on a sample where its cost or memory grow faster than the rows.

    remote : whether the rows are not in memory; only one pass over pairs can be sent to them.
    """
    if isinstance(learner, Sampled):
        return learner
    members = _members(learner)
    if members and all(isinstance(member, FeatureFamily) for member in members) and not remote:
        return learner
    one_pass = bool(members) and all(is_scalar(member) for member in members)
    largest = STREAMED_SAMPLE if one_pass else DENSE_SAMPLE
    if remote and not (one_pass and all(member.columns is None for member in members)):
        return Sampled(learner, max_rows=largest)
    return learner if n <= largest else Sampled(learner, max_rows=largest)


def _members(learner: Learner) -> list[Family]:
    """The families that a learner searches in passes over the rows; none for other learners."""
    if not isinstance(learner, ContinuousAlignment):
        return []
    family = Gaussian() if learner.family is None else learner.family
    return family.members() if isinstance(family, Family) else []


def held_out_split(target: Target, share: float, used: Any) -> tuple[IntArray, IntArray]:
    """(train, test): a random share of each class held out, from rows that no learner has seen."""
    n = len(target.weight)
    number = max(1, min(int(n * share), HELD_OUT))
    order = stratified_order(target, np.random.default_rng(0))
    free = np.ones(n, dtype=bool)
    free[np.asarray(used, dtype=np.intp)] = False
    candidates = order[free[order]]
    if len(candidates) < number:
        candidates = order
    test = np.sort(candidates[:number])
    train = np.ones(n, dtype=bool)
    train[test] = False
    return np.flatnonzero(train), test


def _flat(out: Array) -> Array:
    return out[:, 0] if out.shape[1] == 1 else out
