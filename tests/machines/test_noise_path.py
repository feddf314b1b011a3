"""The noise of ridge regression by cross-validation on landmarks."""

import numpy as np
import pytest

from kernalign.gram import Target
from kernalign.kernels import Gaussian, LearnedKernel
from kernalign.machines.landmark_ridge import JITTER
from kernalign.machines.noise_path import NoisePath
from kernalign.machines.tuned_ridge import FACTOR

KERNEL = LearnedKernel([Gaussian().at(0.3)], np.array([2.0]))


def rows(n, noise, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 1))
    y = np.sin(2 * X) + noise * rng.normal(size=(n, 1))
    return X, y, rng


def path_of(X, y, weight=None, landmarks=None, folds=None):
    target = Target(y, np.ones(len(y)) if weight is None else weight)
    folds = np.arange(len(X)) % 3 if folds is None else folds
    return NoisePath(KERNEL, X[:15] if landmarks is None else landmarks, X, target, folds)


def naive_errors(X, y, weight, Z, folds, log_noise):
    """Normal equations of each fold's machine."""
    K = KERNEL(Z)
    h = np.diagonal(K).mean()
    K = K + h + 2 * h * JITTER[np.float64] * np.eye(len(Z))
    mean = weight @ y / weight.sum()
    found = np.empty(len(X))
    for fold in np.unique(folds):
        seen, judged = folds != fold, folds == fold
        B = KERNEL(X, Z) + h
        A = (B[seen].T * weight[seen]) @ B[seen] + np.exp(log_noise) * h * K
        a = np.linalg.solve(A, (B[seen].T * weight[seen]) @ (y[seen] - mean))
        found[judged] = ((y[judged] - mean - B[judged] @ a) ** 2).mean(axis=1)
    return found


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("log_noise", [-5.0, 0.0])
def test_errors_are_those_of_machines_without_the_fold(outputs, log_noise):
    X, y, rng = rows(90, 0.3)
    y = np.hstack([y, X**2])[:, :outputs]
    weight, folds = rng.uniform(0.5, 2, 90), rng.integers(0, 4, 90)
    Z = np.linspace(-3, 3, 8)[:, None]
    found = path_of(X, y, weight, Z, folds).errors(log_noise)
    assert found == pytest.approx(naive_errors(X, y, weight, Z, folds, log_noise), rel=1e-5)


def test_blocks_of_rows_change_nothing(monkeypatch):
    X, y, _ = rows(100, 0.3)
    whole = path_of(X, y).errors(-2.0)
    monkeypatch.setattr("kernalign.machines.noise_path.ROWS", 7)
    assert path_of(X, y).errors(-2.0) == pytest.approx(whole, rel=1e-9)


def test_the_noise_falls_while_the_error_does():
    """From far above the noise of the rows, 0.3^2 in units of the kernel's 2."""
    X, y, _ = rows(400, 0.3)
    path = path_of(X, y, landmarks=X[:100])
    first = np.log(1e4 * 0.3**2 / 2)
    found = path.better(first)
    assert found <= first - 2 * np.log(FACTOR)
    assert path.errors(found).mean() < path.errors(first).mean()


def test_the_noise_is_never_raised():
    X, y, _ = rows(400, 0.3)
    path = path_of(X, y, landmarks=X[:100])
    first = np.log(1e-3 * 0.3**2 / 2)
    assert path.errors(first + np.log(FACTOR)).mean() < path.errors(first).mean()
    assert path.better(first) == first


def test_noise_that_gains_nothing_stays():
    """Nothing but noise, and far above it."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), rng.normal(size=(300, 1))
    assert path_of(X, y).better(np.log(1e3)) == np.log(1e3)


def test_a_few_noisy_rows_among_exact_ones():
    """Evidence needs a large noise for them; the others are predicted better with less."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.uniform(-3, 3, (150, 1)), 4, axis=0)
    y = np.sin(4 * X) + np.sign(np.sin(7 * X))
    y[:40] += rng.normal(size=(40, 1))
    path = path_of(X, y, landmarks=np.unique(X, axis=0), folds=rng.integers(0, 5, len(X)))
    assert path.better(np.log(0.05)) < np.log(0.05)
