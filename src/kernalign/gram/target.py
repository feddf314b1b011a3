"""The target kernel Khat* = Y Y' and the weights of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kernalign._typing import Array


@dataclass(frozen=True)
class Target:
    """Khat* = Y Y' on weighted rows.

    values : (n, c) the factor Y: labels -1/+1 for two classes, one-hot columns for more, the
        response for regression.
    weight : (n,) positive row weights; an integer weight counts as that many equal rows.
    """

    values: Array
    weight: Array

    @cached_property
    def total(self) -> float:
        """The number of rows that the weights stand for: n in every formula of the paper."""
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

    @property
    def uniform(self) -> bool:
        """Whether all weights are one."""
        return bool((self.weight == 1).all())

    def counted(self) -> Target:
        """Weights scaled up to stand for at least as many rows as there are.

        Fractions that sum to one would leave C_n, whose norm is that of n - 1 rows, without any.
        """
        rows = len(self.weight)
        if self.total >= rows:
            return self
        return Target(self.values, self.weight * (rows / self.total))

    def rows(self, index: Any) -> Target:
        """The target restricted to some rows."""
        return Target(self.values[index], self.weight[index])
