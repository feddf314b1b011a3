"""Units of columns: what a kernel sees does not depend on how a column was measured.

A column is centred at its median and divided by its spread. Far values count less: beyond a few
spreads distances grow like logarithms, or, in a column with heavy tails, from the centre on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernalign._typing import Array, IntArray

#: Beyond this many standard deviations a plain column grows like a logarithm.
TAIL = 3.0
#: A squashed column is asinh(SQUASH u), u in mean absolute deviations: nearly linear up to one
#: half of one, a logarithm beyond one.
SQUASH = 2.0
#: Rows that are looked at to see whether a column has two values.
LOOKED_AT = 2000


@dataclass(frozen=True, eq=False)
class Units:
    """u(x) = (curve((x - centre) / spread) - mean) / deviation, for each column by itself.

    curve : the identity with logarithmic tails, or asinh where `squashed`.
    low, high : the range of the training rows. Values outside are taken for its ends: what the
        kernel says there is not known from any row.
    codes : the number of codes of each column that holds codes of three or more categories, which
        stay as they are; 0 for numbers. None if there is no such column.
    pairs : True for a column of two codes, which are numbers. A third category lies between them.

    Results are rounded to single precision: a change of the columns' units changes their last
    digits, and these must not change anything else.
    """

    squashed: bool
    centre: Array
    spread: Array
    mean: Array
    deviation: Array
    low: Array
    high: Array
    codes: IntArray | None = None
    pairs: Any = None

    @classmethod
    def of(
        cls, X: Array, weight: Array, *, squashed: bool = False, codes: IntArray | None = None
    ) -> Units:
        """The units of the columns of some rows.

        codes : the number of codes of each column; 0 for numbers.
        """
        many = None if codes is None or codes.max() < 3 else np.where(codes > 2, codes, 0)
        pairs = None if codes is None or not (codes == 2).any() else codes == 2
        if many is not None:
            X = np.where(many > 0, 0.0, X)
        share = weight / weight.sum()
        centre = weighted_median(X, weight)
        # A sum of numbers near the largest double must not overflow.
        size = np.abs(X - centre).max(axis=0)
        size[size == 0] = 1.0
        spread = (share @ (np.abs(X - centre) / size)) * size
        spread[spread == 0] = 1.0
        if not squashed:
            # In standard deviations of what the tails leave.
            _, deviation = _location(_curve((X - centre) / spread, squashed), share)
            spread = spread * deviation
        if pairs is not None:
            # Exactly symmetric: which of two categories comes first must not matter.
            centre, spread = np.where(pairs, 0.5, centre), np.where(pairs, 0.5, spread)
        U = _curve((X - centre) / spread, squashed)
        mean, deviation = _location(U, share)
        two = np.array([len(np.unique(column)) == 2 for column in X[:LOOKED_AT].T], dtype=bool)
        # Two codes are as far apart as those of a fair coin, however rare one of them is.
        deviation = np.where(two, (U.max(axis=0) - U.min(axis=0)) / 2, deviation)
        low, high = X.min(axis=0), X.max(axis=0)
        return cls(squashed, centre, spread, mean, deviation, low, high, many, pairs)

    def __call__(self, X: Array) -> Array:
        rounded = self._of_numbers(X)
        if self.pairs is not None:
            between = self._of_numbers(np.array([[0.0], [1.0]]) * self.pairs).mean(axis=0)
            rounded = np.where(self.pairs & (X > 1), between, rounded)
        return rounded if self.codes is None else np.where(self.codes > 0, X, rounded)

    def _of_numbers(self, X: Array) -> Array:
        U = _curve((np.clip(X, self.low, self.high) - self.centre) / self.spread, self.squashed)
        rounded: Array = ((U - self.mean) / self.deviation).astype(np.float32).astype(float)
        return rounded

    @property
    def slope(self) -> Array:
        """du/dx of each column at its centre."""
        slope: Array = (SQUASH if self.squashed else 1.0) / (self.spread * self.deviation)
        return slope

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Units) and all(
            np.array_equal(value, vars(other)[name]) for name, value in vars(self).items()
        )

    def __hash__(self) -> int:
        return hash((self.squashed, self.centre.tobytes()))


def weighted_median(X: Array, weight: Array) -> Array:
    """The median of each column, a row of weight w counting as w equal rows."""
    if (weight == weight[0]).all():
        return np.median(X, axis=0)
    order = np.argsort(X, axis=0, kind="stable")
    below = np.cumsum(weight[order], axis=0)
    half = weight.sum() / 2
    sorted_X = np.take_along_axis(X, order, axis=0)
    first = (below >= half * (1 - 1e-12)).argmax(axis=0)
    after = (below > half * (1 + 1e-12)).argmax(axis=0)
    columns = np.arange(X.shape[1])
    median: Array = (sorted_X[first, columns] + sorted_X[after, columns]) / 2
    return median


def _curve(U: Array, squashed: bool) -> Array:
    if squashed:
        return np.arcsinh(SQUASH * U)
    far = np.maximum(np.abs(U) - TAIL, 0.0)
    return np.where(far > 0, np.copysign(TAIL + np.log1p(far), U), U)


def _location(U: Array, share: Array) -> tuple[Array, Array]:
    """Weighted mean and standard deviation of each column; 1 for a constant."""
    mean = share @ U
    deviation = np.sqrt(share @ (U - mean) ** 2)
    return mean, np.where(deviation > 0, deviation, 1.0)
