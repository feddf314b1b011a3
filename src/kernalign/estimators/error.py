"""The error that an estimator reports for itself, with its standard error and interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student

from kernalign._typing import Array, IntArray

#: Confidence level of the interval.
CONFIDENCE = 0.95
#: The standard error over rows ignores that the errors of one fold share a machine, and that those
#: machines learned from fewer rows. This factor gives the intervals their nominal coverage on
#: simulated problems: `python -m benchmarks own_error`.
INTERVAL_FACTOR = 1.4
#: Minimum number of held-out rows for an interval.
MIN_ROWS = 10

NOT_NESTED = (
    "with nested=False every fold uses the kernel learned from all rows, and its error is too small"
)
NOT_HELD_OUT = "no rows could be held out"
SINGLE_ROW_FOLDS = (
    "every fold holds out a single row, and a choice cannot be evaluated on other held-out rows"
)
OVERFLOW = "squared errors overflow"
TOO_FEW = f"fewer than {MIN_ROWS} rows were held out"


@dataclass(frozen=True)
class RowErrors:
    """Errors of held-out rows, each under a choice that the row did not take part in.

    values, weight : (m,) errors, and sample weights given by the user.
    unit : (m,) independent units: positions of the rows, or their groups.
    shares : whether an error is 0 or 1, as in classification.
    unknown : why there are no errors; empty if there are.
    rows : (m,) positions of the rows in the problem; None if they are those of a sample.
    """

    values: Array
    weight: Array
    unit: IntArray
    shares: bool
    unknown: str = ""
    rows: IntArray | None = None

    @classmethod
    def none(cls, reason: str) -> RowErrors:
        return cls(np.empty(0), np.empty(0), np.empty(0, dtype=np.intp), False, reason)

    def estimate(self, scale: float = 1.0) -> ErrorEstimate:
        """The weighted mean error in units of `scale`, with its standard error and interval."""
        nan = float("nan")
        if self.unknown:
            return ErrorEstimate(nan, nan, (nan, nan), self.unknown)
        # Avoids overflow for responses of any scale.
        size = float(np.abs(self.values).max()) or 1.0
        with np.errstate(over="ignore"):
            unit = float(np.float64(size) * scale)
        if not np.isfinite(unit):
            return ErrorEstimate(unit, unit, (nan, nan), OVERFLOW)
        share = self.weight / self.weight.sum()
        mean = float(share @ (self.values / size))
        # A row or group that several folds hold out counts once.
        _, place = np.unique(self.unit, return_inverse=True)
        sums = np.bincount(place, share * (self.values / size - mean))
        number = len(sums)
        deviation = float(np.sqrt(sums @ sums * number / max(number - 1, 1)))
        known = mean * unit, deviation * unit
        if number < MIN_ROWS:
            return ErrorEstimate(*known, (nan, nan), TOO_FEW)
        ends = of_shares if self.shares else of_numbers
        low, high = ends(mean, deviation, number)
        return ErrorEstimate(*known, (float(low) * unit, float(high) * unit))


@dataclass(frozen=True)
class ErrorEstimate:
    """Mean error, its standard error and interval; NaN with a reason if it is unknown."""

    mean: float
    deviation: float
    interval: tuple[float, float]
    unknown: str = ""

    def attributes(self) -> dict[str, Any]:
        """The fitted attributes by name."""
        return {
            "cv_error_": self.mean,
            "cv_error_std_": self.deviation,
            "cv_error_interval_": self.interval,
            "cv_error_unknown_": self.unknown,
        }


def of_shares(mean: float, deviation: float, number: int) -> tuple[float, float]:
    """Wilson's interval of a share, for the number of rows that gives this standard error."""
    q = INTERVAL_FACTOR * float(student.ppf((1 + CONFIDENCE) / 2, number - 1))
    n = mean * (1 - mean) / deviation**2 if deviation > 0 else float(number)
    middle = (mean + q * q / (2 * n)) / (1 + q * q / n)
    half = q * np.sqrt(mean * (1 - mean) / n + (q / (2 * n)) ** 2) / (1 + q * q / n)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def of_numbers(mean: float, deviation: float, number: int) -> tuple[float, float]:
    """The interval of a positive mean, symmetric in its logarithm."""
    if mean <= 0:
        return 0.0, 0.0
    q = INTERVAL_FACTOR * float(student.ppf((1 + CONFIDENCE) / 2, number - 1))
    factor = float(np.exp(q * deviation / mean))
    return mean / factor, mean * factor
