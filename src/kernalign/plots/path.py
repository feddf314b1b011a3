"""How the objective grew, or fell, by iteration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign.learners.base import ALIGNMENT
from kernalign.plots._axes import COLOURS, axes, plain, whole_numbers
from kernalign.plots._model import view


@dataclass(frozen=True)
class PathInfo:
    """The objective after each iteration; `label` says what it is."""

    iteration: Array
    value: Array
    label: str


def path_info(model: Any) -> PathInfo:
    """The learner's objective by iteration: the alignment, or what else it optimises."""
    seen = view(model)
    history = getattr(seen.estimator, "history_", None) or []
    if history:
        values = np.array([record["objective"] for record in history], dtype=float)
        iteration = np.arange(1, len(values) + 1, dtype=float)
        return PathInfo(iteration, values, seen.learner.objective_name)
    owner = type(seen.learner if seen.estimator is not None else seen.kernel).__name__
    raise ValueError(
        f"There is no path to draw: {owner} found its kernel without recording iterations."
    )


def plot_path(model: Any, ax: Any = None) -> Any:
    """Draw the objective after each iteration."""
    info = path_info(model)
    ax = axes(ax)
    ax.plot(info.iteration, info.value, "o-", color=COLOURS[0])
    if info.label == ALIGNMENT:
        ax.set_ylim(min(0.0, 1.1 * info.value.min()), max(0.05, 1.15 * info.value.max()))
    ax.annotate(
        f"{info.value[-1]:.3g}",
        (info.iteration[-1], info.value[-1]),
        textcoords="offset points",
        xytext=(0, 7),
        ha="center",
    )
    if len(info.iteration) == 1:
        ax.set_xlim(0, 2)
    whole_numbers(ax.xaxis)
    ax.set(xlabel="iteration", ylabel=info.label, title="The path of the learner")
    plain(ax)
    return ax
