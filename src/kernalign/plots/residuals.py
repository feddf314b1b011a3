"""Predicted numbers beside the true ones, for rows that were held out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign.plots._axes import COLOURS, axes, plain
from kernalign.plots._held_out import held_out_predictions

#: Rows that are drawn at most.
MOST = 2000


@dataclass(frozen=True)
class ResidualsInfo:
    """(m,) predictions of held-out rows by machines that had not seen them, and the truth."""

    predicted: Array
    actual: Array

    @property
    def missed(self) -> Array:
        """True minus predicted."""
        return self.actual - self.predicted


def residuals_info(model: Any) -> ResidualsInfo:
    """Predicted and true numbers of held-out rows."""
    return ResidualsInfo(*held_out_predictions(model))


def plot_residuals(model: Any, ax: Any = None) -> Any:
    """Draw the predicted number of each held-out row over the true one."""
    info = residuals_info(model)
    ax = axes(ax, (4.6, 4.0))
    some = np.linspace(0, len(info.actual) - 1, min(MOST, len(info.actual))).astype(int)
    size = 4 if len(some) < 500 else 2.5
    ax.plot(
        info.actual[some], info.predicted[some], "o", ms=size, color=COLOURS[0], alpha=0.5, mew=0
    )
    ends = [float(info.actual.min()), float(info.actual.max())]
    ax.plot(ends, ends, "--", color="0.5", lw=1, label="exact")
    ax.locator_params(nbins=5)
    ax.set(xlabel="true value", ylabel="prediction", title="Held-out rows: predicted and true")
    ax.legend(frameon=False, fontsize=8)
    plain(ax)
    return ax
