"""Select one of several learners on a sample of many rows."""

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
from kernalign.rows import taken

#: Size of the sample and number of folds that select the kernel: exact, at a fixed cost.
SAMPLE_ROWS, FOLDS = 2000, 5
#: Above this number of features the sample is smaller: the gradient of one bandwidth per feature
#: costs the square of the rows times the features.
MANY_FEATURES = 100


def sample_rows(n_features: int) -> int:
    """Size of the sample that selects between kernels of this many features."""
    return int(SAMPLE_ROWS * min(1.0, np.sqrt(MANY_FEATURES / n_features)))


@dataclass(frozen=True)
class Preselection:
    """Result of a selection on a sample: the kernels tried, the selection, and the sample's rows.

    apart : whether C is selected, and the error estimated, on other rows.
    """

    stages: Stages
    selection: Selection
    rows: IntArray
    apart: bool

    @property
    def number(self) -> int:
        """Index of the selected learner."""
        return self.selection.candidate.kernel


def preselect(
    learners: Sequence[Learner],
    problem: Problem,
    values: Array,
    loss: Loss,
    folds: Sequence[Split] | None,
    free: int,
) -> Preselection | None:
    """Select, on a sample, the simplest learner within one standard error of the best.

    The machine is least squares. Classes with a single row in the sample are left out; returns None
    if fewer than two classes remain.

    folds : of the estimator; used if the sample is all rows.
    free : rows left out of the sample, on which C is selected.
    """
    classes = problem.target.classes
    most = min(sample_rows(problem.X.shape[1]), len(problem) - free)
    # The first rows in the order of `Sampled`: the remaining rows are seen by neither.
    rows = np.sort(stratified_order(problem.target, generator(0), most)[:most])
    if folds is None or len(rows) < len(problem):
        codes = None
        if classes:
            y = taken(problem.y, rows)
            found, counts = np.unique(y, return_counts=True)
            several = np.isin(y, found[counts > 1])
            rows = rows[several]
            codes = np.unique(y[several], return_inverse=True)[1]
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
    """Folds of the sample; codes : of the classes, or None."""
    if groups is not None:
        return group_folds(groups, FOLDS, codes)
    if codes is not None:
        return class_folds(codes, FOLDS)
    return number_folds(rows, FOLDS) if rows > 1 else None
