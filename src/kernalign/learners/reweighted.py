"""Weights for the kernels that another learner found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from sklearn.base import clone

from kernalign._typing import Array
from kernalign.gram import Target
from kernalign.learners.base import Learned, Learner
from kernalign.learners.continuous_alignment import ContinuousAlignment
from kernalign.learners.finite import FiniteLearner
from kernalign.learners.uniform import UniformWeights


class Reweighted(Learner):
    """Take the kernels of one learner and learn their weights with another.

    A search over a continuous set finds the kernels; their weights are a separate question. The
    paper asks, for example, whether uniform weights on these kernels would do as well.

    Parameters
    ----------
    dictionary : Learner, default ContinuousAlignment()
        The learner that finds the kernels.
    weights : learner over a finite set, default UniformWeights()
        The learner of the weights; its `kernels` are set by this class. If it is a one-stage
        learner, its machine is used and its C tuned.

    Attributes
    ----------
    kernel_, alignment_, history_, weights_, objective_, ... :
        As for the learner of the weights.
    dictionary_ : Learner
        The fitted learner of the kernels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernalign import ContinuousAlignment, Reweighted, UniformWeights
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = Reweighted(ContinuousAlignment(), UniformWeights()).fit(X, y)
    >>> len(set(learner.kernel_.weights)) == 1
    True
    """

    def __init__(self, dictionary: Any = None, weights: Any = None):
        self.dictionary = dictionary
        self.weights = weights

    @property
    def one_stage(self) -> bool:
        return bool(getattr(self.weights, "one_stage", False))

    @property
    def objective_name(self) -> str:
        return self._weights().objective_name

    def learn(
        self, X: Array, target: Target, feature_names: Sequence[str] | None = None
    ) -> Learned:
        found, weights = self._find(X, target, feature_names)
        learned = weights.learn(X, target, feature_names)
        return replace(learned, extra={**learned.extra, "dictionary_": found})

    def for_folds(self) -> Reweighted:
        """A copy for folds; options selected by the dictionary are fixed, callbacks removed."""
        copy: Reweighted = super().for_folds()
        found = self.dictionary_ if hasattr(self, "dictionary_") else self._dictionary()
        copy.dictionary = found.for_folds()
        copy.weights = self._weights().for_folds()
        return copy

    def regularised(self, C: float) -> Reweighted:
        copy: Reweighted = clone(self)
        copy.weights = self._weights().regularised(C)
        return copy

    def learn_path(
        self,
        X: Array,
        target: Target,
        values: Array,
        feature_names: Sequence[str] | None = None,
    ) -> Iterator[Learned]:
        _, weights = self._find(X, target, feature_names)
        yield from weights.learn_path(X, target, values, feature_names)

    def _find(
        self, X: Array, target: Target, feature_names: Sequence[str] | None
    ) -> tuple[Learner, FiniteLearner]:
        """The fitted dictionary, and the learner of the weights with its kernels set."""
        found: Learner = clone(self._dictionary()).fit_target(X, target, feature_names)
        weights = clone(self._weights())
        weights.kernels = list(found.kernel_.kernels)
        return found, weights

    def _dictionary(self) -> Learner:
        dictionary = ContinuousAlignment() if self.dictionary is None else self.dictionary
        if not isinstance(dictionary, Learner):
            raise ValueError(
                "The 'dictionary' parameter of Reweighted must be a kernel learner. "
                f"Got {dictionary!r} instead."
            )
        return dictionary

    def _weights(self) -> FiniteLearner:
        weights = UniformWeights() if self.weights is None else self.weights
        if not isinstance(weights, FiniteLearner):
            raise ValueError(
                "The 'weights' parameter of Reweighted must be a learner over a finite set of "
                f"kernels, such as UniformWeights(). Got {weights!r} instead."
            )
        return weights
