"""Explicit features, or the Gram matrix, of a learned kernel."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.linalg import eigh
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from kernalign._documented import includes_parameters
from kernalign._fitted import publish
from kernalign._typing import Array
from kernalign._validation import check_choice, check_count
from kernalign.estimators.base import KernelEstimator
from kernalign.estimators.outcome import kernel_attributes
from kernalign.features import choose_landmarks
from kernalign.gram.labels import infer_target
from kernalign.kernels import LearnedKernel
from kernalign.learners import ContinuousAlignment
from kernalign.learners.base import generator
from kernalign.machines.model import KernelModel, KernelValues, RowsModel, Seen
from kernalign.rows import as_rows
from kernalign.rows.input import labelled_rows, of_rows
from kernalign.rows.table import kernel_features


@includes_parameters
class KernelFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    """Transform X into features of a learned kernel, for use with any linear model.

    The features phi satisfy phi(x)'phi(x') = k(x, x') on the landmarks and approximate it elsewhere
    (Nystroem). If all training rows are landmarks, the training Gram matrix is exact.

    Parameters
    ----------
    learner : Learner, default ContinuousAlignment()
        How the kernel is learned.
    n_components : int or None
        Number of landmarks, and of features. Landmarks are drawn from the distinct training rows;
        None uses all of them.
    output : {"features", "gram"}
        "gram" returns k(X, X_train), for estimators with kernel="precomputed".
    random_state : int, RandomState or None
        Seed of the selection of landmarks.
    {categorical_features}
    {kinds}

    Attributes
    ----------
    columns_ : Columns
        For a table: the kind of each column, and the features that it is encoded as.

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
        categorical_features: Any = "from_dtype",
        kinds: Any = None,
    ):
        self.learner = learner
        self.n_components = n_components
        self.output = output
        self.random_state = random_state
        self.categorical_features = categorical_features
        self.kinds = kinds

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the kernel from the labels and select the landmarks."""
        X, y, weight, columns = labelled_rows(self, X, y, sample_weight, multi_output=True)
        check_choice(self, "output", ("features", "gram"))
        check_count(self, "n_components", optional=True)
        rows, used = as_rows(X), weight > 0
        if not rows.in_memory and (self.output == "gram" or self.n_components is None):
            raise ValueError(
                "KernelFeatures stores only landmarks of a Dask array. Got "
                f"output={self.output!r}, n_components={self.n_components!r}: use "
                "output='features' and a number of landmarks."
            )
        given = ContinuousAlignment() if self.learner is None else self.learner
        learner = clone(self._checked([given])[0])
        learner.fit_target(X, infer_target(y, weight), kernel_features(columns))
        kernel, some = learner.kernel_, rows.subset(used)
        seen = Seen.of(some, weight[used])
        if self.output == "gram":
            # Estimators with kernel="precomputed" need a column for every row that they are fitted
            # to, including rows of weight zero.
            model: RowsModel = KernelValues(kernel, seen, X, np.arange(len(X)))
        else:
            landmarks = self._landmarks(kernel, some)
            root = _inverse_root(kernel(landmarks))
            model = KernelModel(kernel, seen, landmarks, None, root, np.zeros(()))
        publish(self, model_=model, **columns, **kernel_attributes(learner))
        return self

    def _landmarks(self, kernel: LearnedKernel, X: Any) -> Array:
        """All distinct rows, or a sample of `n_components` of them."""
        rng = generator(self.random_state)
        if not as_rows(X).in_memory:
            return choose_landmarks(kernel, X, int(self.n_components or 0), rng, "uniform")
        X = np.unique(X, axis=0)
        if self.n_components is not None and self.n_components < len(X):
            X = X[np.sort(rng.choice(len(X), self.n_components, replace=False))]
        return X

    def transform(self, X: Any) -> Array:
        """Features (n, components), or the Gram matrix (n, training rows)."""
        check_is_fitted(self)
        features: Array = of_rows(self, X, self.model_.outputs, self._n_features_out)
        return features

    @property
    def _n_features_out(self) -> int:
        return len(self.model_.rows)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _inverse_root(K: Array) -> Array:
    """K^(-1/2) of a Gram matrix."""
    values, vectors = eigh(K)
    # The inverse root would amplify directions that are only rounding errors.
    kept = values > values[-1] * len(K) * np.finfo(float).eps
    vectors = vectors[:, kept]
    return vectors / np.sqrt(values[kept]) @ vectors.T
