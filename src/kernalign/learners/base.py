"""The interface of a kernel learner: (X, target) -> a learned kernel and its history."""

from __future__ import annotations

import copy
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from kernalign._documented import Documented
from kernalign._fitted import publish
from kernalign._threads import blocks_in_threads
from kernalign._typing import Array
from kernalign.gram import Target
from kernalign.gram.labels import infer_target
from kernalign.gram.target import meant_weights
from kernalign.kernels import LearnedKernel
from kernalign.machines.model import DualModel
from kernalign.rows import as_rows, mapped, summed
from kernalign.rows.input import labelled_rows
from kernalign.rows.table import kernel_features
from kernalign.solvers.callback import logger

ALIGNMENT = "alignment with the labels"


@dataclass(frozen=True)
class Learned:
    """Result of a learner.

    kernel : the learned kernel, normalised.
    alignment : its centred alignment with the target on the training rows.
    history : one record per iteration: `iteration`, the `objective` after it, and further values.
    objective : the optimised value; None if it is that of the last record.
    converged : whether the method ended by its stopping criterion and not by an iteration limit.
    weights : the weights of the method, if they differ from those of the kernel.
    gap : certified relative distance of the objective from the optimum, if known.
    machine : for one-stage learners, the machine trained together with the kernel: its outputs are
        `machine.predict(kernel(X, rows))`, with the rows given to `learn`.
    extra : further fitted attributes, by name.
    """

    kernel: LearnedKernel
    alignment: float
    history: list[dict[str, Any]]
    objective: float | None = None
    converged: bool = True
    weights: Array | None = None
    gap: float | None = None
    machine: DualModel | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    def attributes(self) -> dict[str, Any]:
        """The fitted attributes of the learner; all learners use the same names."""
        named = {
            "kernel_": self.kernel,
            "alignment_": self.alignment,
            "history_": self.history,
            "objective_": self._objective(),
            "weights_": self.kernel.weights if self.weights is None else self.weights,
            "converged_": self.converged,
            "n_iter_": len(self.history),
        }
        if self.gap is not None:
            named["gap_"] = self.gap
        if self.machine is not None:
            named["machine_"] = self.machine
        return named | self.extra

    def _objective(self) -> float:
        if self.objective is not None:
            return self.objective
        return float(self.history[-1]["objective"]) if self.history else self.alignment


#: Largest weight of a loss: products of larger weights overflow.
LARGEST_C = 1e100
#: Largest samples: for families that are summed in one pass, and for all others.
STREAMED_SAMPLE, DENSE_SAMPLE = 20_000, 4000


class Learner(Documented, ABC):
    """Base of all kernel learners: estimators with `fit(X, y)`, `kernel_` and `history_`.

    A subclass implements `learn`. The estimators and the command line use only this interface.
    """

    @abstractmethod
    def learn(
        self, X: Array, target: Target, feature_names: Sequence[str] | None = None
    ) -> Learned:
        """Learn a kernel from validated rows and a target whose weights are all positive."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn a kernel from labels (classes or numbers).

        Parameters
        ----------
        X : (n, d) array or data frame; Dask collections for learners that support them
        y : (n,) classes or responses
            Text, booleans and whole numbers with at most 20 distinct values are treated as classes
            here; `KernelRegressor` treats all numbers as a response. A response y is scaled to
            (y - mean y) / max |y - mean y|, and `objective_`, the objectives in `history_`,
            `machine_` and `dual_coef_` are in these units.
        sample_weight : (n,) array, optional
            An integer weight is equivalent to repeating the row.
        """
        X, y, weight, columns = labelled_rows(self, X, y, sample_weight, multi_output=True)
        with blocks_in_threads():
            if self.relative_weights:
                weight = meant_weights(weight)
            target = infer_target(y, weight)
            learned = self._attributes(X, target, kernel_features(columns))
        publish(self, **columns, **learned)
        return self

    def learn_after(
        self,
        simpler: Learner,
        X: Array,
        target: Target,
        feature_names: Sequence[str] | None = None,
    ) -> Learned:
        """`learn`, optionally started from a simpler learner that was fitted to the same rows."""
        return self.learn(X, target, feature_names)

    def fit_target(
        self,
        X: Array,
        target: Target,
        feature_names: Sequence[str] | None = None,
        after: Learner | None = None,
    ) -> Self:
        """`fit` for validated rows and target.

        after : a simpler learner fitted to the same rows.
        """
        publish(self, **self._attributes(X, target, feature_names, after))
        return self

    def _attributes(
        self,
        X: Array,
        target: Target,
        feature_names: Sequence[str] | None = None,
        after: Learner | None = None,
    ) -> dict[str, Any]:
        """Fitted attributes by name; the learner itself does not change."""
        self._check_place(X)
        used = mapped(_positive, target.weight)
        if summed(np.count_nonzero, used) < len(used):
            X, target = as_rows(X).subset(used), target.subset(used)
        began = time.perf_counter()
        with blocks_in_threads():
            if after is None:
                learned = self.learn(X, target, feature_names)
            else:
                learned = self.learn_after(after, X, target, feature_names)
        logger.info(
            "%s: %d kernels, alignment %.4f, %d rows, %.2f s",
            type(self).__name__,
            len(learned.kernel.kernels),
            learned.alignment,
            len(X),
            time.perf_counter() - began,
        )
        return learned.attributes()

    def _check_place(self, X: Any) -> None:
        if self.streams or as_rows(X).in_memory:
            return
        name = type(self).__name__
        way_out = "load some of them into memory" if self.one_stage else f"use Sampled({name}(...))"
        raise ValueError(
            f"{name} needs rows in memory. Got rows elsewhere, such as a Dask array: {way_out}."
        )

    # A subclass sets a class attribute, or computes the value from its parameters.
    @property
    def objective_name(self) -> str:
        """Description of `objective_` and of `objective` in `history_`."""
        return ALIGNMENT

    #: Whether `learn` accepts rows that are not in memory (`Rows`).
    streams: bool = False
    #: Whether only the ratios of weights count, unless they are numbers of equal rows.
    relative_weights: bool = False

    @property
    def one_pass(self) -> bool:
        """Whether `learn` needs only one pass over pairs of rows, which may then be anywhere."""
        return False

    def largest_sample(self) -> float:
        """The largest number of rows to learn from; above it, the cost grows superlinearly."""
        return DENSE_SAMPLE

    @property
    def one_stage(self) -> bool:
        """Whether learning the kernel also trains the machine, which is then `Learned.machine`."""
        return False

    def regularised(self, C: float) -> Learner:
        """An unfitted copy with weight C on the loss; for one-stage learners only."""
        raise TypeError(f"{type(self).__name__} has no regularisation parameter.")

    def learn_path(
        self,
        X: Array,
        target: Target,
        values: Array,
        feature_names: Sequence[str] | None = None,
    ) -> Iterator[Learned]:
        """`learn` at each C of ascending `values`; a subclass may use warm starts."""
        for C in values:
            yield self.regularised(float(C)).learn(X, target, feature_names)

    def for_folds(self) -> Learner:
        """An unfitted copy for cross-validation folds, with the options selected by `fit` fixed."""
        unfitted: Learner = clone(self)
        if hasattr(unfitted, "callback"):
            # The callback observes the fit on all rows only.
            unfitted.callback = None
        return unfitted

    def __sklearn_clone__(self) -> Self:
        """Copy a learner; the callback is shared, because it may be a progress bar or a list."""
        bare = copy.copy(self)
        if hasattr(bare, "callback"):
            bare.callback = None
        made: Self = super(Learner, bare).__sklearn_clone__()
        if hasattr(bare, "callback"):
            made.callback = self.callback
        return made

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = True
        return tags


def _positive(weight: Array) -> Any:
    return weight > 0


def generator(random_state: Any) -> np.random.Generator:
    """A numpy generator from scikit-learn's `random_state`."""
    return np.random.default_rng(check_random_state(random_state).randint(2**31))
