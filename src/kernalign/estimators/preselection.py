"""Of several learners the one that predicts best on a sample of many rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from kernalign._typing import Array, IntArray
from kernalign.estimators.losses import Loss
from kernalign.estimators.selection import Selection, Split, select
from kernalign.estimators.stages import Problem, Stages, TwoStages
from kernalign.gram.sampling import stratified_order
from kernalign.learners import Learner
from kernalign.learners.base import generator
from kernalign.machines.dual import RidgeClassifier, RidgeRegressor

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
    classes: bool,
    free: int,
) -> Preselection | None:
    """The simplest learner that predicts as well as the best, with least squares, on a sample.

    Classes with a single row in the sample have no say; None where others are not two.

    folds : those of the estimator, for the case that the sample is all rows.
    free : rows that the sample leaves for the choice of C.
    """
    most = min(deciding_rows(problem.X.shape[1]), len(problem.X) - free)
    # The beginning of the order in which `Sampled` takes rows: others are seen by neither.
    rows = np.sort(stratified_order(problem.target, generator(0))[:most])
    if folds is None or len(rows) < len(problem.X):
        if classes:
            found, counts = np.unique(problem.y[rows], return_counts=True)
            rows = rows[np.isin(problem.y[rows], found[counts > 1])]
        folds = _folds(problem.y[rows], classes)
    if folds is None:
        return None
    sample = problem.fetched(rows)
    if classes:
        codes = np.unique(sample.y, return_inverse=True)[1]
        sample = replace(sample, y=cast(Array, codes))
    machine = RidgeClassifier() if classes else RidgeRegressor()
    stages = TwoStages(learners, [machine], sample, nested=True)
    return Preselection(stages, select(stages, sample, values, folds, loss), rows, free > 0)


def _folds(y: Array, classes: bool) -> list[Split] | None:
    """Folds of the sample; None where there are too few rows, or classes."""
    counts = np.unique(y, return_counts=True)[1] if classes else np.array([len(y)])
    if len(y) < 2 or (classes and len(counts) < 2):
        return None
    kind = StratifiedKFold if classes else KFold
    number = min(FOLDS, int(counts.min()))
    return list(kind(number, shuffle=True, random_state=0).split(np.zeros((len(y), 1)), y))
