"""From a learner to a trained model: in two stages, or in one.

Two stages learn a kernel, then train a machine on it. One-stage learners (regularised risk,
multiple kernel learning) train their machine together with the kernel; that machine is used.
Both know how to predict held-out rows along a path of C, and how to train at one C.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from kernalign._threads import blocks_in_threads
from kernalign._typing import Array
from kernalign._warnings import AlignmentWarning
from kernalign.estimators.machines import Machine, warn_if_stopped
from kernalign.gram import RemoteRows, Target
from kernalign.learners import Learner


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
        X = self.X
        if isinstance(X, RemoteRows):
            mask = np.zeros(len(X), dtype=bool)
            mask[index] = True
            # A subset keeps the order of the rows, and so must its labels.
            index = np.flatnonzero(mask)
            part: Any = X.subset(mask)
        else:
            part = X[index]
        return Problem(part, self.y[index], self.target.rows(index), self.feature_names, index)


@dataclass(frozen=True)
class Trained:
    """A fitted learner, the machine on its kernel, and the rows it needs if not all of them."""

    learner: Learner
    machine: Any
    rows: Array | None = None


class Stages(ABC):
    """A way from a problem to a trained model."""

    #: How the second stage is solved.
    solver: str = "exact"

    def splits(self, folds: Any, problem: Problem) -> Any:
        """The folds on which C is chosen, given those that were asked for."""
        return folds

    def direct_outputs(self, machine: Any, X: Array) -> Array | None:
        """Outputs of a machine that needs no Gram matrix; None for those that do."""
        return None

    @abstractmethod
    def path(self, train: Problem, X_test: Array, values: Array) -> Array:
        """Outputs on X_test (values, rows, ...) of models trained at each C."""

    @abstractmethod
    def train(self, problem: Problem, C: float) -> Trained:
        """The model on all rows."""

    @abstractmethod
    def outputs(self, machine: Any, K: Array) -> Array:
        """Outputs of a trained machine for rows of the Gram matrix."""


class TwoStages(Stages):
    """Learn the kernel, train the machine.

    fitted : the learner fitted to all rows; what it chose is held fixed inside folds.
    nested : learn the kernel again inside each fold.
    """

    def __init__(self, learner: Learner, machine: Machine, problem: Problem, nested: bool):
        self.machine = machine
        self.nested = nested
        self.fitted = clone(learner).fit_target(problem.X, problem.target, problem.feature_names)

    def path(self, train: Problem, X_test: Array, values: Array) -> Array:
        kernel = self.fitted.kernel_
        if self.nested:
            with warnings.catch_warnings():
                # The fit on all rows has said it.
                warnings.simplefilter("ignore", AlignmentWarning)
                copy = self.fitted.for_folds()
                kernel = copy.fit_target(train.X, train.target, train.feature_names).kernel_
        K, K_test = kernel(train.X), kernel(X_test, train.X)
        return self.machine.path(K, train.y, train.target.weight, K_test, values)

    def train(self, problem: Problem, C: float) -> Trained:
        K = self.fitted.kernel_(problem.X)
        machine = self.machine.fit(K, problem.y, problem.target.weight, C)
        warn_if_stopped(machine, C)
        return Trained(self.fitted, machine)

    def outputs(self, machine: Any, K: Array) -> Array:
        return self.machine.outputs(machine, K)


class OneStage(Stages):
    """Learn kernel and machine together, anew for each C."""

    def __init__(self, learner: Learner):
        self.learner = learner

    def path(self, train: Problem, X_test: Array, values: Array) -> Array:
        outputs = []
        with warnings.catch_warnings(), blocks_in_threads():
            # What was not reached at a C that is not chosen concerns nobody.
            warnings.simplefilter("ignore", ConvergenceWarning)
            kernel, K = None, np.zeros((0, 0))
            for learned in self.learner.path(train.X, train.target, values, train.feature_names):
                if learned.kernel is not kernel:
                    kernel = learned.kernel
                    K = kernel(X_test, train.X)
                outputs.append(self.outputs(learned.machine, K))
        return np.stack(outputs)

    def train(self, problem: Problem, C: float) -> Trained:
        learner = self.learner.regularised(C)
        learner.fit_target(problem.X, problem.target, problem.feature_names)
        return Trained(learner, learner.machine_)

    def outputs(self, machine: Any, K: Array) -> Array:
        out = machine.predict(K)
        return out[:, 0] if out.ndim == 2 and out.shape[1] == 1 else out
