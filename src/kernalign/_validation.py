"""Checks of user input. A message states the parameter, the allowed values and the given one."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from kernalign._typing import Array


def check_share(owner: Any, name: str, value: Any) -> None:
    """Check that an argument of a method is a number in (0, 1)."""
    valid = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not valid or not 0 < float(value) < 1:
        raise ValueError(
            f"{name!r} of {type(owner).__name__} must be in (0, 1). Got {value!r} instead."
        )


def check_rows(estimator: BaseEstimator, X: Any) -> Array:
    """Rows to predict, checked against the columns seen in `fit`."""
    check_is_fitted(estimator)
    with sums_may_overflow():
        rows: Array = validate_data(estimator, X, reset=False, dtype=np.float64)
    return rows


def check_labelled_rows(estimator: BaseEstimator, X: Any, y: Any, **options: Any) -> Any:
    """(X, y) as finite arrays; sets `n_features_in_` and `feature_names_in_`."""
    check_given(estimator, y)
    check_labels(np.asarray(y))
    with sums_may_overflow():
        return validate_data(
            estimator, X, y, reset=True, dtype=np.float64, ensure_min_samples=2, **options
        )


def sums_may_overflow() -> Any:
    """Without warnings of numpy: scikit-learn adds up all cells, and counts on infinities."""
    return np.errstate(over="ignore", invalid="ignore")


def check_given(estimator: BaseEstimator, y: Any) -> None:
    """Check that y is given."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )


def refuse_text(X: Any) -> None:
    """Raise an error that names the column and row of the first text cell."""
    columns = getattr(X, "columns", None)
    if columns is not None and hasattr(X, "shape"):
        for column in columns:
            _refuse_text_in(np.asarray(X[column]), f"Column {str(column)!r}")
    elif isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OUST":
        for position, values in enumerate(X.T):
            _refuse_text_in(values, f"Column {position}")


def _refuse_text_in(values: Any, where: str) -> None:
    if values.dtype.kind not in "OUST":
        return
    for row, value in enumerate(values.tolist()):
        if isinstance(value, str | bytes):
            raise ValueError(
                f"X must hold numbers. {where} holds text (row {row}: {value!r}): drop the column, "
                "or fit to a table in memory, which may have text columns."
            )


def check_labels(y: Any) -> None:
    """Check that labels are all of one type, so that they can be sorted."""
    if y.dtype.kind not in "OUST" or y.ndim != 1:
        return
    kinds = sorted({"text" if isinstance(v, str) else type(v).__name__ for v in y.tolist()})
    if len(kinds) > 1 and {"text", "NoneType"} & set(kinds):
        raise ValueError(f"y must hold labels of one type. Got {' and '.join(kinds)}.")


NO_WEIGHT = "sample_weight must have a positive entry. Got only zeros."


def check_weights(sample_weight: Any, X: Any) -> Array:
    """Sample weights as finite, non-negative numbers, not all zero; ones by default."""
    weight = check_each_weight(sample_weight, X)
    if not (weight > 0).any():
        raise ValueError(NO_WEIGHT)
    return scale_weights(weight, float(weight.max()))


def check_each_weight(sample_weight: Any, X: Any) -> Array:
    """Sample weights as finite, non-negative numbers."""
    weight: Array = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    return weight


def scale_weights(weight: Array, largest: float) -> Array:
    """Weights whose squares and sums neither overflow nor underflow."""
    return weight if 1e-100 < largest < 1e100 else weight / largest


def check_number(
    owner: object, name: str, low: float, high: float = np.inf, *, closed: bool = False
) -> None:
    """Check that a parameter is a number in (low, high), or in [low, high] if closed."""
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


def check_count(owner: object, name: str, *, optional: bool = False) -> None:
    """Check that a parameter is an int of at least one, or None if optional."""
    value = getattr(owner, name)
    if optional and value is None:
        return
    if not is_integer(value) or value < 1:
        also = " or None" if optional else ""
        raise ValueError(
            f"The '{name}' parameter of {type(owner).__name__} must be an int in [1, inf){also}. "
            f"Got {value!r} instead."
        )


def is_integer(value: Any) -> bool:
    """Whether a value is an integer; a bool or a float is not."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def check_positive_values(owner: object, name: str, word: str, words: Array) -> Array:
    """A parameter that is a positive number, a sequence of them, or `word`, which means `words`."""
    value = getattr(owner, name)
    if isinstance(value, str) and value == word:
        return words
    if isinstance(value, numbers.Real):
        check_number(owner, name, 0)
        return np.array([float(value)])
    try:
        values = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        values = np.zeros(0)
    if values.ndim != 1 or not values.size or not ((values > 0) & np.isfinite(values)).all():
        raise ValueError(
            f"The '{name}' parameter of {type(owner).__name__} must be {word!r}, a number in "
            f"(0, inf) or a sequence of such numbers. Got {value!r} instead."
        )
    return values


def check_choice(owner: object, name: str, choices: tuple[Any, ...]) -> None:
    """Check that a parameter is one of the given choices."""
    value = getattr(owner, name)
    plain = value.item() if isinstance(value, np.generic) else value
    if not any(type(plain) is type(c) and plain == c for c in choices):
        raise ValueError(
            f"The '{name}' parameter of {type(owner).__name__} must be one of "
            f"{', '.join(map(repr, choices))}. Got {value!r} instead."
        )
