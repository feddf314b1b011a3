"""The interface of a machine of the second stage, trained on a Gram matrix."""

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
#: Iteration limit of libsvm: a large C on a low-rank Gram matrix would run for hours.
ITERATIONS = 100_000

Trained = TypeVar("Trained", bound=GramModel)


class Machine(ABC):
    """A second stage with one parameter; larger values regularise less."""

    #: Usual name.
    name: str
    #: Whether its solution depends on C.
    regularised: bool = True
    #: Whether it minimises squared errors, as the solvers for many rows do.
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
        """The model of an estimator fitted to n training rows."""

    def labels(self, y: Array) -> Array:
        """y in the form that the estimator accepts."""
        return y

    def settled(self, fitted: Any, weight: Array, value: float) -> bool:
        """Whether larger values would give the same machine."""
        return False

    def fit(self, K: Array, y: Array, weight: Array, value: float) -> Trained:
        fitted = self._train(K, y, weight, value)
        if _stopped(fitted):
            warnings.warn(
                f"{type(fitted).__name__} stopped after {fitted.max_iter} iterations at "
                f"C={value:g}, before it converged: scale the features, or set a smaller C.",
                ConvergenceWarning,
                stacklevel=find_stack_level(),
            )
        return self.gram_model(fitted, len(K))

    def path(self, K: Array, y: Array, weight: Array, K_test: Array, values: Array) -> Array:
        """As `Machine.path`.

        If larger values do not change the machine, or if the solver did not converge, which also
        holds for larger values, the last outputs are used for the rest.
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
        """Fit without convergence warnings, which are only given for the final machine."""
        machine = self.unfitted(value)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            if (weight == 1).all():
                return machine.fit(K, self.labels(y))
            return machine.fit(K, self.labels(y), sample_weight=weight)


def class_signs(codes: Any) -> Array:
    """-1/+1 of codes without gaps: (n,) for two classes, (n, classes) for more."""
    return signs(codes, int(codes.max()) + 1)


def _stopped(machine: Any) -> bool:
    """Whether a scikit-learn machine reached its iteration limit."""
    limit = getattr(machine, "max_iter", None)
    if limit is None or limit == -1:
        return False
    return bool(np.max(getattr(machine, "n_iter_", 0)) >= limit)
