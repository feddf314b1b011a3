"""A family defined by a user's kernel function."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kernalign._typing import Array
from kernalign.kernels.base import Family, SearchSpace

SCAN_1D, SCAN_ND = 49, 32
#: Relative step of the central differences used if no gradient is given.
STEP = 1e-5


class CustomFamily(Family):
    """kappa_sigma(x, x') defined by a function of two data sets and the parameters.

    Parameters
    ----------
    function : callable (X, Z, *sigma) -> (n, m) array
        The kernel. It must be positive definite for every sigma within the bounds.
    bounds : sequence of (low, high)
        Range of each parameter; a single pair for a single parameter.
    log : bool
        Search the logarithm of the parameters, which must then be positive.
    gradient_function : callable (X, Z, W, K, *sigma) -> (p,) array, optional
        d/d sigma of sum_ij W_ij K_ij. Without it, central differences are used (2p Gram matrices).
    columns : positions, names or slice, optional
        The columns of X that the kernel uses; all of them by default.

    Examples
    --------
    >>> import numpy as np
    >>> from kernalign import ContinuousAlignment, CustomFamily
    >>> def cauchy(X, Z, sigma):
    ...     return 1 / (1 + ((X[:, None] - Z) ** 2).sum(-1) / sigma**2)
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> learner = ContinuousAlignment(CustomFamily(cauchy, bounds=(0.01, 100)), max_iter=1)
    >>> learner.fit(X, np.abs(X[:, 0]) > 0.5).kernel_.kernels[0].parameters.keys()
    dict_keys(['sigma'])
    """

    def __init__(
        self,
        function: Callable[..., Array],
        bounds: Sequence[tuple[float, float]] | tuple[float, float],
        *,
        log: bool = True,
        gradient_function: Callable[..., Array] | None = None,
        columns: Sequence[int | str] | slice | None = None,
    ):
        self.function = function
        self.bounds = bounds
        self.log = log
        self.gradient_function = gradient_function
        self.columns = columns

    def gram(self, sigma: Array, X: Array, Z: Array | None = None) -> Array:
        other = X if Z is None else Z
        K = np.asarray(self.function(X, other, *sigma.tolist()), dtype=float)
        if K.shape != (len(X), len(other)):
            raise ValueError(
                f"The kernel function of CustomFamily must return an array of shape "
                f"{(len(X), len(other))} for inputs of {len(X)} and {len(other)} rows. "
                f"Got {K.shape} instead."
            )
        if not np.isfinite(K).all():
            raise ValueError(
                f"The kernel function of CustomFamily returned NaN or infinity at "
                f"parameters {sigma.tolist()}."
            )
        return K

    def diag(self, sigma: Array, X: Array) -> Array:
        rows = [np.diag(self.gram(sigma, X[i : i + 256])) for i in range(0, len(X), 256)]
        return np.concatenate(rows)

    def gradient(self, sigma: Array, X: Array, Z: Array | None, W: Array, K: Array) -> Array:
        if self.gradient_function is not None:
            other = X if Z is None else Z
            by_sigma = self.gradient_function(X, other, W, K, *sigma.tolist())
            slope: Array = np.atleast_1d(np.asarray(by_sigma, dtype=float))
            return slope * self.d_sigma_d_z(sigma)
        z = self.to_search(sigma)
        slope = np.empty(z.size)
        lower, upper = (self.to_search(bound) for bound in self._checked_bounds())
        for k in range(z.size):
            # The function may be undefined outside its bounds.
            h = STEP * (1.0 if self.log else max(abs(z[k]), 1e-3 * (upper[k] - lower[k])))
            ahead, behind = z.copy(), z.copy()
            ahead[k] = min(z[k] + h, max(upper[k], z[k]))
            behind[k] = max(z[k] - h, min(lower[k], z[k]))
            if ahead[k] == behind[k]:
                slope[k] = 0.0
                continue
            rise = self.gram(self.from_search(ahead), X, Z)
            rise -= self.gram(self.from_search(behind), X, Z)
            slope[k] = np.vdot(W, rise) / (ahead[k] - behind[k])
        return slope

    def to_search(self, sigma: Array) -> Array:
        return np.log(sigma) if self.log else sigma

    def from_search(self, z: Array) -> Array:
        return np.exp(z) if self.log else z

    def d_sigma_d_z(self, sigma: Array) -> Array:
        return sigma if self.log else np.ones_like(sigma)

    def search_space(self, X: Array, rng: np.random.Generator) -> SearchSpace:
        low, high = self._checked_bounds()
        lower, upper = self.to_search(low), self.to_search(high)
        if low.size == 1:
            scan = np.linspace(lower, upper, SCAN_1D)
        else:
            scan = lower + rng.random((SCAN_ND, low.size)) * (upper - lower)
            scan[0] = (lower + upper) / 2
        unit = np.where(upper > lower, (upper - lower) / 4, 1.0)
        return SearchSpace(lower, upper, scan, unit, ordered=low.size == 1)

    def _fix_constants(self, X: Array, weight: Array) -> None:
        if not callable(self.function):
            raise ValueError(
                "The 'function' parameter of CustomFamily must be callable as "
                f"function(X, Z, *sigma). Got {self.function!r} instead."
            )
        self._checked_bounds()

    def _checked_bounds(self) -> tuple[Array, Array]:
        try:
            pairs = np.asarray(self.bounds, dtype=float)
        except (TypeError, ValueError):
            pairs = np.zeros(0)
        pairs = pairs[None] if pairs.ndim == 1 else pairs
        valid = pairs.ndim == 2 and pairs.shape[1] == 2 and np.isfinite(pairs).all()
        if not valid or (pairs[:, 0] > pairs[:, 1]).any() or (self.log and (pairs <= 0).any()):
            positive = "positive " if self.log else ""
            raise ValueError(
                f"The 'bounds' parameter of CustomFamily must be one pair of {positive}finite "
                f"numbers low <= high per parameter. Got {self.bounds!r} instead."
            )
        return pairs[:, 0], pairs[:, 1]
