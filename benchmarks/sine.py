"""The paper's sine problem with Dirichlet kernels: 500 train, 500 validation, 1000 test."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.model_selection import PredefinedSplit

from benchmarks._row import Row
from kernalign import ContinuousAlignment, Dirichlet, KernelClassifier


def sine_problem(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x = rng.uniform(-10, 10, n)
    f = np.sin(np.sqrt(2) * x) + np.sin(np.sqrt(12) * x) + np.sin(np.sqrt(60) * x)
    return x[:, None], np.where(f >= 0, 1, -1)


def errors(learner: ContinuousAlignment, seeds: int = 10) -> list[float]:
    """Test errors; C by the error on the validation rows, kernel and machine from the 500."""
    found = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        X, y = sine_problem(1000, rng)
        X_test, y_test = sine_problem(1000, rng)
        # Rows of fold -1 are always trained on, so the others are the validation set.
        fold = np.repeat([-1, 0], 500)
        tuned = KernelClassifier(learner, cv=PredefinedSplit(fold)).fit(X, y)
        final = KernelClassifier(learner, C=tuned.C_).fit(X[:500], y[:500])
        found.append(1 - final.score(X_test, y_test))
    return found


def run() -> Iterator[Row]:
    for name, learner in (
        ("the paper's settings", ContinuousAlignment(Dirichlet(bounds=(0, 10)))),
        ("best kernel first", ContinuousAlignment(Dirichlet(bounds=(0, 10)), start="best")),
        ("bounds from the data", ContinuousAlignment(Dirichlet())),
    ):
        e = 100 * np.array(errors(learner))
        spread = e.std(ddof=1) / np.sqrt(e.size)
        yield Row(
            f"sine problem, {name}: test error %", f"{e.mean():.1f} +- {spread:.1f}", "3.5", "2.3"
        )
