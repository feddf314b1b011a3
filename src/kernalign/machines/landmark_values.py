"""Kernel values of rows with landmarks, in blocks, and sums over rows of functions of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernalign._compiled import compiled
from kernalign._threads import map_rows
from kernalign._typing import Array
from kernalign.kernels import LearnedKernel
from kernalign.kernels.together import Combination
from kernalign.rows import RowSums

#: Kernel values are stored in single precision unless the noise, in units of the kernel, is below
#: this for numbers, whose rounding errors would then look like signal, or below the second value
#: for classes, where conjugate gradients would diverge.
SINGLE_NOISE, SINGLE_CLASS_NOISE = 0.05, 1e-4
#: Number of rows that one thread computes at a time, and of such blocks in one sum over rows.
ROWS, BLOCKS = 512, 32

#: (values, columns) -> array: a function of kernel values of some rows. Sums over rows are of it,
#: or of the product of these values with it.
OfValues = Callable[..., Array]
#: (rows, array to write to or None) -> kernel values of these rows.
OfRows = Callable[..., Array]


def precision_for(log_noise: float, classes: bool = False) -> Any:
    """The precision of kernel values for a noise in units of the kernel."""
    least = SINGLE_CLASS_NOISE if classes else SINGLE_NOISE
    return np.float32 if log_noise >= np.log(least) else np.float64


@dataclass(frozen=True)
class LandmarkValues:
    """k(x, Z) + constant of rows, in a precision.

    saved : seconds that compiled loops save with all rows.
    """

    kernel: LearnedKernel
    landmarks: Array
    constant: float
    precision: Any
    saved: float = 0.0

    def blocks(
        self, X: Array, function: Callable[[slice, Array], Array] | None = None
    ) -> Iterator[tuple[slice, Array]]:
        """(rows, values) of consecutive rows of X, or (rows, function(rows, values))."""
        of_rows = self.of_rows(X)

        def block(rows: slice) -> Array:
            values = of_rows(rows)
            return values if function is None else function(rows, values)

        return map_rows(block, len(X), ROWS)

    def of_rows(self, X: Array) -> OfRows:
        """A function from some rows of X to their values, which are written to an array if one is
        given."""
        kernel, constant = self.kernel, float(self.constant)
        combined = Combination(kernel.kernels, kernel.weights, self.landmarks, self.precision)

        def values(rows: slice, out: Array | None = None) -> Array:
            with compiled(self.saved):
                found = combined(X[rows], out)
            found += constant
            return found

        return values


class KernelSums(RowSums):
    """of_values(values, columns) of blocks of rows, summed in double precision."""

    block = ROWS * BLOCKS

    def __init__(self, values: LandmarkValues, of_values: OfValues, shape: tuple[int, ...]):
        self.values, self.of_values, self.shape = values, of_values, shape

    def zero(self) -> Array:
        return np.zeros(self.shape)

    def include(self, total: Array, X: Array, *columns: Array) -> None:
        def block(rows: slice, values: Array) -> Array:
            return self.of_values(values, *(column[rows] for column in columns))

        for _, part in self.values.blocks(X, block):
            total += part
