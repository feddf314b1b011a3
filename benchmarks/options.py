"""What the options beyond the paper bring, on the paper's eleven data sets.

Sizes and protocol are the paper's: the kernel is learned on the training rows, C is chosen on the
validation rows. The data come from the loaders of the experiments.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from sklearn.model_selection import PredefinedSplit

from benchmarks._row import Row
from experiments import problems
from experiments.datasets import MissingDataError
from kernalign import ContinuousAlignment, KernelClassifier

OPTIONS = {
    "the paper's": {},
    "eta_max=1e10": {"eta_max": 1e10},
    "start='best'": {"start": "best"},
    "start='best', eta_max=1e10": {"start": "best", "eta_max": 1e10},
    "selection='step'": {"selection": "step"},
    "corrective": {"corrective": True},
    "best, step, corrective": {"start": "best", "selection": "step", "corrective": True},
}
SPLITS = 5


def one_split(problem: problems.Problem) -> np.ndarray:
    """Rows (error, alignment, kernels, seconds), one per option."""
    (X, y), valid, test = problem.train, problem.valid, problem.test
    X_tune, y_tune = np.concatenate([X, valid[0]]), np.concatenate([y, valid[1]])
    # Rows of fold -1 are always trained on, so the others are the validation set.
    fold = np.repeat([-1, 0], [len(y), len(valid[1])])
    rows = []
    for options in OPTIONS.values():
        learner = ContinuousAlignment(**options)
        start = time.perf_counter()
        learner.fit(X, y)
        seconds = time.perf_counter() - start
        chosen = KernelClassifier(learner, cv=PredefinedSplit(fold)).fit(X_tune, y_tune).C_
        model = KernelClassifier(learner, C=chosen, cv=2).fit(X, y)
        kernels = len(model.kernel_.weights)
        rows.append((1 - model.score(*test), model.alignment_, kernels, seconds))
    return np.array(rows)


def run() -> Iterator[Row]:
    try:
        results = [
            np.mean([one_split(problems.eleven(s, name)) for s in range(SPLITS)], axis=0)
            for name in problems.ELEVEN
        ]
    except MissingDataError as error:
        yield Row(f"options on the eleven sets: {error}", "skipped")
        return
    table = np.array(results)
    base = table[:, 0]
    for i, option in enumerate(OPTIONS):
        error = 100 * table[:, i, 0]
        better = int((error < 100 * base[:, 0] - 0.1).sum())
        worse = int((error > 100 * base[:, 0] + 0.1).sum())
        ratio = float(np.median(table[:, i, 3] / base[:, 3]))
        what = (
            f"{option}: alignment {table[:, i, 1].mean():.4f}, kernels {table[:, i, 2].mean():.1f},"
            f" +{better} -{worse}, {ratio:.1f}x"
        )
        yield Row(what, f"{error.mean():.2f} %")
