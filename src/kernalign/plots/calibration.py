"""Whether probabilities are right as often as they say (a reliability diagram)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign.plots._axes import COLOURS, axes, plain
from kernalign.plots._held_out import held_out_probabilities

#: Groups of rows at most, and rows of a group at least.
GROUPS, ROWS = 8, 15
#: 95 % of a normal distribution.
Z = 1.96


@dataclass(frozen=True)
class CalibrationInfo:
    """Held-out rows in groups of similar probability, the least sure group first.

    stated : (g,) mean probability that the model gives to the class that it predicts.
    right : (g,) share of the rows where this class is the true one.
    low, high : (g,) 95 % interval of that share (Wilson).
    rows : (g,) number of rows.
    gap : mean distance between `stated` and `right`, weighted by rows (expected calibration error).
    """

    stated: Array
    right: Array
    low: Array
    high: Array
    rows: Array
    gap: float


def calibration_info(model: Any) -> CalibrationInfo:
    """Stated probabilities beside the shares of right predictions, on held-out rows."""
    probabilities, codes = held_out_probabilities(model)
    stated = probabilities.max(axis=1)
    right = (probabilities.argmax(axis=1) == codes).astype(float)
    order = np.argsort(stated, kind="stable")
    groups = np.array_split(order, int(np.clip(len(order) // ROWS, 1, GROUPS)))
    means = np.array([stated[group].mean() for group in groups])
    shares = np.array([right[group].mean() for group in groups])
    number = np.array([len(group) for group in groups])
    low, high = wilson(shares, number)
    gap = float(np.abs(means - shares) @ number / number.sum())
    return CalibrationInfo(means, shares, low, high, number, gap)


def wilson(share: Any, number: Any) -> tuple[Any, Any]:
    """The 95 % interval of a share of so many rows."""
    centre = (share + Z**2 / (2 * number)) / (1 + Z**2 / number)
    half = Z * np.sqrt(share * (1 - share) / number + Z**2 / (4 * number**2)) / (1 + Z**2 / number)
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


def plot_calibration(model: Any, ax: Any = None) -> Any:
    """Draw the share of right predictions over the stated probability, with 95 % intervals."""
    info = calibration_info(model)
    ax = axes(ax, (4.6, 4.0))
    start = 100 * min(info.stated.min(), info.low.min())
    ax.plot([start, 100], [start, 100], "--", color="0.6", lw=1, label="exactly as stated")
    ax.vlines(100 * info.stated, 100 * info.low, 100 * info.high, color=COLOURS[0], lw=2)
    ax.plot(100 * info.stated, 100 * info.right, "o", color=COLOURS[0], label="held-out rows")
    ax.set(
        xlabel="stated probability of the predicted class, %",
        ylabel="predictions that are right, %",
        title="Are the probabilities right?",
    )
    ax.legend(frameon=False, fontsize=8, loc="upper left")
    plain(ax)
    return ax
