"""The best convex weights of given kernels: argmin over the simplex of S(sum_k w_k G_k).

S is convex in w, with dS/dw_k = -c'G_k c and d2S/dw_k dw_l = 2 c'G_k (K + rho I)^-1 G_l c; the
weights are optimal when max_k c'G_k c <= c'Kc.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.optimize import nnls

from kernalign._typing import Array
from kernalign.criteria.risk import RegularisedRisk

#: Kernels with a smaller weight are dropped.
NEGLIGIBLE = 1e-8
#: Maximum number of Newton steps, and of halvings of a step.
STEPS, HALVINGS = 50, 30
#: Ridge of the Newton system, in traces; near-duplicate kernels make the system singular.
RIDGE = 1e-10
#: Weight of the equation that the weights sum to one.
HEAVY = 1e3


def best_risk_weights(
    risk: RegularisedRisk, grams: Sequence[Array], w: Array, tol: float = 1e-6
) -> Array:
    """Weights that minimise S to about tol S, started from w; `risk` is set to their mixture.

    Newton's method; the quadratic model is minimised over the simplex by non-negative least
    squares.
    """
    risk.set(_mixture(grams, w))
    for _ in range(STEPS):
        Gc = np.stack([gram @ risk.c for gram in grams])
        gain = np.einsum("kio,io->k", Gc, risk.c)
        if gain.max() - gain @ w <= tol * risk.value:
            break
        solved = np.stack([risk.inverse(v) for v in Gc])
        H = 2 * np.einsum("kio,lio->kl", Gc, solved)
        direction = _model_minimum(H, gain - gain @ w, w) - w
        slope = -float(gain @ direction)
        step = _backtrack(risk, grams, w, direction, slope) if slope < 0 else 0.0
        if step == 0:
            break
        w = w + step * direction
    if (w <= NEGLIGIBLE).any():
        w = np.where(w > NEGLIGIBLE, w, 0.0)
        w /= w.sum()
        risk.set(_mixture(grams, w))
    return w


def _model_minimum(H: Array, gain: Array, w: Array) -> Array:
    """argmin over the simplex of (v - w)'H(v - w) / 2 - gain'(v - w)."""
    size = float(np.trace(H)) or 1.0
    try:
        R = cholesky(H + RIDGE * size * np.eye(w.size))
    except LinAlgError:
        R = cholesky(H + 1e4 * RIDGE * size * np.eye(w.size))
    right = R @ w + solve_triangular(R, gain, trans=1)
    heavy = HEAVY * np.sqrt(size)
    v, _ = nnls(np.vstack([R, np.full(w.size, heavy)]), np.append(right, heavy))
    total = float(v.sum())
    return v / total if total > 0 else w


def _backtrack(
    risk: RegularisedRisk, grams: Sequence[Array], w: Array, direction: Array, slope: float
) -> float:
    """The first step of 1, 1/2, 1/4.. with a sufficient decrease of S; `risk` is set there."""
    S, step = risk.value, 1.0
    for _ in range(HALVINGS):
        risk.set(_mixture(grams, w + step * direction))
        if risk.value <= S + 1e-4 * step * slope:
            return step
        step /= 2
    risk.set(_mixture(grams, w))
    return 0.0


def _mixture(grams: Sequence[Array], w: Array) -> Array:
    K = np.zeros_like(grams[0])
    for gram, weight in zip(grams, w, strict=True):
        if weight != 0:
            K += weight * gram
    return K
