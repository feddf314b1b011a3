"""D1, D2, Dp: lp-norm multiple kernel learning with the hinge loss."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from kernalign._typing import Array
from kernalign._validation import check_choice, check_count, check_number
from kernalign._warnings import find_stack_level
from kernalign.gram import Target
from kernalign.gram.centring import size_and_alignment
from kernalign.gram.stack import NORMALISATIONS, GramStack
from kernalign.kernels import LearnedKernel
from kernalign.learners.base import LARGEST_C, Learned
from kernalign.learners.finite import FiniteLearner
from kernalign.machines.model import DualModel
from kernalign.solvers.lp_norm_problem import Iterate, LpNormProblem
from kernalign.solvers.lp_norm_solvers import ANY_NORM, SIMPLEX, SOLVERS
from kernalign.solvers.svm import GAP

#: Smallest gap that a machine is solved to: rounding errors dominate below it.
SMALLEST_MACHINE_GAP = 1e-8
#: Share of the total gap that the machines may cause before they are solved more accurately.
MACHINE_SHARE = 0.2


class LpNormMKL(FiniteLearner):
    """min_{theta, w, b} 1/2 sum_m |w_m|^2 / theta_m + C sum_i [1 - y_i f(x_i)]_+.

    f(x) = sum_m <w_m, phi_m(x)> + b,   theta >= 0,   |theta|_p <= 1

    The method of Kloft et al. (2011): a soft-margin machine on the kernel sum_m theta_m K_m is
    learned together with the weights. With p = 1 the weights are sparse (the problem of Lanckriet
    et al. 2004, of SimpleMKL and of SILP); with p = inf they are equal. For more than two classes,
    the one-vs-rest machines share the weights.

    Parameters
    ----------
    kernels : list of kernels or Gram matrices
    p : float in [1, inf]
        The norm of the weights.
    C : float
        Weight of the sum of the losses, as in scikit-learn's SVC. Values for different p are not
        comparable.
    solver : {"newton", "alternating", "reduced-gradient", "cutting-plane"}
        All reach the same optimum. "newton" uses second derivatives and solves the fewest machines.
        "alternating" is the closed form of Kloft et al. "reduced-gradient" (SimpleMKL) and
        "cutting-plane" (SILP, stabilised) need p = 1.
    normalize : {"none", "trace", "variance"}
        Divide each kernel by 1, by tr K / n (with p = 1 the QCQP of Lanckriet et al.), or by
        tr K_c / n (Kloft et al.).
    tol : float
        Stop when the relative duality gap (P - D) / P of the whole problem is at most this.
    weight_tol : float
        Stop when the relative weight gap (|q|_{p*} - theta'q) / |q|_{p*} is at most this. If the
        losses dominate the norms, the duality gap alone is small for any weights.
    max_iter : int
        Maximum number of rounds.
    float32 : bool
        Store the Gram matrices in single precision, which halves the memory.

    Attributes
    ----------
    kernel_ : LearnedKernel
        Normalised; `machine_` is the machine for it.
    weights_ : (M,) array
        theta, for the kernels divided by `scales_`.
    dual_coef_ : (n,) array, or (n, classes), of the n rows of positive weight
        Coefficients beta of the machine on sum_m theta_m K_m / scales_m; `intercept_` is its bias.
    objective_ : float
        P; `gap_` and `weight_gap_` bound its distance from the optimum.
    converged_ : bool
        Whether both tolerances were met.
    n_iter_ : int
    history_ : list of dict
        One record per round: P (objective), dual, gap, weight_gap, weights.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernalign.kernels import Gaussian
    >>> from kernalign.learners.lp_norm_mkl import LpNormMKL
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = LpNormMKL(Gaussian().grid(0.1, 10, 5), p=1).fit(X, y)
    >>> learner.gap_ <= 1e-3
    True
    """

    one_stage = True
    objective_name = "regularised hinge loss"

    def __init__(
        self,
        kernels: Any = None,
        p: float = 1,
        *,
        C: float = 1.0,
        solver: str = "newton",
        normalize: str = "none",
        tol: float = 1e-3,
        weight_tol: float = 1e-2,
        max_iter: int = 200,
        float32: bool = False,
    ):
        self.kernels = kernels
        self.p = p
        self.C = C
        self.solver = solver
        self.normalize = normalize
        self.tol = tol
        self.weight_tol = weight_tol
        self.max_iter = max_iter
        self.float32 = float32

    def regularised(self, C: float) -> LpNormMKL:
        copy: LpNormMKL = clone(self)
        copy.C = C
        return copy

    def learn(
        self, X: Array, target: Target, feature_names: Sequence[str] | None = None
    ) -> Learned:
        return next(self.learn_path(X, target, np.array([self.C]), feature_names))

    def learn_path(
        self,
        X: Array,
        target: Target,
        values: Array,
        feature_names: Sequence[str] | None = None,
    ) -> Iterator[Learned]:
        """`learn` at each C, started from the weights of the previous C.

        If the scaled machines of the previous C are already optimal, they are reused.
        """
        self._check()
        if not target.classes:
            raise ValueError(
                "LpNormMKL minimises the hinge loss, which needs classes. Got a numeric response: "
                "use RidgeMKL for regression."
            )
        Y = target.signs
        kernels = self.dictionary(X, feature_names, target.weight)
        stack = GramStack(kernels, X, self.normalize, self.float32, target.weight)
        last: Iterate | None = None
        learned: Learned | None = None
        libsvm = True
        for C in values:
            machine_gap = max(min(GAP, self.tol / 100), SMALLEST_MACHINE_GAP)
            problem = LpNormProblem(stack, Y, target.weight, self.p, float(C), machine_gap, libsvm)
            found, history = self._solve(problem, self._start(problem, last))
            if learned is not None and last is not None and found.theta is last.theta:
                kernel, alignment = learned.kernel, learned.alignment
            else:
                kernel = stack.learned(found.theta)
                alignment = size_and_alignment(found.K.copy(), target)[1]
            learned = self._learned(stack, found, kernel, alignment, history)
            yield learned
            # If libsvm did not converge at this C, it will not at a larger one.
            last, libsvm = found, problem.libsvm

    def _start(self, problem: LpNormProblem, last: Iterate | None) -> Iterate:
        """The previous solution if it solves this problem, otherwise machines at its weights."""
        if last is None:
            return problem.evaluate(problem.uniform)
        guess = problem.continued(last)
        if self._done(guess) and guess.machine_gap <= GAP:
            return guess
        return problem.evaluate(last.theta)

    def _solve(
        self, problem: LpNormProblem, start: Iterate
    ) -> tuple[Iterate, list[dict[str, Any]]]:
        """Run rounds of the solver until both gaps are closed."""
        best = start
        history: list[dict[str, Any]] = []
        rounds = SOLVERS[self.solver](problem, start)
        for now in islice(rounds, int(self.max_iter)):
            history.append(
                {
                    "iteration": len(history) + 1,
                    "objective": now.primal,
                    "dual": now.dual,
                    "gap": now.gap,
                    "weight_gap": now.weight_gap,
                    "weights": now.theta,
                }
            )
            if self._done(now):
                return now, history
            best = now if now.primal < best.primal else best
            if now.machine_gap > MACHINE_SHARE * now.gap:
                # The remaining gap is due to the machines, not to the weights.
                problem.machine_gap = max(problem.machine_gap / 10, SMALLEST_MACHINE_GAP)
        remedy = "Raise 'max_iter'."
        if self.solver != "newton":
            remedy = "Raise 'max_iter', or use solver='newton', which needs fewer rounds."
        warnings.warn(
            f"LpNormMKL stopped after {len(history)} rounds at C={problem.C:g} with relative gap "
            f"{best.gap:.2g} (tol={self.tol:g}) and weight gap {best.weight_gap:.2g} "
            f"(weight_tol={self.weight_tol:g}). {remedy}",
            ConvergenceWarning,
            stacklevel=find_stack_level(),
        )
        return best, history

    def _done(self, now: Iterate) -> bool:
        return now.gap <= self.tol and now.weight_gap <= self.weight_tol

    def _learned(
        self,
        stack: GramStack,
        found: Iterate,
        kernel: LearnedKernel,
        alignment: float,
        history: list[dict[str, Any]],
    ) -> Learned:
        """The normalised kernel and its machine."""
        beta: Any = found.beta
        bias: Any = np.array([machine.bias for machine in found.machines])
        if beta.shape[1] == 1:
            beta, bias = beta[:, 0], float(bias[0])
        return Learned(
            kernel,
            alignment,
            history,
            objective=found.primal,
            converged=self._done(found),
            weights=found.theta,
            gap=found.gap,
            machine=DualModel(beta / stack.factor(found.theta), bias),
            extra={
                "scales_": stack.scales,
                "dual_coef_": beta,
                "intercept_": bias,
                "weight_gap_": found.weight_gap,
            },
        )

    def _check(self) -> None:
        check_number(self, "p", 1, closed=True)
        check_number(self, "C", 0, LARGEST_C)
        check_number(self, "tol", 0)
        check_number(self, "weight_tol", 0)
        check_choice(self, "solver", tuple(SOLVERS))
        check_choice(self, "normalize", NORMALISATIONS)
        check_choice(self, "float32", (True, False))
        if self.p != 1 and self.solver in SIMPLEX:
            raise ValueError(
                "The 'solver' parameter of LpNormMKL must be one of "
                f"{', '.join(map(repr, ANY_NORM))} for p={self.p:g}. Got {self.solver!r} instead."
            )
        check_count(self, "max_iter")
