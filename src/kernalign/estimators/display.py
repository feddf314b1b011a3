"""Text and HTML representation of a fitted estimator: rows, kernels and error."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier

from kernalign.tables.problems import counted

#: Maximum number of kernels shown.
SHOWN = 4


class ShowsWhatWasLearned(BaseEstimator):
    """An estimator whose representation describes the learned kernel once it is fitted."""

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return "\n".join([super().__repr__(N_CHAR_MAX), *(f"  {line}" for line in learned(self))])

    def _html_repr(self) -> str:
        diagram: str = super()._html_repr()
        items = "".join(f"<li>{escape(line)}</li>" for line in learned(self))
        return f'{diagram}<ul class="kernalign-learned">{items}</ul>' if items else diagram


def learned(estimator: Any) -> list[str]:
    """One line for each learned fact; empty before `fit`."""
    if not hasattr(estimator, "kernel_"):
        return []
    lines = _rows(estimator) + _kernels(estimator)
    error = float(getattr(estimator, "cv_error_", np.nan))
    if np.isfinite(error):
        lines.append(f"error on held-out rows: {_error(estimator, error)}")
    return lines


def _rows(estimator: Any) -> list[str]:
    table = getattr(estimator, "columns_", None)
    columns = _columns(estimator) if table is None else table.in_words
    return [f"learned from {estimator.model_.n_rows} rows with {columns}"]


def _columns(estimator: Any) -> str:
    """The columns of an array, of which none is left out."""
    d, spread = estimator.n_features_in_, estimator.model_.seen.spread
    # The features of the model can be others than the columns.
    constant = int((spread == 0).sum()) if len(spread) == d else 0
    note = f", {constant} of them constant" if constant else ""
    return f"{counted(d, 'column')}{note}"


def _kernels(estimator: Any) -> list[str]:
    """Each kernel with its share of the weights, the largest first."""
    weights = np.asarray(estimator.kernel_.weights, dtype=float)
    share = weights / (float(weights.sum()) or 1.0)
    order = np.argsort(-share, kind="stable")
    lines = []
    for place in order[:SHOWN].tolist():
        kernel = estimator.kernel_.kernels[place]
        family = kernel.family
        name = type(getattr(family, "family", family)).__name__
        own = family.own_columns(np.array(_names(estimator, kernel))[None])[0].tolist()
        words = family.words(kernel.sigma, own)
        lines.append(f"kernel, {100 * share[place]:.0f} %: {name}, {words}")
    left = len(order) - SHOWN
    return lines + ([f"and {left} kernels of smaller weight"] if left > 0 else [])


def _names(estimator: Any, kernel: Any) -> list[str]:
    """Names of the features that the kernel is evaluated on."""
    table = getattr(estimator, "columns_", None)
    names = getattr(estimator, "feature_names_in_", None) if table is None else table.feature_names
    if names is not None:
        return [str(name) for name in names]
    return [f"x{k}" for k in range(max(estimator.n_features_in_, kernel.sigma.size))]


def _error(estimator: Any, error: float) -> str:
    deviation = estimator.cv_error_std_
    if is_classifier(estimator):
        return f"{100 * error:.1f} % (standard error {100 * deviation:.1f})"
    return f"{_digits(error, 4)} (mean squared error; standard error {_digits(deviation, 2)})"


def _digits(value: float, digits: int) -> str:
    """So many significant digits, and no exponent for usual sizes."""
    if not 1e-4 <= abs(value) < 1e7:
        return f"{value:.{digits}g}"
    return np.format_float_positional(value, precision=digits, fractional=False, trim="-")
