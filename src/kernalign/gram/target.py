"""The target kernel Khat* = Y Y' and the weights of the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from kernalign._typing import Array, IntArray
from kernalign.rows import kept, mapped, reduced, summed, taken, weighted_sums


@dataclass(frozen=True)
class Target:
    """Khat* = Y Y' on weighted rows.

    values : (n, c) the factor Y: labels -1/+1 for two classes, one-hot columns for more, the
        response for regression.
    weight : (n,) positive row weights; an integer weight is equivalent to repeating the row.
        Values and weights are arrays, or columns that are where the rows are (`rows.columns`).
    classes : whether the values represent classes. This cannot be inferred: a response may also
        have the values -1 and +1.
    """

    values: Array
    weight: Array
    classes: bool = False

    @cached_property
    def total(self) -> float:
        """The sum of the weights: n in every formula of the paper."""
        return float(summed(np.sum, self.weight))

    @cached_property
    def mean(self) -> Array:
        """The weighted mean of the values, (c,)."""
        return weighted_sums(self.weight, self.values) / self.total

    @cached_property
    def centred(self) -> Array:
        """Y_c: values minus their weighted mean, so that Khat*_c = Y_c Y_c'."""
        found: Array = mapped(partial(_minus, self.mean), self.values)
        return found

    @cached_property
    def weighted(self) -> Array:
        """Row weights times Y_c."""
        found: Array = mapped(_times, self.weight, self.centred)
        return found

    @cached_property
    def covariance(self) -> Array:
        """Y_c'W Y_c (c, c): <Khat*_c, Khat*_c> is its squared norm, <Khat*_c, C_n> its trace."""
        found: Array = summed(_products, self.centred, self.weighted)
        return found

    @cached_property
    def square(self) -> float:
        """<Khat*_c, Khat*_c>."""
        return float(np.vdot(self.covariance, self.covariance))

    @property
    def norm(self) -> float:
        """|Khat*_c|_F."""
        return float(np.sqrt(self.square))

    @property
    def signs(self) -> Array:
        """(n, c) labels -1/+1 of classes: one column for two, one against the rest for more."""
        assert self.classes, "a response has no signs"
        found: Array = mapped(_signs, self.values)
        return found

    @cached_property
    def codes(self) -> IntArray:
        """(n,) the class of each row, as a number."""
        assert self.classes, "a response has no classes"
        found: IntArray = mapped(_codes, self.values)
        return found

    def response(self) -> tuple[Array, Array]:
        """The target (n, c) of a squared loss without a constant, and the constant (c,).

        Classes are coded -1/+1 with constant zero, as published. A response is centred.
        """
        if self.classes:
            return self.signs, np.zeros(self.values.shape[1])
        return self.centred, self.mean

    @property
    def uniform(self) -> bool:
        """Whether all weights are one."""
        return bool((self.weight == 1).all())

    def counted(self) -> Target:
        """Weights scaled up so that their sum is at least the number of rows.

        If fractions summed to one, C_n, whose norm is that of n - 1 rows, would vanish.
        """
        rows = len(self.weight)
        if self.total >= rows:
            return self
        return replace(self, weight=mapped(partial(np.multiply, rows / self.total), self.weight))

    def rows(self, index: Any) -> Target:
        """The target restricted to some rows, in memory."""
        return replace(self, values=taken(self.values, index), weight=taken(self.weight, index))

    def subset(self, index: Any) -> Target:
        """The target restricted to the rows of a mask or an ascending index, where they are."""
        return replace(self, values=kept(self.values, index), weight=kept(self.weight, index))


def _minus(mean: Array, values: Array) -> Array:
    return np.ascontiguousarray(values - mean)


def _times(weight: Array, values: Array) -> Array:
    return weight[:, None] * values


def _products(left: Array, right: Array) -> Array:
    return left.T @ right


def _signs(values: Array) -> Array:
    return values if values.shape[1] == 1 else 2 * values - 1


def _codes(values: Array) -> IntArray:
    if values.shape[1] == 1:
        return (values[:, 0] > 0).astype(np.intp)
    return values.argmax(axis=1)


@dataclass(frozen=True)
class _Ends:
    """The smallest and the largest positive weight of some rows, and whether all are whole."""

    low: float
    high: float
    whole: bool

    @classmethod
    def of(cls, weight: Array) -> _Ends:
        used = weight[weight > 0]
        whole = bool((weight == np.floor(weight)).all())
        return cls(float(used.min(initial=np.inf)), float(used.max(initial=0.0)), whole)

    def join(self, other: _Ends) -> _Ends:
        ends = min(self.low, other.low), max(self.high, other.high)
        return _Ends(*ends, self.whole and other.whole)


def meant_weights(weight: Array) -> Array:
    """Numbers of equal rows, or weights of which only the ratios count.

    Whole numbers of which the smallest is one are numbers of equal rows, as in scikit-learn. A
    factor of all other weights has no meaning: rows of weight 1000 were not observed a thousand
    times without noise.
    """
    ends: _Ends = reduced(_Ends.of, _Ends.join, weight)
    return weight if ends.low == 1 and ends.whole else relative_weights(weight)


def relative_weights(weight: Array) -> Array:
    """Weights divided by the mean of those that are positive; exactly one if these are all equal.

    Results are rounded to single precision: a common factor changes the last digits, and these must
    not affect a search.
    """
    ends: _Ends = reduced(_Ends.of, _Ends.join, weight)
    if ends.low == ends.high:
        ones: Array = mapped(_positive, weight)
        return ones
    # The largest first, so that no sum overflows or vanishes.
    total, number = summed(partial(_shares, ends.high), weight)
    found: Array = mapped(partial(_relative, ends.high, total / number), weight)
    return found


def _positive(weight: Array) -> Array:
    return (weight > 0).astype(float)


def _shares(largest: float, weight: Array) -> Array:
    """The sum of weights in units of the largest, and the number of positive ones."""
    share = weight[weight > 0] / largest
    return np.array([share.sum(), share.size])


def _relative(largest: float, mean: float, weight: Array) -> Array:
    relative = (weight / largest / mean).astype(np.float32).astype(float)
    return np.where(weight > 0, np.maximum(relative, np.finfo(np.float32).tiny), 0.0)
