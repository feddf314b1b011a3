"""Logistic regression on landmarks by Newton steps, against its objective."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from kernalign.criteria.kernel_sum import CONSTANT
from kernalign.gram import Target
from kernalign.kernels import Gaussian, LearnedKernel
from kernalign.machines import landmark_logistic
from kernalign.machines.landmark_logistic import CURVATURE, LandmarkLogistic, Start
from kernalign.machines.landmark_ridge import LandmarkRidge, Sample
from kernalign.machines.stored_ridge import StoredRidge

KERNEL = LearnedKernel([Gaussian(ard=True).at(*[1.0, 1.5, 5.0])], np.array([1.5]))


def problem(n=300, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    f = np.sin(2 * X[:, 0]) + X[:, 1] + 0.4 * rng.normal(size=n)
    codes = np.digitize(f, np.quantile(f, np.arange(1, classes) / classes))
    Y = np.where(codes > 0, 1.0, -1.0)[:, None] if classes == 2 else np.eye(classes)[codes]
    return X, Target(Y, rng.uniform(0.5, 2.0, n), True)


def machine(X, Z, log_noise=-2.0, **more):
    return LandmarkRidge(KERNEL, Z, X, log_noise, precision=np.float64, **more)


def objective(ridge, X, target, a, level, share=1.0):
    """J as it is written."""
    Z = ridge._values.landmarks
    h = np.diagonal(KERNEL(Z)).mean()
    f = level + (KERNEL(X, Z) + CONSTANT * h) @ a
    if f.shape[1] == 1:
        losses = np.log(1 + np.exp(-target.values * f))[:, 0]
    else:
        losses = np.log(np.exp(f).sum(axis=1)) - (target.values * f).sum(axis=1)
    noise = CURVATURE * share * np.exp(-2.0) * h
    return target.weight @ losses + noise / 2 * np.vdot(a, (KERNEL(Z) + CONSTANT * h) @ a)


@pytest.mark.parametrize("classes", [2, 4])
def test_its_slope_is_that_of_the_objective(classes):
    X, target = problem(classes=classes)
    ridge = machine(X, X[::10])
    logistic = LandmarkLogistic(ridge)
    start = Start.of(ridge.solve(target), ridge.constant)
    slope = logistic.slope(target, start, start.a)
    direction = np.random.default_rng(1).normal(size=slope.shape)
    step = 1e-5 * direction

    def value(a):
        return objective(ridge, X, target, a, start.level)

    central = (value(start.a + step) - value(start.a - step)) / 2e-5
    assert np.vdot(slope, direction) == pytest.approx(central, rel=1e-5)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("share", [1.0, 0.25])
def test_many_steps_reach_the_minimum(classes, share, monkeypatch):
    monkeypatch.setattr(landmark_logistic, "TOLERANCE", 0.0)
    monkeypatch.setattr(landmark_logistic, "STOP", (1e-8, 500))
    X, target = problem(classes=classes)
    ridge = machine(X, X[::15])
    logistic = LandmarkLogistic(ridge)
    start = Start.of(ridge.solve(target), ridge.constant)
    a = logistic.solve(target, start, share, steps=12)
    # J is convex: at a slope of zero it is the minimum.
    first = np.abs(logistic.slope(target, start, start.a, share)).max()
    assert np.abs(logistic.slope(target, start, a, share)).max() < 1e-7 * first
    shape = a.shape

    def value(flat):
        return objective(ridge, X, target, flat.reshape(shape), start.level, share)

    other = minimize(value, start.a.ravel(), method="L-BFGS-B", options={"maxiter": 50})
    assert value(a.ravel()) <= other.fun + 1e-9


@pytest.mark.parametrize("classes", [2, 3])
def test_no_step_raises_the_objective(classes):
    X, target = problem(classes=classes)
    ridge = machine(X, X[::10])
    start = Start.of(ridge.solve(target), ridge.constant)
    # A start so far away that full Newton steps would diverge.
    start = replace(start, a=30 * start.a)
    values = [
        objective(
            ridge, X, target, LandmarkLogistic(ridge).solve(target, start, steps=k), start.level
        )
        for k in range(6)
    ]
    assert all(np.diff(values) <= 0)
    assert values[-1] < 0.5 * values[0]


def test_softmax_of_two_classes_is_the_sigmoid(monkeypatch):
    """With a penalty for each of the two functions f/2 and -f/2, the noise is twice as large."""
    monkeypatch.setattr(landmark_logistic, "STOP", (1e-10, 500))
    monkeypatch.setattr(landmark_logistic, "TOLERANCE", 0.0)
    X, target = problem()
    two = Target(np.hstack([1 - target.values, 1 + target.values]) / 2, target.weight, True)
    ridge = machine(X, X[::15])
    one = Start(np.zeros(1), np.zeros((ridge.m, 1)))
    both = Start(np.zeros(2), np.zeros((ridge.m, 2)))
    logistic = LandmarkLogistic(ridge)
    a = logistic.solve(target, one, 0.5, steps=15)
    b = logistic.solve(two, both, 1.0, steps=15)
    np.testing.assert_allclose(b[:, 1] - b[:, 0], a[:, 0], rtol=1e-5, atol=1e-7)


def test_a_weight_of_two_is_two_rows_and_of_zero_none():
    X, target = problem(100)
    Z, again = X[:30], np.r_[np.arange(80), np.arange(20)]
    w = np.where(np.arange(100) < 20, 2.0, 1.0) * (np.arange(100) < 80)
    weighted, rows = replace(target, weight=w), replace(target.rows(again), weight=np.ones(100))
    start = Start(np.zeros(1), np.zeros((30, 1)))
    found = [
        LandmarkLogistic(machine(of, Z)).solve(labels, start, steps=8)
        for of, labels in ((X, weighted), (X[again], rows))
    ]
    np.testing.assert_allclose(KERNEL(X, Z) @ found[0], KERNEL(X, Z) @ found[1], atol=1e-3)


@pytest.mark.parametrize("classes", [2, 3])
def test_kernel_values_may_be_computed_anew(classes):
    """The second derivative is then that of a sample, here of all rows."""
    X, target = problem(classes=classes)
    Z = X[::10]
    kept, anew = machine(X, Z), machine(X, Z, keep=False)
    start = Start.of(kept.solve(target), kept.constant)
    sample = Sample.of(kept, target, np.arange(len(X)))
    wanted = LandmarkLogistic(kept).solve(target, start)
    found = LandmarkLogistic(anew, sample).solve(target, start)
    np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-9)


def test_steps_with_the_second_derivative_of_a_sample():
    X, target = problem(3000)
    Z, rows = X[:60], np.arange(0, 3000, 3)
    everything, part = machine(X, Z, keep=False), machine(X[rows], Z)
    start = Start.of(part.solve(target.rows(rows)), part.constant)
    near = LandmarkLogistic(part).solve(target.rows(rows), start)
    sample = Sample.of(part, target, rows)
    logistic = LandmarkLogistic(everything, sample)
    found = logistic.solve(target, replace(start, a=near))
    best = LandmarkLogistic(machine(X, Z)).solve(target, start, steps=10)
    excess = [objective(everything, X, target, a, start.level) for a in (near, found, best)]
    assert excess[1] - excess[2] < 0.1 * (excess[0] - excess[2])


@pytest.mark.parametrize("classes", [2, 3])
def test_steps_beside_a_machine_on_all_rows(classes, monkeypatch):
    """If its landmarks are all rows, they reach the same minimum as steps from zero."""
    monkeypatch.setattr(landmark_logistic, "TOLERANCE", 0.0)
    monkeypatch.setattr(landmark_logistic, "STOP", (1e-8, 500))
    X, target = problem(80, classes)
    stored = StoredRidge(KERNEL, X, -2.0, np.float64)
    dual = stored.solve(target, tolerance=1e-8)
    mean = target.weight @ target.values / target.total
    start = Start.beside(mean, stored.times(dual.coefficients), np.arange(80))
    ridge = machine(X, X, keep=stored.K)
    logistic = LandmarkLogistic(ridge)
    found = logistic.added(dual, start, logistic.solve(target, start, steps=12))
    alone = Start(start.level, np.zeros_like(start.a))
    wanted = logistic.model(alone, logistic.solve(target, alone, steps=12))
    np.testing.assert_allclose(found.predict(stored.K), wanted.predict(stored.K), atol=1e-4)
