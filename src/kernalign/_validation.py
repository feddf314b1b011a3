"""Checks of what a user hands in: one sentence saying what, where, allowed and got."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight, validate_data

from kernalign._typing import Array


def check_rows(estimator: BaseEstimator, X: Any) -> Array:
    """Rows to predict, with the columns that `fit` saw."""
    _refuse_text(X)
    rows: Array = validate_data(estimator, X, reset=False, dtype=np.float64)
    return rows


def check_labelled_rows(estimator: BaseEstimator, X: Any, y: Any, **options: Any) -> Any:
    """(X, y) as finite arrays; sets `n_features_in_` and `feature_names_in_`."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    _refuse_text(X)
    return validate_data(
        estimator, X, y, reset=True, dtype=np.float64, ensure_min_samples=2, **options
    )


def _refuse_text(X: Any) -> None:
    """Name the column of a data frame that holds text."""
    columns = getattr(X, "columns", None)
    if columns is None or not hasattr(X, "shape"):
        return
    for column in columns:
        values = np.asarray(X[column])
        if values.dtype.kind not in "OUST":
            continue
        for row, value in enumerate(values):
            if isinstance(value, str | bytes):
                raise ValueError(
                    f"X must hold numbers. Column {column!r} holds text (row {row}: {value!r}): "
                    "encode it, for example with sklearn.preprocessing.OneHotEncoder, or drop it."
                )


def check_weights(sample_weight: Any, X: Array) -> Array:
    """Row weights as finite, non-negative numbers, not all of them zero; ones by default."""
    weight: Array = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    if not (weight > 0).any():
        raise ValueError("sample_weight must have a positive entry. Got only zeros.")
    return weight


def check_number(
    owner: object, name: str, low: float, high: float = np.inf, *, closed: bool = False
) -> None:
    """A parameter that is a number in (low, high), or [low, high] where closed."""
    value = getattr(owner, name)
    inside = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if inside:
        inside = low <= value <= high if closed else low < value < high
    if not inside:
        left, right = "[]" if closed else "()"
        raise ValueError(
            f"The '{name}' parameter of {type(owner).__name__} must be a number in "
            f"{left}{low:g}, {high:g}{right}. Got {value!r} instead."
        )


def check_choice(owner: object, name: str, choices: tuple[Any, ...]) -> None:
    """A parameter that is one of a few words."""
    value = getattr(owner, name)
    if not any(value is c or (isinstance(value, str) and value == c) for c in choices):
        raise ValueError(
            f"The '{name}' parameter of {type(owner).__name__} must be one of "
            f"{', '.join(map(repr, choices))}. Got {value!r} instead."
        )
