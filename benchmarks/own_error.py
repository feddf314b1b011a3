"""The error that an estimator reports of itself: on noise, and how often its interval is right."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence

import numpy as np
from sklearn.kernel_ridge import KernelRidge

from benchmarks._row import Row
from kernalign import (
    AlignmentWarning,
    ContinuousAlignment,
    Gaussian,
    KernelClassifier,
    KernelRegressor,
    Sampled,
    UniformWeights,
)
from kernalign.criteria.interval import held_out_alignment
from kernalign.gram.labels import label_target

#: Rows of the noise, its columns, and the kernels that are chosen from.
ROWS, COLUMNS, CANDIDATES = 100, 20, 100
#: New rows that tell the true error of a fit.
NEW = 3000


def noise_error(seed: int) -> float:
    """`cv_error_` of the best of a hundred kernels, each of two columns, with two folds."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(ROWS, COLUMNS)), rng.permutation(np.arange(ROWS) % 2)
    pairs = [rng.choice(COLUMNS, 2, replace=False).tolist() for _ in range(CANDIDATES)]
    learners = [UniformWeights([Gaussian(columns=pair).at(1.0)]) for pair in pairs]
    machine = KernelRidge(kernel="precomputed")
    return KernelClassifier(learners, machine, C=1.0, cv=2).fit(X, y).cv_error_


def problem(kind: str, seed: int) -> tuple[np.ndarray, ...]:
    """X, y and new rows: linear, sine, product, absolute values or noise; some skewed."""
    rng = np.random.default_rng([seed, kind == "classes"])
    n = int(rng.choice([60, 100, 150] if kind == "classes" else [50, 80, 120]))
    d, shape = int(rng.integers(2, 9)), rng.integers(5)
    X = rng.normal(size=(n + NEW, d))
    w = rng.normal(size=d)
    g = [
        lambda: X @ w,
        lambda: 2 * np.sin(2 * X[:, 0]) + X[:, 1],
        lambda: 2 * X[:, 0] * X[:, 1],
        lambda: np.abs(X).sum(axis=1) - 0.8 * d,
        lambda: 0 * X[:, 0],
    ][shape]()
    y = classes_of(g, n, rng) if kind == "classes" else numbers_of(g, rng)
    return X[:n], y[:n], X[n:], y[n:]


def classes_of(g: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    y = (g + rng.choice([0.1, 0.7, 1.5]) * rng.logistic(size=len(g)) > 0).astype(int)
    if rng.random() < 0.2:
        y = (g + 0.5 * rng.normal(size=len(g)) > np.quantile(g, 0.8) + 1e-9).astype(int)
    if len(np.unique(y[:n])) < 2 or np.bincount(y[:n]).min() < 5:
        y = (rng.random(len(g)) < 0.5).astype(int)
    return y


def numbers_of(g: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    m = len(g)
    noise = [rng.normal(size=m), 0.87 * rng.standard_t(8, size=m), rng.exponential(size=m) - 1]
    y = g + rng.choice([0.1, 0.5, 1.0]) * noise[rng.integers(3)]
    if rng.random() < 0.2:
        y = np.exp(0.4 * np.clip(y / max(y.std(), 1e-9), -3, 3))
    return y


def covered(kind: str, seed: int) -> bool:
    """Whether the interval holds the error of the fitted model on new rows."""
    X, y, X_new, y_new = problem(kind, seed)
    if kind == "classes":
        model = KernelClassifier().fit(X, y)
        error = np.mean(model.predict(X_new) != y_new)
    else:
        model = KernelRegressor().fit(X, y)
        error = np.mean((model.predict(X_new) - y_new) ** 2)
    low, high = model.cv_error_interval_
    return bool(low <= error <= high)


def sampled_covers(labels: str, seed: int) -> bool:
    """Whether the interval of `Sampled` holds the alignment on new rows of the kernel it learned.

    From 200 of 400 rows; labels : "noise" or "signal".
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400 + NEW, 3))
    noise = rng.normal(size=len(X))
    y = ((X[:, 0] * X[:, 1] + 0.5 * noise if labels == "signal" else noise) > 0).astype(int)
    learner = ContinuousAlignment(Gaussian(ard=seed % 2 == 1), max_iter=3)
    sampled = Sampled(learner, tol=1, min_rows=200, max_rows=200).fit(X[:400], y[:400])
    low, high = sampled.samples_[-1]["interval"]
    target = label_target(y[400:], np.ones(NEW))
    alignment, _ = held_out_alignment(sampled.kernel_, X[400:], target)
    return bool(low <= alignment <= high)


def run(given: Sequence[str] = ()) -> Iterator[Row]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks own_error", description=__doc__)
    parser.add_argument("--problems", type=int, default=200, help="of each kind")
    parser.add_argument("--noise", type=int, default=100, help="samples of noise")
    parser.add_argument("--samples", type=int, default=200, help="fits of Sampled")
    options = parser.parse_args(list(given))
    errors = 100 * np.array([noise_error(seed) for seed in range(options.noise)])
    measured = f"{errors.mean():.1f} +- {errors.std() / np.sqrt(len(errors)):.1f} %"
    yield Row("cv_error_ on noise, 100 candidates, cv=2", measured, "49-51 %", "49.5-50.5 %")
    for kind in ("classes", "numbers"):
        share = 100 * np.mean([covered(kind, seed) for seed in range(options.problems)])
        what = f"coverage of cv_error_interval_, {options.problems} problems of {kind}"
        yield Row(what, f"{share:.1f} %", "92-98 %", "94-96 %")
    for labels in ("noise", "signal"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AlignmentWarning)
            share = 100 * np.mean([sampled_covers(labels, s) for s in range(options.samples)])
        what = f"coverage of the interval of Sampled, {options.samples} samples of {labels}"
        yield Row(what, f"{share:.1f} %", "92-98 %", "94-96 %")
