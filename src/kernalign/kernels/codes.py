"""Columns of codes: two categories are either equal or different.

K categories are placed at the corners of a regular simplex. The size of the simplex is such that
two throws of a fair die with K faces have the same mean distance as two values of a numeric column
in its own units. With K = 2 these are the numbers -1 and 1. A kernel then sees one of two values:

| pair feature | equal | different          |
|--------------|-------|--------------------|
| square       | 0     | 2K/(K-1)           |
| absolute     | 0     | K/(K-1)            |
| product      | 1     | -1/(K-1)           |
| bump         | 1     | m(sqrt(2K/(K-1)))  |

No indicator matrix is formed, so the cost does not depend on the number of categories. A code of K
or more is a category that did not occur in training: it differs from all others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernalign._typing import Array, IntArray
from kernalign.kernels._bump import bump

#: (K) -> values for a pair of equal and of different categories.
OF_PAIR: dict[str, Callable[[float], tuple[float, float]]] = {
    "square": lambda K: (0.0, 2 * K / (K - 1)),
    "absolute": lambda K: (0.0, K / (K - 1)),
    "product": lambda K: (1.0, -1 / (K - 1)),
    "bump": lambda K: (1.0, float(bump(np.sqrt(2 * K / (K - 1))))),
}


class CodeColumns:
    """The columns of a family that contain codes.

    counts : (d,) the number of codes of each column; 0 for a numeric column.
    codes, numbers : positions of the columns of codes and of the numeric columns.
    """

    def __init__(self, counts: IntArray):
        self.counts = counts
        self.codes = np.flatnonzero(counts)
        self.numbers = np.flatnonzero(counts == 0)

    def equal_and_different(self, feature: str) -> tuple[Array, Array]:
        """The values for equal and for different categories in each column of codes."""
        seen = np.array([OF_PAIR[feature](float(K)) for K in self.counts[self.codes]])
        return seen[:, 0], seen[:, 1]

    def numbers_of(self, parameters: Array) -> Array:
        """The parameters of the numeric columns; a single parameter applies to all columns."""
        return parameters if parameters.size == 1 else parameters[self.numbers]

    def codes_of(self, parameters: Array) -> Array:
        """The parameters of the columns of codes."""
        return np.broadcast_to(parameters, self.counts.shape)[self.codes]

    def summed(self, feature: str, r: Array, X: Array, Z: Array, out: Array) -> Array:
        """out + sum_k r_k f(x_ik, z_jk) over the columns k of codes, in place."""
        equal, different = self.equal_and_different(feature)
        r = self.codes_of(r)
        out += float(r @ equal)
        A, B = _codes(X, self.codes), _codes(Z, self.codes)
        for a, b, step in zip(A, B, r * (different - equal), strict=True):
            if step != 0:
                out += step * np.not_equal.outer(a, b)
        return out

    def contracted(self, feature: str, W: Array, X: Array, Z: Array) -> Array:
        """sum_ij W_ij f(x_ik, z_jk) for each column k of codes."""
        equal, different = self.equal_and_different(feature)
        total = float(W.sum())
        A, B = _codes(X, self.codes), _codes(Z, self.codes)
        alike = [float(np.sum(W, where=np.equal.outer(a, b))) for a, b in zip(A, B, strict=True)]
        return equal * alike + different * (total - np.array(alike))

    def merged(self, of_numbers: Array, of_codes: Array) -> Array:
        """One entry per column, from the entries of numeric columns and of code columns."""
        both = np.empty(len(self.counts))
        both[self.numbers], both[self.codes] = of_numbers, of_codes
        return both


def _codes(X: Array, columns: IntArray) -> Any:
    return np.ascontiguousarray(X[:, columns].T, dtype=np.int32)
