"""Families with explicit features: sums over pairs in O(n).

K = Phi Phi' gives <Y Y', K_c> = |Y' C Phi|^2 and <K_c, L_c> = |Phi' C Psi|^2: products of thin
matrices, without any Gram matrix.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernalign._typing import Array
from kernalign.gram.base import FIRST_ATOM, IDENTITY, TARGET, Element, PairSums, Probe
from kernalign.gram.target import Target
from kernalign.kernels import FeatureFamily


class FeatureSums(PairSums):
    """Inner products through features."""

    def __init__(self, families: Sequence[FeatureFamily], X: Array, target: Target):
        super().__init__(families, target)
        self.feature_families = list(families)
        self.views = [np.ascontiguousarray(family.select(X)) for family in families]

    def centred_features(self, family: int, z: Array) -> Array:
        """C Phi: features minus their weighted mean."""
        member = self.feature_families[family]
        phi = member.features(member.from_search(z), self.views[family])
        phi -= self.target.weight @ phi / self.target.total
        return phi

    def probe(self, elements: Sequence[Element], family: int) -> Probe:
        return _FeatureProbe(self, elements, family)


class _FeatureProbe(Probe):
    def __init__(self, sums: FeatureSums, elements: Sequence[Element], family: int):
        self._sums = sums
        self._family = family
        self._weight = sums.target.weight[:, None]
        self._coefficients = np.stack([e.padded() for e in elements])
        # Generators other than the identity, as factors U with generator = U U', times weights.
        factors = [sums.target.centred]
        factors += [sums.centred_features(f, z) for f, z in sums.atoms]
        self._factors = [self._weight * U for U in factors]
        self._phi = np.zeros((0, 0))

    def products(self, z: Array) -> tuple[Array, float]:
        phi = self._sums.centred_features(self._family, z)
        self._phi = phi
        generators = np.zeros(self._coefficients.shape[1])
        for generator, U in zip(self._positions(), self._factors, strict=True):
            cross = U.T @ phi
            generators[generator] = np.vdot(cross, cross)
        weighted = self._weight * phi
        generators[IDENTITY] = np.vdot(weighted, phi)
        covariance = phi.T @ weighted
        return self._coefficients @ generators, float(np.vdot(covariance, covariance))

    def gradient(self, z: Array, d_products: Array, d_norm: float) -> Array:
        phi = self._phi
        by_generator = d_products @ self._coefficients
        weighted = self._weight * phi
        V = by_generator[IDENTITY] * weighted
        for generator, U in zip(self._positions(), self._factors, strict=True):
            if by_generator[generator] != 0:
                V = V + by_generator[generator] * U @ (U.T @ phi)
        V = V + 2 * d_norm * weighted @ (phi.T @ weighted)
        # V is orthogonal to constants, so the gradient can use the uncentred features.
        family = self._sums.feature_families[self._family]
        X = self._sums.views[self._family]
        return 2 * family.features_gradient(family.from_search(z), X, V)

    def _positions(self) -> list[int]:
        """Generators that have a factor: the target and the added kernels."""
        return [TARGET, *range(FIRST_ATOM, self._coefficients.shape[1])]
