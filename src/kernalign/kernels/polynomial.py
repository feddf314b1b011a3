"""Polynomial kernels with a continuous offset."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernalign._typing import Array
from kernalign._validation import check_count
from kernalign.kernels._radial import check_bounds
from kernalign.kernels._scale import LARGEST_POWER, in_units
from kernalign.kernels.base import SearchSpace
from kernalign.kernels.structure import ScalarFamily


class Polynomial(ScalarFamily):
    """kappa_c(x, x') = ((x'x' / s^2 + c) / (1 + c))^degree, c > 0.

    s^2 is the mean of |x|^2 on the training data, so that the diagonal is near one for any offset.
    A large c favours low orders of the expansion, a small c the highest order. scikit-learn's
    polynomial_kernel with gamma = 1/s^2, coef0 = c is (1 + c)^degree times this kernel.
    """

    parameter = "offset"

    def __init__(
        self,
        degree: int = 2,
        *,
        columns: Sequence[int | str] | slice | None = None,
        bounds: tuple[float, float] = (1e-2, 1e2),
    ):
        self.degree = degree
        self.columns = columns
        self.bounds = bounds

    def words(self, sigma: Array, names: Sequence[str], scale: Array | None = None) -> str:
        return "rows are similar when products of their features agree"

    def _fix_constants(self, X: Array, weight: Array) -> None:
        check_count(self, "degree")
        largest = np.abs(X).max() or 1.0
        squares = np.einsum("ik,ik->i", X / largest, X / largest)
        mean_square = weight @ squares / weight.sum()
        self._scale = float(largest * np.sqrt(mean_square)) or 1.0

    def constants(self) -> dict[str, float]:
        return {"degree": self.degree}

    def statistic(self, X: Array, Z: Array | None = None) -> Array:
        """x'z / s^2."""
        A = self._in_units(X)
        inner: Array = A @ (A if Z is None else self._in_units(Z)).T
        return inner

    def _in_units(self, X: Array) -> Array:
        return in_units(X, getattr(self, "_scale", 1.0))

    def from_statistic(self, statistic: Array, sigma: Array) -> Array:
        # A row far outside the training data must not overflow.
        largest = 10.0 ** (LARGEST_POWER / self.degree)
        base = np.clip((statistic + sigma[0]) / (1 + sigma[0]), -largest, largest)
        powers: Array = base**self.degree
        return powers

    def diag(self, sigma: Array, X: Array) -> Array:
        A = self._in_units(X)
        return self.from_statistic(np.einsum("ik,ik->i", A, A), sigma)

    def gradient(self, sigma: Array, X: Array, Z: Array | None, W: Array, K: Array) -> Array:
        c = sigma[0]
        base = (self.statistic(X, Z) + c) / (1 + c)
        # d base / d log c = c (1 - base) / (1 + c)
        slope = self.degree * base ** (self.degree - 1) * (1 - base) * (c / (1 + c))
        return np.array([np.vdot(W, slope)])

    def search_space(self, X: Array, rng: np.random.Generator) -> SearchSpace:
        low, high = check_bounds(self, self.bounds)
        scan = np.linspace(np.log(low), np.log(high), 33)[:, None]
        return SearchSpace(scan[0], scan[-1], scan, np.ones(1))
