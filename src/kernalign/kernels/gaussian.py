"""Gaussian kernels, the paper's main family (CA-1D and CA-nD)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernalign._typing import Array
from kernalign.kernels._decay import decay
from kernalign.kernels._radial import Radial


class Gaussian(Radial):
    """kappa_sigma(x, x') = exp(-|x - x'|^2 / sigma^2), or one sigma_k per feature.

    Parameters
    ----------
    ard : bool
        One bandwidth per feature: exp(-sum_k (x_k - x'_k)^2 / sigma_k^2).
    columns : positions, names or slice, optional
        The columns of X that the kernel uses; all of them by default.
    bounds : (low, high), optional
        Range of sigma to search, in the units of X; derived from the data by default.

    Notes
    -----
    The exponent has sigma^2, not 2 sigma^2: it is scikit-learn's RBF with gamma = 1 / sigma^2.

    Examples
    --------
    >>> import numpy as np
    >>> from kernalign import Gaussian
    >>> Gaussian().at(2.0)(np.array([[0.0], [2.0]])).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    pair_feature = "square"
    semigroup = True
    saved_per_value = 1e-9

    def profile(self, D: Array) -> Array:
        return decay(D, out=D)

    def profile_slope(self, distances: Callable[[], Array], K: Array) -> Array:
        return -K

    has_frequencies = True

    def frequencies(self, sigma: Array, d: int, number: int, rng: np.random.Generator) -> Array:
        """Normal, of variance 2 / sigma^2."""
        omega: Array = np.sqrt(2.0) * rng.standard_normal((d, number))
        return omega / np.broadcast_to(sigma, (d,))[:, None]
