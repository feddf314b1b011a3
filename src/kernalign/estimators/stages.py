"""From learners to a trained model, in one or two stages.

Two stages learn a kernel, then train a machine on it. One-stage learners (regularised risk,
multiple kernel learning) train their own machine together with the kernel. Both provide candidates
from the simplest to the most complex, predict held-out rows with each candidate along a path of C,
and train one candidate at one C. Stages are immutable.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from kernalign._progress import current
from kernalign._threads import blocks_in_threads
from kernalign._typing import Array
from kernalign._warnings import AlignmentWarning
from kernalign.estimators.present import PresentClasses
from kernalign.estimators.problem import Problem
from kernalign.estimators.stability import FoldKernel
from kernalign.gram.centring import cross_alignment
from kernalign.learners import Learner
from kernalign.machines.base import Machine
from kernalign.machines.model import Model


@dataclass(frozen=True)
class Candidate:
    """The index of a learner and the index of a machine."""

    kernel: int
    machine: int = 0


@dataclass(frozen=True)
class Outputs:
    """Outputs of a candidate for held-out rows.

    values : (values of C, rows, ...); alignment : of its kernel between held-out and training
        rows.
    learned : its kernel, where it was learned from the training rows alone, for all C.
    """

    candidate: Candidate
    values: Array
    alignment: float
    learned: FoldKernel | None = None


class HeldOut(NamedTuple):
    """Result of one split.

    outputs : of each candidate.
    tried : what the following splits need in order to try the same values, if anything.
    known : intermediate results that training on all rows can reuse, if any.
    """

    outputs: list[Outputs]
    tried: Any = None
    known: Any = None


class Stages(ABC):
    """The steps from a problem to a trained model."""

    #: From the simplest to the most complex.
    candidates: Sequence[Candidate]
    #: Solver of the second stage.
    solver: str

    def splits(self, folds: Any, problem: Problem) -> Any:
        """The folds on which C is selected, given the requested ones."""
        return folds

    @abstractmethod
    def path(self, train: Problem, test: Problem, values: Array, tried: Any = None) -> HeldOut:
        """Outputs of each candidate for the test rows, trained at each C.

        tried : result of the previous split.
        """

    @abstractmethod
    def train(
        self, problem: Problem, candidate: Candidate, C: float, known: Any = None
    ) -> tuple[Learner, Model]:
        """The fitted learner and the model, trained on all rows.

        known : result of the last split.
        """

    @abstractmethod
    def learner(self, candidate: Candidate) -> Learner:
        """The learner of the candidate's kernel."""

    def alignment(self, candidate: Candidate) -> float:
        """Alignment of the candidate's kernel with the training labels, if known before C is."""
        return self.learner(candidate).alignment_

    @abstractmethod
    def machine_name(self, candidate: Candidate) -> str:
        """Name of the machine trained on the kernel."""


class TwoStages(Stages):
    """Learn the kernel, then train the machine.

    fitted : the learners fitted to all rows; the options they selected are fixed inside folds.
    nested : learn the kernels again inside each fold.
    """

    solver = "exact"

    def __init__(self, fitted: Sequence[Learner], machines: Sequence[Machine], nested: bool):
        self.fitted = fitted
        self.machines = machines
        self.nested = nested
        self.candidates = [
            Candidate(k, m) for k in range(len(fitted)) for m in range(len(machines))
        ]

    @classmethod
    def learned(
        cls,
        learners: Sequence[Learner],
        machines: Sequence[Machine],
        problem: Problem,
        nested: bool,
    ) -> TwoStages:
        """Fit copies of the learners to a problem and return the stages."""
        tick = partial(current().tick, "kernel")
        return cls(fit_in_turn([clone(one) for one in learners], problem, tick), machines, nested)

    def path(self, train: Problem, test: Problem, values: Array, tried: Any = None) -> HeldOut:
        learners = self.fitted
        if self.nested:
            with warnings.catch_warnings():
                # The fit on all rows has already warned.
                warnings.simplefilter("ignore", AlignmentWarning)
                learners = fit_in_turn([learner.for_folds() for learner in learners], train)
        outputs = []
        present = PresentClasses.of(train)
        known = present.problem(train)
        for k, learner in enumerate(learners):
            kernel = learner.kernel_
            K, K_test = kernel(train.X), kernel(test.X, train.X)
            alignment = cross_alignment(K_test.copy(), test.target, train.target)
            own = FoldKernel(kernel, len(train)) if self.nested else None
            for m, machine in enumerate(self.machines):
                out = machine.path(K, known.y, known.target.weight, K_test, values)
                outputs.append(Outputs(Candidate(k, m), present.outputs(out), alignment, own))
        return HeldOut(outputs)

    def train(
        self, problem: Problem, candidate: Candidate, C: float, known: Any = None
    ) -> tuple[Learner, Model]:
        learner = self.fitted[candidate.kernel]
        K = learner.kernel_(problem.X)
        machine = self.machines[candidate.machine].fit(K, problem.y, problem.target.weight, C)
        return learner, machine.on_rows(learner.kernel_, problem.X, problem.seen)

    def learner(self, candidate: Candidate) -> Learner:
        return self.fitted[candidate.kernel]

    def machine_name(self, candidate: Candidate) -> str:
        return self.machines[candidate.machine].name


def fit_in_turn(
    learners: Sequence[Learner], problem: Problem, tick: Callable[[], None] = lambda: None
) -> list[Learner]:
    """Fit the learners in order, each started from the previous one; call `tick` after each."""
    before: Learner | None = None
    for learner in learners:
        learner.fit_target(problem.X, problem.target, problem.feature_names, before)
        before = learner
        tick()
    return list(learners)


class OneStage(Stages):
    """Learn kernel and machine together, again for each C."""

    candidates = (Candidate(0),)
    solver = "exact"

    def __init__(self, learner: Learner):
        self._learner = learner

    def path(self, train: Problem, test: Problem, values: Array, tried: Any = None) -> HeldOut:
        outputs = []
        present = PresentClasses.of(train)
        known = present.problem(train)
        with warnings.catch_warnings(), blocks_in_threads():
            # Convergence warnings for values of C that are not selected are suppressed.
            warnings.simplefilter("ignore", ConvergenceWarning)
            kernel, K = None, np.zeros((0, 0))
            for learned in self._learner.for_folds().learn_path(
                known.X, known.target, values, known.feature_names
            ):
                if learned.kernel is not kernel:
                    kernel = learned.kernel
                    K = kernel(test.X, train.X)
                assert learned.machine is not None
                out = learned.machine.predict(K)
                outputs.append(out[:, 0] if out.ndim == 2 and out.shape[1] == 1 else out)
        # Each C has its own kernel, so there is no single alignment.
        found = present.outputs(np.stack(outputs))
        return HeldOut([Outputs(self.candidates[0], found, np.nan)])

    def train(
        self, problem: Problem, candidate: Candidate, C: float, known: Any = None
    ) -> tuple[Learner, Model]:
        learner = self._learner.regularised(C)
        learner.fit_target(problem.X, problem.target, problem.feature_names)
        return learner, learner.machine_.on_rows(learner.kernel_, problem.X, problem.seen)

    def learner(self, candidate: Candidate) -> Learner:
        return self._learner

    def alignment(self, candidate: Candidate) -> float:
        return float("nan")

    def machine_name(self, candidate: Candidate) -> str:
        return "its own"
