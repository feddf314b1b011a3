"""Learn a kernel by a criterion of kernel ridge regression: evidence or leave-one-out error."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign._validation import check_choice, check_count, check_number
from kernalign._warnings import AlignmentWarning, find_stack_level
from kernalign.criteria.evidence import Evidence, LeaveOneOut, RidgeCriterion
from kernalign.gram import Target
from kernalign.gram.sampling import rows_in_proportion
from kernalign.gram.sizes import Sizes
from kernalign.kernels import Family, FamilyMember, Gaussian
from kernalign.kernels.tied import Ground
from kernalign.learners.base import Learned, Learner, generator
from kernalign.solvers.callback import Callback, check_callback
from kernalign.solvers.descent import Descent, Point
from kernalign.solvers.greedy import Settings, grow
from kernalign.solvers.ridge_growth import Dictionary, RidgeGrowth

CRITERIA: dict[str, type[RidgeCriterion]] = {"evidence": Evidence, "loo": LeaveOneOut}
#: The common bandwidth is first scanned: number of values, number of rows, and noise.
SCAN_VALUES, SCAN_ROWS, SCAN_NOISE = 8, 200, 0.1
#: The search starts on a small sample and doubles it; the smallest sample has at least this size.
MIN_ROWS = 250
#: Iterations of the search with tied parameters, which need not converge.
TIED_ITERATIONS = 12
#: Number of rows on which the greedy loop grows the sum, and the minimum gain in nats per kernel.
GROWTH_ROWS, MIN_GAIN = 300, 3.0
#: Number of rows on which a cross-validation fold evaluates the criterion, whose cost is cubic.
FOLD_ROWS = 500


class ContinuousEvidence(Learner):
    """Learn a kernel of a continuous set by the evidence of a Gaussian process on the labels.

    Alignment is a surrogate for the error: with many parameters, kernels that predict worse can
    have a higher alignment. The evidence, and the leave-one-out error of kernel ridge regression,
    measure the machine that is trained afterwards. Each evaluation inverts a matrix, so at most
    `max_rows` rows are used.

    Parameters
    ----------
    family : Family, default Gaussian(ard=True)
        The continuous set of kernels. For `AnyOf(...)`, the sum of one kernel of each family is
        learned, unless `max_kernels` is given.
    max_kernels : int, optional
        Grow the sum greedily up to this number of kernels. The search starts from the best single
        kernel of any family and adds one kernel at a time, as long as each improves the criterion
        by three nats. Kernels are selected with tied parameters on a sample of the rows.
    criterion : {"evidence", "loo"} or a class
        The negative log marginal likelihood, or the leave-one-out squared loss; it is minimised. A
        class is constructed with the target and has a method `evaluate(K, noise)`, like those in
        `kernalign.criteria.evidence`.
    prior : float
        Strength of the prior that all features are equally relevant; inf forces them to be equal.
        For few rows and many features, 3 is cautious and 0.3 is permissive.
    max_rows : int
        Maximum number of rows on which the criterion is evaluated; larger data are sampled in
        proportion to the classes.
    max_iter : int
        Maximum number of iterations of the quasi-Newton search.
    random_state : int, RandomState or None
        Seed for the sampling of rows.
    callback : function of one record, optional
        Called after each iteration with its record of `history_`. Raising StopIteration ends the
        search.

    Attributes
    ----------
    kernel_ : LearnedKernel
    alignment_ : float
        Centred alignment of `kernel_` on the training rows; it is not the optimised criterion.
    history_ : list of dict
        One record per iteration: the criterion with its prior (objective) and the noise.
    objective_ : float
        The final criterion with its prior; `noise_` is the noise at the same point.
    weights_ : array
        The weights of the kernels in `kernel_`.
    converged_ : bool
        Whether the search ended before `max_iter`.
    n_iter_ : int
    growth_ : list of dict
        With `max_kernels`, one record per kernel tried: the kernel, the criterion after it
        (objective), weights and noise. Otherwise empty.

    Examples
    --------
    >>> import numpy as np
    >>> from kernalign import ContinuousEvidence
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 3))
    >>> learner = ContinuousEvidence().fit(X, np.sin(2 * X[:, 0]))
    >>> learner.kernel_.kernels[0].sigma[1:]  # the other features have no relevance
    array([inf, inf])
    """

    def __init__(
        self,
        family: Family | None = None,
        *,
        max_kernels: int | None = None,
        criterion: Any = "evidence",
        prior: float = 1.0,
        max_rows: int = 1000,
        max_iter: int = 60,
        random_state: Any = 0,
        callback: Callback | None = None,
    ):
        self.family = family
        self.max_kernels = max_kernels
        self.criterion = criterion
        self.prior = prior
        self.max_rows = max_rows
        self.max_iter = max_iter
        self.random_state = random_state
        self.callback = callback

    objective_name = "criterion, with its prior"

    def learn(
        self, X: Array, target: Target, feature_names: Sequence[str] | None = None
    ) -> Learned:
        return self._learn(X, target, feature_names, None)

    def learn_after(
        self,
        simpler: Learner,
        X: Array,
        target: Target,
        feature_names: Sequence[str] | None = None,
    ) -> Learned:
        alike = isinstance(simpler, ContinuousEvidence) and simpler._searches() == self._searches()
        return self._learn(X, target, feature_names, simpler.point_ if alike else None)

    def _searches(self) -> str | None:
        """Identifies the search: learners with equal values may start from each other's result."""
        # With max_kernels, the families of the sum are not known in advance.
        return f"{self.criterion} {self.family!r}" if self.max_kernels is None else None

    def for_folds(self) -> ContinuousEvidence:
        copy: ContinuousEvidence = super().for_folds()
        copy.max_rows = min(self.max_rows, FOLD_ROWS)
        return copy

    def _learn(
        self,
        X: Array,
        target: Target,
        feature_names: Sequence[str] | None,
        start: Point | None,
    ) -> Learned:
        families = self._families(X, target, feature_names)
        rng = generator(self.random_state)
        rows = rows_in_proportion(target, self.max_rows, rng)
        X_rows, T_rows = X[rows], target.rows(rows)
        ground = Ground.of(families, X_rows, rng)
        grown: list[dict[str, Any]] = []
        common: Point | None = None
        if self.max_kernels is not None:
            ground, common, grown = self._grown(ground, X_rows, T_rows, rng)
        alone = ground.all_tied or np.isinf(self.prior)
        prior = np.inf if alone else float(self.prior)

        def on(size: int) -> Descent:
            few = rows_in_proportion(T_rows, size, rng)
            return self._descent(ground, X_rows[few], T_rows.rows(few), prior)

        if start is None or alone or not _fits(start, ground):
            start = common or self._common(ground, X_rows, T_rows, rng)
            if not alone:
                start = replace(start, z=[ground.untied(f, z) for f, z in enumerate(start.z)])
            # A step costs the cube of the rows, so that smaller samples come first.
            for size in halvings(len(X_rows)):
                start = on(size).minimise(start, self.max_iter)
        descent = on(len(X_rows))
        descent.callback = self.callback
        point = descent.minimise(start, self.max_iter)
        if not target.centred.any():
            warnings.warn(
                "All labels are equal: no kernel can be learned, and the returned kernel is "
                "arbitrary.",
                AlignmentWarning,
                stacklevel=find_stack_level(),
            )
        final = descent.switched_off(point)
        kernels = [
            FamilyMember(family, family.from_search(z))
            for family, z in zip(descent.families, final.z, strict=True)
        ]
        sizes = Sizes(kernels, X, target, "none", scale_free=True)
        weights = np.exp(final.s)
        return Learned(
            kernel=sizes.learned(weights),
            alignment=sizes.alignment(weights),
            history=descent.history,
            objective=descent.objective,
            converged=descent.converged,
            extra={
                "noise_": float(np.exp(final.log_noise)),
                "point_": point,
                "growth_": grown,
            },
        )

    def _descent(self, ground: Ground, X: Array, target: Target, prior: float) -> Descent:
        """The criterion on some rows; with tied families if the prior is infinite."""
        tied = np.isinf(prior)
        families = ground.tied if tied else ground.families
        spaces = ground.tied_spaces if tied else ground.spaces
        columns = [family.select(X) for family in families]
        own = not isinstance(self.criterion, str)
        criterion = (self.criterion if own else CRITERIA[self.criterion])(target)
        return Descent(criterion, families, spaces, columns, 0.0 if tied else prior)

    def _common(self, ground: Ground, X: Array, target: Target, rng: np.random.Generator) -> Point:
        """Tied parameters: the best of a scan on a few rows, then a local search."""
        rows = rows_in_proportion(target, SCAN_ROWS, rng)
        few = self._descent(ground, X[rows], target.rows(rows), np.inf)
        scans = [
            space.scan[
                np.linspace(0, len(space.scan) - 1, min(SCAN_VALUES, len(space.scan))).astype(int)
            ]
            for space in ground.tied_spaces
        ]
        point = Point(
            [scan[len(scan) // 2] for scan in scans], np.zeros(len(scans)), np.log(SCAN_NOISE)
        )
        for f, scan in enumerate(scans):
            # The families are scanned one after the other: their product has too many points.
            tried = [replace(point, z=[*point.z[:f], z, *point.z[f + 1 :]]) for z in scan]
            point = tried[int(np.argmin([few.value(p) for p in tried]))]
        return few.minimise(point, TIED_ITERATIONS)

    def _grown(
        self, ground: Ground, X: Array, target: Target, rng: np.random.Generator
    ) -> tuple[Ground, Point, list[dict[str, Any]]]:
        """Families of the sum found by the greedy loop, their tied kernels, and the records."""
        rows = rows_in_proportion(target, GROWTH_ROWS, rng)
        few = self._descent(ground, X[rows], target.rows(rows), np.inf)
        path = RidgeGrowth(
            few.criterion, Dictionary(few.families, few.spaces, few.data), TIED_ITERATIONS
        )
        records: list[dict[str, Any]] = []
        assert self.max_kernels is not None
        gain = MIN_GAIN / (few.criterion.total * target.values.shape[1])
        settings = Settings(T=self.max_kernels, theta=gain, callback=records.append)
        grow(path, few.spaces, settings)
        atoms, point = path.atoms, path.point
        if len(records) > 1 and records[-2]["objective"] - records[-1]["objective"] <= gain:
            # The last kernel of the loop did not gain enough.
            atoms, point = path.before()
        return ground.only([f for f, _ in atoms]), point, records

    def _families(
        self, X: Array, target: Target, feature_names: Sequence[str] | None
    ) -> list[Family]:
        if isinstance(self.criterion, str) or not callable(self.criterion):
            check_choice(self, "criterion", tuple(CRITERIA))
        check_callback(self, self.callback)
        check_number(self, "prior", 0, closed=True)
        for name in ("max_rows", "max_iter"):
            check_count(self, name)
        if self.max_kernels is not None:
            check_count(self, "max_kernels")
        family = Gaussian(ard=True) if self.family is None else self.family
        if not isinstance(family, Family):
            raise ValueError(
                "The 'family' parameter of ContinuousEvidence must be a kernel family such as "
                f"Gaussian(ard=True). Got {family!r} instead."
            )
        return family.resolve(X, feature_names, target.weight).members()


def halvings(n: int) -> list[int]:
    """n/2, n/4, ... in ascending order, down to MIN_ROWS rows."""
    sizes: list[int] = []
    while n >= 2 * MIN_ROWS:
        n //= 2
        sizes.insert(0, n)
    return sizes


def _fits(point: Point, ground: Ground) -> bool:
    """Whether a point found by another learner has parameters of these families."""
    return [z.size for z in point.z] == [space.p for space in ground.spaces]
