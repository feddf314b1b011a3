"""Rows in memory: plain arrays behind the interface."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.utils import gen_batches

from kernalign._threads import blocks_in_threads
from kernalign._typing import Array
from kernalign.rows.base import AllBut, Rows, RowSums
from kernalign.rows.pairs import Pass, Passed, pass_in_threads


def as_rows(X: Any) -> Rows:
    """X itself if it is `Rows`, otherwise an array wrapped as such."""
    return X if isinstance(X, Rows) else ArrayRows(X)


def columns_of(X: Any, columns: Any) -> Any:
    """Some columns of an array, contiguous, or of `Rows`."""
    return X.select(columns) if isinstance(X, Rows) else np.ascontiguousarray(X[:, columns])


class ArrayRows(Rows):
    """An array; all results are arrays too."""

    in_memory = True
    processes = 1

    def __init__(self, X: Array):
        self.X = X
        self.shape = X.shape

    def take(self, index: Any) -> Array:
        rows: Array = self.X[np.asarray(index) if isinstance(index, AllBut) else index]
        return rows

    def subset(self, index: Any) -> Array:
        return self.take(index)

    def select(self, columns: Any) -> Array:
        return np.ascontiguousarray(self.X[:, columns])

    def map(self, function: Callable[[Array], Array]) -> Array:
        return function(self.X)

    def column(self, position: int) -> Array:
        values: Array = self.X[:, position]
        return values

    def spread(self, weight: Array) -> Array:
        largest = np.maximum(self.X.max(axis=0), -self.X.min(axis=0))
        largest[largest == 0] = 1.0
        scaled = self.X / largest
        scaled -= weight @ scaled / weight.sum()
        np.square(scaled, out=scaled)
        return scale_of_columns(np.sqrt(weight @ scaled / weight.sum()), largest)

    def pass_over_pairs(self, this: Pass, factor: Array) -> Passed:
        return pass_in_threads(this, self.X, factor)

    def total(self, sums: RowSums, columns: Sequence[Array], index: Any = None) -> Any:
        total = sums.zero()
        index = np.arange(len(self)) if index is None else np.asarray(index)
        with blocks_in_threads():
            for batch in gen_batches(len(index), sums.block):
                some = index[batch]
                sums.include(total, self.X[some], *(column[some] for column in columns))
        return total


#: Spreads are not smaller: numbers divided by them must be finite.
SMALLEST_SPREAD = 1e-305


def scale_of_columns(deviation: Array, largest: Array) -> Array:
    """Standard deviations from those in units of the largest entries, by column."""
    # Rounding errors of a constant column are not a scale.
    scale = np.where(deviation > 1e-12, deviation * largest, 0.0)
    known: Array = np.where(scale > 0, scale, scale.max() or largest)
    return np.maximum(known, SMALLEST_SPREAD)


#: Sum of weights, largest entries, and, in their units, means and mean squared deviations.
Moments = tuple[float, Array, Array, Array]


def moments(rows: Array, weight: Array) -> Moments:
    """Moments of the columns of some rows, of which `spread_of` computes those of all."""
    largest = np.abs(rows).max(axis=0)
    scaled, total = rows / np.where(largest > 0, largest, 1.0), weight.sum()
    mean = weight @ scaled / total
    return float(total), largest, mean, weight @ (scaled - mean) ** 2 / total


def spread_of(parts: Sequence[Moments]) -> Array:
    """`Rows.spread` of rows whose parts have these moments."""
    total, largest, mean, square = (np.array(part) for part in zip(*parts, strict=True))
    # Each part uses its own largest entries as units: convert to common units before adding.
    unit = largest.max(axis=0)
    unit[unit == 0] = 1.0
    units = largest / unit
    share = (total / total.sum())[:, None]
    mean, square = mean * units, square * units**2
    square = square + (mean - (share * mean).sum(axis=0)) ** 2
    return scale_of_columns(np.sqrt((share * square).sum(axis=0)), unit)
