"""A family of a page with explicit features: linear and squared terms, and how much of each."""

from __future__ import annotations

import numpy as np

from kernalign.kernels import FeatureFamily, SearchSpace


class SquaredFeatures(FeatureFamily):
    """kappa_sigma(x, x') = sum_k u_k u'_k + sigma u_k^2 u'_k^2, u = x / s, s the largest |x_k|."""

    def _fix_constants(self, X, weight):
        self._scale = np.abs(X).max() or 1.0

    def features(self, sigma, X):
        U = X / self._scale
        return np.hstack([U, np.sqrt(sigma[0]) * U**2])

    def features_gradient(self, sigma, X, V):
        # d sqrt(sigma) / d log sigma = sqrt(sigma) / 2.
        squares = (X / self._scale) ** 2
        return np.array([np.vdot(V[:, X.shape[1] :], 0.5 * np.sqrt(sigma[0]) * squares)])

    def search_space(self, X, rng):
        scan = np.linspace(-5.0, 5.0, 33)[:, None]
        return SearchSpace(scan[0], scan[-1], scan, np.ones(1))
