"""Conformal scores of held-out rows, and their quantiles.

A new score is at most the ceil((N + 1) coverage)-th smallest of N scores with probability at least
`coverage`, if the new row and the held-out rows are exchangeable.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernalign._typing import Array

#: Maximum number of stored scores.
MAX_SCORES = 500
#: Reasons why there are no scores.
NOT_NESTED = (
    "with nested=False every fold uses the kernel learned from all rows, and its errors are too "
    "small. Fit with nested=True."
)
NONE_HELD_OUT = "no rows were held out. Set 'cv' to more folds, or fit to more rows."


@dataclass(frozen=True)
class Scores:
    """Sorted scores of held-out rows, with the weights of the rows.

    values : (m,); weight : (m,), or (1,) for equal weights.
    unknown : why there are no scores, as a sentence; empty if there are.
    """

    values: Array
    weight: Array
    unknown: str = ""

    @classmethod
    def of(cls, values: Array, weight: Array) -> Scores:
        """Scores from values and weights; many scores are reduced to their quantiles."""
        order = np.argsort(values)
        values, weight = values[order], weight[order]
        weight = weight * max(1.0, len(weight) / float(weight.sum()))
        if len(values) > MAX_SCORES:
            held = np.cumsum(weight)
            places = np.searchsorted(
                held, held[-1] * (np.arange(MAX_SCORES) + 1) / MAX_SCORES * (1 - 1e-12)
            )
            values, weight = values[places], np.full(MAX_SCORES, held[-1] / MAX_SCORES)
        return cls(values, weight[:1] if not np.ptp(weight) else weight)

    @classmethod
    def none(cls, reason: str) -> Scores:
        return cls(np.empty(0), np.empty(0), reason)

    def above(self, share: float) -> float:
        """The conformal quantile of the scores at `share`."""
        return _conformal(self.values, self._weights(), share)

    def quantile(self, share: float) -> float:
        """A conformal quantile of a new score, rounded away from the median."""
        low = -_conformal(-self.values[::-1], self._weights()[::-1], 1 - share)
        if share == 0.5:
            return (low + self.above(share)) / 2
        return self.above(share) if share > 0.5 else low

    def within(self, coverage: float) -> float:
        """The conformal quantile of the absolute scores at `coverage`."""
        size = np.abs(self.values)
        order = np.argsort(size)
        return _conformal(size[order], self._weights()[order], coverage)

    def _weights(self) -> Array:
        return np.broadcast_to(self.weight, self.values.shape)


def _conformal(values: Array, weight: Array, share: float) -> float:
    """The conformal quantile of sorted values; infinite if there are too few."""
    held = np.cumsum(weight)
    wanted = share * (held[-1] + 1)
    # Rounding in the sums of weights must not include one row too many.
    place = int(np.searchsorted(held, wanted * (1 - 1e-12)))
    return float(values[place]) if place < len(values) else np.inf
