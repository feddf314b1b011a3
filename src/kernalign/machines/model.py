"""Trained models f(x) as plain data.

A machine on a Gram matrix gives a `GramModel`, a function of kernel values. Together with the
kernel and the training rows it is a `Model`, a function of rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kernalign._compiled import compiled
from kernalign._threads import active_threads, map_rows
from kernalign._typing import Array, IntArray
from kernalign.features.base import FeatureMap
from kernalign.kernels import LearnedKernel
from kernalign.kernels.learned import rows_within_budget
from kernalign.kernels.together import Combination, seconds_saved
from kernalign.rows import as_rows, taken

#: Kernel values of a block of rows, and minimum rows of a block, if the memory limit allows it.
BLOCK, ROWS = 2**19, 256
#: Kinds of rows that a model stores.
TRAINING, SUPPORT, LANDMARKS = "training rows", "support vectors", "landmarks"


@dataclass(frozen=True)
class Seen:
    """The training data of a model.

    n_rows : the number of rows of positive weight.
    spread : (d,) standard deviation of each feature over them.
    """

    n_rows: int
    spread: Array

    @classmethod
    def of(cls, X: Any, weight: Array) -> Seen:
        """Of rows X, wherever they are."""
        rows = as_rows(X)
        # Constant features are not detected for rows outside memory.
        constant = (X[:1] == X).all(axis=0) if rows.in_memory else False
        return cls(len(rows), np.where(constant, 0.0, rows.spread(weight)))


class GramModel(ABC):
    """A trained machine as a function of kernel values."""

    @abstractmethod
    def predict(self, K: Array) -> Array:
        """Outputs for the rows of K = k(X, training rows): decision values, or responses."""

    @abstractmethod
    def on_rows(self, kernel: LearnedKernel, X: Array, seen: Seen) -> Model:
        """The model with a kernel and the training rows X."""


@dataclass(frozen=True)
class DualModel(GramModel):
    """f(x) = sum_i k(x, x_i) coefficients_i + intercept.

    coefficients : (n,), or (n, c) for c outputs; intercept : number or (c,).
    """

    coefficients: Array
    intercept: Any

    def predict(self, K: Array) -> Array:
        return K @ self.coefficients + self.intercept

    def on_rows(self, kernel: LearnedKernel, X: Array, seen: Seen) -> KernelModel:
        """The model on the support vectors: the rows whose coefficients are not zero."""
        dual, intercept = self.coefficients, np.asarray(self.intercept)
        if dual.ndim == 2 and dual.shape[1] == 1:
            dual, intercept = dual[:, 0], intercept.reshape(())
        index = np.flatnonzero(dual.reshape(len(dual), -1).any(axis=1))
        return KernelModel(kernel, seen, X[index], index, dual[index], intercept)


@dataclass(frozen=True)
class PairwiseDual(GramModel):
    """A machine for every pair of classes: scores by `votes`.

    coefficients : (n, pairs), pairs in the order (0, 1), (0, 2), ..., (1, 2), ...; intercept :
        (pairs,). An output above zero is for the first class of its pair.
    """

    coefficients: Array
    intercept: Array
    n_classes: int

    def predict(self, K: Array) -> Array:
        return votes(K @ self.coefficients + self.intercept, self.n_classes)

    def on_rows(self, kernel: LearnedKernel, X: Array, seen: Seen) -> PairwiseModel:
        """The model on the rows whose coefficients are not all zero."""
        index = np.flatnonzero(self.coefficients.any(axis=1))
        some = self.coefficients[index]
        return PairwiseModel(kernel, seen, X[index], index, some, self.intercept, self.n_classes)


def votes(pairs: Array, n_classes: int) -> Array:
    """(n, classes): the number of pairs that a class wins, plus a margin to break ties."""
    won = np.zeros((len(pairs), n_classes))
    margin = np.zeros((len(pairs), n_classes))
    start = 0
    for first in range(n_classes - 1):
        # The pairs of this class with all later ones.
        outputs = pairs[:, start : start + n_classes - 1 - first]
        won[:, first] += (outputs >= 0).sum(axis=1)
        won[:, first + 1 :] += outputs < 0
        margin[:, first] += outputs.sum(axis=1)
        margin[:, first + 1 :] -= outputs
        start += outputs.shape[1]
    return won + margin / (3 * (np.abs(margin) + 1))


@dataclass(frozen=True, repr=False)
class Model(ABC):
    """f(x) of a trained machine.

    kernel : the learned kernel.
    seen : the training data.
    """

    kernel: LearnedKernel
    seen: Seen

    @property
    @abstractmethod
    def columns(self) -> int:
        """Number of kernel values, or features, per row."""

    @abstractmethod
    def of_rows(self, X: Array) -> Callable[[slice], Array]:
        """A function from some rows of X to f of these rows."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} learned from {self.n_rows} rows: {self.kernel!r}>"

    @property
    def n_rows(self) -> int:
        """Rows that the model was learned from."""
        return self.seen.n_rows

    def renumbered(self, positions: Any) -> Self:
        """The model with the training rows at other positions."""
        return self

    def outputs(self, X: Array) -> Array:
        """f of each row of X, (n,), or (n, c) for c outputs: blocks of rows in threads."""
        most = rows_within_budget(self.columns) // active_threads()
        size = max(1, min(max(ROWS, BLOCK // max(self.columns, 1)), most))
        if len(X) <= size:
            return self.of_rows(X)(slice(0, len(X)))
        return np.concatenate([part for _, part in map_rows(self.of_rows(X), len(X), size)])


@dataclass(frozen=True, repr=False)
class RowsModel(Model):
    """A model that stores rows and evaluates the kernel with them.

    rows : (m, d) training rows, or landmarks.
    index : (m,) their positions among the training rows; None for landmarks.
    """

    rows: Array
    index: IntArray | None

    @property
    def columns(self) -> int:
        return len(self.rows)

    @property
    def kept(self) -> str:
        """Kind of the stored rows: "training rows", "support vectors" or "landmarks"."""
        if self.index is None:
            return LANDMARKS
        return TRAINING if len(self.rows) == self.n_rows else SUPPORT

    def renumbered(self, positions: Any) -> Self:
        return self if self.index is None else replace(self, index=taken(positions, self.index))

    @abstractmethod
    def from_gram(self, K: Array) -> Array:
        """f of the rows of K = k(X, rows)."""

    def of_rows(self, X: Array) -> Callable[[slice], Array]:
        if not len(self.rows):
            # A machine without support vectors is a constant.
            return lambda rows: self.from_gram(np.zeros((len(X[rows]), 0)))
        kernels = self.kernel.kernels
        values = Combination(kernels, self.kernel.weights, self.rows)
        saved = seconds_saved(kernels, len(X) * len(self.rows))

        def block(rows: slice) -> Array:
            with compiled(saved):
                K = values(X[rows])
            return self.from_gram(K)

        return block


@dataclass(frozen=True, repr=False)
class KernelModel(RowsModel):
    """f(x) = k(x, rows) coefficients + intercept: (m,) and a number, or (m, c) and (c,)."""

    coefficients: Array
    intercept: Array

    def from_gram(self, K: Array) -> Array:
        return K @ self.coefficients + self.intercept


@dataclass(frozen=True, repr=False)
class PairwiseModel(RowsModel):
    """f(x) = votes of k(x, rows) coefficients + intercept: see `PairwiseDual`."""

    coefficients: Array
    intercept: Array
    n_classes: int

    def from_gram(self, K: Array) -> Array:
        return votes(K @ self.coefficients + self.intercept, self.n_classes)


@dataclass(frozen=True, repr=False)
class KernelValues(RowsModel):
    """f(x) = k(x, rows) itself."""

    def from_gram(self, K: Array) -> Array:
        return K


@dataclass(frozen=True, repr=False)
class GivenMachineModel(RowsModel):
    """f(x) = machine(k(x, training rows)), with zeros for kernel values that it does not use.

    places : (m,) columns of the machine's Gram matrix for these rows.
    """

    machine: GramModel
    places: IntArray

    @property
    def columns(self) -> int:
        return self.n_rows

    def from_gram(self, K: Array) -> Array:
        full = np.zeros((len(K), self.n_rows))
        full[:, self.places] = K
        return self.machine.predict(full)


@dataclass(frozen=True, repr=False)
class FeatureModel(Model):
    """f(x) = phi(x) coefficients + intercept, on explicit features: (r,) and a number, or (r, c)
    and (c,)."""

    features: FeatureMap
    coefficients: Array
    intercept: Array

    @property
    def columns(self) -> int:
        return self.features.n_features

    def of_rows(self, X: Array) -> Callable[[slice], Array]:
        return lambda rows: self.features.raw(X[rows]) @ self.coefficients + self.intercept


#: For a model that exists only during the fit.
NOTHING = Seen(0, np.empty(0))


def linear_model(
    features: FeatureMap, coefficients: Array, intercept: Array, seen: Seen = NOTHING
) -> Model:
    """f(x) = raw(x) coefficients + intercept, (r, c) and (c,), without data for training."""
    if coefficients.shape[1] == 1:
        coefficients, intercept = coefficients[:, 0], intercept[0]
    if features.landmarks is None:
        return FeatureModel(features.kernel, seen, features, coefficients, intercept)
    landmarks = features.landmarks
    return KernelModel(features.kernel, seen, landmarks, None, coefficients, intercept)
