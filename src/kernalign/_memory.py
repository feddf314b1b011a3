"""scikit-learn's `working_memory`: what intermediate arrays may take."""

from __future__ import annotations

import math

from sklearn import get_config


def working_memory() -> float:
    """The budget in bytes."""
    return float(get_config()["working_memory"]) * 2**20


def too_small(task: str, least: float) -> ValueError:
    """The error for a budget below `least` bytes, which `task` needs."""
    return ValueError(
        f"working_memory={get_config()['working_memory']:g} MiB is too small for {task}. "
        f"At least {_readable(least / 2**20)} MiB work: sklearn.set_config(working_memory=...)."
    )


def _readable(mebibytes: float) -> str:
    """Three digits, rounded up: the budget that is named is enough."""
    step = 10.0 ** (math.floor(math.log10(mebibytes)) - 2)
    return f"{math.ceil(mebibytes / step) * step:.6g}"
