"""Soft-margin support vector machine on a fixed Gram matrix, held to its duality gap.

P = min_{beta,b} 1/2 beta'K beta + sum_i C w_i [1 - y_i (K beta + b)_i]_+
D = max_{0 <= alpha_i <= C w_i, y'alpha = 0} 1'alpha - 1/2 beta'K beta,    beta = alpha o y

libsvm's own stopping criterion is unreliable at large C: gaps of 10 to 90 % are common. Its
solution is accepted only if (P - D) / P is small. Otherwise the linear system of its support
vectors often gives the exact solution for one factorisation. If that fails, an interior-point
method is used, whose cost does not depend on C.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from kernalign._typing import Array, IntArray

#: Relative gap at which a solution is accepted.
GAP = 1e-4
#: Maximum number of rows for the interior-point method: n^3 / 3 operations per iteration.
INTERIOR_ROWS = 3000
#: Relative gap at which the interior-point method stops; rounding errors dominate below it.
INTERIOR_GAP = 1e-8
#: Interior-point iterations; ten to fifty are enough for any C.
INTERIOR_ITERATIONS = 100
#: Share of the way to the boundary that an interior-point step takes.
STEP = 0.995
#: Iteration limit of libsvm if no other method can be used.
LIBSVM_ITERATIONS = 1_000_000
#: Maximum number of linear systems for given support vectors; if they converge, two are enough.
MARGIN_STEPS = 3
#: Relative distance within which a dual variable counts as being at 0 or at its bound.
AT_BOUND = 1e-7


@dataclass(frozen=True)
class SVMSolution:
    """A machine f = K beta + bias, and the bracket [dual, primal] of the optimum.

    beta : (n,) y_i alpha_i, zero for rows that are not support vectors.
    outputs : (n,) K beta, without the bias.
    exhausted : whether libsvm reached its iteration limit.
    """

    beta: Array
    bias: float
    primal: float
    dual: float
    outputs: Array
    exhausted: bool = False

    @property
    def gap(self) -> float:
        """(P - D) / P."""
        return relative_gap(self.primal, self.dual)


def relative_gap(primal: float, dual: float) -> float:
    """(P - D) / P, and 0 where both vanish."""
    return (primal - dual) / primal if primal > 0 else 0.0


def solve_svm(
    K: Array,
    y: Array,
    C: float,
    weight: Array | None = None,
    *,
    gap: float = GAP,
    libsvm: bool = True,
) -> SVMSolution:
    """The machine on Gram matrix K (n, n) for labels y (n,) in {-1, +1} and row weights (n,).

    gap : relative duality gap to reach. The solution's `gap` is the one reached.
    libsvm : whether to try libsvm before the interior-point method.
    """
    weight = np.ones(len(y)) if weight is None else weight
    if np.all(y == y[0]):
        # A constant is optimal: it has neither loss nor norm.
        return SVMSolution(np.zeros(len(y)), float(y[0]), 0.0, 0.0, np.zeros(len(y)))
    interior = len(y) <= INTERIOR_ROWS
    best = None
    if libsvm or not interior:
        best = _by_libsvm(K, y, C, weight, gap, interior)
        if best.gap > gap:
            exact = on_margin(best.beta, K, y, C, weight, gap)
            if exact is not None and exact.gap < best.gap:
                best = replace(exact, exhausted=best.exhausted)
        if best.gap <= gap or not interior:
            return best
    s = weight * y
    x = box_qp(C * (s[:, None] * K * s), weight, s, 0.0)
    other = certified(K, y, C, weight, C * weight * x)
    if best is None:
        return other
    return replace(min(best, other, key=lambda found: found.gap), exhausted=best.exhausted)


def certified(K: Array, y: Array, C: float, weight: Array, alpha: Array) -> SVMSolution:
    """The machine of dual variables alpha, made feasible, with the best bias for it."""
    alpha = np.clip(alpha, 0.0, C * weight)
    positive = y > 0
    up, down = float(alpha[positive].sum()), float(alpha[~positive].sum())
    # Shrinking the heavier class restores y'alpha = 0 within the bounds.
    if up != down:
        alpha[positive if up > down else ~positive] *= min(up, down) / max(up, down)
    beta = alpha * y
    return with_bracket(beta, K @ beta, y, C, weight)


def with_bracket(beta: Array, outputs: Array, y: Array, C: float, weight: Array) -> SVMSolution:
    """The machine of feasible signed dual variables beta, given outputs = K beta."""
    bias = best_bias(outputs, y, weight)
    norm = max(float(beta @ outputs), 0.0)
    hinge = np.maximum(1 - y * (outputs + bias), 0.0)
    primal = 0.5 * norm + C * float(weight @ hinge)
    dual = float(np.abs(beta).sum()) - 0.5 * norm
    return SVMSolution(beta, bias, primal, dual, outputs)


def best_bias(outputs: Array, y: Array, weight: Array) -> float:
    """argmin_b sum_i w_i [1 - y_i (f_i + b)]_+.

    The sum is piecewise linear with a kink of w_i at y_i - f_i and slope -sum_{y_i > 0} w_i at
    minus infinity, so the minimum is a weighted quantile of the kinks.
    """
    kinks = y - outputs
    order = np.argsort(kinks)
    rises = np.cumsum(weight[order])
    down = float(weight[y > 0].sum())
    rounding = 1e-12 * rises[-1]
    first = min(int(np.searchsorted(rises, down - rounding)), len(y) - 1)
    # If the slope is zero between two kinks, every point is a minimum: use the middle.
    flat = rises[first] <= down + rounding and first + 1 < len(y)
    return float(kinks[order[first]] + kinks[order[first + flat]]) / 2


def free_rows(beta: Array, C: float, weight: Array) -> IntArray:
    """Rows whose dual variable is strictly between its bounds: they lie on the margin."""
    alpha, bound = np.abs(beta), C * weight
    return np.flatnonzero((alpha > AT_BOUND * alpha.max()) & (alpha < bound * (1 - AT_BOUND)))


# -- libsvm and its support vectors ---------------------------------------------------------------


def _by_libsvm(
    K: Array, y: Array, C: float, weight: Array, gap: float, interior: bool
) -> SVMSolution:
    """libsvm's solution, stopped when the interior-point method would be faster."""
    equal = bool((weight == weight[0]).all())
    machine = SVC(
        kernel="precomputed",
        C=C * weight[0] if equal else C,
        # Violations of ten times the gap, on a few rows, still add up to the gap.
        tol=min(1e-3, 10 * gap),
        max_iter=int(np.clip(len(y) ** 2 // 20, 10_000, LIBSVM_ITERATIONS))
        if interior
        else LIBSVM_ITERATIONS,
    )
    with (
        warnings.catch_warnings(),
        config_context(assume_finite=True, skip_parameter_validation=True),
    ):
        # The gap, which is checked next, is what matters.
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(K, y, sample_weight=None if equal else weight)
    alpha = np.zeros(len(y))
    alpha[machine.support_] = np.abs(machine.dual_coef_[0])
    found = certified(K, y, C, weight, alpha)
    return replace(found, exhausted=int(machine.n_iter_[0]) >= machine.max_iter)


def on_margin(
    start: Array, K: Array, y: Array, C: float, weight: Array, gap: float
) -> SVMSolution | None:
    """The machine whose free rows lie exactly on the margin, None if that is undefined.

    K_FF beta_F + b = y_F - K_FB beta_B,   1'beta_F = -1'beta_B

    for rows F that are free in `start` and rows B at their bound. Rows that end up on the wrong
    side change sets, at most a few times.
    """
    bound = C * weight
    free = np.zeros(len(y), dtype=bool)
    free[free_rows(start, C, weight)] = True
    upper = ~free & (np.abs(start) > 0.5 * bound)
    best = None
    for _ in range(MARGIN_STEPS):
        F = np.flatnonzero(free)
        solve = _cholesky(K[np.ix_(F, F)]) if F.size else None
        if solve is None:
            break
        beta = np.where(upper, bound * y, 0.0)
        h, h_one = solve(np.column_stack([y[F] - K[F] @ beta, np.ones(F.size)])).T
        bias = (h.sum() + beta.sum()) / h_one.sum()
        beta[F] = h - bias * h_one
        alpha = beta * y
        candidate = certified(K, y, C, weight, alpha)
        if best is None or candidate.gap < best.gap:
            best = candidate
        if best.gap <= gap:
            break
        margin = y * (K @ beta + bias) - 1
        released = (upper & (margin > 0)) | (~free & ~upper & (margin < 0))
        upper = (upper & ~released) | (free & (alpha > bound))
        free = (free & (alpha > 0) & (alpha < bound)) | released
    return best


def _cholesky(H: Array) -> Callable[[Array], Array] | None:
    """The solver of H x = r, or None where H is not positive definite; H is overwritten."""
    factor, info = dpotrf(H, lower=1, overwrite_a=1, clean=0)
    if info != 0:
        return None
    return lambda r: dpotrs(factor, r, lower=1)[0]


# -- interior point -------------------------------------------------------------------------------


def box_qp(A: Array, c: Array, s: Array, r: float) -> Array:
    """argmax_x c'x - 1/2 x'Ax subject to s'x = r, 0 <= x <= 1, for A positive semidefinite.

    Mehrotra's predictor-corrector method on the optimality system, with v = 1 - x,
        A x - c - z + u + b s = 0,   s'x = r,   x o z = 0,   v o u = 0,   z, u >= 0.
    The dual machine is the case A = C ss' o K, c = w, s = w o y, r = 0 with x = alpha / (C w).
    """
    n = len(c)
    x, v, z, u, b = np.full(n, 0.5), np.full(n, 0.5), np.ones(n), np.ones(n), 0.0
    best, best_error, age = x, np.inf, 0
    largest = float(A.diagonal().max())
    for _ in range(INTERIOR_ITERATIONS):
        Ax = A @ x
        residual = Ax - c - z + u + b * s
        balance = float(s @ x) - r
        complementarity = float(x @ z + v @ u)
        # Includes the effect on A x of correcting the balance: A may be large.
        error = complementarity + float(np.abs(residual) @ x) + abs(balance) * (abs(b) + largest)
        error /= abs(float(c @ x) - 0.5 * float(x @ Ax)) + complementarity
        age += 1
        if error < best_error:
            best, best_error, age = x, error, 0
        if best_error <= INTERIOR_GAP or (best_error < 1e-6 and age > 4):
            break
        step = _mehrotra_step(A, s, x, v, z, u, residual, balance)
        if step is None:
            break
        # v is updated separately: 1 - x would lose all digits near the bound.
        x, v, z = x + step[0], v - step[0], z + step[1]
        u, b = u + step[2], b + step[3]
    return best


def _mehrotra_step(
    A: Array, s: Array, x: Array, v: Array, z: Array, u: Array, residual: Array, balance: float
) -> tuple[Array, Array, Array, float] | None:
    """Changes of x, z, u and b in one iteration, or None if the factorisation fails."""
    solve = _diagonal_plus(A, z / x + u / v)
    if solve is None:
        return None
    h_s = solve(s)

    def direction(cz: Array, cu: Array) -> tuple[Array, Array, Array, float]:
        """The step that changes x o z by cz and v o u by cu, and removes the residuals."""
        h = solve(cz / x - cu / v - residual)
        db = float(s @ h + balance) / float(s @ h_s)
        dx = h - db * h_s
        return dx, (cz - z * dx) / x, (cu + u * dx) / v, db

    def longest(dx: Array, dz: Array, du: Array) -> float:
        """The longest step in [0, 1] that keeps x, v, z and u non-negative."""
        fastest = max(-np.min(rate) for rate in (dx / x, -dx / v, dz / z, du / u))
        return float(1 / max(1.0, fastest))

    before = float(x @ z + v @ u)
    dx, dz, du, _ = direction(-x * z, -v * u)
    t = longest(dx, dz, du)
    after = float((x + t * dx) @ (z + t * dz) + (v - t * dx) @ (u + t * du))
    mu = before / (2 * len(x)) * (after / before) ** 3
    dx, dz, du, db = direction(mu - x * z - dx * dz, mu - v * u + dx * du)
    t = STEP * longest(dx, dz, du)
    return t * dx, t * dz, t * du, t * db


def _diagonal_plus(A: Array, diagonal: Array) -> Callable[[Array], Array] | None:
    """The solver of (A + diag) h = r, refined once; None if it cannot be factorised.

    The diagonal spans twenty orders of magnitude. If rounding makes a singular A indefinite, a
    ridge far below its entries repairs the factor, and the refinement corrects its effect.
    """
    n = len(A)
    for ridge in (0.0, 1e-14, 1e-12):
        H = A.copy()
        H.flat[:: n + 1] += diagonal + ridge * A.trace() / n
        approximate = _cholesky(H)
        if approximate is not None:
            break
    else:
        return None

    def solve(r: Array) -> Array:
        h = approximate(r)
        return h + approximate(r - A @ h - diagonal * h)

    return solve
