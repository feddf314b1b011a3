"""Search families and parameters of kernels, by evidence and leave-one-out predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernalign._threads import begin_beside, blocks_in_threads, map_tasks
from kernalign._typing import Array, IntArray
from kernalign._validation import check_choice, check_count, check_number
from kernalign.criteria.kernel_sum import NOISE, KernelSum, prior
from kernalign.criteria.sum_evidence import SumEvidence
from kernalign.gram import Target
from kernalign.gram.centring import size_and_alignment
from kernalign.gram.packed import PackedRows, packable
from kernalign.gram.sampling import order_by_content, rows_in_proportion
from kernalign.kernels import Family, LearnedKernel
from kernalign.kernels.units import Units
from kernalign.learners.base import Learned, Learner, generator
from kernalign.learners.unit_scan import MORE, Sample, scanned
from kernalign.machines.landmark_values import precision_for
from kernalign.machines.tuned_ridge import class_score, noise_up_the_evidence, ridge_at
from kernalign.rows import as_rows
from kernalign.solvers.family_search import (
    GROUPS,
    RELEVANT,
    SUM,
    TIED,
    Effort,
    Found,
    learn,
    search,
    simplest_enough,
)
from kernalign.solvers.held_out_search import affordable_share, optimised, with_more_noise
from kernalign.tables import TableFeatures

#: Maximum size of an array of features times pairs, which limits the rows of a search with many
#: columns, and the minimum number of rows.
PAIR_NUMBERS, FEWEST_ROWS = 1e7, 250
#: Above this number of rows, families are compared on more of them.
MORE_ROWS = 10_000
#: Above this number of rows, the selected kernel is optimised on many of them: at most this share,
#: so that others are left for a hold-out set, and at most this number; with so many rows for a
#: landmark, and at most this number of landmarks.
MANY_ROWS = 5000
MANY_SHARE, MOST_MANY, ROWS_PER_LANDMARK, MOST_LANDMARKS = 0.7, 12_000, 10, 1000
#: Smallest noise in classification, in units of the kernel: class labels are not exact numbers.
LEAST_CLASS_NOISE = 1e-3
#: Maximum number of rows that units are computed from and samples are drawn from.
MOST_ROWS = 20_000
#: The stage of the last record in `history_`.
CHOSEN = "chosen"


@dataclass(frozen=True)
class Sizes:
    """Sample sizes of a search: scan with one bandwidth, search of relevances and sums, selection
    among the kernels on the path, and last steps; and the number of last steps."""

    scan: int = 200
    search: int = 500
    judge: int = 1000
    refine: int = 1000
    refine_steps: int = 5

    def for_rows(self, n: int) -> Sizes:
        """Families are compared on up to twice as many rows if there are many in all."""
        return replace(self, search=int(np.clip(n / MORE_ROWS, 1.0, 2.0) * self.search))


SIZES = {
    "full": (Sizes(), Effort()),
    "quick": (
        Sizes(search=200, judge=200, refine=200, refine_steps=0),
        Effort(race=5, settle=8, max_terms=2, noises=(0.1,), additions=1),
    ),
}


class KernelSearch(Learner):
    """Search families, relevances and weights of a kernel by evidence, from simple to complex.

    `KernelClassifier()` and `KernelRegressor()` learn their kernel with this search. It first fits
    each family with one bandwidth, then the best families with one relevance per feature, then sums
    of kernels, as long as the evidence of a Gaussian process rises enough. For classification,
    leave-one-out predictions are also used. Above 5000 rows, the selected kernel is then optimised
    by the errors of held-out rows, and may get further families. Columns are scaled to their own
    units, so multiplying a column by a constant changes nothing. Weights that are whole numbers of
    which the smallest is 1 are numbers of equal rows; of other weights only the ratios count.

    Parameters
    ----------
    families : sequence of Family, optional
        The families to search, with `ard=True`: any of `Linear`, `Additive`, `Gaussian`, `Matern`
        and `Laplacian`. The default is all of them.
    prior : float
        Strength of the prior that all features are equally relevant.
    max_kernels : int
        Maximum number of kernels in a sum.
    effort : {"full", "quick"}
        "quick" uses fewer rows and fewer steps, and evidence only.
    random_state : int, RandomState or None
        Seed for the sampling of rows.

    Attributes
    ----------
    kernel_ : LearnedKernel
    noise_ : float
        Variance of the noise, in units of the kernel's mean diagonal.
    units_ : Units
        Units of the columns.
    rows_ : array
        Positions of the rows that the search used, among the rows of positive weight.
    alignment_ : float
        Centred alignment of `kernel_` on the rows that selected it; it is not optimised.
    objective_ : float
        Evidence of the kernel in nats, with the prior.
    history_ : list of dict
        One record per kernel on the path: `stage` ("tied", "relevant" or "sum"), `kernel`, `noise`,
        `objective`, and the `score` of those that were compared at the end. The last record, of the
        stage "chosen", is the selected kernel after its last steps.

    Examples
    --------
    >>> import numpy as np
    >>> from kernalign import KernelSearch
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 3))
    >>> learner = KernelSearch().fit(X, np.sin(2 * X[:, 0]))
    >>> relevance = learner.kernel_.kernels[0].family.relevance(learner.kernel_.kernels[0].sigma, 3)
    >>> bool(relevance[0] > 10 * relevance[1:].max())
    True
    """

    objective_name = "evidence, in nats"
    streams = True
    relative_weights = True

    def __init__(
        self,
        families: Sequence[Family] | None = None,
        *,
        prior: float = 3.0,
        max_kernels: int = 3,
        effort: str = "full",
        random_state: Any = 0,
    ):
        self.families = families
        self.prior = prior
        self.max_kernels = max_kernels
        self.effort = effort
        self.random_state = random_state

    def for_folds(self) -> KernelSearch:
        copy: KernelSearch = super().for_folds()
        copy.effort = "quick"
        return copy

    def learn(
        self, X: Array, target: Target, feature_names: Sequence[str] | None = None
    ) -> Learned:
        sizes, effort = self._settings(target)
        groups = self._groups()
        rng = generator(self.random_state)
        many = self.effort == "full" and len(target.weight) > MANY_ROWS
        if many:
            sizes = sizes.for_rows(len(target.weight))
        codes = feature_names.codes if isinstance(feature_names, TableFeatures) else None
        if isinstance(feature_names, TableFeatures) and feature_names.mixed:
            everyone = order_by_content(X, target, feature_names.codes)
            known = everyone[rows_in_proportion(target.rows(everyone), MOST_ROWS, rng)]
        else:
            known = rows_in_proportion(target, MOST_ROWS, rng)
        X, target = as_rows(X).take(known), target.rows(known)
        sample = Sample(X, target, rng, codes)
        numbers = PAIR_NUMBERS * (sizes.search / SIZES[self.effort][0].search) ** 2
        affordable = max(FEWEST_ROWS, int(np.sqrt(2 * numbers / X.shape[1])))
        picked = sample.rows(min(sizes.search, affordable))
        few = picked if len(picked) <= 1.5 * sizes.scan else sample.among(picked, sizes.scan)
        judge = sample.rows(sizes.judge)
        scan = scanned(sample, few, judge, groups, effort)
        units = scan.units
        known_tied = len(few) == len(picked)
        rows = scan.rows if known_tied else sample.packed(units, picked)
        path = search(rows, scan.tied, groups, effort, known=known_tied)
        history = [_record(t, found, units) for t, found in enumerate(path)]
        order = {id(found): t for t, found in enumerate(path)}
        judged = _shortlist(path, rows, target.rows(picked), effort, len(judge))
        scores = _scores(judged, units, X[judge], target.rows(judge), effort)
        for found, score in zip(judged, scores, strict=True):
            history[order[id(found)]]["score"] = score
        chosen = simplest_enough(judged, scores, effort.gain)
        if many:
            with blocks_in_threads():
                chosen, more = _on_many_rows(sample, units, chosen, path, judge, effort)
        else:
            more = sample.rows(min(sizes.refine, affordable))
            chosen = _with_last_steps(sample, units, chosen, more, rows.n, sizes, effort)
        history.append(_record(len(history), replace(chosen, stage=CHOSEN), units))
        kernel, alignment = normalised(chosen.kernel, units, X[judge], target.rows(judge))
        return Learned(
            kernel=kernel,
            alignment=alignment,
            history=history,
            objective=chosen.evidence,
            extra={
                "noise_": float(np.exp(chosen.kernel.log_noise)),
                "units_": units,
                "rows_": known[np.unique(np.concatenate([picked, judge, more]))],
            },
        )

    def _settings(self, target: Target) -> tuple[Sizes, Effort]:
        check_number(self, "prior", 0, closed=True)
        check_count(self, "max_kernels")
        check_choice(self, "effort", tuple(SIZES))
        sizes, effort = SIZES[self.effort]
        return sizes, replace(
            effort,
            prior=float(self.prior),
            max_terms=min(int(self.max_kernels), effort.max_terms),
            least_noise=LEAST_CLASS_NOISE if target.classes else NOISE[0],
        )

    def _groups(self) -> Sequence[Sequence[Family]]:
        """Families in groups with similar relevances."""
        if self.families is None:
            return GROUPS
        given = self.families if isinstance(self.families, Sequence) else [self.families]
        for family in given:
            known = isinstance(family, Family) and packable(family)
            if not known or family.columns is not None or not getattr(family, "ard", True):
                raise ValueError(
                    "The 'families' parameter of KernelSearch must list families among Linear(), "
                    "Additive(), Gaussian(ard=True), Matern(ard=True) and Laplacian(ard=True), on "
                    f"all columns. Got {family!r}."
                )
        found: dict[str, list[Family]] = {}
        for family in given:
            found.setdefault(family.pair_feature, []).append(family)
        return list(found.values())


def _record(t: int, found: Found, units: Units) -> dict[str, Any]:
    """The record of a kernel on the path, for `history_` and callbacks."""
    return {
        "iteration": t + 1,
        "stage": found.stage,
        "kernel": found.kernel.in_units(units),
        "noise": float(np.exp(found.kernel.log_noise)),
        "objective": found.evidence,
    }


def normalised(k: KernelSum, units: Units, U: Array, target: Target) -> tuple[LearnedKernel, float]:
    """The kernel with mean centred diagonal one on some rows, and its alignment there."""
    kernel = k.in_units(units)
    size, alignment = size_and_alignment(kernel(U), target)
    return LearnedKernel(kernel.kernels, kernel.weights / size), alignment


def _with_last_steps(
    sample: Sample,
    units: Units,
    chosen: Found,
    more: IntArray,
    searched: int,
    sizes: Sizes,
    effort: Effort,
) -> Found:
    """The kernel after a few steps on a larger sample than the one that was searched, if it is."""
    if not sizes.refine_steps or len(more) <= MORE * searched:
        return chosen
    # Each of the last steps needs the one before.
    begin_beside()
    rows = sample.packed(units, more)
    return learn(rows, chosen.kernel, sizes.refine_steps, effort, chosen.stage)


def _on_many_rows(
    sample: Sample,
    units: Units,
    chosen: Found,
    path: Sequence[Found],
    judge: IntArray,
    effort: Effort,
) -> tuple[Found, IntArray]:
    """The kernel optimised by the errors of many rows, and the rows that were used for it."""
    n, d = sample.X.shape
    n = int(min(MANY_SHARE * n, MOST_MANY))
    m = min(n // ROWS_PER_LANDMARK, MOST_LANDMARKS)
    share = affordable_share(chosen.kernel, n * m * d)
    whole, m = sample.rows(int(share * n)), int(share * m)
    half = sample.among(whole, len(whole) // 2)
    precision = precision_for(chosen.kernel.log_noise, sample.target.classes)
    rows = sample.crossed(units, whole, m, precision)
    kernel = optimised(sample.crossed(units, half, m // 2, precision), rows, chosen, path, effort)
    if not sample.target.classes:
        K = kernel.in_units(units)(sample.X[judge])
        most = noise_up_the_evidence(K, sample.target.rows(judge), kernel.log_noise)
        kernel = with_more_noise(rows, kernel, most, effort)
    evidence, _ = _judged(kernel, units, sample.X[judge], sample.target.rows(judge), effort)
    return Found(kernel, evidence, chosen.stage), whole


def _shortlist(
    path: Sequence[Found], rows: PackedRows, target: Target, effort: Effort, judges: int
) -> Sequence[Found]:
    """The best tied kernel, the best two relevant ones and the best sum, on the searched rows.

    judges : the number of rows that select the kernel. If it is not larger, they are all judged.
    """
    if judges <= MORE * rows.n:
        return path
    trust = _trust(max(path, key=lambda one: one.evidence), target)

    def score(found: Found) -> float:
        if not target.classes:
            return found.evidence
        problem = SumEvidence.like(rows, found.kernel, 0.0, effort.least_noise)
        left_out = problem.left_out(found.kernel)
        return trust * found.evidence + class_score(left_out, target.codes, target.weight)

    scores = map_tasks(score, path)
    ranked = [path[t] for t in sorted(range(len(path)), key=scores.__getitem__, reverse=True)]
    numbers = {TIED: 1, RELEVANT: 2, SUM: 1}
    return [f for stage, m in numbers.items() for f in [r for r in ranked if r.stage == stage][:m]]


def _scores(
    path: Sequence[Found], units: Units, X: Array, target: Target, effort: Effort
) -> list[float]:
    """Evidence of each kernel, for classes with leave-one-out log-probability, on some rows."""

    pairs = map_tasks(lambda one: _judged(one.kernel, units, X, target, effort), path)
    boldest = path[int(np.argmax([evidence for evidence, _ in pairs]))]
    trust = _trust(boldest, target)
    return [trust * evidence + left_out for evidence, left_out in pairs]


def _judged(
    k: KernelSum, units: Units, X: Array, target: Target, effort: Effort
) -> tuple[float, float]:
    """Evidence of a kernel with the prior, and leave-one-out log-probability of classes."""
    fitted = ridge_at(k.in_units(units)(X), target, k.log_noise)
    believed = sum(prior(term.u, effort.prior)[0] for term in k.terms)
    left_out = 0.0
    if target.classes:
        left_out = class_score(fitted.left_out, target.codes, target.weight)
    return fitted.evidence - believed, left_out


def _trust(boldest: Found, target: Target) -> float:
    """Whether the evidence is used besides leave-one-out predictions.

    For classes it is not, if its noise is at the lower bound: it then prefers to interpolate.
    """
    low = boldest.kernel.log_noise < np.log(2 * LEAST_CLASS_NOISE)
    return 0.0 if target.classes and low else 1.0
