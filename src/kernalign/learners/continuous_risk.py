"""CR and CR-DC: regularised risk over the convex hull of a continuous set of kernels."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from kernalign._threads import blocks_in_threads
from kernalign._typing import Array
from kernalign._validation import check_choice, check_count, check_number
from kernalign._warnings import find_stack_level
from kernalign.criteria.risk import RegularisedRisk
from kernalign.gram import Target
from kernalign.gram.centring import size_and_alignment
from kernalign.kernels import Family, Gaussian, LearnedKernel
from kernalign.learners.base import LARGEST_C, Learned, Learner, generator
from kernalign.machines.model import DualModel
from kernalign.solvers.callback import Callback, check_callback
from kernalign.solvers.hull import Descent, descend
from kernalign.solvers.hull_search import HullSearch, RiskSettings


class ContinuousRisk(Learner):
    """Learn a convex combination of kernels and a machine that minimise the regularised risk.

    min over K in the convex hull of {G(sigma)}, and over f, of
    C sum_i (y_i - f(x_i))^2 + |f|_K^2 = S(K), S(K) = y'(K + rho I)^-1 y, rho = 1/C.

    The method CR of Argyriou, Micchelli and Pontil (2005); with ``solver="dc"`` the certified
    search CR-DC of Argyriou, Hauser, Micchelli and Pontil (2006). Classes are coded -1/+1, more
    than two in one column each; a response is centred, and its mean is the intercept.

    Parameters
    ----------
    family : Family, default Gaussian()
        The continuous set of kernels. Its bounds are part of the model: a large C drives
        bandwidths to the lower bound.
    C : float
        Weight of the squared loss; 1/C is the ridge parameter rho.
    solver : {"gradient", "dc"}
        How each kernel is searched. "gradient" is a scan with refinement for one parameter, and
        quasi-Newton from several starts for more. "dc" certifies the global maximum; it supports
        Gaussian kernels with one bandwidth, or one for each of at most four features.
    start : {"best", "spread"}
        Start from the best single kernel, or from five kernels spread over the bounds.
    corrective : bool
        Optimise the weights of all kernels again after each addition. This gives fewer kernels and
        much smaller gaps. False is the published method.
    tol : float
        Stop when the relative gap to the minimum risk over the convex hull is at most this.
    tol_fun : float
        Stop when an iteration (with `corrective`, five consecutive ones) lowers S by less than this
        share.
    max_iter : int
        Maximum number of iterations.
    n_starts : int
        Number of starts of the quasi-Newton search in each iteration, for several parameters.
    random_state : int, RandomState or None
        Seed for the sample that gives the data's scale, and for the starts.
    callback : function of one record, optional
        Called in each iteration with its record of `history_`. Raising StopIteration ends the
        search. The callback is called in the fit to all rows only, not in cross-validation folds.

    Attributes
    ----------
    kernel_ : LearnedKernel
        Normalised, as for every learner; `weights_` are the convex weights of its kernels.
    machine_ : DualModel
        The machine f on the rows of `fit` and `kernel_`, in the units of the target: classes are
        -1/+1; a response has the scaled units of the target.
    dual_coef_ : (n,) array, or (n, classes), of the n rows of positive weight
        Coefficients c of the machine on K itself; `intercept_` is its constant.
    objective_ : float
        S(K).
    gap_ : float
        Upper bound of (S - S*) / S. It is certified with ``solver="dc"``; otherwise it is only as
        reliable as the search.
    converged_ : bool
        Whether `gap_` is at most `tol`.
    n_iter_ : int
    rho_ : float
    history_ : list of dict
        One record per iteration: S (objective), gap, the kernel found (kernel, sigma), the step
        lambda towards it, the number of kernels with at least 1e-3 of the largest weight before
        it, the jitter added to the diagonal, and, in the last record, why it stopped (stop).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kernalign.learners.continuous_risk import ContinuousRisk
    >>> X, y = make_moons(60, noise=0.1, random_state=0)
    >>> learner = ContinuousRisk(corrective=True).fit(X, y)
    >>> learner.converged_
    True
    """

    one_stage = True
    objective_name = "regularised risk"

    def __init__(
        self,
        family: Family | None = None,
        *,
        C: float = 1.0,
        solver: str = "gradient",
        start: str = "best",
        corrective: bool = False,
        tol: float = 1e-3,
        tol_fun: float = 1e-5,
        max_iter: int = 100,
        n_starts: int = 3,
        random_state: Any = 0,
        callback: Callback | None = None,
    ):
        self.family = family
        self.C = C
        self.solver = solver
        self.start = start
        self.corrective = corrective
        self.tol = tol
        self.tol_fun = tol_fun
        self.max_iter = max_iter
        self.n_starts = n_starts
        self.random_state = random_state
        self.callback = callback

    def regularised(self, C: float) -> ContinuousRisk:
        copy: ContinuousRisk = clone(self)
        copy.C = C
        return copy

    def learn(
        self, X: Array, target: Target, feature_names: Sequence[str] | None = None
    ) -> Learned:
        check_number(self, "C", 0, LARGEST_C)
        callback = self.callback
        learned = next(self._along(X, target, np.array([self.C]), feature_names, callback))
        self._warn([learned])
        return learned

    def learn_path(
        self,
        X: Array,
        target: Target,
        values: Array,
        feature_names: Sequence[str] | None = None,
    ) -> Iterator[Learned]:
        """`learn` at each C of ascending `values`, started from the kernels of the previous C."""
        found = []
        for learned in self._along(X, target, values, feature_names):
            yield learned
            found.append(learned)
        self._warn(found)

    def _along(
        self,
        X: Array,
        target: Target,
        values: Array,
        feature_names: Sequence[str] | None,
        callback: Callback | None = None,
    ) -> Iterator[Learned]:
        search = self._search(X, target, feature_names)
        Y, mean = target.response()
        risk = RegularisedRisk(Y, 1.0, target.weight)
        found = Descent([])
        for C in values:
            risk.set_rho(1 / float(C))
            # One BLAS thread is faster than several for thin products and small factorisations.
            with blocks_in_threads():
                found = descend(search, risk, found.atoms, callback)
                learned = self._learned(search, risk, found, target, mean)
            yield learned

    def _search(self, X: Array, target: Target, feature_names: Sequence[str] | None) -> HullSearch:
        settings = self._settings()
        family = Gaussian() if self.family is None else self.family
        if not isinstance(family, Family):
            raise ValueError(
                "The 'family' parameter of ContinuousRisk must be a kernel family such as "
                f"Gaussian(). Got {family!r} instead."
            )
        rng = generator(self.random_state)
        families = family.resolve(X, feature_names, target.weight).members()
        spaces = [member.search_space(member.select(X), rng) for member in families]
        return HullSearch(families, spaces, X, settings, rng)

    def _learned(
        self,
        search: HullSearch,
        risk: RegularisedRisk,
        found: Descent,
        target: Target,
        mean: Array,
    ) -> Learned:
        """The normalised kernel, and the machine that gives the same predictions with it."""
        size, alignment = size_and_alignment(risk.K.copy(), target)
        weights = np.array([atom.weight for atom in found.atoms])
        weights /= weights.sum()
        kernels = [search.kernel(atom) for atom in found.atoms]
        single = risk.c.shape[1] == 1
        coefficients = size * (risk.c[:, 0] if single else risk.c)
        machine = DualModel(coefficients, float(mean[0]) if single else mean)
        return Learned(
            LearnedKernel(kernels, weights / size),
            alignment,
            found.history,
            objective=risk.value,
            converged=found.gap <= self.tol,
            weights=weights,
            gap=found.gap,
            machine=machine,
            extra={
                "dual_coef_": machine.coefficients / size,
                "intercept_": machine.intercept,
                "rho_": risk.rho,
            },
        )

    def _warn(self, learned: Sequence[Learned]) -> None:
        """Warn once if some problems of a path did not converge, and once for jitter."""
        jitter = max((one.history[-1]["jitter"] for one in learned), default=0.0)
        if jitter > 0:
            warnings.warn(
                f"K + I/C is numerically singular: {jitter:.1e} was added to its diagonal.",
                ConvergenceWarning,
                stacklevel=find_stack_level(),
            )
        early = [
            one for one in learned if not one.converged and one.history[-1]["stop"] != "callback"
        ]
        if not early:
            return
        worst = max(early, key=lambda one: one.gap or 0.0)
        why = {
            "tol_fun": f"an iteration lowered the risk by less than tol_fun={self.tol_fun:g}",
            "max_iter": f"it reached max_iter={self.max_iter}",
        }[worst.history[-1]["stop"]]
        often = f" at {len(early)} of {len(learned)} values of C" if len(learned) > 1 else ""
        hint = "" if self.corrective else "; corrective=True reaches smaller gaps"
        warnings.warn(
            f"ContinuousRisk stopped{often} at a relative gap of up to "
            f"{worst.gap:.1e}, above tol={self.tol:g}, because {why}{hint}.",
            ConvergenceWarning,
            stacklevel=find_stack_level(),
        )

    def _settings(self) -> RiskSettings:
        check_number(self, "tol", 0, closed=True)
        check_number(self, "tol_fun", 0, closed=True)
        check_choice(self, "solver", ("gradient", "dc"))
        check_choice(self, "start", ("best", "spread"))
        check_choice(self, "corrective", (True, False))
        check_callback(self, self.callback)
        for name in ("max_iter", "n_starts"):
            check_count(self, name)
        return RiskSettings(
            solver=self.solver,
            start=self.start,
            corrective=self.corrective,
            tol=self.tol,
            tol_fun=self.tol_fun,
            max_iter=self.max_iter,
            n_starts=self.n_starts,
        )
