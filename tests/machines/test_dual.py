"""The machines of the second stage: shortcuts along a path equal training at each value."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_moons
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.svm import SVC, SVR, NuSVC

from kernalign.machines import (
    Precomputed,
    RidgeRegressor,
    SupportVectorClassifier,
    SupportVectorRegressor,
)
from kernalign.machines.base import C_GRID
from kernalign.machines.model import PairwiseDual
from tests import reference


def grams(X, X_test, sigma=1.0):
    return reference.gaussian(X, X, sigma), reference.gaussian(X_test, X, sigma)


def moons(noise, n=40):
    X, y = make_moons(2 * n, noise=noise, random_state=0)
    return X[:n], y[:n], X[n:], y[n:]


def blobs(n=45):
    X, y = make_blobs(2 * n, centers=3, cluster_std=0.6, random_state=2)
    return X[:n], y[:n], X[n:], y[n:]


def test_the_grid_is_the_papers():
    np.testing.assert_allclose(C_GRID, 10.0 ** np.linspace(-5, 5, 21))


# --- support vector machine ----------------------------------------------------------------------


def counted(monkeypatch):
    calls = []
    original = SupportVectorClassifier.unfitted

    def unfitted(self, value):
        calls.append(value)
        return original(self, value)

    monkeypatch.setattr(SupportVectorClassifier, "unfitted", unfitted)
    return calls


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("problem", ["separable", "overlapping", "three classes"])
def test_the_path_equals_training_at_each_c(problem, weighted, monkeypatch):
    data = {
        "separable": lambda: moons(0.05),
        "overlapping": lambda: moons(0.5),
        "three classes": blobs,
    }
    X, y, X_test, _ = data[problem]()
    K, K_test = grams(X, X_test)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(X)) if weighted else np.ones(len(X))
    calls = counted(monkeypatch)
    outputs = SupportVectorClassifier().path(K, y, weight, K_test, C_GRID)
    fitted = len(calls)
    assert outputs.shape[0] == len(C_GRID)
    for C, out in zip(C_GRID, outputs, strict=True):
        for k, one in enumerate([y] if y.max() == 1 else np.eye(y.max() + 1)[y].T):
            machine = SVC(kernel="precomputed", C=C).fit(K, one, sample_weight=weight)
            # libsvm stops at a tolerance of 1e-3.
            of_class = out if y.max() == 1 else out[:, k]
            np.testing.assert_allclose(of_class, machine.decision_function(K_test), atol=5e-3)
    if problem == "overlapping":
        assert fitted > 10
    else:
        # Once no dual variable is at its bound, larger C are not trained again.
        assert fitted < len(C_GRID) * (1 if y.max() == 1 else y.max() + 1)


def test_several_classes_are_each_told_from_the_rest():
    X, y, X_test, _ = blobs()
    K, K_test = grams(X, X_test)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(X))
    machine = SupportVectorClassifier()
    out = machine.fit(K, y, weight, 3.0).predict(K_test)
    along = machine.path(K, y, weight, K_test, np.array([3.0]))[0]
    np.testing.assert_allclose(out, along, atol=1e-9)
    for k in range(out.shape[1]):
        alone = SVC(kernel="precomputed", C=3.0).fit(K, y == k, sample_weight=weight)
        np.testing.assert_allclose(out[:, k], alone.decision_function(K_test), atol=1e-9)


def test_a_larger_c_is_trained_again_while_a_variable_is_at_its_bound():
    """One mislabelled row inside the other class: its variable is bounded up to a large C."""
    X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2], [0.15]])
    y = np.array([0, 0, 0, 1, 1, 1, 1])
    K, K_test = grams(X, X, 0.5)
    values = np.array([1.0, 10.0, 1e3])
    outputs = SupportVectorClassifier().path(K, y, np.ones(7), K_test, values)
    assert np.abs(outputs[2] - outputs[0]).max() > 0.1
    for C, out in zip(values, outputs, strict=True):
        machine = SVC(kernel="precomputed", C=C).fit(K, y)
        np.testing.assert_allclose(out, machine.decision_function(K_test), atol=5e-3)


def test_integer_weights_of_the_svm_are_repeated_rows():
    X, y, X_test, _ = moons(0.4)
    weight = np.random.default_rng(1).integers(1, 4, len(X))
    A, b = reference.repeat_rows(X, y, weight)
    machine = SupportVectorClassifier()
    K, K_test = grams(X, X_test)
    R, R_test = grams(A, X_test)
    weighted = machine.fit(K, y, weight.astype(float), 1.0)
    repeated = machine.fit(R, b, np.ones(len(A)), 1.0)
    np.testing.assert_allclose(weighted.predict(K_test), repeated.predict(R_test), atol=5e-3)


# --- ridge regression ----------------------------------------------------------------------------


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.differing_executors])
@given(
    log_C=st.floats(-4, 4),
    seed=st.integers(0, 1000),
    n=st.integers(3, 15),
    offset=st.floats(-100, 100),
)
def test_ridge_is_kernel_ridge_on_the_centred_response(log_C, seed, n, offset):
    rng = np.random.default_rng(seed)
    X, X_test = rng.standard_normal((n, 2)), rng.standard_normal((4, 2))
    y = rng.standard_normal(n) + offset
    K, K_test = grams(X, X_test)
    C = 10.0**log_C
    ours = RidgeRegressor()
    out = ours.fit(K, y, np.ones(n), C).predict(K_test)
    theirs = KernelRidge(alpha=1 / C, kernel="precomputed").fit(K, y - y.mean())
    np.testing.assert_allclose(out, theirs.predict(K_test) + y.mean(), atol=1e-6)


def test_the_path_of_ridge_equals_training_at_each_c():
    rng = np.random.default_rng(0)
    X, X_test = rng.standard_normal((25, 2)), rng.standard_normal((8, 2))
    y, weight = rng.standard_normal(25), rng.uniform(0.2, 3, 25)
    K, K_test = grams(X, X_test)
    machine = RidgeRegressor()
    path = machine.path(K, y, weight, K_test, C_GRID)
    for C, out in zip(C_GRID, path, strict=True):
        alone = machine.fit(K, y, weight, C).predict(K_test)
        np.testing.assert_allclose(out, alone, atol=1e-9)
    assert np.abs(path[0] - path[-1]).max() > 0.1


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.differing_executors])
@given(
    weight=st.lists(st.integers(1, 4), min_size=10, max_size=10),
    log_C=st.floats(-3, 3),
)
def test_integer_weights_of_ridge_are_repeated_rows(weight, log_C):
    rng = np.random.default_rng(5)
    X, X_test, y = (
        rng.standard_normal((10, 2)),
        rng.standard_normal((4, 2)),
        rng.standard_normal(10),
    )
    weight = np.array(weight)
    A, b = reference.repeat_rows(X, y, weight)
    machine = RidgeRegressor()
    K, K_test = grams(X, X_test)
    R, R_test = grams(A, X_test)
    C = np.array([10.0**log_C])
    np.testing.assert_allclose(
        machine.path(K, y, weight.astype(float), K_test, C),
        machine.path(R, b, np.ones(len(A)), R_test, C),
        atol=1e-7,
    )


def test_a_linear_kernel_makes_it_ridge_regression():
    rng = np.random.default_rng(0)
    X, X_test = rng.standard_normal((30, 3)), rng.standard_normal((5, 3))
    X -= X.mean(axis=0)
    y = X @ [1.0, -2.0, 0.5] + 3 + 0.1 * rng.standard_normal(30)
    machine = RidgeRegressor()
    out = machine.fit(X @ X.T, y, np.ones(30), 10.0).predict(X_test @ X.T)
    np.testing.assert_allclose(out, Ridge(alpha=0.1).fit(X, y).predict(X_test), atol=1e-10)


# --- others --------------------------------------------------------------------------------------


def test_support_vector_regression_is_scikit_learns():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((25, 2))
    y = X[:, 0]
    K, K_test = grams(X, X[:5])
    machine = SupportVectorRegressor(epsilon=0.2)
    out = machine.path(K, y, np.ones(25), K_test, np.array([0.5, 5.0]))
    for C, values in zip([0.5, 5.0], out, strict=True):
        alone = SVR(kernel="precomputed", C=C, epsilon=0.2).fit(K, y).predict(K_test)
        np.testing.assert_allclose(values, alone, atol=1e-9)


@pytest.mark.parametrize(
    ("estimator", "parameter"),
    [
        (SVC(kernel="precomputed"), "C"),
        (NuSVC(kernel="precomputed", nu=0.2), None),
        (KernelRidge(kernel="precomputed"), "alpha"),
    ],
)
def test_a_given_estimator_is_trained_at_the_value(estimator, parameter):
    X, y, X_test, _ = moons(0.2)
    K, K_test = grams(X, X_test)
    machine = Precomputed(estimator, "Owner")
    assert machine.parameter == parameter
    trained = machine.fit(K, y, np.ones(len(X)), 8.0)
    alone = clone(estimator)
    if parameter is not None:
        alone.set_params(**{parameter: 8.0 if parameter == "C" else 1 / 8})
    alone.fit(K, y)
    method = getattr(alone, "decision_function", alone.predict)
    np.testing.assert_allclose(trained.predict(K_test), method(K_test), atol=1e-9)


@pytest.mark.parametrize("kind", [SVC, NuSVC])
@pytest.mark.parametrize("classes", [3, 5])
def test_pairs_of_classes_vote_as_scikit_learn_counts_them(kind, classes):
    X, y = make_blobs(120, centers=classes, cluster_std=2.5, random_state=3)
    K, K_test = grams(X[:60], X[60:], 2.0)
    alone = kind(kernel="precomputed").fit(K, y[:60])
    machine = Precomputed(kind(kernel="precomputed"), "Owner", classes=True)
    trained = machine.fit(K, y[:60], np.ones(60), 1.0)
    assert isinstance(trained, PairwiseDual)
    np.testing.assert_allclose(trained.predict(K_test), alone.decision_function(K_test), atol=1e-9)
