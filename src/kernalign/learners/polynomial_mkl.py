"""Polynomial combinations of kernels by ridge regression (Cortes, Mohri, Rostamizadeh, 2009b).

min_mu F(mu) = <Y, (K_mu + rho W^-1)^-1 Y>,   K_mu = (sum_k mu_k K_k / s_k)^d element by element,
over mu = mu0 + x with x >= 0 and |x|_p <= radius.

With T = sum_k mu_k K_k / s_k and alpha = (K_mu + rho W^-1)^-1 Y the gradient is
dF/dmu_k = -d <alpha alpha' o T^(d-1), K_k / s_k> <= 0. F is not convex for d >= 2: it can only be
proved that mu is stationary, st(mu) = max_{mu'} (mu - mu')'dF/dmu = 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign._validation import check_count
from kernalign.gram import Target
from kernalign.gram.centring import size_and_alignment
from kernalign.gram.stack import GramStack
from kernalign.kernels import LearnedKernel
from kernalign.kernels.power_of_sum import PowerOfSum
from kernalign.learners.ridge_mkl import RidgeLearner
from kernalign.solvers.ridge_weights import Fit, RidgeProblem, Solution

#: Relative rounding error of F.
ROUNDING = 1e-13


class PolynomialMKL(RidgeLearner):
    """min_mu <Y, (K_mu + I/C)^-1 Y>, K_mu = (sum_k mu_k K_k)^degree, |mu - mu0|_p <= radius.

    Kernel ridge regression with products of kernels (Cortes, Mohri and Rostamizadeh, 2009b).
    This is a one-stage learner: the machine is learned with the kernel. Classes are coded -1/+1; a
    response is centred.

    Parameters
    ----------
    kernels : list of kernels or Gram matrices
        Such as `Gaussian().grid(0.1, 10, 20)`. With Gram matrices, X is one column of row indices.
    degree : int
        Degree of the polynomial; 1 is `RidgeMKL`.
    p : {2, 1}
        Norm of the weights: 2 uses all kernels, 1 gives sparse weights.
    C : float
        Weight of the squared loss, 1/rho in the paper.
    mu0 : float or (M,) array
        Lower bound of the weights, and the centre of the norm constraint.
    radius : float
        Largest distance of the weights from mu0 (the paper's Lambda).
    tol : float
        Stop when the stationarity measure st(mu) is at most this share of the objective.
    max_iter : int
    normalize : {"none", "trace", "variance"}
        Divide each kernel by 1, its mean diagonal, or its mean diagonal after centring.
    float32 : bool
        Store Gram matrices in single precision, which halves the memory.

    Attributes
    ----------
    kernel_ : LearnedKernel
        A multiple of one kernel, the power of a sum.
    machine_ : DualModel
        The machine for `kernel_`.
    weights_ : (M,) array
        mu, for the kernels divided by `scales_`.
    dual_coef_ : (n,) array, or (n, classes), of the n rows of positive weight
        Coefficients alpha of the machine on K_mu; `intercept_` is its constant.
    objective_ : float
        F(mu).
    gap_ : float
        st(mu) / F(mu), zero if mu is stationary; `converged_` is whether it is below `tol`.
    n_iter_ : int
    history_ : list of dict
        Objective, gap and step of each iteration.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernalign.kernels import Gaussian
    >>> from kernalign.learners.polynomial_mkl import PolynomialMKL
    >>> X, y = load_iris(return_X_y=True)
    >>> PolynomialMKL([Gaussian().at(1), Gaussian().at(4)]).fit(X, y).gap_ < 1e-6
    True
    """

    def __init__(
        self,
        kernels: Any = None,
        *,
        degree: int = 2,
        p: int = 2,
        C: float = 1.0,
        mu0: Any = 0.0,
        radius: float = 1.0,
        tol: float = 1e-6,
        max_iter: int = 1000,
        normalize: str = "none",
        float32: bool = False,
    ):
        self.kernels = kernels
        self.degree = degree
        self.p = p
        self.C = C
        self.mu0 = mu0
        self.radius = radius
        self.tol = tol
        self.max_iter = max_iter
        self.normalize = normalize
        self.float32 = float32

    def _check(self) -> None:
        super()._check()
        check_count(self, "degree")

    def _solve(self, stack: GramStack, problem: RidgeProblem, start: Array | None) -> Solution:
        mu = problem.start() if start is None else start
        degree, tol, max_iter = int(self.degree), float(self.tol), int(self.max_iter)
        return projected_gradient(stack, problem, degree, mu, tol, max_iter)

    def _kernel(
        self, stack: GramStack, mu: Array, target: Target
    ) -> tuple[LearnedKernel, float, float]:
        K = stack.combine(mu) ** self.degree
        size, alignment = size_and_alignment(K, target)
        used = np.flatnonzero(mu)
        family = PowerOfSum([stack.kernels[int(k)] for k in used], int(self.degree))
        member = family.at((mu[used] / stack.scales[used]).tolist())
        return LearnedKernel([member], np.array([1 / size])), 1 / size, alignment


def projected_gradient(
    stack: GramStack,
    problem: RidgeProblem,
    degree: int,
    mu: Array,
    tol: float,
    max_iter: int,
) -> Solution:
    """mu <- mu0 + Pi(mu - mu0 - eta dF), Pi the Euclidean projection, until mu is stationary.

    eta is halved until F is below its quadratic bound. The next initial step is computed from the
    change of the gradient along the previous one (Barzilai and Borwein).
    """
    T, fit = _evaluate(stack, problem, degree, mu)
    slope = _gradient(stack, degree, T, fit)
    eta = problem.radius / (float(np.linalg.norm(slope)) or 1.0)
    history: list[dict[str, Any]] = []
    for iteration in range(1, max_iter + 1):
        stationarity = problem.excess(mu, -slope)
        gap = stationarity / fit.value if stationarity > 0 else 0.0
        history.append({"iteration": iteration, "objective": fit.value, "gap": gap, "step": eta})
        if gap <= tol or iteration == max_iter:
            break
        while True:
            new_mu = problem.mu0 + project(mu - problem.mu0 - eta * slope, problem)
            change = new_mu - mu
            T, new_fit = _evaluate(stack, problem, degree, new_mu)
            bound = slope @ change + change @ change / (2 * eta) + ROUNDING * fit.value
            if new_fit.value <= fit.value + bound:
                break
            eta /= 2
        if not change.any():
            break
        new_slope = _gradient(stack, degree, T, new_fit)
        curvature = float(change @ (new_slope - slope))
        eta = float(change @ change) / curvature if curvature > 0 else 2 * eta
        mu, fit, slope = new_mu, new_fit, new_slope
    return Solution(mu, fit, gap, gap <= tol, history)


def project(x: Array, problem: RidgeProblem) -> Array:
    """The nearest point of x >= 0, |x|_p <= radius.

    Clipping and rescaling, as published, gives this point only for p = 2.
    """
    x, radius = np.maximum(x, 0.0), problem.radius
    if problem.p == 2:
        return x * min(1.0, radius / (float(np.linalg.norm(x)) or radius))
    if x.sum() <= radius:
        return x
    largest = np.sort(x)[::-1]
    excess = (np.cumsum(largest) - radius) / np.arange(1, x.size + 1)
    return np.maximum(x - excess[np.flatnonzero(largest > excess)[-1]], 0.0)


def _evaluate(stack: GramStack, problem: RidgeProblem, degree: int, mu: Array) -> tuple[Array, Fit]:
    T = stack.combine(mu)
    # `fit` reports an overflow with a remedy.
    with np.errstate(over="ignore"):
        K = T**degree
    return T, problem.fit(K)


def _gradient(stack: GramStack, degree: int, T: Array, fit: Fit) -> Array:
    """dF/dmu_k = -d <alpha alpha' o T^(d-1), K_k>."""
    W = fit.alpha @ fit.alpha.T
    if degree > 1:
        W *= T ** (degree - 1)
    if stack.values.dtype == W.dtype:
        forms = stack.values.reshape(len(stack), -1) @ W.ravel()
    else:
        # A product of mixed precision would copy the whole stack.
        forms = np.array([np.einsum("ij,ij->", K, W) for K in stack.values])
    # Non-negative up to rounding, because T^(d-1) o K_k is positive semidefinite.
    return -degree * np.maximum(forms, 0.0)
