"""Matern kernels: like the Gaussian, but with sample paths of finite smoothness."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.utils import gen_batches

from kernalign._compiled import loops_in_use
from kernalign._typing import Array
from kernalign.kernels._decay import decay
from kernalign.kernels._radial import Radial

SMOOTHNESS = (0.5, 1.5, 2.5)
#: Coefficients of u and of u^2 in p, u = sqrt(2 nu) r, by nu.
POLYNOMIAL = {0.5: (0.0, 0.0), 1.5: (1.0, 0.0), 2.5: (1.0, 1 / 3)}
#: u^2 is limited to this, where the decay is zero: infinity times zero is NaN.
FARTHEST = 1e6
#: Bytes of the blocks in which kernel values are computed.
BLOCK = 2**20


class Matern(Radial):
    """kappa_sigma(x, x') = p(r) exp(-sqrt(2 nu) r), r = |x - x'| / sigma.

    p = 1 for nu = 1/2, 1 + sqrt(3) r for nu = 3/2, 1 + sqrt(5) r + 5 r^2 / 3 for nu = 5/2. It is
    scikit-learn's Matern with length_scale = sigma.
    """

    pair_feature = "square"
    saved_per_value = 2e-9

    def __init__(
        self,
        nu: float = 1.5,
        ard: bool = False,
        *,
        columns: Sequence[int | str] | slice | None = None,
        bounds: tuple[float, float] | None = None,
    ):
        super().__init__(ard, columns=columns, bounds=bounds)
        self.nu = nu

    def _fix_constants(self, X: Array, weight: Array) -> None:
        self._check_nu()
        super()._fix_constants(X, weight)

    def _check_nu(self) -> None:
        if self.nu not in SMOOTHNESS:
            raise ValueError(
                f"The 'nu' parameter of Matern must be one of {SMOOTHNESS}. Got {self.nu} instead."
            )

    def constants(self) -> dict[str, float]:
        return {"nu": self.nu}

    def profile(self, D: Array) -> Array:
        self._check_nu()
        loops = loops_in_use() if D.flags.c_contiguous else None
        # Blocks stay in a core's cache: this is most of the cost of a machine on many rows.
        for rows in gen_batches(len(D), max(1, BLOCK // max(D[:1].nbytes, 1))):
            if loops is not None:
                self._compiled_profile(loops, D[rows].reshape(-1))
                continue
            u = self._scaled(D[rows])
            decay(u, out=D[rows])
            if self.nu > 0.5:
                D[rows] *= self._polynomial(u)
        return D

    def _compiled_profile(self, loops: Any, D: Array) -> None:
        """D = f(D), in fewer steps."""
        u = np.empty_like(D)
        loops.root(D, 2 * self.nu, FARTHEST, u)
        decay(u, out=D)
        loops.multiply_by_polynomial(u, *POLYNOMIAL[self.nu], D)

    def profile_and_slope(self, D: Array) -> tuple[Array, Array]:
        u = self._scaled(D)
        K = decay(u)
        slope = self._slope(u, K)
        if self.nu > 0.5:
            K *= self._polynomial(u)
        return K, slope

    def profile_slope(self, distances: Callable[[], Array], K: Array) -> Array:
        u = self._scaled(distances())
        return self._slope(u, decay(u))

    def _scaled(self, D: Array) -> Array:
        """u = sqrt(2 nu D)."""
        u = np.multiply(D, 2 * self.nu)
        np.clip(u, 0.0, FARTHEST, out=u)
        return np.sqrt(u, out=u)

    def _polynomial(self, u: Array) -> Array:
        """p, for nu above 1/2; u is overwritten."""
        if self.nu == 1.5:
            u += 1
            return u
        found: Array = u / 3
        found += 1
        found *= u
        found += 1
        return found

    def _slope(self, u: Array, e: Array) -> Array:
        """dK/dD, given u and e = exp(-u)."""
        if self.nu == 0.5:
            # Unbounded at D = 0, but every derivative of D vanishes faster: the limit is 0.
            return -0.5 * np.divide(e, u, out=np.zeros_like(e), where=u > 0)
        if self.nu == 1.5:
            return -1.5 * e
        slope: Array = u + 1
        slope *= e
        slope *= -5 / 6
        return slope

    has_frequencies = True

    def frequencies(self, sigma: Array, d: int, number: int, rng: np.random.Generator) -> Array:
        """Student's t with 2 nu degrees of freedom."""
        normal = rng.standard_normal((d, number))
        # A normal vector divided by the root of a chi-squared variable per degree of freedom.
        omega: Array = normal * np.sqrt(2 * self.nu / rng.chisquare(2 * self.nu, number))
        return omega / np.broadcast_to(sigma, (d,))[:, None]
