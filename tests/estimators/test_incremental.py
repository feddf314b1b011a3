"""Machines that learn from batches: the solution of all rows at once."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from kernalign import IncrementalClassifier, IncrementalRegressor, KernelFeatures


def problem(n=200, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 1.0
    return X, X @ rng.standard_normal(d) + 0.3 * rng.standard_normal(n) + 2.0


def in_batches(machine, X, y, weight=None, **options):
    for rows in np.split(np.arange(len(X)), [7, 8, 120]):
        own = None if weight is None else weight[rows]
        machine.partial_fit(X[rows], y[rows], sample_weight=own, **options)
    return machine


@pytest.mark.parametrize("outputs", [1, 3])
def test_batches_are_all_rows_at_once(outputs):
    X, y = problem()
    y = y if outputs == 1 else np.column_stack([y, y**2, X[:, 0]])
    weight = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    found = in_batches(IncrementalRegressor(C=0.5), X, y, weight)
    ridge = Ridge(alpha=2.0, solver="cholesky", tol=0).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(found.coef_, ridge.coef_, rtol=1e-9)
    np.testing.assert_allclose(found.predict(X), ridge.predict(X), rtol=1e-9)
    at_once = IncrementalRegressor(C=0.5).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(found.predict(X), at_once.predict(X), rtol=1e-9)
    assert found.n_samples_seen_ == at_once.n_samples_seen_ == (weight > 0).sum()
    found.fit(X[:50], y[:50])
    assert found.n_samples_seen_ == 50


def test_on_features_it_is_kernel_ridge_on_landmarks():
    """min |y - K b|^2 + b' K_Z b / C, centred, on the fixed kernel and landmarks."""
    X, y = problem(150, 2)
    features = KernelFeatures(n_components=20).fit(X[:60], y[:60])
    Z, kernel = features.model_.rows, features.kernel_
    found = in_batches(IncrementalRegressor(C=10.0), features.transform(X), y)
    centred = kernel(X, Z) - kernel(X, Z).mean(axis=0)
    system = centred.T @ centred + kernel(Z) / 10.0
    a = np.linalg.lstsq(system, centred.T @ (y - y.mean()), rcond=None)[0]
    expected = y.mean() + centred @ a
    np.testing.assert_allclose(found.predict(features.transform(X)), expected, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes(n_classes):
    X, y = problem()
    labels = np.array(["a", "b", "c"])[np.digitize(y, np.quantile(y, [0.4, 0.7])[: n_classes - 1])]
    order = np.argsort(labels, kind="stable")
    X, labels = X[order], labels[order]
    classes = np.unique(labels)
    found = in_batches(IncrementalClassifier(C=2.0), X, labels, classes=classes)
    coded = 2.0 * (labels[:, None] == classes) - 1
    ridge = Ridge(alpha=0.5, solver="cholesky").fit(X, coded[:, 1] if n_classes == 2 else coded)
    np.testing.assert_allclose(found.decision_function(X), ridge.predict(X), rtol=1e-8, atol=1e-10)
    assert found.score(X, labels) > 0.6
    with pytest.raises(ValueError, match=r"classes of the first batch only\. Got 'z'"):
        found.partial_fit(X[:2], ["a", "z"])
    with pytest.raises(ValueError, match="'classes' must be those of the first batch"):
        found.partial_fit(X[:2], ["a", "b"], classes=["a", "z"])
    with pytest.raises(ValueError, match=r"at least two classes in y\. Got one class: 'a'"):
        IncrementalClassifier().partial_fit(X[:5], ["a"] * 5)


def test_a_refused_batch_changes_nothing():
    X, y = problem()
    machine = IncrementalRegressor().partial_fit(X, y)
    before = dict(vars(machine))
    for rows, labels in ((X[:, :-1], y), (X, np.where(y > 2, np.nan, y)), (X, X[:, :2])):
        with pytest.raises(ValueError, match=r"features|NaN|as many columns"):
            machine.partial_fit(rows, labels)
    assert vars(machine) == before
    with pytest.raises(ValueError, match="'C' parameter of IncrementalRegressor"):
        IncrementalRegressor(C=-1).fit(X, y)
