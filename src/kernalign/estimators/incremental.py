"""Least squares on the features of a fixed kernel, learned from batches of rows.

min_{v,b} sum_i w_i |y_i - b - v'phi_i|^2 + |v|^2 / C over the rows of all batches: the normal
equations are sums over rows, so that the solution is that of all rows at once.
"""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from kernalign._documented import Documented
from kernalign._fitted import publish
from kernalign._typing import Array
from kernalign._validation import check_number, check_rows, check_weights, sums_may_overflow
from kernalign.estimators.losses import predicted_codes
from kernalign.gram.labels import signs
from kernalign.machines import NormalEquations
from kernalign.tables.problems import listed


class _Incremental(Documented):
    """The sums over the rows of all batches, and the solution that they determine."""

    def __init__(self, *, C: float = 1.0):
        self.C = C

    def _added(self, X: Any, y: Any, sample_weight: Any, read: Any, **options: Any) -> Self:
        """Add a batch to the sums, and solve.

        read : function from a checked y to (y as numbers, further fitted attributes).
        """
        check_number(self, "C", 0)
        # scikit-learn sets attributes of the estimator before it knows that X is valid.
        checked, first = copy.copy(self), not hasattr(self, "sums_")
        with sums_may_overflow():
            X, y = validate_data(checked, X, y, reset=first, dtype=np.float64, **options)
        values, fitted = read(y)
        Y, w = values.reshape(len(X), -1), check_weights(sample_weight, X)
        if not first and Y.shape[1] != len(self.sums_.y):
            raise ValueError(
                f"y must have as many columns as in the first batch, {len(self.sums_.y)}. Got "
                f"{Y.shape[1]}."
            )
        weighted = w[:, None] * X
        sums = NormalEquations(float(w.sum()), w @ X, w @ Y, weighted.T @ X, weighted.T @ Y)
        seen = int((w > 0).sum())
        if not first:
            sums, seen = self.sums_ + sums, self.n_samples_seen_ + seen
        model = sums.path(None, np.array([float(self.C)]))[0]
        flat = values.ndim == 1
        names = ("n_features_in_", "feature_names_in_")
        publish(
            self,
            coef_=model.coefficients[:, 0] if flat else model.coefficients.T,
            intercept_=float(model.intercept[0]) if flat else model.intercept,
            sums_=sums,
            n_samples_seen_=seen,
            **fitted,
            **{name: value for name, value in vars(checked).items() if name in names},
        )
        return self

    def _outputs(self, X: Any) -> Array:
        check_is_fitted(self)
        outputs: Array = check_rows(self, X) @ self.coef_.T + self.intercept_
        return outputs

    def _forgotten(self) -> Self:
        """A copy without fitted attributes."""
        fresh = copy.copy(self)
        publish(fresh)
        return fresh


class IncrementalRegressor(RegressorMixin, MultiOutputMixin, _Incremental):
    """Ridge regression that learns from batches of rows and forgets none.

    After any number of calls of `partial_fit`, the model is that of one `fit` to all rows. With the
    features of `KernelFeatures`, it is a machine on a fixed kernel and fixed landmarks.

    Parameters
    ----------
    C : float
        Weight of the loss; a smaller value regularises more. It may change between batches.

    Attributes
    ----------
    coef_ : array of shape (n_features_in_,), or (responses, n_features_in_)
    intercept_ : float, or array of shape (responses,)
    n_samples_seen_ : int
        Number of rows of positive weight in all batches.
    sums_ : NormalEquations
        Sums over these rows, of a size that does not depend on their number.

    Examples
    --------
    >>> import numpy as np
    >>> from kernalign import IncrementalRegressor, KernelFeatures
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(3000, 1))
    >>> y = np.sin(2 * X[:, 0])
    >>> features = KernelFeatures(n_components=50).fit(X[:300], y[:300])
    >>> machine = IncrementalRegressor(C=100.0)
    >>> for start in range(0, 2000, 500):
    ...     batch = slice(start, start + 500)
    ...     machine = machine.partial_fit(features.transform(X[batch]), y[batch])
    >>> machine.score(features.transform(X[2000:]), y[2000:]) > 0.99
    True
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from these rows only."""
        fresh = self._forgotten().partial_fit(X, y, sample_weight)
        self.__dict__ = fresh.__dict__
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from these rows and those of all batches since the last `fit`."""
        return self._added(
            X,
            y,
            sample_weight,
            lambda y: (np.asarray(y, dtype=float), {}),
            y_numeric=True,
            multi_output=True,
        )

    def predict(self, X: Any) -> Array:
        """The response of each row."""
        return self._outputs(X)


class IncrementalClassifier(ClassifierMixin, _Incremental):
    """Least squares on labels -1/+1 that learns from batches of rows and forgets none.

    As `IncrementalRegressor`. For more than two classes, there is one output for each.

    Parameters
    ----------
    C : float
        Weight of the loss; a smaller value regularises more. It may change between batches.

    Attributes
    ----------
    classes_ : array
        The classes, from `classes` or the labels of the first batch.
    coef_ : array of shape (n_features_in_,), or (classes, n_features_in_)
    intercept_ : float, or array of shape (classes,)
    n_samples_seen_ : int
        Number of rows of positive weight in all batches.
    sums_ : NormalEquations
        Sums over these rows, of a size that does not depend on their number.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from these rows only."""
        fresh = self._forgotten().partial_fit(X, y, sample_weight=sample_weight)
        self.__dict__ = fresh.__dict__
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from these rows and those of all batches since the last `fit`.

        classes : all classes; needed in the first call if its rows do not have all of them.
        """

        def read(y: Array) -> tuple[Array, dict[str, Any]]:
            check_classification_targets(y)
            known = self._known(y, classes)
            unknown = np.setdiff1d(y, known)
            if len(unknown):
                shown = listed([repr(label) for label in unknown.tolist()])
                raise ValueError(
                    f"y must contain classes of the first batch only. Got {shown}: list all "
                    "classes in the first call of partial_fit (classes=...)."
                )
            return signs(np.searchsorted(known, y), len(known)), {"classes_": known}

        return self._added(X, y, sample_weight, read)

    def _known(self, y: Array, classes: Any) -> Array:
        """The classes; those of later calls must be the same."""
        given = None if classes is None else np.unique(np.asarray(classes))
        before = getattr(self, "classes_", None)
        if before is not None and given is not None and not np.array_equal(before, given):
            raise ValueError(
                f"'classes' must be those of the first batch, {before.tolist()}. Got "
                f"{given.tolist()}."
            )
        known: Array = before if before is not None else np.unique(y) if given is None else given
        if len(known) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least two classes in y. Got one class: "
                f"{known.tolist()[0]!r}."
            )
        return known

    def decision_function(self, X: Any) -> Array:
        """Decision values: (n,) for two classes, positive for the second; (n, classes) for more."""
        return self._outputs(X)

    def predict(self, X: Any) -> Array:
        """The class of each row."""
        outputs = self._outputs(X)
        labels: Array = self.classes_[predicted_codes(outputs)]
        return labels
