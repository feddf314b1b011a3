"""The error that an estimator reports of itself, and how sure it is of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student

from kernalign._typing import Array, IntArray

#: Confidence of the interval.
CONFIDENCE = 0.95
#: The standard error of the mean over rows does not know that errors of one fold share a machine,
#: and that those machines learned from fewer rows. This factor makes intervals hold the error of
#: new rows as often as they say, on simulated problems: `python -m benchmarks own_error`.
WIDER = 1.4
#: Fewer rows than this tell no interval.
FEWEST = 10

NOT_NESTED = (
    "with nested=False every fold uses the kernel that all rows have chosen: its error would be "
    "too small"
)
NOT_HELD_OUT = "no rows could be held out"
ALONE = "every fold holds out a single row, which cannot judge a choice that it has no say in"
OVERFLOW = "squared errors are too large for numbers"
TOO_FEW = f"fewer than {FEWEST} rows were held out"


@dataclass(frozen=True)
class RowErrors:
    """Errors of held-out rows under choices that they had no say in.

    values, weight : (m,) errors, and weights that the user gave to the rows.
    unit : (m,) what is independent: positions of the rows, or their groups.
    shares : whether an error is 0 or 1, as for classes.
    unknown : why there are none; empty where there are.
    """

    values: Array
    weight: Array
    unit: IntArray
    shares: bool
    unknown: str = ""

    @classmethod
    def none(cls, reason: str) -> RowErrors:
        return cls(np.empty(0), np.empty(0), np.empty(0, dtype=np.intp), False, reason)

    def estimate(self, scale: float = 1.0) -> ErrorEstimate:
        """The weighted mean in units of `scale`, with its standard error and interval."""
        nan = float("nan")
        if self.unknown:
            return ErrorEstimate(nan, nan, (nan, nan), self.unknown)
        # Errors of a response of any size.
        size = float(np.abs(self.values).max()) or 1.0
        if not np.isfinite(size):
            return ErrorEstimate(size, size, (nan, nan), OVERFLOW)
        share = self.weight / self.weight.sum()
        mean = float(share @ (self.values / size))
        # A row, or a group, that several folds hold out counts once.
        _, place = np.unique(self.unit, return_inverse=True)
        sums = np.bincount(place, share * (self.values / size - mean))
        number = len(sums)
        deviation = float(np.sqrt(sums @ sums * number / max(number - 1, 1)))
        with np.errstate(over="ignore"):
            unit = np.float64(size) * scale
            known = float(mean * unit), float(deviation * unit)
            if number < FEWEST:
                return ErrorEstimate(*known, (nan, nan), TOO_FEW)
            ends = of_shares if self.shares else of_numbers
            low, high = ends(mean, deviation, number)
            return ErrorEstimate(*known, (float(low * unit), float(high * unit)))


@dataclass(frozen=True)
class ErrorEstimate:
    """Mean error, its standard error and interval; NaN, with a reason, where it is not known."""

    mean: float
    deviation: float
    interval: tuple[float, float]
    unknown: str = ""

    def attributes(self) -> dict[str, Any]:
        """By the names of fitted attributes."""
        return {
            "cv_error_": self.mean,
            "cv_error_std_": self.deviation,
            "cv_error_interval_": self.interval,
            "cv_error_unknown_": self.unknown,
        }


def of_shares(mean: float, deviation: float, number: int) -> tuple[float, float]:
    """Wilson's interval of a share, for as many rows as would have this standard error."""
    q = WIDER * float(student.ppf((1 + CONFIDENCE) / 2, number - 1))
    n = mean * (1 - mean) / deviation**2 if deviation > 0 else float(number)
    middle = (mean + q * q / (2 * n)) / (1 + q * q / n)
    half = q * np.sqrt(mean * (1 - mean) / n + (q / (2 * n)) ** 2) / (1 + q * q / n)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def of_numbers(mean: float, deviation: float, number: int) -> tuple[float, float]:
    """The interval of a positive mean, symmetric in its logarithm."""
    if mean <= 0:
        return 0.0, 0.0
    q = WIDER * float(student.ppf((1 + CONFIDENCE) / 2, number - 1))
    factor = float(np.exp(q * deviation / mean))
    return mean / factor, mean * factor
