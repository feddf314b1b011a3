"""Classes of labels, their numbers of rows and their weights, wherever the labels are."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from kernalign._typing import Array, IntArray
from kernalign.rows import Column, mapped, reduced, summed


def classes_of(y: Any) -> Any:
    """The sorted classes, of which there must be at least two."""
    if not isinstance(y, Column):
        check_classification_targets(y)
    classes = reduced(_distinct, _joined, y)
    if len(classes) < 2:
        raise ValueError(
            "KernelClassifier needs at least two classes in y. Got one class: "
            f"{classes.tolist()[0]!r}."
        )
    return classes


def _distinct(y: Any) -> Any:
    # Whole numbers are classes. If there are many for the number of rows, scikit-learn warns, which
    # would be wrong for a block of a few rows.
    if y.dtype.kind == "f" and (y != np.floor(y)).any():
        check_classification_targets(y)
    return np.unique(y)


def _joined(first: Any, second: Any) -> Any:
    text = [classes.dtype.kind in "OU" for classes in (first, second)]
    if text[0] != text[1]:
        raise ValueError("y must hold labels of one type. Got text and numbers.")
    return np.unique(np.concatenate([first, second]))


def codes_of(y: Any, classes: Any) -> Any:
    """The position of each label among the classes."""
    return mapped(partial(np.searchsorted, classes), y)


def class_counts(codes: Any, n_classes: int) -> IntArray:
    """The number of rows of each class."""
    counts: IntArray = summed(partial(np.bincount, minlength=n_classes), codes)
    return counts


def with_class_weights(weight: Any, codes: Any, classes: Any, given: Any) -> Any:
    """Weights of rows times those of their classes.

    given : the parameter `class_weight` of a classifier.
    """
    if given is None:
        return weight
    if isinstance(given, dict):
        valid = all(
            isinstance(w, int | float | np.number) and 0 < w < np.inf for w in given.values()
        )
    else:
        valid = isinstance(given, str) and given == "balanced"
    if not valid:
        raise ValueError(
            "The 'class_weight' parameter of KernelClassifier must be None, 'balanced' or a "
            f"dict of positive numbers by class. Got {given!r} instead."
        )
    if isinstance(given, dict):
        of_classes = compute_class_weight(given, classes=classes, y=classes)
    else:
        counts = class_counts(codes, len(classes))
        of_classes = counts.sum() / (len(classes) * counts)
    return mapped(partial(_weighted, of_classes), weight, codes)


def _weighted(of_classes: Array, weight: Array, codes: IntArray) -> Array:
    found: Array = weight * of_classes[codes]
    return found
