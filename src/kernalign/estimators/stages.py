"""From learners to a trained model: in two stages, or in one.

Two stages learn a kernel, then train a machine on it. One-stage learners (regularised risk,
multiple kernel learning) train their machine together with the kernel; that machine is used.
Both offer candidates, from the simplest to the most complex, know how to predict held-out rows
with each of them along a path of C, and how to train one of them at one C.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from kernalign._threads import blocks_in_threads
from kernalign._typing import Array
from kernalign._warnings import AlignmentWarning
from kernalign.gram import Target
from kernalign.gram.centring import cross_alignment
from kernalign.learners import Learner
from kernalign.machines.dual import Machine, warn_if_stopped
from kernalign.rows import as_rows


@dataclass(frozen=True)
class Problem:
    """Rows of positive weight with their labels, as codes or numbers, and their target kernel."""

    X: Any
    y: Array
    target: Target
    feature_names: Any
    #: Positions of the rows in the problem that they were taken from.
    index: Any = None

    def rows(self, index: Any) -> Problem:
        """Some rows, left where they are."""
        X = as_rows(self.X).subset(index)
        return Problem(X, self.y[index], self.target.rows(index), self.feature_names, index)

    def fetched(self, index: Any) -> Problem:
        """Some rows, in memory wherever the others are."""
        X, target = as_rows(self.X).take(index), self.target.rows(index)
        return Problem(X, self.y[index], target, self.feature_names, index)


@dataclass(frozen=True)
class Candidate:
    """A kernel, by the number of its learner, and a machine, by the number among machines."""

    kernel: int
    machine: int = 0


@dataclass(frozen=True)
class Outputs:
    """What a candidate says about held-out rows.

    values : (values of C, rows, ...) outputs; alignment : of its kernel between those rows and
        the training rows.
    """

    candidate: Candidate
    values: Array
    alignment: float


@dataclass(frozen=True)
class Trained:
    """A fitted learner, the machine on its kernel, and the rows it needs if not all of them."""

    learner: Learner
    machine: Any
    rows: Array | None = None


class Stages(ABC):
    """A way from a problem to a trained model."""

    #: From the simplest to the most complex.
    candidates: Sequence[Candidate]
    #: How the second stage is solved.
    solver: str = "exact"
    #: How a sample of many rows decided between several kernels, if it did (`Preselection`).
    preselection: Any = None

    def splits(self, folds: Any, problem: Problem) -> Any:
        """The folds on which C is chosen, given those that were asked for."""
        return folds

    def direct_outputs(self, machine: Any, X: Array) -> Array | None:
        """Outputs of a machine that needs no Gram matrix; None for those that do."""
        return None

    @abstractmethod
    def path(self, train: Problem, test: Problem, values: Array) -> Iterator[Outputs]:
        """Outputs on the test rows of each candidate, trained at each C."""

    @abstractmethod
    def train(self, problem: Problem, candidate: Candidate, C: float) -> Trained:
        """The model on all rows."""

    @abstractmethod
    def outputs(self, candidate: Candidate, machine: Any, K: Array) -> Array:
        """Outputs of a trained machine for rows of the Gram matrix."""

    @abstractmethod
    def learner(self, candidate: Candidate) -> Learner:
        """Who learned, or will learn, the candidate's kernel."""

    @abstractmethod
    def machine_name(self, candidate: Candidate) -> str:
        """What is trained on it."""


class TwoStages(Stages):
    """Learn the kernel, train the machine.

    fitted : the learners fitted to all rows, each starting from the one before; what they chose
        is held fixed inside folds.
    nested : learn the kernels again inside each fold.
    """

    def __init__(
        self,
        learners: Sequence[Learner],
        machines: Sequence[Machine],
        problem: Problem,
        nested: bool,
    ):
        self.machines = machines
        self.nested = nested
        self.fitted = _fit_in_turn([clone(learner) for learner in learners], problem)
        self.candidates = [
            Candidate(k, m) for k in range(len(learners)) for m in range(len(machines))
        ]

    def path(self, train: Problem, test: Problem, values: Array) -> Iterator[Outputs]:
        learners = self.fitted
        if self.nested:
            with warnings.catch_warnings():
                # The fit on all rows has said it.
                warnings.simplefilter("ignore", AlignmentWarning)
                learners = _fit_in_turn([learner.for_folds() for learner in learners], train)
        for k, learner in enumerate(learners):
            kernel = learner.kernel_
            K, K_test = kernel(train.X), kernel(test.X, train.X)
            alignment = cross_alignment(K_test.copy(), test.target, train.target)
            for m, machine in enumerate(self.machines):
                out = machine.path(K, train.y, train.target.weight, K_test, values)
                yield Outputs(Candidate(k, m), out, alignment)

    def train(self, problem: Problem, candidate: Candidate, C: float) -> Trained:
        learner = self.fitted[candidate.kernel]
        K = learner.kernel_(problem.X)
        machine = self.machines[candidate.machine].fit(K, problem.y, problem.target.weight, C)
        warn_if_stopped(machine, C)
        return Trained(learner, machine)

    def outputs(self, candidate: Candidate, machine: Any, K: Array) -> Array:
        return self.machines[candidate.machine].outputs(machine, K)

    def learner(self, candidate: Candidate) -> Learner:
        return self.fitted[candidate.kernel]

    def machine_name(self, candidate: Candidate) -> str:
        return self.machines[candidate.machine].name


def _fit_in_turn(learners: Sequence[Learner], problem: Problem) -> list[Learner]:
    before: Learner | None = None
    for learner in learners:
        learner.fit_target(problem.X, problem.target, problem.feature_names, before)
        before = learner
    return list(learners)


class OneStage(Stages):
    """Learn kernel and machine together, anew for each C."""

    candidates = (Candidate(0),)

    def __init__(self, learner: Learner):
        self._learner = learner

    def path(self, train: Problem, test: Problem, values: Array) -> Iterator[Outputs]:
        (candidate,) = self.candidates
        outputs = []
        with warnings.catch_warnings(), blocks_in_threads():
            # What was not reached at a C that is not chosen concerns nobody.
            warnings.simplefilter("ignore", ConvergenceWarning)
            kernel, K = None, np.zeros((0, 0))
            for learned in self._learner.for_folds().learn_path(
                train.X, train.target, values, train.feature_names
            ):
                if learned.kernel is not kernel:
                    kernel = learned.kernel
                    K = kernel(test.X, train.X)
                outputs.append(self.outputs(candidate, learned.machine, K))
        # The kernel differs from C to C: no single alignment describes them.
        yield Outputs(candidate, np.stack(outputs), np.nan)

    def train(self, problem: Problem, candidate: Candidate, C: float) -> Trained:
        learner = self._learner.regularised(C)
        learner.fit_target(problem.X, problem.target, problem.feature_names)
        return Trained(learner, learner.machine_)

    def outputs(self, candidate: Candidate, machine: Any, K: Array) -> Array:
        out = machine.predict(K)
        return out[:, 0] if out.ndim == 2 and out.shape[1] == 1 else out

    def learner(self, candidate: Candidate) -> Learner:
        return self._learner

    def machine_name(self, candidate: Candidate) -> str:
        return "its own"
