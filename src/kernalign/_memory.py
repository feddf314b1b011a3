"""scikit-learn's `working_memory`: the memory limit for intermediate arrays."""

from __future__ import annotations

import math

from sklearn import get_config


def working_memory() -> float:
    """The limit in bytes."""
    return float(get_config()["working_memory"]) * 2**20


def too_small(task: str, least: float) -> ValueError:
    """The error raised if the limit is below `least` bytes, the minimum that `task` needs."""
    return ValueError(
        f"working_memory={get_config()['working_memory']:g} MiB is too small for {task}. "
        f"Set at least {_readable(least / 2**20)} MiB: sklearn.set_config(working_memory=...)."
    )


def _readable(mebibytes: float) -> str:
    """Three digits, rounded up, so that the stated minimum is enough."""
    step = 10.0 ** (math.floor(math.log10(mebibytes)) - 2)
    return f"{math.ceil(mebibytes / step) * step:.6g}"
