"""Of several learners the one that predicts best on a sample of many rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from kernalign._typing import Array, IntArray
from kernalign.estimators.folds import Split, class_folds, group_folds, number_folds
from kernalign.estimators.losses import Loss
from kernalign.estimators.problem import Problem
from kernalign.estimators.selection import Selection, select
from kernalign.estimators.stages import Stages, TwoStages
from kernalign.gram.sampling import stratified_order
from kernalign.learners import Learner
from kernalign.learners.base import generator
from kernalign.machines import RidgeClassifier, RidgeRegressor

#: Rows that decide between kernels, and their folds: as exact as for few rows, at a fixed cost.
DECIDING, FOLDS = 2000, 5
#: Beyond this many features fewer rows decide: the gradient of one bandwidth per feature costs as
#: the square of rows times features.
WIDE = 100


def deciding_rows(n_features: int) -> int:
    """Rows that decide between kernels of so many features."""
    return int(DECIDING * min(1.0, np.sqrt(WIDE / n_features)))


@dataclass(frozen=True)
class Preselection:
    """The kernels that were tried on a sample, what was found, and the rows that had a say.

    apart : whether C is chosen, and the whole judged, on other rows.
    """

    stages: Stages
    selection: Selection
    rows: IntArray
    apart: bool

    @property
    def number(self) -> int:
        """Which learner was chosen."""
        return self.selection.candidate.kernel


def preselect(
    learners: Sequence[Learner],
    problem: Problem,
    values: Array,
    loss: Loss,
    folds: Sequence[Split] | None,
    free: int,
) -> Preselection | None:
    """The simplest learner that predicts as well as the best, with least squares, on a sample.

    Classes with a single row in the sample have no say; None where others are not two.

    folds : those of the estimator, for the case that the sample is all rows.
    free : rows that the sample leaves for the choice of C.
    """
    classes = problem.target.classes
    most = min(deciding_rows(problem.X.shape[1]), len(problem) - free)
    # The beginning of the order in which `Sampled` takes rows: others are seen by neither.
    rows = np.sort(stratified_order(problem.target, generator(0))[:most])
    if folds is None or len(rows) < len(problem):
        codes = None
        if classes:
            found, counts = np.unique(problem.y[rows], return_counts=True)
            rows = rows[np.isin(problem.y[rows], found[counts > 1])]
            codes = np.unique(problem.y[rows], return_inverse=True)[1]
        folds = _folds_of(
            len(rows), codes, None if problem.groups is None else problem.groups[rows]
        )
    if folds is None:
        return None
    sample = problem.fetched(rows)
    if classes:
        codes = np.unique(sample.y, return_inverse=True)[1]
        sample = replace(sample, y=cast(Array, codes))
    machine = RidgeClassifier() if classes else RidgeRegressor()
    stages = TwoStages.learned(learners, [machine], sample, nested=True)
    return Preselection(stages, select(stages, sample, values, folds, loss), rows, free > 0)


def _folds_of(rows: int, codes: Any, groups: Any) -> Sequence[Split] | None:
    """Folds of the sample; codes : of classes, or None."""
    if groups is not None:
        return group_folds(groups, FOLDS, codes)
    if codes is not None:
        return class_folds(codes, FOLDS, shuffle=True)
    return number_folds(rows, FOLDS) if rows > 1 else None
