"""How often intervals, or sets of classes, hold the truth, and how wide they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from kernalign._typing import Array
from kernalign.estimators.scores import Scores
from kernalign.estimators.sets import more_probable
from kernalign.plots._axes import COLOURS, axes, plain
from kernalign.plots._held_out import held_out_probabilities, held_out_rows
from kernalign.plots.calibration import wilson

#: Coverages that are asked for.
ASKED = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


@dataclass(frozen=True)
class CoverageInfo:
    """What held-out rows say of intervals or sets.

    Each row is judged by an interval, or a set, whose size the rows of other folds decide.

    asked : (k,) coverages asked for; held : (k,) shares of rows whose interval holds the truth;
        low, high : (k,) their 95 % intervals.
    size : (m,) of each row at a coverage of 90 %: the width of its interval, in units of the
        response, or the number of classes in its set.
    sets : whether these are sets of classes.
    """

    asked: Array
    held: Array
    low: Array
    high: Array
    size: Array
    sets: bool


def coverage_info(model: Any, asked: Any = ASKED) -> CoverageInfo:
    """The coverage of `predict_interval` or `predict_set` on held-out rows."""
    estimator, found = held_out_rows(model)
    fold = found.fold
    if len(np.unique(fold)) < 2:
        # One hold-out set: either half decides about the other.
        fold = np.arange(len(fold)) % 2
    shares = np.atleast_1d(np.asarray(asked, dtype=float))
    sets = is_classifier(estimator)
    scores = _class_scores(model) if sets else _residual_scores(estimator, found)
    held = np.array([_covered(scores, found.weight, fold, share).mean() for share in shares])
    low, high = wilson(held, len(fold))
    size = _set_sizes(model, estimator) if sets else _widths(estimator, found)
    return CoverageInfo(shares, held, low, high, size, sets)


def _covered(scores: Array, weight: Array, fold: Any, share: float) -> Array:
    """Whether the interval of each row holds the truth, its size being of rows of other folds."""
    covered = np.zeros(len(scores))
    for number in np.unique(fold):
        own = fold == number
        limit = Scores.of(scores[~own], weight[~own]).above(share)
        covered[own] = scores[own] <= limit
    return covered


def _class_scores(model: Any) -> Array:
    probabilities, codes = held_out_probabilities(model)
    scores: Array = more_probable(probabilities)[np.arange(len(codes)), codes]
    return scores


def _residual_scores(estimator: Any, found: Any) -> Array:
    if found.y.ndim > 1:
        raise ValueError("Intervals are those of one response: this model predicts several.")
    missed = np.abs(estimator.response_.forward(found.y) - found.outputs)
    spread = _spread(estimator, found)
    return np.divide(missed, spread, out=np.zeros_like(missed), where=spread > 0)


def _spread(estimator: Any, found: Any) -> Array:
    scaled = estimator.certainty_.scaled and found.deviations is not None
    return found.deviations if scaled else np.ones(len(found))


def _widths(estimator: Any, found: Any) -> Array:
    """Widths of the intervals of 90 % at the predictions that the folds made."""
    reach = estimator.certainty_.scores.within(0.9) * _spread(estimator, found)
    inverse = estimator.response_.inverse
    with np.errstate(over="ignore", invalid="ignore"):
        width: Array = inverse(found.outputs + reach) - inverse(found.outputs - reach)
    return width


def _set_sizes(model: Any, estimator: Any) -> Array:
    probabilities, _ = held_out_probabilities(model)
    sizes: Array = (more_probable(probabilities) <= estimator.scores_.above(0.9)).sum(axis=1)
    return sizes.astype(float)


def plot_coverage(model: Any, ax: Any = None) -> Any:
    """Draw how often intervals, or sets, held the truth over how often they should."""
    info = coverage_info(model)
    ax = axes(ax, (4.6, 4.0))
    asked = 100 * info.asked
    ends = [asked.min(), 100.0]
    ax.plot(ends, ends, "--", color="0.6", lw=1, label="exactly as asked")
    ax.vlines(asked, 100 * info.low, 100 * info.high, color=COLOURS[0], lw=2)
    ax.plot(asked, 100 * info.held, "o", color=COLOURS[0], label="held-out rows")
    what = "sets of classes" if info.sets else "intervals"
    ax.set(
        xlabel="coverage asked for, %",
        ylabel=f"{what} that hold the truth, %",
        title=f"Do the {what} keep their promise?",
    )
    ax.legend(frameon=False, fontsize=8, loc="lower right")
    plain(ax)
    return ax
