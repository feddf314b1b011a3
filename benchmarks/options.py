"""What the options beyond the paper bring, on the paper's eleven data sets.

Sizes and protocol are the paper's: the kernel is learned on the training rows, C is chosen on the
validation rows. The data are read from the directory that KERNALIGN_DATA names.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.model_selection import PredefinedSplit
from sklearn.preprocessing import StandardScaler

from benchmarks._row import Row
from kernalign import ContinuousAlignment, KernelClassifier

#: Rows to train on, to validate on and to test on.
SIZES = {
    "banana": (500, 1000, 2000),
    "breast_cancer": (52, 78, 133),
    "diabetes": (153, 230, 385),
    "german": (200, 300, 500),
    "heart": (54, 81, 135),
    "image": (400, 600, 1000),
    "ringnorm": (500, 1000, 2000),
    "sonar": (41, 62, 105),
    "splice": (500, 1000, 1491),
    "thyroid": (43, 64, 108),
    "waveform": (500, 1000, 2000),
}
OPTIONS = {
    "the paper's": {},
    "eta_max=1e10": {"eta_max": 1e10},
    "start='best'": {"start": "best"},
    "start='best', eta_max=1e10": {"start": "best", "eta_max": 1e10},
    "selection='step'": {"selection": "step"},
    "reweight": {"reweight": True},
    "best, step, reweight": {"start": "best", "selection": "step", "reweight": True},
}
SPLITS = 5


def load(directory: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    table = np.genfromtxt(
        directory / f"{name}.csv.gz", delimiter=",", skip_header=1, dtype=str, encoding="utf-8"
    )
    return table[:, :-1].astype(float), table[:, -1]


def one_split(X: np.ndarray, y: np.ndarray, sizes: tuple[int, int, int], seed: int) -> np.ndarray:
    """Rows (error, alignment, kernels, seconds), one per option."""
    train, validation, test = sizes
    order = np.random.default_rng(seed).permutation(len(X))[: train + validation + test]
    X, y = X[order], y[order]
    X = StandardScaler().fit(X[:train]).transform(X)
    tune, rest = slice(0, train + validation), slice(train + validation, None)
    fold = np.repeat([-1, 0], [train, validation])
    rows = []
    for options in OPTIONS.values():
        learner = ContinuousAlignment(**options)
        start = time.perf_counter()
        learner.fit(X[:train], y[:train])
        seconds = time.perf_counter() - start
        chosen = KernelClassifier(learner, cv=PredefinedSplit(fold)).fit(X[tune], y[tune]).C_
        model = KernelClassifier(learner, C=chosen).fit(X[:train], y[:train])
        kernels = len(model.kernel_.weights)
        rows.append((1 - model.score(X[rest], y[rest]), model.alignment_, kernels, seconds))
    return np.array(rows)


def run() -> Iterator[Row]:
    directory = os.environ.get("KERNALIGN_DATA")
    if not directory:
        yield Row("options on the eleven sets: set KERNALIGN_DATA to their directory", "skipped")
        return
    results = []
    for name, sizes in SIZES.items():
        X, y = load(Path(directory), name)
        results.append(np.mean([one_split(X, y, sizes, s) for s in range(SPLITS)], axis=0))
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
