"""Kernel weights learned by kernel ridge regression (Cortes, Mohri and Rostamizadeh, 2009a).

min_mu F(mu) = <Y, (K_mu + rho W^-1)^-1 Y>,   K_mu = sum_k mu_k K_k / s_k,   rho = 1/C,
over mu = mu0 + x with x >= 0 and |x|_p <= radius, W the weights of the rows.

F is convex with dF/dmu_k = -v_k, v_k = <alpha, K_k alpha>, alpha = (K_mu + rho W^-1)^-1 Y. Since F
is also the maximum over alpha of 2<alpha, Y> - rho <alpha, W^-1 alpha> - mu'v(alpha), scaling alpha
bounds the minimum from below: with delta = mu0'v + radius |v|_p* - mu'v, F* >= F^2 / (F + delta).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular
from scipy.optimize import nnls

from kernalign._typing import Array
from kernalign.gram.stack import GramStack

#: Share of the mean diagonal added to a matrix that is not numerically positive definite.
JITTER = 1e-12
#: |mu - mu0 - radius v / |v|| / radius at which the fixed-point iteration has converged.
SETTLED = 1e-3
#: Rounds without progress after which the fixed point is damped more.
STALE = 20


@dataclass(frozen=True)
class Fit:
    """Kernel ridge regression with one kernel: A = K + rho W^-1 = L L', alpha = A^-1 Y."""

    L: Array
    alpha: Array
    value: float
    jitter: float


@dataclass(frozen=True)
class RidgeProblem:
    """F over the weights mu = mu0 + x, x >= 0, |x|_p <= radius.

    Y : (n, c) responses;  noise : (n,) the diagonal rho / w_i;  mu0 : (M,).
    """

    Y: Array
    noise: Array
    mu0: Array
    radius: float
    p: int

    def fit(self, K: Array) -> Fit:
        """Kernel ridge regression with the Gram matrix K, which is overwritten."""
        size = float(np.einsum("ii->", K)) / len(K)
        if not np.isfinite(size):
            raise ValueError(
                "The combination of the kernels overflows: use normalize='trace' to scale them."
            )
        K[np.diag_indices_from(K)] += self.noise
        jitter = 0.0
        while True:
            try:
                L = cholesky(K, lower=True, check_finite=False)
                break
            except LinAlgError:
                # The addition grows until the factorisation succeeds; it is reported.
                added = 9 * jitter or JITTER * size
                K[np.diag_indices_from(K)] += added
                jitter += added
        alpha = cho_solve((L, True), self.Y, check_finite=False)
        return Fit(L, alpha, float(np.vdot(self.Y, alpha)), jitter)

    def start(self) -> Array:
        """Equal x on the outer boundary."""
        M = self.mu0.size
        return self.mu0 + self.radius / M ** (1 / self.p)

    def farthest(self, v: Array) -> Array:
        """argmax of mu'v over the set of weights."""
        mu = self.mu0.copy()
        if self.p == 1:
            mu[int(v.argmax())] += self.radius
        elif v.any():
            mu += self.radius * v / np.linalg.norm(v)
        return mu

    def excess(self, mu: Array, v: Array) -> float:
        """delta = max_{mu'} (mu' - mu)'v >= 0."""
        dual = float(v.max() if self.p == 1 else np.linalg.norm(v))
        return max(0.0, float((self.mu0 - mu) @ v) + self.radius * dual)


@dataclass
class Solution:
    """Weights, their machine, and the certificate."""

    mu: Array
    fit: Fit
    gap: float
    converged: bool
    history: list[dict[str, Any]] = field(default_factory=list)


def fixed_point(
    stack: GramStack, problem: RidgeProblem, mu: Array, tol: float, max_iter: int
) -> Solution:
    """Minimise F for p = 2, where mu = mu0 + radius v / |v| at the optimum.

    repeat  v from alpha;  mu = mu0 + radius v / |v|;  alpha <- eta alpha + (1 - eta) alpha(mu)
    """
    alpha = None
    eta, stale = 0.5, 0
    best: Solution | None = None
    history: list[dict[str, Any]] = []
    for iteration in range(1, max_iter + 1):
        fit = problem.fit(stack.combine(mu))
        v = stack.quadratic_forms(fit.alpha)
        gap = _relative(problem.excess(mu, v), fit.value)
        distance = float(np.linalg.norm(problem.farthest(v) - mu)) / problem.radius
        record = {"iteration": iteration, "objective": fit.value, "gap": gap, "distance": distance}
        history.append(record)
        # If F is flat, the gap is small long before the weights have converged.
        done = gap == 0 or (gap <= tol and distance <= SETTLED)
        stale += 1
        if best is None or gap < best.gap or done:
            best, stale = Solution(mu, fit, gap, gap <= tol, history), 0
        if done:
            break
        if stale == STALE:
            # The iteration cycles: use smaller steps.
            eta, stale = min(0.9, eta + 0.1), 0
        if alpha is None:
            alpha = fit.alpha
        else:
            alpha = eta * alpha + (1 - eta) * fit.alpha
            v = stack.quadratic_forms(alpha)
        mu = problem.farthest(v)
    assert best is not None  # max_iter is at least one
    return best


def newton(
    stack: GramStack, problem: RidgeProblem, mu: Array, tol: float, max_iter: int
) -> Solution:
    """Minimise F for p = 1 by Newton steps on the simplex, each halved until F falls.

    With A = L L', Z_k = L^-1 K_k alpha and b = L^-1 Y the gradient is -Z'b and the Hessian 2 Z'Z:
    the quadratic model of F at mu has its minimum where |Z (mu' - mu) - b/2| has it.
    """
    fit = problem.fit(stack.combine(mu))
    history: list[dict[str, Any]] = []
    for iteration in range(1, max_iter + 1):
        products = np.stack([np.asarray(K @ fit.alpha, dtype=float) for K in stack.values], axis=1)
        v = np.maximum(np.einsum("ikc,ic->k", products, fit.alpha), 0.0)
        gap = _relative(problem.excess(mu, v), fit.value)
        history.append({"iteration": iteration, "objective": fit.value, "gap": gap})
        if gap <= tol or iteration == max_iter:
            break
        n, M, c = products.shape
        Z = solve_triangular(fit.L, products.reshape(n, M * c), lower=True, check_finite=False)
        Z = Z.reshape(n, M, c).swapaxes(1, 2).reshape(n * c, M)
        x = mu - problem.mu0
        wanted = simplex_least_squares(Z, Z @ x + (fit.L.T @ fit.alpha).ravel() / 2, problem.radius)
        direction = wanted - x
        slope = float(v @ direction)
        if slope <= 0:
            # Rounding hides the descent direction: use the vertex of steepest descent.
            direction = problem.farthest(v) - mu
            slope = float(v @ direction)
        step = 1.0
        new = problem.fit(stack.combine(mu + direction))
        while new.value > fit.value - 1e-4 * step * slope and step > 1e-10:
            step /= 2
            new = problem.fit(stack.combine(mu + step * direction))
        if new.value >= fit.value:
            break
        mu, fit = np.maximum(mu + step * direction, problem.mu0), new
    return Solution(mu, fit, gap, gap <= tol, history)


def simplex_least_squares(Z: Array, r: Array, radius: float) -> Array:
    """argmin |Zx - r| over x >= 0, sum x = radius.

    On that set Zx - r = Ex with E = Z - r 1'/radius, and min_{y >= 0} |Ey|^2 + (1'y - 1)^2 is
    attained by a multiple of the x with the smallest |Ex|.
    """
    E = Z - r[:, None] / radius
    size = np.linalg.norm(E, axis=0).max()
    if size > 0:
        E = np.asarray(np.linalg.qr(E / size, mode="r"))
    M = Z.shape[1]
    try:
        y, _ = nnls(np.vstack([E, np.ones(M)]), np.append(np.zeros(len(E)), 1.0), maxiter=30 * M)
    except RuntimeError:
        # The solver failed; the caller takes a gradient step instead.
        y = np.ones(M)
    return radius * y / y.sum() if y.any() else np.full(M, radius / M)


def _relative(delta: float, value: float) -> float:
    """(F - F*) / F is at most this."""
    return delta / (value + delta) if delta > 0 else 0.0
