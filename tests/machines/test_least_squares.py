"""Sums over rows that give ridge regression at every C, by blocks, weights and parts."""

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import Ridge
from threadpoolctl import threadpool_limits

from kernalign import Gaussian, LearnedKernel, Linear
from kernalign.features import ExplicitMap, NystroemMap
from kernalign.machines import least_squares, normal_equations
from kernalign.machines.iterative_ridge import kernel_times, ridge_by_conjugate_gradients
from kernalign.machines.least_squares import held_rows, outputs
from kernalign.machines.ridge import RidgeRegressor

KERNEL = LearnedKernel([Gaussian().at(1.0), Gaussian().at(4.0)], np.array([1.0, 0.5]))


def problem(n=90, c=2):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    Y = np.column_stack([X[:, 0] * X[:, 1], np.sin(X[:, 2])])[:, :c] + 0.1
    return X, Y, rng.uniform(0.5, 3.0, n)


def maps(X):
    return [
        NystroemMap(KERNEL, X[:20]),
        ExplicitMap(LearnedKernel([Linear().at([1.0, 0.5, 0.2])], np.ones(1)), 0, 3, None),
    ]


@pytest.fixture
def small_blocks(monkeypatch):
    for name, value in (("ROWS", 7), ("COLUMNS", 6), ("HELD", 25)):
        monkeypatch.setattr(least_squares, name, value)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("which", [0, 1])
def test_path_is_ridge_regression_on_the_features(which):
    X, Y, weight = problem()
    features = maps(X)[which]
    values = np.array([1e-3, 0.1, 10.0])
    models = normal_equations(features, X, Y, weight).path(features.root, values)
    found = outputs(features, models, X)
    phi = features.transform(X)
    for C, out in zip(values, found, strict=True):
        ridge = Ridge(alpha=1 / C).fit(phi, Y, sample_weight=weight)
        np.testing.assert_allclose(out, ridge.predict(phi), atol=1e-6)


@pytest.mark.usefixtures("small_blocks")
def test_sums_add_over_parts_of_the_rows():
    X, Y, weight = problem()
    features = maps(X)[0]
    whole = normal_equations(features, X, Y, weight)
    odd = np.arange(len(X)) % 2 == 1
    parts = normal_equations(features, X, Y, weight, np.flatnonzero(odd)) + normal_equations(
        features, X[~odd], Y[~odd], weight[~odd]
    )
    for name in ("total", "raw", "y", "gram", "cross"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-12)


def test_integer_weights_are_repeated_rows():
    X, Y, _ = problem(30)
    features = maps(X)[0]
    weight = np.random.default_rng(1).integers(1, 4, 30)
    one = normal_equations(features, X, Y, weight.astype(float))
    two = normal_equations(
        features, np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0), np.ones(weight.sum())
    )
    np.testing.assert_allclose(np.tril(one.gram), np.tril(two.gram), rtol=1e-12)
    np.testing.assert_allclose(one.cross, two.cross, rtol=1e-12)


@pytest.mark.usefixtures("small_blocks")
def test_threads_change_nothing():
    X, Y, weight = problem()
    features = maps(X)[0]
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            sums = normal_equations(features, X, Y, weight)
            results.append(sums.path(features.root, np.array([1.0]))[0].coefficients)
    np.testing.assert_array_equal(*results)


def test_where_rounding_leaves_no_factor_its_directions_are_dropped():
    """With no penalty to speak of, features of a wide kernel are as good as dependent."""
    X, Y, weight = problem()
    kernel = LearnedKernel([Gaussian().at(1e3)], np.ones(1))
    features = NystroemMap(kernel, X[:20])
    sums = normal_equations(features, X, Y, weight)
    for model in sums.path(features.root, np.array([1.0, 1e40, 1e60])):
        assert np.abs(outputs(features, [model], X)).max() < 10 * np.abs(Y).max()


def test_features_are_held_within_working_memory():
    with sklearn.config_context(working_memory=1):
        assert held_rows(1000) == 2**20 // (16 * 1000)
    with sklearn.config_context(working_memory=0.01):
        with pytest.raises(ValueError, match=r"two rows of 1000 features. Set at least 0.0153 MiB"):
            held_rows(1000)
        assert held_rows(100) >= 1


# --- conjugate gradients -------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.1, 100.0])
def test_conjugate_gradients_solve_kernel_ridge_regression(C):
    """The dense solution, whatever the landmarks of the preconditioner."""
    X, Y, weight = problem()
    features = NystroemMap(KERNEL, X[:30])
    coefficients, constant = ridge_by_conjugate_gradients(KERNEL, features, X, Y, weight, C)
    K = KERNEL(X)
    for column in range(2):
        dense = RidgeRegressor().fit(K, Y[:, column], weight, C)
        found = K @ coefficients[:, column] + constant[column]
        np.testing.assert_allclose(found, dense.predict(K), atol=1e-4)
        assert constant[column] == pytest.approx(dense.intercept)


def test_exact_preconditioner_needs_one_step(monkeypatch):
    """With every row a landmark the preconditioner is the inverse."""
    from kernalign.machines import iterative_ridge

    X, Y, weight = problem(40)
    calls = []

    def counting(*arguments):
        calls.append(1)
        return kernel_times(*arguments)

    monkeypatch.setattr(iterative_ridge, "kernel_times", counting)
    ridge_by_conjugate_gradients(KERNEL, NystroemMap(KERNEL, X), X, Y, weight, 1.0)
    assert len(calls) <= 2


def test_kernel_times_is_the_product():
    X, Y, _ = problem()
    np.testing.assert_allclose(kernel_times(KERNEL, X, Y), KERNEL(X) @ Y, atol=1e-10)
