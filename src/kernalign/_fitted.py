"""Fitted attributes appear together, at the end of a successful fit."""

from __future__ import annotations

from typing import Any


def publish(estimator: Any, **fitted: Any) -> None:
    """Replace all fitted attributes by these ones.

    It is one assignment: a fit that is refused or interrupted leaves the model before as it was.
    """
    kept = {name: value for name, value in vars(estimator).items() if not _is_fitted(name)}
    estimator.__dict__ = {**kept, **fitted}


def _is_fitted(name: str) -> bool:
    """scikit-learn's convention."""
    return name.endswith("_") and not name.startswith("_")
