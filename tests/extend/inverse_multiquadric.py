"""A family of a page: one parameter, and a pair seen through its distance."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from kernalign.kernels import ScalarFamily, SearchSpace


class InverseMultiquadric(ScalarFamily):
    """kappa_sigma(x, x') = (1 + |x - x'|^2 / sigma^2)^(-1/2).

    Parameters
    ----------
    columns : positions, names or slice, optional
    """

    #: A sum over pairs is smooth in log sigma: nodes this far apart interpolate it.
    node_step = 0.2

    def __init__(self, *, columns=None):
        self.columns = columns

    def _fix_constants(self, X, weight):
        # A distance is measured in these units, so that its square is finite for any data.
        self._scale = np.abs(X - X[0]).max() or 1.0

    def statistic(self, X, Z=None):
        return cdist(X / self._scale, (X if Z is None else Z) / self._scale, "sqeuclidean")

    def from_statistic(self, statistic, sigma):
        return (1 + statistic * (self._scale / sigma[0]) ** 2) ** -0.5

    def diag(self, sigma, X):
        return np.ones(len(X))

    def gradient(self, sigma, X, Z, W, K):
        # d kappa / d log sigma = kappa - kappa^3.
        return np.array([np.vdot(W, K - K**3)])

    def search_space(self, X, rng):
        scan = np.log(self._scale) + np.linspace(-4.0, 2.0, 33)[:, None]
        return SearchSpace(scan[0], scan[-1], scan, np.ones(1))
