"""Units of columns, which make kernels independent of the scale of measurement.

A column is centred at its median and divided by its spread. Extreme values are damped: distances
grow logarithmically beyond a few spreads, or from the centre on in a column with heavy tails.
Alternatively, columns are divided by their ranges: a column that is nearly always constant, such as
a pixel at the border of an image, then matters less than others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernalign._typing import Array, IntArray

#: A plain column grows logarithmically beyond this many standard deviations.
TAIL = 3.0
#: A squashed column is asinh(SQUASH u), with u in mean absolute deviations: nearly linear up to
#: u = 1/2, logarithmic above 1.
SQUASH = 2.0
#: Number of rows checked first to see whether a column has two values.
LOOKED_AT = 2000
#: Number of rows that are converted at a time, to save memory.
ROWS = 10_000


@dataclass(frozen=True, eq=False)
class Units:
    """u(x) = (curve((x - centre) / spread) - mean) / deviation, separately for each column.

    curve : the identity with logarithmic tails, or asinh if `squashed`.
    low, high : the range of the training rows. Values outside are clipped to it, because no
        training row determines the kernel there.
    codes : for columns of three or more categories, the number of codes; they are not scaled. 0 for
        numbers; None if there is no such column.
    pairs : True for a column of two codes, which are used as numbers. A new category lies between
        them.

    Results are rounded to single precision: rescaling a column changes the last digits, and these
    must not affect the result.
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
        """The units of the columns of the given rows.

        codes : the number of codes of each column; 0 for numbers.
        """
        many = None if codes is None or codes.max() < 3 else np.where(codes > 2, codes, 0)
        pairs = None if codes is None or not (codes == 2).any() else codes == 2
        if many is not None:
            X = np.where(many > 0, 0.0, X)
        share = weight / weight.sum()
        centre = weighted_median(X, weight)
        # A sum of numbers near the largest float must not overflow.
        size = np.abs(X - centre).max(axis=0)
        size[size == 0] = 1.0
        spread = (share @ (np.abs(X - centre) / size)) * size
        spread[spread == 0] = 1.0
        if not squashed:
            # In standard deviations of the damped values.
            _, deviation = _location(_curve((X - centre) / spread, squashed), share)
            spread = spread * deviation
        if pairs is not None:
            # Exactly symmetric, so that the order of the two categories does not matter.
            centre, spread = np.where(pairs, 0.5, centre), np.where(pairs, 0.5, spread)
        U = _curve((X - centre) / spread, squashed)
        mean, deviation = _location(U, share)
        two = np.array([len(np.unique(column)) == 2 for column in X[:LOOKED_AT].T], dtype=bool)
        # Two codes have the distance of a fair coin's sides, even if one of them is rare.
        deviation = np.where(two, (U.max(axis=0) - U.min(axis=0)) / 2, deviation)
        low, high = X.min(axis=0), X.max(axis=0)
        return cls(squashed, centre, spread, mean, deviation, low, high, many, pairs)

    @classmethod
    def by_range(cls, X: Array, weight: Array, *, codes: IntArray | None = None) -> Units:
        """Units in which all columns have the same range, and one variance on average."""
        plain = cls.of(X, weight, codes=codes)
        spread = np.where(plain.high > plain.low, plain.high - plain.low, 1.0)
        centre = plain.low + spread / 2
        mean, deviation = _location((X - centre) / spread, weight / weight.sum())
        varied = plain.numbers & (plain.high > plain.low)
        common = np.sqrt(np.mean(deviation[varied] ** 2)) if varied.any() else 1.0
        deviation = np.full(len(spread), common)
        return replace(plain, centre=centre, spread=spread, mean=mean, deviation=deviation)

    @property
    def numbers(self) -> Any:
        """Which columns are not codes of three or more categories."""
        return np.ones(len(self.centre), dtype=bool) if self.codes is None else self.codes == 0

    @property
    def unequal_ranges(self) -> float:
        """The largest range of a column in these units, over the smallest of a varied column."""
        ranges = (self.high - self.low) * self.slope
        ranges = ranges[self.numbers & (ranges > 0)]
        return float(ranges.max() / ranges.min()) if len(ranges) else 1.0

    def __call__(self, X: Array) -> Array:
        found = np.empty(X.shape)
        for start in range(0, len(X), ROWS):
            rows = slice(start, start + ROWS)
            found[rows] = self._block(X[rows])
        return found

    def _block(self, X: Array) -> Array:
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


class AppliedUnits(Units):
    """The units of rows that are in them already."""

    def __call__(self, X: Array) -> Array:
        return X


def weighted_median(X: Array, weight: Array) -> Array:
    """The median of each column; a row of weight w counts as w equal rows."""
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
    """Weighted mean and standard deviation of each column; the latter is 1 for a constant."""
    mean = share @ U
    deviation = np.sqrt(share @ (U - mean) ** 2)
    return mean, np.where(deviation > 0, deviation, 1.0)
