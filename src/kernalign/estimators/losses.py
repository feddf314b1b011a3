"""What kernels, machines and C are chosen by, and what is reported of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign.machines.calibration import best_slopes, brier, margins

#: A slope is fitted to so many rows, in so many steps: what decides is a comparison of losses, not
#: the last digit of a slope.
SLOPE_ROWS, SLOPE_STEPS = 500, 12


@dataclass(frozen=True)
class Loss:
    """Losses of rows (values, rows) for outputs (values, rows, ...).

    error : (y, outputs) what is reported.
    deciding : (y, outputs, weight) what decides, on all the rows that have a say.
    shares : whether an error is 0 or 1.
    """

    error: Callable[[Array, Array], Array]
    deciding: Callable[[Array, Array, Array], Array]
    shares: bool = False


def predicted_codes(decision: Array) -> Array:
    """Codes of the classes with the largest decision value."""
    codes: Array = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
    return codes


def zero_one(codes: Array, outputs: Array) -> Array:
    """1 where the class is wrong."""
    return np.stack([predicted_codes(decision) != codes for decision in outputs]).astype(float)


def calibrated_brier(codes: Array, outputs: Array, weight: Array) -> Array:
    """The Brier score of the probabilities that the outputs give at their best slope.

    Wrong classes are few, and a difference of a few is chance; probabilities say more with as many
    rows.
    """
    rows = margins(outputs, codes)
    # Random rows: every k-th would be of one class where classes alternate.
    some = np.random.default_rng(0).permutation(len(codes))[:SLOPE_ROWS]
    slopes = best_slopes(rows[:, some], weight[some], SLOPE_STEPS)
    return brier(rows, slopes)


def squared(y: Array, outputs: Array, units: Any = 1.0) -> Array:
    """Squared errors; of several responses their mean, each counted in its own unit."""
    errors: Array = (outputs - y) ** 2 * units
    return errors if y.ndim == 1 else errors.mean(axis=-1)


def numbers_loss(units: Any = 1.0) -> Loss:
    """Responses of unit spread decide alike; errors are reported in units of each."""

    def deciding(y: Array, outputs: Array, weight: Array) -> Array:
        return squared(y, outputs)

    return Loss(lambda y, outputs: squared(y, outputs, units), deciding)


CLASSES = Loss(zero_one, calibrated_brier, shares=True)
