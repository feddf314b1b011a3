"""L2-KRR: kernel weights by kernel ridge regression; see `ridge_problem` for the mathematics."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from kernalign._typing import Array
from kernalign._validation import check_choice, check_count, check_number
from kernalign._warnings import AlignmentWarning, find_stack_level
from kernalign.gram import Target
from kernalign.gram.centring import VANISHING, size_and_alignment
from kernalign.gram.stack import NORMALISATIONS, GramStack
from kernalign.kernels import LearnedKernel
from kernalign.learners.base import Learned
from kernalign.learners.finite import FiniteLearner
from kernalign.machines.model import DualModel
from kernalign.solvers.ridge_weights import (
    RidgeProblem,
    Solution,
    fixed_point,
    newton,
)


class RidgeLearner(FiniteLearner):
    """Shared code of the learners by kernel ridge regression: the problem and the path of C."""

    one_stage = True
    objective_name = "regularised square loss"

    p: int
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
        """The learned kernel, its normalising factor relative to K_mu, and its alignment."""

    def learn(
        self, X: Array, target: Target, feature_names: Sequence[str] | None = None
    ) -> Learned:
        return next(self.learn_path(X, target, np.array([self.C]), feature_names))

    def regularised(self, C: float) -> Self:
        copy: Self = clone(self)
        copy.C = C
        return copy

    def learn_path(
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
                "Every kernel is constant on the training rows: the machine can only predict a "
                "constant.",
                AlignmentWarning,
                stacklevel=find_stack_level(),
            )
        Y, intercept = target.response()
        mu: Array | None = None
        for C in values:
            if not np.isfinite(C) or C <= 0:
                raise ValueError(
                    f"The 'C' parameter of {type(self).__name__} must be a number in (0, inf). "
                    f"Got {C!r} instead."
                )
            noise = 1 / (C * target.weight)
            problem = RidgeProblem(Y, noise, mu0, float(self.radius), self.p)
            solution = self._solve(stack, problem, mu)
            mu = solution.mu
            self._warn(solution, float(C))
            yield self._learned(stack, solution, target, intercept)

    def _learned(
        self, stack: GramStack, solution: Solution, target: Target, intercept: Any
    ) -> Learned:
        kernel, factor, alignment = self._kernel(stack, solution.mu, target)
        alpha = solution.fit.alpha
        if alpha.shape[1] == 1:
            alpha, intercept = alpha[:, 0], float(intercept[0])
        return Learned(
            kernel=kernel,
            alignment=alignment,
            history=solution.history,
            objective=solution.fit.value,
            converged=solution.converged,
            weights=solution.mu,
            gap=solution.gap,
            # K_mu alpha = (f K_mu) (alpha / f).
            machine=DualModel(alpha / factor, intercept),
            extra={"scales_": stack.scales, "dual_coef_": alpha, "intercept_": intercept},
        )

    def _warn(self, solution: Solution, C: float) -> None:
        owner = type(self).__name__
        if solution.fit.jitter > 0:
            warnings.warn(
                f"{owner}: at C={C:g} the kernel matrix is not numerically positive definite; "
                f"{solution.fit.jitter:.1e} was added to its diagonal. A smaller C avoids this "
                "problem.",
                ConvergenceWarning,
                stacklevel=find_stack_level(),
            )
        if not solution.converged:
            warnings.warn(
                f"{owner} stopped at C={C:g} after {len(solution.history)} iterations with a "
                f"relative gap of {solution.gap:.1e}, above tol={self.tol:g}. Raise max_iter, or "
                "scale the kernels with normalize='trace'.",
                ConvergenceWarning,
                stacklevel=find_stack_level(),
            )

    def _check(self) -> None:
        for name in ("C", "radius", "tol"):
            check_number(self, name, 0)
        check_count(self, "max_iter")
        check_choice(self, "p", (1, 2))
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


class RidgeMKL(RidgeLearner):
    """min_mu <Y, (K_mu + I/C)^-1 Y>, K_mu = sum_k mu_k K_k, |mu - mu0|_p <= radius, mu >= mu0.

    Kernel ridge regression that learns its kernel with L2-regularised weights (Cortes, Mohri and
    Rostamizadeh, 2009a) or L1-regularised ones. This is a one-stage learner: the machine is learned
    with the kernel. Classes are coded -1/+1; a response is centred.

    Parameters
    ----------
    kernels : list of kernels or Gram matrices
        Such as `Gaussian().grid(0.1, 10, 20)`. With Gram matrices, X is one column of row indices.
    p : {2, 1}
        Norm of the weights: 2 uses all kernels, 1 gives sparse weights.
    C : float
        Weight of the squared loss, 1/rho in the paper.
    mu0 : float or (M,) array
        Lower bound of the weights, and the centre of the norm constraint. The paper uses 0. With 1,
        the weights tend to the uniform combination as the radius tends to zero.
    radius : float
        Largest distance of the weights from mu0 (the paper's Lambda).
    tol : float
        Stop when the relative duality gap is at most this.
    max_iter : int
    normalize : {"none", "trace", "variance"}
        Divide each kernel by 1, its mean diagonal, or its mean diagonal after centring.
    float32 : bool
        Store Gram matrices in single precision, which halves the memory.

    Attributes
    ----------
    kernel_ : LearnedKernel
    machine_ : DualModel
        The machine for `kernel_`.
    weights_ : (M,) array
        mu, for the kernels divided by `scales_`.
    dual_coef_ : (n,) array, or (n, classes), of the n rows of positive weight
        Coefficients alpha of the machine on K_mu; `intercept_` is its constant.
    objective_ : float
        F(mu).
    gap_ : float
        The minimum is at least (1 - gap_) objective_; `converged_` is whether it is below `tol`.
    n_iter_ : int
    history_ : list of dict
        Objective and gap of each iteration; with p = 2 also the relative residual of the weights'
        fixed-point condition.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernalign.kernels import Gaussian
    >>> from kernalign.learners.ridge_mkl import RidgeMKL
    >>> X, y = load_iris(return_X_y=True)
    >>> RidgeMKL(Gaussian().grid(0.1, 10, 5)).fit(X, y).gap_ < 1e-6
    True
    """

    def __init__(
        self,
        kernels: Any = None,
        *,
        p: int = 2,
        C: float = 1.0,
        mu0: Any = 0.0,
        radius: float = 1.0,
        tol: float = 1e-6,
        max_iter: int = 500,
        normalize: str = "none",
        float32: bool = False,
    ):
        self.kernels = kernels
        self.p = p
        self.C = C
        self.mu0 = mu0
        self.radius = radius
        self.tol = tol
        self.max_iter = max_iter
        self.normalize = normalize
        self.float32 = float32

    def _solve(self, stack: GramStack, problem: RidgeProblem, start: Array | None) -> Solution:
        mu = problem.start() if start is None else start
        minimise = newton if self.p == 1 else fixed_point
        return minimise(stack, problem, mu, float(self.tol), int(self.max_iter))

    def _kernel(
        self, stack: GramStack, mu: Array, target: Target
    ) -> tuple[LearnedKernel, float, float]:
        alignment = size_and_alignment(stack.combine(mu), target)[1]
        return stack.learned(mu), stack.factor(mu), alignment
