"""The interface of explicit features of a learned kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod

from scipy.linalg import solve_triangular

from kernalign._typing import Array
from kernalign.kernels import LearnedKernel


class FeatureMap(ABC):
    """x -> phi(x) with phi(x)'phi(x') = k(x, x'), exactly or approximately.

    phi = raw(x) L^{-T}: `raw` is computed for each row, while L (None for the identity) is applied
    to sums over rows.
    """

    kernel: LearnedKernel
    #: L, lower triangular (r, r), or None.
    root: Array | None = None
    #: (r, d) rows such that raw(x) = k(x, landmarks), or None.
    landmarks: Array | None = None

    @property
    @abstractmethod
    def n_features(self) -> int:
        """r, the number of columns of `raw`."""

    @abstractmethod
    def raw(self, X: Array) -> Array:
        """(n, r) of rows with all columns."""

    def transform(self, X: Array) -> Array:
        """phi (n, r)."""
        raw = self.raw(X)
        if self.root is None:
            return raw
        whitened: Array = solve_triangular(self.root, raw.T, lower=True).T
        return whitened
