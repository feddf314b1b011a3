"""Features without landmarks: random frequencies, and families with explicit features.

A stationary kernel is the mean of cos(omega'(x - x')) over a distribution of omega (Bochner). A
family with a known distribution samples from it; families with explicit features use those.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign.features.base import FeatureMap
from kernalign.kernels import FamilyMember, LearnedKernel
from kernalign.kernels.fourier import phases
from kernalign.kernels.structure import has_features


def has_fourier_features(kernel: FamilyMember) -> bool:
    """Whether a kernel has explicit features or a distribution of frequencies."""
    drawn = kernel.family.has_frequencies and kernel.family.codes is None
    return drawn or has_features(kernel.family)


def has_exact_features(kernel: LearnedKernel) -> bool:
    """Whether every kernel of a combination has explicit features."""
    return all(has_features(k.family) for k in kernel.kernels)


class ExplicitMap(FeatureMap):
    """The features of all kernels of a combination, each times the root of its weight.

    number : total number of random features, divided among the kernels in proportion to weight.
    """

    def __init__(self, kernel: LearnedKernel, number: int, n_columns: int, rng: Any):
        for member in kernel.kernels:
            if not has_fourier_features(member):
                on = " on columns of categories" if member.family.codes is not None else ""
                raise ValueError(
                    "solver='fourier' supports kernels with explicit features (Fourier, Dirichlet, "
                    "Linear) or random ones (Gaussian, Laplacian, Matern), on numbers. "
                    f"Got {type(member.family).__name__}{on}: use solver='nystroem'."
                )
        self.kernel = kernel
        random = [not has_features(k.family) for k in kernel.kernels]
        shares = np.where(random, np.asarray(kernel.weights), 0.0)
        self.frequencies: list[Array | None] = []
        for member, drawn, share in zip(kernel.kernels, random, shares, strict=True):
            if not drawn:
                self.frequencies.append(None)
                continue
            # Each frequency is two features: cosine and sine.
            waves = max(1, round(number / 2 * share / shares.sum()))
            d = member.family.select(np.zeros((1, n_columns))).shape[1]
            with np.errstate(over="ignore"):
                omega = member.family.frequencies(member.sigma, d, waves, rng)
            if not np.isfinite(omega).all():
                raise ValueError(
                    "solver='fourier' needs frequencies that overflow for kernels as narrow as "
                    f"{member!r}: scale the features, or use solver='nystroem'."
                )
            self.frequencies.append(omega)
        probe = np.zeros((1, n_columns))
        self._n_features = int(sum(part.shape[1] for part in self._parts(probe)))

    @property
    def n_features(self) -> int:
        return self._n_features

    def raw(self, X: Array) -> Array:
        return np.hstack(self._parts(X))

    def _parts(self, X: Array) -> list[Array]:
        parts = []
        for kernel, weight, omega in zip(
            self.kernel.kernels, self.kernel.weights, self.frequencies, strict=True
        ):
            rows = kernel.family.select(X)
            if omega is None:
                assert has_features(kernel.family)
                parts.append(np.sqrt(weight) * kernel.family.features(kernel.sigma, rows))
                continue
            phase = phases(rows, omega)
            scale = np.sqrt(weight / omega.shape[1])
            parts += [scale * np.cos(phase), scale * np.sin(phase)]
        return parts
