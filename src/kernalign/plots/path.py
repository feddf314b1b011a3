"""How the objective grew, or fell, by iteration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign.plots._axes import COLOURS, axes, plain, whole_numbers
from kernalign.plots._model import view

#: What a history may record, the first one there being drawn, and how a person reads it.
MEASURES = {
    "alignment": "alignment with the labels",
    "S": "regularised risk",
    "value": "criterion, with its prior",
    "objective": "objective",
    "primal": "objective",
    "gap": "relative gap to the optimum",
}


@dataclass(frozen=True)
class PathInfo:
    """One value per iteration; `measure` is its key in `history_`."""

    iteration: Array
    value: Array
    measure: str
    label: str


def path_info(model: Any) -> PathInfo:
    """Alignment by iteration, or the objective of learners that maximise something else."""
    seen = view(model)
    history = getattr(seen.estimator, "history_", None) or []
    for measure, label in MEASURES.items():
        values = [record[measure] for record in history if record.get(measure) is not None]
        if values and len(values) == len(history):
            iteration = np.arange(1, len(values) + 1, dtype=float)
            return PathInfo(iteration, np.array(values, dtype=float), measure, label)
    owner = type(seen.learner if seen.estimator is not None else seen.kernel).__name__
    raise ValueError(
        f"There is no path to draw: {owner} found its kernel without recording iterations."
    )


def plot_path(model: Any, ax: Any = None) -> Any:
    """Draw the alignment after each iteration."""
    info = path_info(model)
    ax = axes(ax)
    ax.plot(info.iteration, info.value, "o-", color=COLOURS[0])
    if info.measure == "alignment":
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
