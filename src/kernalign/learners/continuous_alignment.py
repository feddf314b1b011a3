"""CA: centred alignment over a continuous set of kernels."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign._validation import check_choice, check_count, check_number
from kernalign._warnings import AlignmentWarning, find_stack_level
from kernalign.gram import Target, check_summable
from kernalign.gram.sampling import rows_in_memory
from kernalign.kernels import Family, FeatureFamily, Gaussian, LearnedKernel
from kernalign.kernels.structure import is_scalar
from kernalign.kernels.tied import Ground
from kernalign.learners.base import (
    DENSE_SAMPLE,
    STREAMED_SAMPLE,
    Learned,
    Learner,
    generator,
)
from kernalign.solvers.callback import Callback, check_callback
from kernalign.solvers.early_stopping import choose_length
from kernalign.solvers.greedy import Settings
from kernalign.solvers.penalty_path import PATH, Choice, choose_penalty, penalised_problem

#: Number of rows used for early stopping if not all rows are in memory.
STOPPING_ROWS = 4000


class ContinuousAlignment(Learner):
    """Learn a non-negative combination of kernels with maximal alignment to the labels.

    The kernels are chosen greedily from a continuous family. This is the method CA of Afkanpour,
    Szepesvari and Bowling (2011).

    Parameters
    ----------
    family : Family, default Gaussian()
        The continuous set of kernels. `Gaussian()` is the paper's CA-1D, `Gaussian(ard=True)`
        its CA-nD; `AnyOf(...)` searches several families or views.
    tol : float
        Stop when an iteration raises the alignment by at most this value (the paper's theta).
    max_iter : int
        Maximum number of iterations (the paper's T).
    eps : float
        Weight of the identity in the starting point of the paper.
    eta_max : float
        Largest step.
    start : {"identity", "best"}
        Start from eps C_n as in the paper, or from the best single kernel.
    selection : {"slope", "step"}
        Choose the next kernel by the slope of the alignment, as in the paper, or by the largest
        alignment after the step.
    corrective : bool
        Optimise the weights of all kernels again after each addition.
    penalty : float, sequence of floats or "path"
        lambda of the penalty lambda |sigma - mean sigma|^2 for families with one bandwidth per
        feature (Gaussian, Laplacian and Matern with `ard=True`; others are not penalised). 0 means
        no penalty; inf forces all bandwidths to be equal. From a sequence, or from the paper's
        twenty values 10^-5 .. 10^14 with "path", the value of largest alignment on a hold-out set
        is selected.
    early_stopping : bool
        Stop adding kernels when the alignment on a hold-out set no longer rises, because later
        kernels fit noise. A sample of 4000 rows is used if the rows are not in memory.
    validation_fraction : float
        Share of the rows in the hold-out set, for `penalty` and `early_stopping`.
    n_starts : int
        Number of starts of the quasi-Newton search in each iteration, for several parameters.
    random_state : int, RandomState or None
        Seed for the sample that gives the data's scale, the starts and the hold-out set. The same
        seed gives the same kernel on any number of threads.
    callback : function of one record, optional
        Called after each iteration with its record, which `history_` will contain (the alignment is
        the approximation used by the search, accurate to about 1e-6). Raising StopIteration ends
        the search. The callback is called in the fit to all rows only, not in cross-validation
        folds.

    Attributes
    ----------
    kernel_ : LearnedKernel
    alignment_ : float
        Centred alignment of `kernel_` with the target kernel on the training rows.
    history_ : list of dict
        One record per iteration: the alignment after it (objective), the kernel found and the value
        of its search (search_value), its step eta, and the weights of all kernels so far.
    weights_ : array
        The weights of the kernels in `kernel_`.
    objective_ : float
        The alignment after the last iteration, including the identity of the starting point.
    converged_ : bool
        Whether the last iteration raised the alignment by at most `tol`.
    n_iter_ : int
    stopping_path_ : list of dict
        With `early_stopping`, the alignment on the training part and on the hold-out set.
    penalty_ : float
        The selected lambda; `penalty_path_` has the hold-out alignment of each.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernalign import ContinuousAlignment
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = ContinuousAlignment().fit(X, y)
    >>> learner.alignment_ > 0.7
    True
    """

    def __init__(
        self,
        family: Family | None = None,
        *,
        tol: float = 1e-3,
        max_iter: int = 50,
        eps: float = 1e-10,
        eta_max: float = 1.0,
        start: str = "identity",
        selection: str = "slope",
        corrective: bool = False,
        penalty: float | Sequence[float] | str = 0.0,
        early_stopping: bool = False,
        validation_fraction: float = 0.25,
        n_starts: int = 3,
        random_state: Any = 0,
        callback: Callback | None = None,
    ):
        self.family = family
        self.tol = tol
        self.max_iter = max_iter
        self.eps = eps
        self.eta_max = eta_max
        self.start = start
        self.selection = selection
        self.corrective = corrective
        self.penalty = penalty
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_starts = n_starts
        self.random_state = random_state
        self.callback = callback

    streams = True

    @property
    def one_pass(self) -> bool:
        return all(is_scalar(member) for member in self._searched(self._checked_family()))

    def largest_sample(self) -> float:
        searched = self._searched(self._checked_family())
        if all(isinstance(member, FeatureFamily) for member in searched):
            return np.inf
        return STREAMED_SAMPLE if self.one_pass else DENSE_SAMPLE

    def learn(
        self, X: Array, target: Target, feature_names: Sequence[str] | None = None
    ) -> Learned:
        settings = self._settings()
        rng = generator(self.random_state)
        family = self._checked_family()
        check_summable(self._searched(family), X)
        families = family.resolve(X, feature_names, target.weight).members()
        choice = self._choose_penalty(families, X, target, settings, rng)
        problem = penalised_problem(Ground.of(families, X, rng), choice.penalty, settings)
        stopping: list[dict[str, Any]] = []
        if self.early_stopping:
            fraction = float(self.validation_fraction)
            some = rows_in_memory(X, target, STOPPING_ROWS, rng)
            length, stopping = choose_length(problem, *some, fraction, rng)
            problem = replace(problem, settings=replace(problem.settings, T=length))
        found = problem.solve(X, target, choice.atoms)
        if not found.aligned:
            warnings.warn(
                "No kernel of the family raises the alignment with the labels: the best single "
                "kernel is returned. The features may carry no signal, or there are too few rows.",
                AlignmentWarning,
                stacklevel=find_stack_level(),
            )
        kernel = LearnedKernel(found.kernels, found.weights)
        extra = {
            "penalty_": choice.penalty,
            "penalty_path_": choice.path,
            "stopping_path_": stopping,
        }
        return Learned(
            kernel,
            found.alignment,
            found.history,
            converged=last_gain(found.history) <= self.tol,
            extra=extra,
        )

    def for_folds(self) -> ContinuousAlignment:
        copy: ContinuousAlignment = super().for_folds()
        if hasattr(self, "penalty_"):
            copy.penalty = self.penalty_
        if getattr(self, "stopping_path_", None):
            copy.early_stopping, copy.max_iter = False, len(self.history_)
        return copy

    def _checked_family(self) -> Family:
        family = Gaussian() if self.family is None else self.family
        if not isinstance(family, Family):
            raise ValueError(
                "The 'family' parameter of ContinuousAlignment must be a kernel family such as "
                f"Gaussian(). Got {family!r} instead."
            )
        return family

    def _searched(self, family: Family) -> list[Family]:
        """The families that are searched; with tied parameters if the penalty is infinite."""
        if not (isinstance(self.penalty, numbers.Real) and np.isinf(float(self.penalty))):
            return family.members()
        return [member.tied() or member for member in family.members()]

    def _choose_penalty(
        self,
        families: list[Family],
        X: Array,
        target: Target,
        settings: Settings,
        rng: np.random.Generator,
    ) -> Choice:
        """lambda as given, or selected on a hold-out set."""
        if isinstance(self.penalty, str):
            check_choice(self, "penalty", ("path",))
            values: Sequence[float] = PATH
        elif isinstance(self.penalty, numbers.Real):
            check_number(self, "penalty", 0, closed=True)
            return Choice(float(self.penalty), [], [])
        else:
            try:
                values = [float(value) for value in np.ravel(np.asarray(self.penalty))]
            except (TypeError, ValueError):
                values = []
            if not values or not all(value >= 0 for value in values):
                raise ValueError(
                    "The 'penalty' parameter of ContinuousAlignment must be a number in [0, inf], "
                    f"a sequence of such numbers or 'path'. Got {self.penalty!r} instead."
                )
        if all(family.tied() is None for family in families):
            return Choice(0.0, [], [])
        return choose_penalty(
            families, values, X, target, settings, float(self.validation_fraction), rng
        )

    def _settings(self) -> Settings:
        check_number(self, "tol", 0, closed=True)
        check_number(self, "eps", 0)
        check_number(self, "eta_max", 0)
        check_number(self, "validation_fraction", 0, 1)
        check_callback(self, self.callback)
        check_choice(self, "start", ("identity", "best"))
        check_choice(self, "selection", ("slope", "step"))
        check_choice(self, "corrective", (True, False))
        check_choice(self, "early_stopping", (True, False))
        for name in ("max_iter", "n_starts"):
            check_count(self, name)
        return Settings(
            eps=self.eps,
            T=self.max_iter,
            theta=self.tol,
            eta_max=self.eta_max,
            start=self.start,
            selection=self.selection,
            corrective=self.corrective,
            n_starts=self.n_starts,
            callback=self.callback,
        )


def last_gain(history: Sequence[dict[str, Any]]) -> float:
    """Increase of the objective in the last iteration."""
    values = [0.0, *(float(record["objective"]) for record in history)]
    return values[-1] - values[-2] if history else 0.0
