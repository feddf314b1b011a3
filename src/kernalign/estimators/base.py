"""What the estimators share: learn a kernel, keep the rows it needs, evaluate it in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from kernalign._typing import Array
from kernalign._validation import check_rows
from kernalign.gram import Target
from kernalign.kernels.learned import rows_within_budget
from kernalign.learners import ContinuousAlignment, Learner


class KernelEstimator(BaseEstimator):
    """Base of `KernelClassifier`, `KernelRegressor` and `KernelFeatures`."""

    def _learn(self, X: Array, target: Target) -> None:
        """Learn the kernel; the rows used are kept."""
        learner = ContinuousAlignment() if self.learner is None else self.learner
        if not isinstance(learner, Learner):
            raise ValueError(
                f"The 'learner' parameter of {type(self).__name__} must be a kernel learner such "
                f"as ContinuousAlignment(). Got {learner!r} instead."
            )
        names = getattr(self, "feature_names_in_", None)
        self.learner_ = clone(learner).fit_target(X, target, names)
        self.kernel_ = self.learner_.kernel_
        self.alignment_ = self.learner_.alignment_
        self.history_ = self.learner_.history_
        self.X_fit_ = X

    def _blocks(self, X: Any, columns: Any = None) -> Iterator[tuple[slice, Array]]:
        """k(X, X_fit) in blocks of rows; zero outside `columns`, if given."""
        check_is_fitted(self)
        X = check_rows(self, X)
        n = len(self.X_fit_)
        rows_fit = self.X_fit_ if columns is None else self.X_fit_[columns]
        for rows in gen_batches(len(X), rows_within_budget(n)):
            K = self.kernel_(X[rows], rows_fit)
            if columns is not None:
                full = np.zeros((len(K), n))
                full[:, columns] = K
                K = full
            yield rows, K
