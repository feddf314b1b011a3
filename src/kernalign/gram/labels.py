"""From labels to target kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from kernalign._typing import Array
from kernalign.gram import Target


def class_target(codes: Any, n_classes: int, weight: Array) -> Target:
    """Khat* = y y' with y = -1/+1 for two classes, the one-hot class kernel for more."""
    codes = np.asarray(codes)
    if n_classes == 2:
        values = np.where(codes == 1, 1.0, -1.0)[:, None]
    else:
        values = np.eye(n_classes)[codes]
    return Target(values, weight)


def response_target(y: Any, weight: Array) -> Target:
    """Khat* = y y' for a response, centred and scaled first: alignment does not see either."""
    values = np.asarray(y, dtype=float)
    values = values[:, None] if values.ndim == 1 else values
    largest = np.abs(values).max(axis=0)
    largest[largest == 0] = 1.0
    scaled = values / largest
    scaled = scaled - weight @ scaled / weight.sum()
    size = np.abs(scaled).max(axis=0)
    # What rounding leaves of a constant response is not a signal.
    return Target(np.divide(scaled, size, out=np.zeros_like(scaled), where=size > 1e-14), weight)


def infer_target(y: Any, weight: Array) -> Target:
    """The target that the values of y call for: classes if they look like classes."""
    y = np.asarray(y)
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    with np.errstate(all="ignore"):
        # It casts to integers to see whether numbers are classes, however large they are.
        kind = type_of_target(y, input_name="y")
    if kind in ("binary", "multiclass"):
        classes, codes = np.unique(np.asarray(y), return_inverse=True)
        present = np.unique(codes[weight > 0])
        if len(present) < 2:
            raise ValueError(
                "A kernel is learned from at least two classes. Got one class: "
                f"{classes[present[0]].item()!r}."
            )
        return class_target(codes, len(classes), weight)
    if kind in ("continuous", "continuous-multioutput"):
        return response_target(y, weight)
    raise ValueError(
        f"Unknown label type: y must hold classes or numbers, one per row. Got {kind!r} instead."
    )
