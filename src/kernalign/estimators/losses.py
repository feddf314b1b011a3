"""Losses that select kernels, machines and C, and errors that are reported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign.machines.calibration import best_slopes, brier, margins

#: Number of rows and steps used to fit a slope: comparing losses needs no exact slope.
SLOPE_ROWS, SLOPE_STEPS = 500, 12


@dataclass(frozen=True)
class Loss:
    """Losses of rows (values, rows) for outputs (values, rows, ...).

    error : function of (y, outputs); the reported error.
    deciding : function of (y, outputs, weight) on all rows used for the selection.
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
    """1 for a wrong class, 0 for the right one."""
    return np.stack([predicted_codes(decision) != codes for decision in outputs]).astype(float)


def calibrated_brier(codes: Array, outputs: Array, weight: Array) -> Array:
    """The Brier score of the outputs' probabilities at the best slope.

    It has less variance than the error rate, which differs by only a few wrong rows between
    candidates.
    """
    rows = margins(outputs, codes)
    # A random sample: every k-th row would have one class if classes alternate.
    some = np.random.default_rng(0).permutation(len(codes))[:SLOPE_ROWS]
    slopes = best_slopes(rows[:, some], weight[some], SLOPE_STEPS)
    return brier(rows, slopes)


def squared(y: Array, outputs: Array, units: Any = 1.0) -> Array:
    """Squared errors in the given units, averaged over responses."""
    # A square above the largest float is infinite, and is reported as such.
    with np.errstate(over="ignore"):
        errors: Array = (outputs - y) ** 2 * units
    return errors if y.ndim == 1 else errors.mean(axis=-1)


def numbers_loss(units: Any = 1.0) -> Loss:
    """Squared errors: responses of unit spread for the selection, in `units` for the report."""

    def deciding(y: Array, outputs: Array, weight: Array) -> Array:
        return squared(y, outputs)

    return Loss(lambda y, outputs: squared(y, outputs, units), deciding)


CLASSES = Loss(zero_one, calibrated_brier, shares=True)
