"""The contract of a machine of the second stage, trained on a Gram matrix."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kernalign._typing import Array
from kernalign._warnings import find_stack_level
from kernalign.gram.labels import signs
from kernalign.machines.model import GramModel

#: 10^{-5, -4.5, ..., 5}: the paper's values of C.
C_GRID = 10.0 ** np.arange(-5, 5.01, 0.5)
#: Iterations after which libsvm is stopped: large C on a low-rank Gram would go on for hours.
ITERATIONS = 100_000

Trained = TypeVar("Trained", bound=GramModel)


class Machine(ABC):
    """A second stage with one regularisation parameter, larger being weaker."""

    #: As a person knows it.
    name: str
    #: Whether its solution depends on C.
    regularised: bool = True
    #: Whether it minimises squares, as the solvers for many rows do.
    least_squares: bool = False

    @abstractmethod
    def fit(self, K: Array, y: Array, weight: Array, value: float) -> GramModel:
        """Train at one value."""

    @abstractmethod
    def path(self, K: Array, y: Array, weight: Array, K_test: Array, values: Array) -> Array:
        """Outputs on K_test (values, rows, ...) for ascending values."""


class LibraryMachine(Machine, Generic[Trained]):
    """A machine of scikit-learn with kernel="precomputed"."""

    @abstractmethod
    def unfitted(self, value: float) -> Any:
        """The estimator at one value."""

    @abstractmethod
    def gram_model(self, fitted: Any, n: int) -> Trained:
        """What a fitted estimator predicts with, n training rows."""

    def labels(self, y: Array) -> Array:
        """y as the estimator takes it."""
        return y

    def settled(self, fitted: Any, weight: Array, value: float) -> bool:
        """Whether larger values would give the same machine."""
        return False

    def fit(self, K: Array, y: Array, weight: Array, value: float) -> Trained:
        fitted = self._train(K, y, weight, value)
        if _stopped(fitted):
            warnings.warn(
                f"{type(fitted).__name__} stopped after {fitted.max_iter} iterations at "
                f"C={value:g}, short of its optimum: scale the features, or choose a smaller C.",
                ConvergenceWarning,
                stacklevel=find_stack_level(),
            )
        return self.gram_model(fitted, len(K))

    def path(self, K: Array, y: Array, weight: Array, K_test: Array, values: Array) -> Array:
        """As `Machine.path`.

        Where a larger value changes nothing, or the solver stopped short of its optimum, as it
        would with every larger one, the last good outputs stand for the rest.
        """
        outputs: list[Array] = []
        for value in values:
            fitted = self._train(K, y, weight, value)
            stopped = _stopped(fitted)
            if not outputs or not stopped:
                outputs.append(self.gram_model(fitted, len(K)).predict(K_test))
            if stopped or self.settled(fitted, weight, value):
                break
        outputs += [outputs[-1]] * (len(values) - len(outputs))
        return np.stack(outputs)

    def _train(self, K: Array, y: Array, weight: Array, value: float) -> Any:
        """Fit; only the machine that is kept says whether it met its limit of iterations."""
        machine = self.unfitted(value)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            if (weight == 1).all():
                return machine.fit(K, self.labels(y))
            return machine.fit(K, self.labels(y), sample_weight=weight)


def class_signs(codes: Any) -> Array:
    """-1/+1 of classes that are all there: (n,) for two, (n, classes) for more."""
    return signs(codes, int(codes.max()) + 1)


def _stopped(machine: Any) -> bool:
    """Whether a machine of scikit-learn met its limit of iterations."""
    limit = getattr(machine, "max_iter", None)
    if limit is None or limit == -1:
        return False
    return bool(np.max(getattr(machine, "n_iter_", 0)) >= limit)
