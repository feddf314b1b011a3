"""Explicit features, or the Gram matrix, of a learned kernel."""

from __future__ import annotations

import numbers
from typing import Any, Self

import numpy as np
from scipy.linalg import eigh
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone

from kernalign._typing import Array
from kernalign._validation import check_choice, check_labelled_rows, check_weights
from kernalign.estimators.base import KernelEstimator
from kernalign.gram.labels import infer_target
from kernalign.learners.base import generator


class KernelFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    """Turn X into features of a learned kernel, for any linear model.

    Features phi with phi(x)'phi(x') = k(x, x') on the landmarks, and close to it elsewhere
    (Nystrom). With as many landmarks as training rows the training Gram matrix is exact.

    Parameters
    ----------
    learner : Learner, default ContinuousAlignment()
        How the kernel is learned.
    n_components : int or None
        Landmarks drawn from the distinct training rows, one feature each; None takes them all.
    output : {"features", "gram"}
        "gram" gives k(X, X_train), for estimators with kernel="precomputed".
    random_state : int, RandomState or None
        Choice of the landmarks.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from kernalign import KernelFeatures
    >>> X, y = make_circles(200, noise=0.05, factor=0.5, random_state=0)
    >>> model = make_pipeline(KernelFeatures(n_components=20), LogisticRegression())
    >>> model.fit(X, y).score(X, y) > 0.95
    True
    """

    def __init__(
        self,
        learner: Any = None,
        n_components: int | None = 100,
        *,
        output: str = "features",
        random_state: Any = 0,
    ):
        self.learner = learner
        self.n_components = n_components
        self.output = output
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the kernel from labels and choose the landmarks."""
        X, y = check_labelled_rows(self, X, y, multi_output=True)
        check_choice(self, "output", ("features", "gram"))
        wanted = self.n_components
        counted = isinstance(wanted, numbers.Integral) and not isinstance(wanted, bool)
        if wanted is not None and not (counted and wanted >= 1):
            raise ValueError(
                "The 'n_components' parameter of KernelFeatures must be an int in [1, inf) or "
                f"None. Got {wanted!r} instead."
            )
        weight = check_weights(sample_weight, X)
        learner = clone(self._checked_learner())
        names = getattr(self, "feature_names_in_", None)
        self._keep(learner.fit_target(X, infer_target(y, weight), names), X)
        if self.output == "features":
            self._choose_landmarks(np.unique(X[weight > 0], axis=0))
        return self

    def _choose_landmarks(self, X: Array) -> None:
        if self.n_components is not None and self.n_components < len(X):
            rng = generator(self.random_state)
            X = X[np.sort(rng.choice(len(X), self.n_components, replace=False))]
        self.X_fit_ = X
        values, vectors = eigh(self.kernel_(X))
        # Directions that rounding made up would blow up in the inverse root.
        kept = values > values[-1] * len(X) * np.finfo(float).eps
        vectors = vectors[:, kept]
        self.projection_ = vectors / np.sqrt(values[kept]) @ vectors.T

    def transform(self, X: Any) -> Array:
        """Features (n, components), or the Gram matrix (n, training rows)."""
        rows = self._rows(X)
        out = np.empty((len(rows), self._n_features_out))
        start = 0
        for K in self._blocks(rows):
            out[start : start + len(K)] = K if self.output == "gram" else K @ self.projection_
            start += len(K)
        return out

    @property
    def _n_features_out(self) -> int:
        return len(self.X_fit_) if self.output == "gram" else self.projection_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
