"""A power of a sum of kernels: it contains products of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from kernalign._typing import Array
from kernalign._validation import check_count
from kernalign.kernels._scale import LARGEST_POWER
from kernalign.kernels.base import Family, FamilyMember, SearchSpace
from kernalign.kernels.together import KernelsOnRows


class PowerOfSum(Family):
    """kappa_mu(x, x') = (sum_k mu_k kappa_k(x, x'))^degree, mu >= 0, degree an integer >= 1.

    Element-wise products of positive semidefinite matrices are positive semidefinite (Schur), so
    this is a kernel. Its parameters are the weights mu of the given kernels.

    Parameters
    ----------
    kernels : sequence of FamilyMember
    degree : int

    Examples
    --------
    >>> from kernalign.kernels import Gaussian
    >>> from kernalign.kernels.power_of_sum import PowerOfSum
    >>> PowerOfSum([Gaussian().at(0.5), Gaussian().at(2)], degree=2).at([0.7, 0.3])
    (0.7 * Gaussian(sigma=0.5) + 0.3 * Gaussian(sigma=2))^2
    """

    parameter = "mu"

    def __init__(self, kernels: Sequence[FamilyMember], degree: int = 2):
        self.kernels = kernels
        self.degree = degree

    def at(self, *sigma: float | Sequence[float]) -> FamilyMember:
        """The kernel with weights mu, given as one sequence or as separate arguments."""
        mu = super().at(*sigma).sigma
        if mu.size != len(self.kernels) or not ((mu >= 0) & np.isfinite(mu)).all():
            raise ValueError(
                f"A PowerOfSum of {len(self.kernels)} kernels needs as many weights in [0, inf). "
                f"Got {mu.tolist()} instead."
            )
        return PowerOfSumKernel(self, mu)

    def resolve(
        self,
        X: Array,
        feature_names: Sequence[str] | None = None,
        weight: Array | None = None,
    ) -> Self:
        check_count(self, "degree")
        resolved = [k.resolved(k.family.resolve(X, feature_names, weight)) for k in self.kernels]
        return type(self)(resolved, self.degree)

    def _sum(self, mu: Array, X: Array, Z: Array | None) -> Array:
        return KernelsOnRows(self.kernels, X, Z).combine(mu)

    def gram(self, sigma: Array, X: Array, Z: Array | None = None) -> Array:
        return self._power(self._sum(sigma, X, Z))

    def _power(self, total: Array) -> Array:
        # As a polynomial, so that rows beyond all scales do not overflow.
        largest = 10.0 ** (LARGEST_POWER / self.degree)
        powers: Array = np.clip(total, -largest, largest) ** self.degree
        return powers

    def diag(self, sigma: Array, X: Array) -> Array:
        total = np.zeros(len(X))
        for weight, kernel in zip(sigma, self.kernels, strict=True):
            total += weight * kernel.diag(X)
        return self._power(total)

    def gradient(self, sigma: Array, X: Array, Z: Array | None, W: Array, K: Array) -> Array:
        # d K / d mu_k = degree T^(degree - 1) o K_k. For even degrees, K does not determine T.
        outer = self.degree * W * self._sum(sigma, X, Z) ** (self.degree - 1)
        return np.array([np.vdot(outer, kernel(X, Z)) for kernel in self.kernels])

    # The search uses the weights themselves, not their logarithms: they may be zero.

    def to_search(self, sigma: Array) -> Array:
        return sigma

    def from_search(self, z: Array) -> Array:
        return z

    def d_sigma_d_z(self, sigma: Array) -> Array:
        return np.ones_like(sigma)

    def search_space(self, X: Array, rng: np.random.Generator) -> SearchSpace:
        raise TypeError(
            "The weights of a PowerOfSum cannot be searched as a family: use PolynomialMKL to "
            "learn them."
        )

    def constants(self) -> dict[str, float]:
        return {"degree": self.degree}

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        # scikit-learn would shorten a long list, but kernels are compared by this text.
        return f"PowerOfSum([{', '.join(map(repr, self.kernels))}], degree={self.degree})"


class PowerOfSumKernel(FamilyMember):
    """One kernel of `PowerOfSum`, printed as its formula."""

    family: PowerOfSum

    def __repr__(self) -> str:
        terms = [
            f"{mu:.3g} * {kernel!r}"
            for mu, kernel in zip(self.sigma, self.family.kernels, strict=True)
            if mu != 0
        ]
        return f"({' + '.join(terms) or '0'})^{self.family.degree}"
