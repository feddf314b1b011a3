"""The problem of lp-norm multiple kernel learning at given weights: its bracket and its slopes.

min_{theta >= 0, |theta|_p <= 1} J(theta),
J(theta) = sum_c max_{0 <= alpha_c <= C w, y_c'alpha_c = 0} 1'alpha_c - 1/2 sum_m theta_m q_m

with q_m = sum_c beta_c' K_m beta_c over the machines c (one, or one for each class against the
rest). J is convex; -q/2 is its gradient. For any feasible alpha

D(alpha) = 1'alpha - 1/2 |q|_{p*},   1/p + 1/p* = 1

is a lower bound of the minimum. P - D = (gap of the machines) + (|q|_{p*} - theta'q) / 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from kernalign._typing import Array, IntArray
from kernalign.gram.stack import GramStack, forms
from kernalign.solvers.svm import (
    SVMSolution,
    box_qp,
    free_rows,
    relative_gap,
    solve_svm,
    with_bracket,
)

#: Ridge, relative to the mean diagonal, for a singular Gram matrix of margin rows.
RIDGE = 1e-10


@dataclass(frozen=True)
class Iterate:
    """The machines at some weights, with the bracket [dual, primal] of the whole problem.

    theta : (M,);  machines : one solution per column of labels.
    q : (M,) quadratic forms;  products : (M, rows, c) K_m beta on the rows `support`.
    K : (n, n) sum_m theta_m K_m.
    """

    theta: Array
    C: float
    machines: Sequence[SVMSolution]
    q: Array
    products: Array
    support: IntArray
    K: Array
    p: float

    @property
    def primal(self) -> float:
        """P."""
        return sum(machine.primal for machine in self.machines)

    @cached_property
    def dual(self) -> float:
        """D(alpha)."""
        alphas = sum(float(np.abs(machine.beta).sum()) for machine in self.machines)
        return alphas - 0.5 * dual_norm(self.q, self.p)

    @property
    def gap(self) -> float:
        """(P - D) / P."""
        return relative_gap(self.primal, self.dual)

    @property
    def machine_gap(self) -> float:
        """The part of the gap that is due to the machines, relative to P."""
        return relative_gap(self.primal, sum(machine.dual for machine in self.machines))

    @property
    def weight_gap(self) -> float:
        """omega = (|q|_{p*} - theta'q) / |q|_{p*}."""
        norm = dual_norm(self.q, self.p)
        return max(1 - float(self.theta @ self.q) / norm, 0.0) if norm > 0 else 0.0

    @property
    def beta(self) -> Array:
        """(n, c) signed dual variables."""
        return np.column_stack([machine.beta for machine in self.machines])


class LpNormProblem:
    """Lp-norm multiple kernel learning for one C.

    labels : (n, c) columns of -1 and +1.
    machine_gap : relative gap to which machines are solved.
    libsvm : whether to try libsvm; set to False once it reached its iteration limit.
    """

    def __init__(
        self,
        stack: GramStack,
        labels: Array,
        weight: Array,
        p: float,
        C: float,
        machine_gap: float,
        libsvm: bool = True,
    ):
        self.stack = stack
        self.labels = labels
        self.weight = weight
        self.p = p
        self.C = C
        self.machine_gap = machine_gap
        self.libsvm = libsvm

    @property
    def uniform(self) -> Array:
        """theta_m = M^(-1/p)."""
        return np.full(len(self.stack), float(len(self.stack)) ** (-1 / self.p))

    def evaluate(self, theta: Array) -> Iterate:
        """Train the machines at theta."""
        K = self.stack.combine(theta)
        machines = []
        for y in self.labels.T:
            machine = solve_svm(K, y, self.C, self.weight, gap=self.machine_gap, libsvm=self.libsvm)
            self.libsvm = self.libsvm and not machine.exhausted
            machines.append(machine)
        beta = np.column_stack([machine.beta for machine in machines])
        support = np.flatnonzero(beta.any(axis=1))
        products = self.stack.products(beta, support)
        q = forms(products, beta[support])
        return Iterate(theta, self.C, machines, q, products, support, K, self.p)

    def continued(self, found: Iterate) -> Iterate:
        """The better of two initial guesses at this C, from the solution at a smaller C.

        While all rows of a class are at their bound, alpha is proportional to C; once no row is, it
        is constant. Evaluating either costs O(n).
        """
        factors = {self.C / found.C, min(self.C / found.C, 1.0)}
        return min((self._scaled(found, f) for f in factors), key=lambda guess: guess.gap)

    def _scaled(self, found: Iterate, factor: float) -> Iterate:
        machines = [
            with_bracket(factor * m.beta, factor * m.outputs, y, self.C, self.weight)
            for m, y in zip(found.machines, self.labels.T, strict=True)
        ]
        q, products = factor**2 * found.q, factor * found.products
        return Iterate(found.theta, self.C, machines, q, products, found.support, found.K, self.p)

    # -- the local model of J -----------------------------------------------------------------

    def hessian(self, at: Iterate) -> Array | None:
        """d^2 J / d theta^2 = sum_c G_c' (K_FF^-1 - K_FF^-1 11' K_FF^-1 / 1'K_FF^-1 1) G_c.

        G_c : (F, M) columns (K_m beta_c)_F on the rows F on the margin. They stay there when
        theta changes, and the others stay at their bounds. None if K_FF is not positive definite.
        """
        M = len(self.stack)
        H = np.zeros((M, M))
        for c, machine in enumerate(at.machines):
            F = free_rows(machine.beta, self.C, self.weight)
            if F.size < 2:
                continue
            K_FF = at.K[np.ix_(F, F)]
            K_FF.flat[:: F.size + 1] += RIDGE * K_FF.trace() / F.size
            try:
                L = cholesky(K_FF, lower=True, overwrite_a=True, check_finite=False)
            except np.linalg.LinAlgError:
                return None
            G = at.products[:, np.searchsorted(at.support, F), c].T
            right = np.column_stack([G, np.ones(F.size)])
            V = solve_triangular(L, right, lower=True, overwrite_b=True, check_finite=False)
            one = V[:, M] / np.linalg.norm(V[:, M])
            V = V[:, :M] - np.outer(one, one @ V[:, :M])
            H += V.T @ V
        return H

    def newton_weights(self, at: Iterate) -> Array | None:
        """The minimiser of the second-order model of J over the weights.

        min_t -q'(t - theta)/2 + 1/2 (t - theta)' (H + R) (t - theta),   t >= 0, a't = a'theta

        with a = theta^(p-1) and R = lambda (p-1) diag(theta^(p-2)): the norm's constraint, made
        linear, and its curvature times its multiplier lambda = theta'q / 2. None if J has no
        such model, or if there is only one weight.
        """
        theta, p = at.theta, self.p
        multiplier = 0.5 * float(theta @ at.q)
        H = self.hessian(at) if np.isfinite(p) and multiplier > 0 else None
        if H is None:
            return None
        # Scaled by the multiplier, the optimum is of order one.
        slopes, A = 0.5 * at.q / multiplier, H / multiplier
        inside = np.maximum(theta, 1e-6)
        A.flat[:: len(A) + 1] += (p - 1) * inside ** (p - 2) + RIDGE * (1 + A.trace() / len(A))
        a = inside ** (p - 1)
        t = box_qp(A, slopes + A @ theta, a, float(a @ theta))
        if p == 1:
            # The interior-point solution has small positive values for zero weights.
            excess = A @ (t - theta) - slopes
            t = np.where(t < excess - excess.min(), 0.0, t)
        else:
            # No weight is zero at the minimum, so that the linear model overestimates the change.
            t = np.maximum(t, 1e-2 * theta)
        return normalised(t, p)

    def closed_form(self, at: Iterate) -> Array:
        """theta_m = |w_m|^(2/(p+1)) up to a factor, |w_m| = theta_m sqrt(q_m): never raises J."""
        size = at.theta * np.sqrt(at.q)
        if size.max() <= 0:
            return at.theta
        return normalised((size / size.max()) ** (2 / (self.p + 1)), self.p)

    def opened(self, theta: Array, share: float = 1e-3) -> Array:
        """theta with every weight at least a share of the uniform one, so that all can grow."""
        return normalised(np.maximum(theta, share * self.uniform), self.p)


def normalised(theta: Array, p: float) -> Array:
    """theta / |theta|_p."""
    largest = float(theta.max())
    if np.isinf(p):
        return theta / largest
    return theta / (largest * float(((theta / largest) ** p).sum()) ** (1 / p))


def dual_norm(q: Array, p: float) -> float:
    """|q|_{p*} with 1/p + 1/p* = 1, without overflow for p near one."""
    largest = float(q.max(initial=0.0))
    if largest <= 0 or p == 1:
        return largest
    power = 1.0 if np.isinf(p) else p / (p - 1)
    return largest * float(((q / largest) ** power).sum()) ** (1 / power)
