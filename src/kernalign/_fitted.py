"""Fitted attributes appear together, at the end of a successful fit."""

from __future__ import annotations

from typing import Any


def publish(estimator: Any, **fitted: Any) -> None:
    """Replace all fitted attributes by the given ones.

    The replacement is a single assignment. If a fit fails or is interrupted, the previously fitted
    model is unchanged.
    """
    kept = {name: value for name, value in vars(estimator).items() if not _is_fitted(name)}
    estimator.__dict__ = {**kept, **fitted}


def _is_fitted(name: str) -> bool:
    """Whether a name follows scikit-learn's convention for fitted attributes."""
    return name.endswith("_") and not name.startswith("_")
