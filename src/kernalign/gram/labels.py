"""From labels to target kernels.

An estimator knows whether its labels are classes or numbers (`class_target`, `response_target`). A
learner that is fitted on its own infers it from the values (`infer_target`).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from kernalign._typing import Array
from kernalign.gram.target import Target
from kernalign.rows import mapped

#: Whole numbers with more distinct values than this are a response.
MOST_CLASSES = 20


def class_target(codes: Any, n_classes: int, weight: Array) -> Target:
    """Khat* = y y' with y = -1/+1 for two classes, the one-hot class kernel for more."""
    return Target(mapped(partial(_class_columns, n_classes), codes), weight, classes=True)


def _class_columns(n_classes: int, codes: Any) -> Array:
    codes = np.asarray(codes)
    return signs(codes, 2)[:, None] if n_classes == 2 else np.eye(n_classes)[codes]


def signs(codes: Any, n_classes: int) -> Array:
    """-1/+1 for two classes (n,), one column against the rest for more (n, classes)."""
    codes = np.asarray(codes)
    coded: Array = 2.0 * codes - 1 if n_classes <= 2 else 2 * np.eye(n_classes)[codes] - 1
    return coded


def response_target(y: Any, weight: Array) -> Target:
    """Khat* = y y' for a response, which is centred and scaled: alignment depends on neither."""
    values = np.asarray(y, dtype=float)
    values = values[:, None] if values.ndim == 1 else values
    largest = np.abs(values).max(axis=0)
    largest[largest == 0] = 1.0
    scaled = values / largest
    scaled = scaled - weight @ scaled / weight.sum()
    size = np.abs(scaled).max(axis=0)
    # Rounding errors of a constant response are not a signal.
    return Target(np.divide(scaled, size, out=np.zeros_like(scaled), where=size > 1e-14), weight)


def label_target(y: Any, weight: Array) -> Target:
    """The target of classes by their labels."""
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            "At least two classes are needed to learn a kernel. Got one class: "
            f"{classes.tolist()[0]!r}."
        )
    return class_target(codes, len(classes), weight)


def infer_target(y: Any, weight: Array) -> Target:
    """The target of labels of unknown kind.

    Text, booleans and whole numbers are classes; other numbers are a response, and so are whole
    numbers of many distinct values, such as counts, ages and prices. Rows of weight zero affect
    neither this decision, nor the classes, nor the scale of the response; their values in the
    target are zero.
    """
    y = np.asarray(y)
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    used = weight > 0
    if not used.all():
        some = infer_target(y[used], weight[used])
        values = np.zeros((len(y), some.values.shape[1]))
        values[used] = some.values
        return Target(values, weight, some.classes)
    with np.errstate(all="ignore"):
        # scikit-learn casts numbers to integers to find out whether they are classes.
        kind = type_of_target(y, input_name="y")
    if kind == "multiclass" and y.dtype.kind in "iuf" and len(np.unique(y)) > MOST_CLASSES:
        kind = "continuous"
    if kind in ("binary", "multiclass"):
        return label_target(y, weight)
    if kind in ("continuous", "continuous-multioutput"):
        return response_target(y, weight)
    raise ValueError(
        f"Unknown label type: y must hold classes or numbers, one per row. Got {kind!r} instead."
    )
