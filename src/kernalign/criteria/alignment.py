"""Centred alignment: its value, gradient and best step (the paper's propositions).

F(K) = <K, Khat*_c> / (|K| |Khat*_c|) for a centred K. The functions below take `Element`s of a
space of centred Gram matrices; `centered_alignment` and `alignment` take plain arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import nnls

from kernalign._typing import Array
from kernalign.gram import Element
from kernalign.gram.centring import centre, cosine


class CenteredAlignment:
    """The criterion F with its gradient and best step.

    T : the centred target kernel Khat*_c.
    """

    def __init__(self, T: Element):
        self.T = T

    def value(self, K: Element) -> float:
        """F(K) = <K, T> / (|K| |T|)."""
        return cosine(K.inner(self.T), K.inner(K), self.T.inner(self.T))

    def gradient(self, K: Element) -> Element:
        """P = dF/dK = (T - <K,T> K / |K|^2) / (|K| |T|)   (Proposition 1)."""
        norm = K.norm()
        return (self.T - K.inner(self.T) / norm**2 * K) / (norm * self.T.norm())

    def step(self, K: Element, K_new: Element, eta_max: float) -> float:
        """The eta in [0, eta_max] with the largest F(K + eta K')   (Proposition 2)."""
        a, b = K.inner(self.T), K_new.inner(self.T)
        c, d, e = K.inner(K), K.inner(K_new), K_new.inner(K_new)
        target = self.T.inner(self.T)

        def value(eta: float) -> float:
            return cosine(a + eta * b, c + 2 * eta * d + eta**2 * e, target)

        # Ties go to the smaller step.
        return max([0.0, min(stationary_step(a, b, c, d, e), eta_max), eta_max], key=value)


def stationary_step(a: float, b: float, c: float, d: float, e: float) -> float:
    """eta* = max(0, (ad - bc) / (bd - ae)), and 0 if the denominator vanishes."""
    denominator = b * d - a * e
    return max(0.0, (a * d - b * c) / denominator) if denominator != 0 else 0.0


class SlopeObjective:
    """<P, K'>: the paper's criterion for the next kernel, the slope of F."""

    def __init__(self, criterion: CenteredAlignment, K: Element):
        self.elements = [criterion.gradient(K)]

    def value(self, products: Array, norm: Array | float) -> Any:
        return products[..., 0]

    def derivative(self, products: Array, norm: float) -> tuple[Array, float]:
        return np.ones(1), 0.0


class StepObjective:
    """max_eta F(K + eta K'), eta in [0, inf]: the alignment after the best step along a kernel.

    With K = 0 it is the alignment of the kernel alone. For unconstrained eta,
    max_eta F^2 = a^2/c + (b - a d/c)^2 / (e - d^2/c) over |T|^2: the share of T in span{K, K'}.
    """

    #: Kernels whose centred norm is below this share of the identity's are treated as constant.
    NEGLIGIBLE = 1e-9

    def __init__(self, criterion: CenteredAlignment, K: Element):
        self.elements = [criterion.T, K]
        self._a, self._c = K.inner(criterion.T), K.inner(K)
        self._floor = self.NEGLIGIBLE * criterion.T.sums.target.total
        self._norm_T = criterion.T.norm()

    def value(self, products: Array, norm: Array | float) -> Any:
        b, d, e = products[..., 0], products[..., 1], np.asarray(norm)
        a, c = self._a, self._c
        with np.errstate(divide="ignore", invalid="ignore"):
            alone = np.where(e > self._floor, b / np.sqrt(e), -np.inf) / self._norm_T
            if c == 0:
                return alone
            denominator = b * d - a * e
            eta = np.where(denominator != 0, (a * d - b * c) / denominator, 0.0)
            eta = np.where(np.isfinite(eta), np.maximum(eta, 0), 0.0)
            mixed = (a + eta * b) / np.sqrt(c + 2 * eta * d + eta**2 * e) / self._norm_T
        return np.fmax(mixed, alone)

    def derivative(self, products: Array, norm: float) -> tuple[Array, float]:
        """By the envelope theorem, eta is held at its optimum."""
        b, d, e = float(products[0]), float(products[1]), float(norm)
        a, c = self._a, self._c
        eta = stationary_step(a, b, c, d, e) if c > 0 else 0.0
        # Rounding must not make the squared norm of nearly opposite matrices negative.
        joint = max(c + 2 * eta * d + eta**2 * e, np.finfo(float).tiny)
        alone = b / np.sqrt(e) if e > self._floor else -np.inf
        if c > 0 and (a + eta * b) / np.sqrt(joint) >= alone:
            top, root = a + eta * b, np.sqrt(joint)
            by_b = eta / root
            by_d = -top * eta / root**3
            by_e = -top * eta**2 / (2 * root**3)
        elif e > self._floor:
            by_b, by_d, by_e = 1 / np.sqrt(e), 0.0, -b / (2 * e**1.5)
        else:
            by_b = by_d = by_e = 0.0
        return np.array([by_b, by_d]) / self._norm_T, by_e / self._norm_T


def best_weights(M: Array, a: Array) -> Array:
    """argmin_{v >= 0} v'Mv - 2 v'a, whose direction maximises a'v / sqrt(v'Mv).

    M : (m, m) inner products <K_c, L_c>;  a : (m,) inner products with the target.
    Non-negative least squares on a root of M, then active sets on M itself. Kernels with a zero
    centred matrix have weight zero.
    """
    scale = np.sqrt(np.maximum(np.diag(M), 0))
    used = scale > 1e-10 * scale.max(initial=0.0)
    v = np.zeros(a.size)
    if not used.any() or a[used].max() <= 0:
        return v
    s = scale[used]
    unit = M[np.ix_(used, used)] / np.outer(s, s)
    right = a[used] / s
    size = np.abs(right).max()
    right = right / size
    values, vectors = np.linalg.eigh(unit)
    kept = values > 1e-12 * values[-1]
    root = np.sqrt(values[kept])
    u, _ = nnls(root[:, None] * vectors[:, kept].T, (vectors[:, kept].T @ right) / root)
    v[used] = _polished(u, unit, right) * size / s
    return v


def _polished(u: Array, M: Array, a: Array) -> Array:
    """argmin_{u >= 0} u'Mu - 2 u'a by active sets, from a u that is nearly optimal.

    The kernels with positive weight at the optimum are usually few and dissimilar, so that their
    own system keeps the accuracy that a factor of all of M has lost.
    """
    u = np.maximum(u, 0.0)
    active = u > 1e-12 * u.max(initial=0.0)
    for _ in range(3 * len(u)):
        wanted = np.zeros(len(u))
        wanted[active] = np.linalg.lstsq(M[np.ix_(active, active)], a[active])[0]
        leaving = active & (wanted <= 0)
        if leaving.any():
            # Go towards the solution until a weight would become negative.
            fall = u[leaving] - wanted[leaving]
            ratios = np.divide(u[leaving], fall, out=np.zeros_like(fall), where=fall > 0)
            u = np.maximum(u + ratios.min() * (wanted - u), 0.0)
            active[np.flatnonzero(leaving)[ratios.argmin()]] = False
            u[~active] = 0.0
            continue
        u = wanted
        slope = np.where(active, 0.0, M @ u - a)
        entering = int(slope.argmin())
        if slope[entering] >= -1e-15:
            break
        active[entering] = True
    return u


def centered_alignment(K: Any, L: Any) -> float:
    """Alignment <K_c, L_c> / (|K_c| |L_c|) of two Gram matrices, in [-1, 1].

    K_c = C K C with C = I - 11'/n. It is 0 if a centred matrix vanishes.

    Examples
    --------
    >>> import numpy as np
    >>> from kernalign import centered_alignment
    >>> y = np.array([1, 1, -1, -1])
    >>> round(centered_alignment(np.outer(y, y), np.eye(4)), 3)
    0.577
    """
    K, L = _checked_pair(K, L)
    floor = max(np.abs(K).max(), np.abs(L).max())
    one = np.ones(len(K))
    return _between(centre(K, one), centre(L, one), floor)


def alignment(K: Any, L: Any) -> float:
    """Uncentred alignment <K, L> / (|K| |L|) of Cristianini et al."""
    K, L = _checked_pair(K, L)
    return _between(K, L)


def _between(K: Array, L: Array, floor: float = 0.0) -> float:
    squares = float(np.vdot(K, K)), float(np.vdot(L, L))
    # Rounding errors of a constant matrix have no direction.
    if min(squares) <= (1e-13 * floor * len(K)) ** 2:
        return 0.0
    return cosine(float(np.vdot(K, L)), *squares)


def _checked_pair(K: Any, L: Any) -> tuple[Array, Array]:
    pair = []
    for name, matrix in (("K", K), ("L", L)):
        array = np.asarray(matrix, dtype=float)
        if array.ndim != 2 or array.shape[0] != array.shape[1] or not len(array):
            raise ValueError(f"{name} must be a square matrix. Got shape {array.shape} instead.")
        if not np.isfinite(array).all():
            raise ValueError(f"{name} must hold finite numbers. Got NaN or infinity.")
        # Alignment does not depend on the scale; scaling prevents overflow of squares.
        pair.append(array / (np.abs(array).max() or 1.0))
    if pair[0].shape != pair[1].shape:
        raise ValueError(
            f"K and L must have the same shape. Got {pair[0].shape} and {pair[1].shape} instead."
        )
    return pair[0], pair[1]
