"""Scores of held-out rows, and the quantiles of them that conformal prediction takes.

Of N scores the ceil((N + 1) coverage)-th smallest is not exceeded by a new one with probability
`coverage` or more, if the new row and the held-out ones are exchangeable.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernalign._typing import Array

#: Scores that are kept.
MOST = 500
#: Why held-out rows tell nothing.
NOT_NESTED = (
    "with nested=False every fold uses the kernel that all rows have chosen, and its errors are "
    "too small. Fit with nested=True."
)
NONE_HELD_OUT = "no rows were held out. Give 'cv' more folds, or more rows."


@dataclass(frozen=True)
class Scores:
    """Scores of held-out rows, sorted, with the weights of the rows.

    values : (m,); weight : (m,), or (1,) for equal ones.
    unknown : why there are none, as a sentence; empty where there are.
    """

    values: Array
    weight: Array
    unknown: str = ""

    @classmethod
    def of(cls, values: Array, weight: Array) -> Scores:
        """Weights stand for at least as many rows as there are; many scores by their quantiles."""
        order = np.argsort(values)
        values, weight = values[order], weight[order]
        weight = weight * max(1.0, len(weight) / float(weight.sum()))
        if len(values) > MOST:
            held = np.cumsum(weight)
            places = np.searchsorted(held, held[-1] * (np.arange(MOST) + 1) / MOST * (1 - 1e-12))
            values, weight = values[places], np.full(MOST, held[-1] / MOST)
        return cls(values, weight[:1] if not np.ptp(weight) else weight)

    @classmethod
    def none(cls, reason: str) -> Scores:
        return cls(np.empty(0), np.empty(0), reason)

    def above(self, share: float) -> float:
        """The smallest value that so large a share of N + 1 scores does not exceed."""
        return _conformal(self.values, self._weights(), share)

    def quantile(self, share: float) -> float:
        """A value that a new score is below with this probability, erring away from the median."""
        low = -_conformal(-self.values[::-1], self._weights()[::-1], 1 - share)
        if share == 0.5:
            return (low + self.above(share)) / 2
        return self.above(share) if share > 0.5 else low

    def within(self, coverage: float) -> float:
        """The smallest size that so large a share of N + 1 scores does not exceed."""
        size = np.abs(self.values)
        order = np.argsort(size)
        return _conformal(size[order], self._weights()[order], coverage)

    def _weights(self) -> Array:
        return np.broadcast_to(self.weight, self.values.shape)


def _conformal(values: Array, weight: Array, share: float) -> float:
    """Of sorted values; infinite where there are too few."""
    held = np.cumsum(weight)
    wanted = share * (held[-1] + 1)
    # Sums of weights round: a row more because of the last digit would be one too many.
    place = int(np.searchsorted(held, wanted * (1 - 1e-12)))
    return float(values[place]) if place < len(values) else np.inf
