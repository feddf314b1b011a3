"""Regularised risk: the least square loss that a kernel allows, its gradient and best step.

S(K) = sum_c y_c'(K + rho diag(1/w))^-1 y_c is 1/rho times the minimum over f of
sum_i w_i |y_i - f(x_i)|^2 + rho |f|_K^2. The minimum is at f = sum_j c_j k(., x_j) with the dual
vectors c = (K + rho diag(1/w))^-1 y. S is convex in K and dS/dK = G = -c c'.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, solve_triangular
from scipy.linalg.blas import daxpy
from scipy.linalg.lapack import dpotrf
from scipy.optimize import brentq

from kernalign._typing import Array

#: Tried in turn if the factorisation fails: additions to the diagonal, in mean diagonals.
JITTERS = (1e-12, 1e-11, 1e-10, 1e-9, 1e-8)
#: Lanczos steps that give the starting point of the line search.
LANCZOS = 8
#: Maximum number of Newton steps of one line search.
NEWTON = 50


class RegularisedRisk:
    """S at a Gram matrix K that is moved in place towards other Gram matrices.

    Y : (n, c) labels or responses, one column per output.
    rho : the ridge parameter.
    weight : (n,) positive row weights of the squared loss. An integer weight is equivalent to
        repeating the row, so it divides rho.

    After `set`: K, value = S(K), c (n, c) the dual vectors, fit = sum_c c'Kc.
    """

    def __init__(self, Y: Array, rho: float, weight: Array):
        self.Y = Y
        self._weight = weight
        self._factor = np.empty((len(Y), len(Y)), order="F")
        self.K = np.zeros((len(Y), len(Y)))
        self.jitter = 0.0
        self.set_rho(rho)
        # At K = 0: the criterion for the first kernel.
        self.c = Y / self._ridge[:, None]
        self.value = float(np.vdot(self.c, Y))
        self.fit = 0.0

    def set_rho(self, rho: float) -> None:
        """Change the ridge parameter; K does not change, and `set` updates the rest."""
        self.rho = rho
        self._ridge = rho / self._weight

    def set(self, K: Array) -> None:
        """Evaluate S at K, which is copied."""
        self.K[...] = K
        self._solve()

    def gradient(self) -> Array:
        """G = dS/dK = -sum_c c c'."""
        return -self.c @ self.c.T

    def gap(self, largest: float) -> float:
        """(S - S*) / S <= delta / (S + delta), delta = max_sigma c'G(sigma)c - c'Kc >= 0.

        S* is the minimum of S over the convex hull of all G(sigma). The bound follows from the dual
        S = max_c 2c'y - rho c'c - c'Kc at the best multiple of c. It holds if no sigma has
        c'G(sigma)c > `largest`.
        """
        delta = max(largest - self.fit, 0.0)
        return delta / (self.value + delta) if delta > 0 else 0.0

    def step_towards(self, G: Array, tol: float = 1e-6) -> float:
        """lambda* = argmin of phi(lambda) = S((1 - lambda) K + lambda G) on [0, 1]; K moves there.

        phi' = -c'Bc and phi'' = 2 c'B A^-1 Bc with B = G - K and A the matrix factorised at lambda:
        Newton's method within a bracket. It starts at the minimum of a Lanczos model of phi, which
        is usually the solution and costs less than a factorisation.

        G : overwritten.
        tol : stop when at most tol^2 S can be gained.
        """
        B = np.subtract(G, self.K, out=G)
        if -np.vdot(self.c, B @ self.c) >= 0:
            return 0.0
        at, step = 0.0, self._model_minimum(B)
        low, high, end_tried = 0.0, 1.0, False
        for _ in range(NEWTON):
            daxpy(B.reshape(-1), self.K.reshape(-1), a=step - at)
            at = step
            self._solve()
            Bc = B @ self.c
            slope = -float(np.vdot(self.c, Bc))
            end_tried |= at == 1.0
            if at == 1.0 and slope <= 0:
                break
            curvature = 2 * float(np.vdot(Bc, self.inverse(Bc)))
            if slope**2 <= 2 * tol**2 * self.value * curvature:
                break
            low, high = (at, high) if slope < 0 else (low, at)
            step = at - slope / curvature if curvature > 0 else np.inf
            if step >= 1 and not end_tried:
                step = 1.0
            elif not low < step < high:
                step = (low + high) / 2
            if step == at:
                break
        return at

    # -- linear algebra -----------------------------------------------------------------------

    def _solve(self) -> None:
        """Cholesky of K + rho diag(1/w); c, S and c'Kc."""
        n = len(self.K)
        for jitter in (0.0, *JITTERS):
            self.jitter = jitter * float(np.trace(self.K)) / n
            # One buffer for all factors: allocating memory costs as much as the factorisation.
            np.copyto(self._factor, self.K.T)
            self._factor.reshape(-1, order="F")[:: n + 1] += self._ridge + self.jitter
            _, failed = dpotrf(self._factor, lower=1, clean=0, overwrite_a=1)
            if not failed:
                break
        else:
            raise LinAlgError(
                "K + rho I is not positive definite: is the kernel positive semidefinite?"
            )
        self.c = self.inverse(self.Y)
        self.value = float(np.vdot(self.c, self.Y))
        self.fit = self.value - float(np.einsum("ij,ij,i->", self.c, self.c, self._ridge))

    def inverse(self, V: Array) -> Array:
        """(K + rho diag(1/w))^-1 V."""
        return cho_solve((self._factor, True), V, check_finite=False)

    def _model_minimum(self, B: Array) -> float:
        """The minimum on (0, 1] of phi, approximated by Gauss quadrature.

        With A = L L' and z = L^-1 y, phi(lambda) = z'(I + lambda M)^-1 z for M = L^-1 B L^-T, an
        integral of 1 / (1 + lambda theta) over M's spectral measure at z.
        """
        theta, weights = self._quadrature(B)

        def slope(step: float) -> float:
            return -float(np.sum(weights * theta / (1 + step * theta) ** 2))

        # Since A and A + B are both definite, theta > -1; rounding must not change this.
        theta = np.maximum(theta, -1 + 1e-9)
        if slope(1.0) <= 0:
            return 1.0
        return float(brentq(slope, 0.0, 1.0, xtol=1e-9)) if slope(0.0) < 0 else 0.5

    def _quadrature(self, B: Array) -> tuple[Array, Array]:
        """Nodes and weights by the Lanczos process, for all outputs at once: (c, m) each."""

        def apply(V: Array) -> Array:
            back = solve_triangular(self._factor, V, lower=True, trans=1, check_finite=False)
            return solve_triangular(self._factor, B @ back, lower=True, check_finite=False)

        z = solve_triangular(self._factor, self.Y, lower=True, check_finite=False)
        size = np.linalg.norm(z, axis=0)
        steps = min(LANCZOS, len(z))
        T = np.zeros((size.size, steps, steps))
        floor = 1e-10
        previous, beta = np.zeros_like(z), np.zeros(size.size)
        V = np.divide(z, size, out=np.zeros_like(z), where=size > 0)
        for j in range(steps):
            U = apply(V) - beta * previous
            T[:, j, j] = alpha = np.einsum("ic,ic->c", V, U)
            if j + 1 == steps:
                break
            U -= alpha * V
            beta = np.linalg.norm(U, axis=0)
            # The remainder in an invariant subspace is a rounding error and must not enter.
            beta = np.where(beta > floor * np.abs(T).max(), beta, 0.0)
            T[:, j, j + 1] = T[:, j + 1, j] = beta
            previous, V = V, np.divide(U, beta, out=np.zeros_like(U), where=beta > 0)
        theta, vectors = np.linalg.eigh(T)
        weights: Array = (size[:, None] * vectors[:, 0]) ** 2
        return theta, weights
