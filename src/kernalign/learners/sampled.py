"""Learn the kernel on a sample of the rows that is large enough to know its alignment."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.base import clone

from kernalign._typing import Array
from kernalign._validation import check_choice, check_number
from kernalign._warnings import AlignmentWarning, SampleWarning, find_stack_level
from kernalign.criteria.interval import held_out_alignment
from kernalign.gram import Target
from kernalign.gram.centring import centred_cosine
from kernalign.gram.dictionary import dictionary_products
from kernalign.gram.sampling import stratified_order
from kernalign.kernels import LearnedKernel
from kernalign.learners.base import Learned, Learner, generator
from kernalign.learners.continuous_alignment import ContinuousAlignment
from kernalign.rows import as_rows

#: Number of rows on which two kernels are compared.
COMPARED_ROWS = 1000
#: Fewer rows outside the sample tell nothing of the alignment.
FEWEST_ROWS = 20


class Sampled(Learner):
    """Learn a kernel on a random sample of the rows, which grows until it is large enough.

    The sample doubles until two conditions hold. First, the half-width of the confidence interval
    for the kernel's alignment on the underlying distribution is at most `tol`. Second, the kernel
    differs from the one learned on the previous sample by at most `tol` (one minus the centred
    alignment of the two). Classes are sampled in proportion.

    A kernel fits the noise of the rows that it was learned from, so the interval is computed on as
    many other rows. If the sample holds all rows, the interval is their alignment, of zero width.

    Parameters
    ----------
    learner : Learner, default ContinuousAlignment()
        The learner of the kernel. One-stage learners are not allowed, because they train their
        machine on all rows.
    tol : float
        Largest allowed half-width of the interval and largest allowed change of the kernel.
    min_rows, max_rows : int
        Sizes of the first and the largest sample. A warning is given if the largest one is not
        large enough.
    confidence : float
        Confidence level of the interval.
    exact : bool
        Evaluate the final kernel on all pairs of rows in one streamed pass. `alignment_` is then
        its alignment on all rows, and the interval has zero width.
    random_state : int, RandomState or None
        Seed for the selection of rows.

    Attributes
    ----------
    kernel_, alignment_ :
        The kernel learned on the last sample, and its alignment there.
    weights_, objective_, n_iter_ :
        As for `learner_`.
    converged_ : bool
        Whether `learner_` converged on a sample that was large enough.
    history_ : list of dict
        The iterations of the last fit, each with `rows`, the size of its sample, and `interval`,
        the confidence interval of the final kernel's alignment on other rows.
    samples_ : list of dict
        One record per sample: rows, alignment on the sample, interval for the alignment on other
        rows, change of the kernel.
    rows_ : array
        The last sample, as positions among the rows of positive weight.
    learner_ : Learner
        The learner fitted to the last sample.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kernalign import Sampled
    >>> X, y = make_moons(20000, noise=0.2, random_state=0)
    >>> learner = Sampled(tol=0.05, min_rows=500).fit(X, y)
    >>> learner.samples_[-1]["rows"] < 20000
    True
    """

    def __init__(
        self,
        learner: Learner | None = None,
        *,
        tol: float = 0.02,
        min_rows: int = 1000,
        max_rows: int = 20_000,
        confidence: float = 0.95,
        exact: bool = False,
        random_state: Any = 0,
    ):
        self.learner = learner
        self.tol = tol
        self.min_rows = min_rows
        self.max_rows = max_rows
        self.confidence = confidence
        self.exact = exact
        self.random_state = random_state

    streams = one_pass = True

    def largest_sample(self) -> float:
        """Infinite: the learner takes its own sample."""
        return np.inf

    @property
    def objective_name(self) -> str:
        return self._checked().objective_name

    def learn(
        self, X: Array, target: Target, feature_names: Sequence[str] | None = None
    ) -> Learned:
        learner = self._checked()
        rng = generator(self.random_state)
        largest = min(int(self.max_rows), len(X))
        order = stratified_order(target, rng, 2 * largest)
        size = min(int(self.min_rows), largest)
        samples: list[dict[str, Any]] = []
        kernel: LearnedKernel | None = None
        while True:
            rows = np.sort(order[:size])
            # Rows elsewhere are read once: the sample, and as many others.
            both = np.sort(order[: 2 * size])
            taken, own = as_rows(X).take(both), np.isin(both, rows)
            sample, some = taken[own], target.rows(rows)
            with warnings.catch_warnings():
                if size < largest:
                    # A larger sample may find an aligned kernel.
                    warnings.simplefilter("ignore", AlignmentWarning)
                fitted = clone(learner).fit_target(sample, some, feature_names)
            low, high = self._interval(fitted, taken[~own], target.rows(both[~own]))
            half = (high - low) / 2
            change = np.inf
            if kernel is not None:
                compared = np.searchsorted(rows, order[: min(size, COMPARED_ROWS)])
                few, weight = sample[compared], some.weight[compared]
                change = _change(kernel, fitted.kernel_, few, weight)
            kernel = fitted.kernel_
            aligned = fitted.alignment_
            samples.append(
                {
                    "rows": size,
                    "alignment": aligned,
                    "interval": (low, high),
                    "change": change,
                }
            )
            if size == largest or (half <= self.tol and change <= self.tol):
                break
            size = min(2 * size, largest)
        if size < len(X) and not (half <= self.tol and change <= self.tol):
            self._warn(size, half, change, single=len(samples) == 1)
        alignment = fitted.alignment_
        if self.exact and size < len(X):
            whole = target.counted()
            products = dictionary_products(list(kernel.kernels), X, whole)
            alignment = products.alignment(np.asarray(kernel.weights), whole)
            samples.append(
                {
                    "rows": len(X),
                    "alignment": alignment,
                    "interval": (alignment, alignment),
                    "change": 0.0,
                }
            )
        extra = {"samples_": samples, "rows_": rows, "learner_": fitted}
        known = {"rows": size, "interval": samples[-1]["interval"]}
        history = [{**record, **known} for record in fitted.history_]
        return Learned(
            fitted.kernel_,
            alignment,
            history,
            objective=fitted.objective_,
            converged=fitted.converged_ and (size == len(X) or bool(max(half, change) <= self.tol)),
            weights=fitted.weights_,
            extra=extra,
        )

    def _interval(self, fitted: Learner, X: Array, target: Target) -> tuple[float, float]:
        """For the alignment on the distribution, from rows X that the kernel has not seen."""
        if not len(X):
            return fitted.alignment_, fitted.alignment_
        if len(X) < FEWEST_ROWS:
            return -1.0, 1.0
        alignment, error = held_out_alignment(fitted.kernel_, X, target)
        half = float(norm.ppf((1 + float(self.confidence)) / 2)) * error
        return max(alignment - half, -1.0), min(alignment + half, 1.0)

    def _warn(self, size: int, half: float, change: float, single: bool) -> None:
        if single and half <= self.tol:
            # With a single sample size there is no smaller sample to compare with.
            return
        warnings.warn(
            f"A sample of max_rows={size} rows leaves the alignment uncertain by {half:.2g}, and "
            f"the last doubling changed the kernel by {min(change, 1.0):.2g}: more than "
            f"tol={self.tol:g}. Allow more rows, or a larger tol.",
            SampleWarning,
            stacklevel=find_stack_level(),
        )

    def for_folds(self) -> Sampled:
        """A copy with the sample size and the learner's selected options fixed."""
        copy: Sampled = super().for_folds()
        copy.learner = (self.learner_ if hasattr(self, "learner_") else self._checked()).for_folds()
        if hasattr(self, "samples_"):
            copy.min_rows = copy.max_rows = len(self.rows_)
            copy.tol = np.inf
            copy.exact = False
        return copy

    def _checked(self) -> Learner:
        learner = ContinuousAlignment() if self.learner is None else self.learner
        if not isinstance(learner, Learner) or learner.one_stage:
            raise ValueError(
                "The 'learner' parameter of Sampled must be a learner without a machine of its "
                f"own, such as ContinuousAlignment(). Got {learner!r} instead."
            )
        check_number(self, "tol", 0, closed=True)
        check_number(self, "confidence", 0, 1)
        check_choice(self, "exact", (True, False))
        for name in ("min_rows", "max_rows"):
            if not isinstance(getattr(self, name), numbers.Integral):
                raise ValueError(
                    f"The '{name}' parameter of Sampled must be an int in [2, inf). "
                    f"Got {getattr(self, name)!r} instead."
                )
            check_number(self, name, 2, closed=True)
        return learner


def _change(before: LearnedKernel, after: LearnedKernel, X: Array, weight: Array) -> float:
    """One minus the centred alignment of two kernels; 0 if both are constant on the rows."""
    K, L = before(X), after(X)
    alignment = centred_cosine(K, L, weight)
    return 1 - alignment if K.any() or L.any() else 0.0
