"""The target kernel Khat* = Y Y' and the weights of the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kernalign._typing import Array, IntArray


@dataclass(frozen=True)
class Target:
    """Khat* = Y Y' on weighted rows.

    values : (n, c) the factor Y: labels -1/+1 for two classes, one-hot columns for more, the
        response for regression.
    weight : (n,) positive row weights; an integer weight is equivalent to repeating the row.
    classes : whether the values represent classes. This cannot be inferred: a response may also
        have the values -1 and +1.
    """

    values: Array
    weight: Array
    classes: bool = False

    @cached_property
    def total(self) -> float:
        """The sum of the weights: n in every formula of the paper."""
        return float(self.weight.sum())

    @cached_property
    def centred(self) -> Array:
        """Y_c: values minus their weighted mean, so that Khat*_c = Y_c Y_c'."""
        mean = self.weight @ self.values / self.total
        return np.ascontiguousarray(self.values - mean)

    @cached_property
    def weighted(self) -> Array:
        """Row weights times Y_c."""
        return self.weight[:, None] * self.centred

    @cached_property
    def covariance(self) -> Array:
        """Y_c'W Y_c (c, c): <Khat*_c, Khat*_c> is its squared norm, <Khat*_c, C_n> its trace."""
        return self.centred.T @ self.weighted

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
        return self.values if self.values.shape[1] == 1 else 2 * self.values - 1

    @cached_property
    def codes(self) -> IntArray:
        """(n,) the class of each row, as a number."""
        assert self.classes, "a response has no classes"
        if self.values.shape[1] == 1:
            return (self.values[:, 0] > 0).astype(np.intp)
        return self.values.argmax(axis=1)

    def response(self) -> tuple[Array, Array]:
        """The target (n, c) of a squared loss without a constant, and the constant (c,).

        Classes are coded -1/+1 with constant zero, as published. A response is centred.
        """
        if self.classes:
            return self.signs, np.zeros(self.values.shape[1])
        return self.centred, self.weight @ self.values / self.total

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
        return replace(self, weight=self.weight * (rows / self.total))

    def rows(self, index: Any) -> Target:
        """The target restricted to some rows."""
        return replace(self, values=self.values[index], weight=self.weight[index])


def meant_weights(weight: Array) -> Array:
    """Numbers of equal rows, or weights of which only the ratios count.

    Whole numbers of which the smallest is one are numbers of equal rows, as in scikit-learn. A
    factor of all other weights has no meaning: rows of weight 1000 were not observed a thousand
    times without noise.
    """
    counted = weight[weight > 0].min() == 1 and (weight == np.floor(weight)).all()
    return weight if counted else relative_weights(weight)


def relative_weights(weight: Array) -> Array:
    """Weights divided by the mean of those that are positive; exactly one if these are all equal.

    Results are rounded to single precision: a common factor changes the last digits, and these must
    not affect a search.
    """
    used = weight > 0
    if (weight[used] == weight.max()).all():
        return used.astype(float)
    # The largest first, so that no sum overflows or vanishes.
    share = weight / weight.max()
    relative = (share / share[used].mean()).astype(np.float32).astype(float)
    return np.where(used, np.maximum(relative, np.finfo(np.float32).tiny), 0.0)
