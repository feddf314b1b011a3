"""How each competitor is fitted: (problem) -> kernel and machine, C chosen on the validation rows.

Every method has the same 21 values of C, and the same solver for its machine: two-stage methods
train a soft-margin machine on their kernel, normalised to a centred mean diagonal of one, by the
lp-norm learner with that kernel as its only one, whose duality gap is certified at every C; one-
stage methods bring their own machine. Ties go to the stronger regularisation.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from experiments.gram_cache import KernelsOnFixedRows
from experiments.problems import Part, Problem
from kernalign import (
    ContinuousAlignment,
    ContinuousRisk,
    LearnedKernel,
    LpNormMKL,
    centered_alignment,
)
from kernalign.gram import Target
from kernalign.learners import Learner
from kernalign.machines import DualModel

#: 10^{-5, -4.5, ..., 5}
C_GRID = 10.0 ** np.arange(-5, 5.01, 0.5)
#: The paper's values of lambda, the strongest first, so that ties go to it.
LAMBDAS = tuple(10.0**k for k in range(14, -6, -1))


@dataclass(frozen=True)
class Fitted:
    """f(x) = machine(kernel(x, training rows)), and what it took to get there.

    learning : processor seconds of learning the kernel; for one-stage methods all 21 values of C.
    seconds : of everything, where a method that shares work with others counts them itself.
    """

    kernel: LearnedKernel
    machine: DualModel
    C: float
    validation_error: float
    train_alignment: float
    learning: float
    seconds: float | None = None
    extra: dict[str, Any] = field(default_factory=dict)


Method = Callable[[Problem], Fitted]
Candidate = tuple[LearnedKernel, DualModel, float]


def target_of(y: np.ndarray) -> Target:
    return Target(y[:, None].astype(float), np.ones(len(y)), classes=True)


@dataclass(frozen=True)
class Learn:
    """Fit a learner; in two stages, or in one where the learner has its own machine.

    two_stages : train the usual machine on the kernel even of a one-stage learner.
    """

    learner: Learner
    two_stages: bool = False

    def __call__(self, problem: Problem) -> Fitted:
        X, y = problem.train
        start = time.process_time()
        with quiet():
            if self.learner.one_stage:
                fitted = self._one_stage(problem)
                learning = time.process_time() - start
                if not self.two_stages:
                    return replace(fitted, learning=learning)
                kernel, alignment = fitted.kernel, fitted.train_alignment
            else:
                learner = clone(self.learner).fit(X, y)
                learning = time.process_time() - start
                kernel, alignment = learner.kernel_, learner.alignment_
            return best_machine(kernel, problem, alignment, learning)

    def iterations(self, problem: Problem, C: float) -> int | None:
        """Iterations from the method's own start; on a path of C they start from the one before."""
        if not isinstance(self.learner, ContinuousAlignment | ContinuousRisk):
            return None
        X, y = problem.train
        learner = self.learner.regularised(C) if self.learner.one_stage else clone(self.learner)
        with quiet():
            return len(learner.fit(X, y).history_)

    def _one_stage(self, problem: Problem) -> Fitted:
        X, y = problem.train
        path = self.learner.learn_path(X, target_of(y), C_GRID)
        on_valid = KernelsOnFixedRows(problem.valid[0], X)
        alignments: list[float] = []

        def candidates() -> Iterator[tuple[LearnedKernel, DualModel]]:
            for learned in path:
                alignments.append(learned.alignment)
                assert learned.machine is not None
                yield learned.kernel, learned.machine

        best, error, kernel, machine = first_best(
            (k, m, error_of(m.predict(on_valid(k)), problem.valid[1])) for k, m in candidates()
        )
        return Fitted(kernel, machine, float(C_GRID[best]), error, alignments[best], 0.0)


@dataclass(frozen=True)
class PenaltyPath:
    """CA-nD: lambda by a score on the validation rows, then C.

    Kernels are learned once for all scores: "alignment" of the kernel with the validation labels,
    and "error" of the best machine on the kernel there. Returns one result for each.
    """

    learner: ContinuousAlignment
    scores: Sequence[str] = ("alignment", "error")
    values: Sequence[float] = LAMBDAS

    #: The axis of a reading that the results differ in.
    axis = "lambda"

    def __call__(self, problem: Problem) -> dict[str, Fitted]:
        learning, learners = 0.0, []
        for value in self.values:
            start = time.process_time()
            with quiet():
                learner = clone(self.learner).set_params(penalty=value)
                learners.append(learner.fit(*problem.train))
            learning += time.process_time() - start
        choose = {"alignment": self._by_alignment, "error": self._by_error}
        found = {}
        for score in self.scores:
            start = time.process_time()
            scores, fitted = choose[score](problem, learners)
            best = int(np.argmax(scores))
            extra = {"lambda": self.values[best], "lambda_scores": np.round(scores, 5)}
            seconds = learning + time.process_time() - start
            extra["iterations"] = len(learners[best].history_)
            found[score] = replace(fitted, learning=learning, seconds=seconds, extra=extra)
        return found

    def _by_alignment(
        self, problem: Problem, learners: Sequence[ContinuousAlignment]
    ) -> tuple[list[float], Fitted]:
        scores = [alignment_on(learner.kernel_, problem.valid) for learner in learners]
        # The machine is trained once, for the lambda that is chosen.
        best = learners[int(np.argmax(scores))]
        return scores, best_machine(best.kernel_, problem, best.alignment_, 0.0)

    def _by_error(
        self, problem: Problem, learners: Sequence[ContinuousAlignment]
    ) -> tuple[list[float], Fitted]:
        fitted = [best_machine(one.kernel_, problem, one.alignment_, 0.0) for one in learners]
        scores = [-one.validation_error for one in fitted]
        return scores, fitted[int(np.argmax(scores))]


def best_machine(
    kernel: LearnedKernel, problem: Problem, alignment: float, learning: float
) -> Fitted:
    """The soft-margin machine on a learned kernel with the C that validates best."""
    X, y = problem.train
    K = kernel(X)
    K_valid = kernel(problem.valid[0], X)
    rows = np.arange(len(y), dtype=float)[:, None]

    def candidates() -> Iterator[Candidate]:
        for learned in LpNormMKL([K]).learn_path(rows, target_of(y), C_GRID):
            assert learned.machine is not None
            # The learner scales its only kernel; the machine is written for that scale.
            scale = float(learned.kernel.weights[0])
            machine = DualModel(scale * learned.machine.coefficients, learned.machine.intercept)
            yield kernel, machine, error_of(machine.predict(K_valid), problem.valid[1])

    with quiet():
        best, error, _, machine = first_best(candidates())
    return Fitted(kernel, machine, float(C_GRID[best]), error, alignment, learning)


def first_best(candidates: Iterable[Candidate]) -> tuple[int, float, LearnedKernel, DualModel]:
    """The first candidate of smallest error: C ascends, so ties go to the stronger one."""
    best: tuple[int, float, LearnedKernel, DualModel] | None = None
    for position, (kernel, machine, error) in enumerate(candidates):
        if best is None or error < best[1]:
            best = position, error, kernel, machine
    assert best is not None
    return best


def error_of(outputs: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean(np.where(outputs >= 0, 1, -1) != y))


def alignment_on(kernel: LearnedKernel, part: Part) -> float:
    """Centred alignment of the kernel with the labels of other rows."""
    X, y = part
    return centered_alignment(kernel(X), np.outer(y, y))


@contextmanager
def quiet() -> Iterator[None]:
    """No warnings of paths that stopped early: at a C that is not chosen they concern nobody."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
