"""Nystroem features: an approximation of the kernel by landmarks."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cholesky

from kernalign._typing import Array
from kernalign.features.base import FeatureMap
from kernalign.features.landmarks import choose_landmarks
from kernalign.kernels import LearnedKernel

#: Added to the diagonal of k(Z, Z), as a share of its largest entry, and increased until the
#: factorisation exists. The inverse root would amplify directions that are rounding errors.
JITTER = 1e-9


class NystroemMap(FeatureMap):
    """phi(x) = L^{-1} k(Z, x) with L L' = k(Z, Z): phi(x)'phi(x') = k(x, x') on the landmarks Z.

    kernel : the learned kernel.
    landmarks : (m, d) rows.
    """

    def __init__(self, kernel: LearnedKernel, landmarks: Array):
        self.kernel = kernel
        self.landmarks: Array = landmarks
        K = kernel(landmarks)
        # A kernel that vanishes on the landmarks also has a root.
        jitter = JITTER * (float(np.diagonal(K).max()) or 1.0)
        while np.isfinite(jitter):
            try:
                shifted = K.copy()
                shifted[np.diag_indices(len(K))] += jitter
                self.root = cholesky(shifted, lower=True, overwrite_a=True)
                return
            except np.linalg.LinAlgError:
                jitter *= 10
        raise ValueError(
            "The learned kernel has no finite values on the landmarks: scale the features, or "
            "remove rows that are far from all others."
        )

    @classmethod
    def on(
        cls,
        kernel: LearnedKernel,
        X: Any,
        number: int,
        rng: np.random.Generator,
        method: str = "pivots",
    ) -> NystroemMap:
        """Features on at most `number` landmarks among the rows of X."""
        return cls(kernel, choose_landmarks(kernel, X, number, rng, method))

    @property
    def n_features(self) -> int:
        return len(self.landmarks)

    def raw(self, X: Array) -> Array:
        K: Array = self.kernel(X, self.landmarks)
        return K
