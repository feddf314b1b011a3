"""Kernel weights learned by kernel ridge regression (Cortes, Mohri and Rostamizadeh, 2009a).

min_mu F(mu) = <Y, (K_mu + rho W^-1)^-1 Y>,   K_mu = sum_k mu_k K_k / s_k,   rho = 1/C,
over mu = mu0 + x with x >= 0 and |x|_q <= radius, W the weights of the rows.

F is convex with dF/dmu_k = -v_k, v_k = <alpha, K_k alpha>, alpha = (K_mu + rho W^-1)^-1 Y. Since F
is also the maximum over alpha of 2<alpha, Y> - rho <alpha, W^-1 alpha> - mu'v(alpha), scaling alpha
bounds the minimum from below: with delta = mu0'v + radius |v|_q* - mu'v, F* >= F^2 / (F + delta).
"""

from __future__ import annotations

import numbers
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from kernalign._typing import Array
from kernalign._validation import check_choice, check_number
from kernalign._warnings import AlignmentWarning, find_stack_level
from kernalign.gram import Target
from kernalign.kernels import LearnedKernel
from kernalign.learners.base import DualModel, Learned
from kernalign.learners.finite import FiniteLearner
from kernalign.learners.gram_stack import NORMALISATIONS, VANISHING, GramStack

#: Share of the mean diagonal added where a matrix is not positive definite in floating point.
JITTER = 1e-12
#: |mu - mu0 - radius v / |v|| / radius at which the weights of the fixed point have settled.
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
    """F over the weights mu = mu0 + x, x >= 0, |x|_q <= radius.

    Y : (n, c) responses;  noise : (n,) the diagonal rho / w_i;  mu0 : (M,).
    """

    Y: Array
    noise: Array
    mu0: Array
    radius: float
    norm: int

    def fit(self, K: Array) -> Fit:
        """Kernel ridge regression with the Gram matrix K, which is overwritten."""
        size = float(np.einsum("ii->", K)) / len(K)
        if not np.isfinite(size):
            raise ValueError(
                "The combination of the kernels overflows: normalize='trace' brings them to one "
                "scale."
            )
        K[np.diag_indices_from(K)] += self.noise
        jitter = 0.0
        while True:
            try:
                L = cholesky(K, lower=True, check_finite=False)
                break
            except LinAlgError:
                # Ever more, so that it ends; what was added is reported.
                added = 9 * jitter or JITTER * size
                K[np.diag_indices_from(K)] += added
                jitter += added
        alpha = cho_solve((L, True), self.Y, check_finite=False)
        return Fit(L, alpha, float(np.vdot(self.Y, alpha)), jitter)

    def start(self) -> Array:
        """Equal x on the outer boundary."""
        M = self.mu0.size
        return self.mu0 + self.radius / M ** (1 / self.norm)

    def farthest(self, v: Array) -> Array:
        """argmax of mu'v over the set of weights."""
        mu = self.mu0.copy()
        if self.norm == 1:
            mu[int(v.argmax())] += self.radius
        elif v.any():
            mu += self.radius * v / np.linalg.norm(v)
        return mu

    def excess(self, mu: Array, v: Array) -> float:
        """delta = max_{mu'} (mu' - mu)'v >= 0."""
        dual = float(v.max() if self.norm == 1 else np.linalg.norm(v))
        return max(0.0, float((self.mu0 - mu) @ v) + self.radius * dual)


@dataclass
class Solution:
    """Weights, the machine that belongs to them, and what proves how good they are."""

    mu: Array
    fit: Fit
    gap: float
    converged: bool
    history: list[dict[str, Any]] = field(default_factory=list)


class RidgeLearner(FiniteLearner):
    """What learners by kernel ridge regression share: the problem, the path, what is returned."""

    one_stage = True

    norm: int
    C: float
    mu0: Any
    radius: float
    tol: float
    max_iter: int
    normalize: str
    float32: bool

    @abstractmethod
    def _solve(self, stack: GramStack, problem: RidgeProblem, start: Array | None) -> Solution:
        """Minimise F, from given weights or from the default ones."""

    @abstractmethod
    def _kernel(
        self, stack: GramStack, mu: Array, target: Target
    ) -> tuple[LearnedKernel, float, float]:
        """The learned kernel, the factor in it that normalised K_mu, and its alignment."""

    def learn(
        self, X: Array, target: Target, feature_names: Sequence[str] | None = None
    ) -> Learned:
        return next(self.path(X, target, np.array([self.C]), feature_names))

    def regularised(self, C: float) -> Self:
        copy: Self = clone(self)
        copy.C = C
        return copy

    def path(
        self,
        X: Array,
        target: Target,
        values: Array,
        feature_names: Sequence[str] | None = None,
    ) -> Iterator[Learned]:
        self._check()
        kernels = self.dictionary(X, feature_names, target.weight)
        mu0 = self._centre(len(kernels))
        stack = GramStack(kernels, X, self.normalize, self.float32, target.weight)
        if not (stack.variances > VANISHING * stack.diagonals).any():
            warnings.warn(
                "Every kernel is constant on the training rows: the machine can predict nothing "
                "but a constant.",
                AlignmentWarning,
                stacklevel=find_stack_level(),
            )
        Y, intercept = responses(target)
        mu: Array | None = None
        for C in values:
            if not np.isfinite(C) or C <= 0:
                raise ValueError(
                    f"The 'C' parameter of {type(self).__name__} must be a number in (0, inf). "
                    f"Got {C!r} instead."
                )
            noise = 1 / (C * target.weight)
            problem = RidgeProblem(Y, noise, mu0, float(self.radius), self.norm)
            solution = self._solve(stack, problem, mu)
            mu = solution.mu
            self._warn(solution, float(C))
            yield self._learned(stack, solution, target, intercept)

    def _learned(
        self, stack: GramStack, solution: Solution, target: Target, intercept: Any
    ) -> Learned:
        kernel, factor, alignment = self._kernel(stack, solution.mu, target)
        alpha = solution.fit.alpha
        alpha = alpha[:, 0] if alpha.shape[1] == 1 else alpha
        return Learned(
            kernel=kernel,
            alignment=alignment,
            history=solution.history,
            # K_mu alpha = (f K_mu) (alpha / f).
            machine=DualModel(alpha / factor, intercept),
            extra={
                "weights_": solution.mu,
                "dual_coef_": alpha,
                "objective_": solution.fit.value,
                "gap_": solution.gap,
                "converged_": solution.converged,
                "n_iter_": len(solution.history),
            },
        )

    def _warn(self, solution: Solution, C: float) -> None:
        owner = type(self).__name__
        if solution.fit.jitter > 0:
            warnings.warn(
                f"{owner}: at C={C:g} the kernel matrix is not positive definite in floating "
                f"point; {solution.fit.jitter:.1e} was added to its diagonal. A smaller C avoids "
                "it.",
                ConvergenceWarning,
                stacklevel=find_stack_level(),
            )
        if not solution.converged:
            warnings.warn(
                f"{owner} stopped at C={C:g} after {len(solution.history)} iterations with a "
                f"relative gap of {solution.gap:.1e}, above tol={self.tol:g}. Raise max_iter, or "
                "bring the kernels to one scale with normalize='trace'.",
                ConvergenceWarning,
                stacklevel=find_stack_level(),
            )

    def _check(self) -> None:
        for name in ("C", "radius", "tol"):
            check_number(self, name, 0)
        if not isinstance(self.max_iter, numbers.Integral) or self.max_iter < 1:
            raise ValueError(
                f"The 'max_iter' parameter of {type(self).__name__} must be an int in [1, inf). "
                f"Got {self.max_iter!r} instead."
            )
        check_choice(self, "norm", (1, 2))
        check_choice(self, "normalize", NORMALISATIONS)
        check_choice(self, "float32", (True, False))

    def _centre(self, M: int) -> Array:
        """mu0 as an array."""
        mu0 = np.asarray(self.mu0, dtype=float)
        if mu0.shape not in ((), (M,)) or not ((mu0 >= 0) & np.isfinite(mu0)).all():
            raise ValueError(
                f"The 'mu0' parameter of {type(self).__name__} must be a number in [0, inf) or "
                f"one for each of the {M} kernels. Got {self.mu0!r} instead."
            )
        return np.broadcast_to(mu0, (M,)).copy()


def responses(target: Target) -> tuple[Array, Any]:
    """Y that the square loss is taken of, and the constant that was subtracted.

    Classes are -1/+1, one column for each of more than two, and nothing is subtracted; a response
    is centred, for the machine has no constant of its own.
    """
    values = target.values
    if values.shape[1] == 1 and (np.abs(values) == 1).all():
        return values, 0.0
    one_hot = values.shape[1] > 1 and ((values == 0) | (values == 1)).all()
    if one_hot and (values.sum(axis=1) == 1).all():
        return 2 * values - 1, np.zeros(values.shape[1])
    mean = values[0] - target.centred[0]
    return target.centred, float(mean[0]) if mean.size == 1 else mean


class RidgeMKL(RidgeLearner):
    """min_mu <Y, (K_mu + I/C)^-1 Y>, K_mu = sum_k mu_k K_k, |mu - mu0|_q <= radius, mu >= mu0.

    Kernel ridge regression that learns its kernel: L2-regularised weights (Cortes, Mohri and
    Rostamizadeh, 2009a), or L1. One-stage: the machine is learned with the kernel. Classes are
    coded -1/+1; a response is centred.

    Parameters
    ----------
    kernels : list of kernels or Gram matrices
        Such as `Gaussian().grid(20, 0.1, 10)`. With Gram matrices X is one column of row numbers.
    norm : {2, 1}
        q. 2 uses all kernels, 1 a few.
    C : float
        Weight of the square loss, 1/rho of the paper.
    mu0 : float or (M,) array
        Weights that the learned ones are kept near to. 0 is the paper's choice; with 1 the uniform
        combination is what is left as the radius goes to zero.
    radius : float
        How far from mu0 the weights may be (the paper's Lambda).
    tol : float
        Relative duality gap at which to stop.
    max_iter : int
    normalize : {"none", "trace", "variance"}
        Divide each kernel by 1, its mean diagonal, or its mean diagonal after centring.
    float32 : bool
        Store Gram matrices in single precision: half the memory.

    Attributes
    ----------
    kernel_ : LearnedKernel
    machine_ : DualModel
        The machine for `kernel_`.
    weights_ : (M,) array, mu;  dual_coef_ : (n,) or (n, c) array, alpha for K_mu.
    objective_ : float, F(mu).
    gap_ : float
        No weights reach less than (1 - gap_) objective_; `converged_` says whether it is below tol.
    history_ : list of dict
        Objective and gap of each iteration; with norm 2 also the relative distance of the weights
        from where they solve their own optimality condition.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernalign.kernels import Gaussian
    >>> from kernalign.learners.ridge_mkl import RidgeMKL
    >>> X, y = load_iris(return_X_y=True)
    >>> RidgeMKL(Gaussian().grid(5, 0.1, 10)).fit(X, y).gap_ < 1e-6
    True
    """

    def __init__(
        self,
        kernels: Any = None,
        *,
        norm: int = 2,
        C: float = 1.0,
        mu0: Any = 0.0,
        radius: float = 1.0,
        tol: float = 1e-6,
        max_iter: int = 500,
        normalize: str = "none",
        float32: bool = False,
    ):
        self.kernels = kernels
        self.norm = norm
        self.C = C
        self.mu0 = mu0
        self.radius = radius
        self.tol = tol
        self.max_iter = max_iter
        self.normalize = normalize
        self.float32 = float32

    def _solve(self, stack: GramStack, problem: RidgeProblem, start: Array | None) -> Solution:
        mu = problem.start() if start is None else start
        minimise = newton if self.norm == 1 else fixed_point
        return minimise(stack, problem, mu, float(self.tol), int(self.max_iter))

    def _kernel(
        self, stack: GramStack, mu: Array, target: Target
    ) -> tuple[LearnedKernel, float, float]:
        return stack.learned(mu), stack.factor(mu), stack.alignment(mu, target)


def fixed_point(
    stack: GramStack, problem: RidgeProblem, mu: Array, tol: float, max_iter: int
) -> Solution:
    """Minimise F for q = 2, where mu = mu0 + radius v / |v| at the optimum.

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
        # Where F is flat the gap is small long before the weights have settled.
        done = gap == 0 or (gap <= tol and distance <= SETTLED)
        stale += 1
        if best is None or gap < best.gap or done:
            best, stale = Solution(mu, fit, gap, gap <= tol, history), 0
        if done:
            break
        if stale == STALE:
            # It goes round in circles: smaller steps.
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
    """Minimise F for q = 1 by Newton steps on the simplex, each halved until F falls.

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
            # Rounding hides the way down: the vertex that the gradient points at is one.
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
        # No answer in time; the caller takes a step along the gradient instead.
        y = np.ones(M)
    return radius * y / y.sum() if y.any() else np.full(M, radius / M)


def _relative(delta: float, value: float) -> float:
    """(F - F*) / F is at most this."""
    return delta / (value + delta) if delta > 0 else 0.0
