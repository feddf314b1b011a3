"""Learning one bandwidth against computing a single Gram matrix."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks._row import Row, median_ratio
from kernalign import ContinuousAlignment


def run() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 20))
    y = np.sign(X[:, 0] * X[:, 1] + 0.5 * rng.standard_normal(5000))
    learner = ContinuousAlignment()
    ratio = median_ratio(lambda: learner.fit(X, y), lambda: rbf_kernel(X), repeats=7)
    what = f"fit, n=5000, d=20, {len(learner.history_)} iterations, / one rbf_kernel"
    yield Row(what, f"{ratio:.1f}x", "5x", "2x")
