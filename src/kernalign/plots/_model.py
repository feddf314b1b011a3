"""What a picture needs of a model, whatever kind of model it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor

from kernalign._typing import Array
from kernalign.estimators.held_out import HeldOutRows
from kernalign.gram.labels import infer_target, label_target, response_target
from kernalign.kernels import LearnedKernel
from kernalign.machines import Model
from kernalign.machines.model import RowsModel
from kernalign.tables import Columns


@dataclass(frozen=True)
class View:
    """A model as pictures see it.

    estimator : the fitted estimator or learner; None for a kernel by itself.
    before : the steps of a pipeline before it, or None.
    names : names of the features that the kernel sees, or None.
    table : what the estimator decided about the columns of a table; None for an array.
    trained : the trained model, with the rows that it keeps; None for a kernel or a learner.
    """

    kernel: LearnedKernel
    estimator: Any = None
    before: Any = None
    names: list[str] | None = None
    trained: Model | None = None
    table: Columns | None = None

    @property
    def learner(self) -> Any:
        return getattr(self.estimator, "learner_", self.estimator)

    def seen(self, X: Any) -> Array:
        """Rows as the kernel sees them."""
        if self.before is not None:
            X = self.before.transform(X)
        if self.table is not None:
            return self.table.encode(X)
        rows: Array = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=float)
        return rows

    def target(self, y: Any, weight: Array) -> Any:
        """The target kernel of labels: their kind is the estimator's, else what y looks like."""
        if is_regressor(self.estimator):
            scale = getattr(self.estimator, "response_", None)
            return response_target(y if scale is None else scale.forward(y), weight)
        if is_classifier(self.estimator):
            return label_target(y, weight)
        return infer_target(y, weight)

    def labelled(self, X: Any, y: Any) -> tuple[Array, Any]:
        """Rows as the kernel sees them, with labels: those given, or those that the model keeps.

        A model keeps the labels of the rows that its folds held out.
        """
        if X is not None and y is not None:
            check_pair(X, y)
            return self.seen(X), np.asarray(y)
        if X is not None or y is not None:
            raise ValueError("X and y belong together: pass both, or neither.")
        model = self.trained
        held_out: HeldOutRows | None = getattr(self.estimator, "held_out_", None)
        kept = isinstance(model, RowsModel) and model.index is not None
        if not kept or not held_out:
            raise ValueError(
                "This picture needs labelled rows, and this model keeps none: pass X and y."
            )
        assert isinstance(model, RowsModel)
        index = np.asarray(model.index)
        _, place, known = np.intersect1d(index, held_out.index, return_indices=True)
        y = held_out.y[known]
        classes = getattr(self.estimator, "classes_", None)
        return model.rows[place], y if classes is None else classes[y.astype(np.intp)]

    def columns(self) -> int:
        """The number of features, as far as the model tells."""
        if self.trained is not None:
            return len(self.trained.seen.spread)
        known = getattr(self.estimator, "n_features_in_", 0)
        for kernel in self.kernel.kernels:
            own = kernel.family.columns
            if isinstance(own, slice) or own is None:
                beside = len(getattr(kernel.family, "untied_names", ()))
                known = max(known, kernel.sigma.size - beside)
            else:
                known = max(known, *(int(c) + 1 for c in own))
        return int(known)

    def by_column(self, values: Array) -> tuple[list[str], Array]:
        """Names of the user's columns, and the largest value of the features of each."""
        names = self.feature_names(len(values))
        if self.table is None:
            return names, values
        of_feature = self.table.column_of_feature
        used = np.unique(of_feature)
        largest: Array = np.zeros(len(self.table))
        np.maximum.at(largest, of_feature, values)
        return [self.table[int(place)].name for place in used], largest[used]

    def feature_names(self, number: int) -> list[str]:
        if self.names is not None and len(self.names) == number:
            return self.names
        return [f"x{k}" for k in range(number)]


def view(model: Any) -> View:
    """The view of a fitted model, or one sentence saying what was given instead."""
    if isinstance(model, LearnedKernel):
        return View(model)
    before = None
    if hasattr(model, "steps"):
        before, model = (model[:-1] if len(model.steps) > 1 else None), model.steps[-1][1]
    kernel = getattr(model, "kernel_", None)
    if not isinstance(kernel, LearnedKernel):
        raise ValueError(
            "A picture needs a fitted model of kernalign, a pipeline that ends in one, or its "
            f"kernel_. Got {type(model).__name__} without a learned kernel: fit it first."
        )
    table = getattr(model, "columns_", None)
    names = getattr(model, "feature_names_in_", None) if table is None else table.feature_names
    if names is None and before is not None:
        names = _names_after(before)
    trained = getattr(model, "model_", None)
    names = None if names is None else [str(name) for name in names]
    return View(kernel, model, before, names, trained, table)


def _names_after(before: Any) -> Any:
    try:
        return before.get_feature_names_out()
    except (AttributeError, ValueError):
        # Not every transformer knows the names of what it makes.
        return None


def some_rows(n: int, most: int, groups: Any = None) -> Any:
    """Positions of at most `most` of n rows, in order, spread evenly; by group if given."""
    if n <= most:
        return np.arange(n)
    order = np.arange(n) if groups is None else np.argsort(groups, kind="stable")
    return np.sort(order[np.linspace(0, n - 1, most).astype(int)])


def check_pair(X: Any, y: Any) -> None:
    """X and y of the same length, with one label or response for each row."""
    if np.ndim(y) > 1 and np.shape(y)[1] > 1:
        raise ValueError(
            f"A picture shows one response. Got {np.shape(y)[1]} columns of y: pass one of them."
        )
    check_lengths(X, y)


def check_lengths(X: Any, y: Any) -> None:
    """X and y with as many rows as each other."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if n != len(y):
        raise ValueError(f"X and y must have as many rows as each other. Got {n} and {len(y)}.")
