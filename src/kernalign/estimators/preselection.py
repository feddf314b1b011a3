"""Of several learners the one that predicts best on a sample of many rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from kernalign._typing import Array
from kernalign.estimators.losses import Loss
from kernalign.estimators.machines import RidgeClassifier, RidgeRegressor
from kernalign.estimators.selection import select
from kernalign.estimators.stages import Problem, TwoStages
from kernalign.learners import Learner
from kernalign.learners.rows import rows_in_proportion

#: Rows that decide between kernels, and their folds: as exact as for few rows, at a fixed cost.
DECIDING, FOLDS = 2000, 5
#: Beyond this many features fewer rows decide: the gradient of one bandwidth per feature costs as
#: the square of rows times features.
WIDE = 100


def deciding_rows(n_features: int) -> int:
    """Rows that decide between kernels of so many features."""
    return int(DECIDING * min(1.0, np.sqrt(WIDE / n_features)))


def best_on_sample(
    learners: Sequence[Learner], problem: Problem, values: Array, loss: Loss, classes: bool
) -> Learner:
    """The simplest learner that predicts as well as the best, with least squares, on a sample."""
    number = deciding_rows(problem.X.shape[1])
    rows = rows_in_proportion(problem.target, number, np.random.default_rng(0))
    sample = problem.fetched(rows)
    number = FOLDS
    if classes:
        number = min(FOLDS, int(np.bincount(sample.y).min()))
        if number < 2:
            return learners[0]
    kind = StratifiedKFold if classes else KFold
    folds = kind(number, shuffle=True, random_state=0).split(sample.X, sample.y)
    machine = RidgeClassifier() if classes else RidgeRegressor()
    stages = TwoStages(learners, [machine], sample, nested=True)
    return learners[select(stages, sample, values, folds, loss).candidate.kernel]
