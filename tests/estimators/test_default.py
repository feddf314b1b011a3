"""The default fit: what it finds, what it says of itself, and what it does not depend on."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_limits

from kernalign import (
    Gaussian,
    KernelClassifier,
    KernelRegressor,
    KernelSearch,
    RationalQuadratic,
)
from kernalign._threads import thread_count
from kernalign.estimators import searched
from kernalign.estimators.response import CURVES, Response, choose_response


def product(n, seed=0, d=6):
    """Classes that only the product of two features tells."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 1] * X[:, 4] > 0).astype(int)


@pytest.fixture(scope="module")
def classifier():
    return KernelClassifier().fit(*product(150))


def test_held_out_error_is_that_of_new_rows(classifier):
    X, y = product(1000, seed=1)
    wrong = 1 - classifier.score(X, y)
    assert wrong < 0.15
    assert abs(classifier.cv_error_ - wrong) < 4 * classifier.cv_error_std_ + 0.02


@pytest.mark.parametrize("estimator", [KernelClassifier, KernelRegressor])
def test_a_change_of_units_changes_no_prediction(estimator):
    X, y = product(120)
    factor = 10.0 ** np.linspace(-3, 3, X.shape[1])
    X_new, _ = product(50, seed=2)
    plain = estimator().fit(X, y)
    changed = estimator().fit(X * factor, y)
    out = (plain.predict(X_new), changed.predict(X_new * factor))
    if estimator is KernelClassifier:
        out = (plain.decision_function(X_new), changed.decision_function(X_new * factor))
    np.testing.assert_allclose(*out, atol=1e-6)


def test_constant_columns_tell_the_mean_and_the_shares_of_classes():
    X, y = np.full((30, 2), 3.0), np.arange(30) % 3
    for C in ("cv", 1.0):
        P = KernelClassifier(C=C).fit(X, y).predict_proba(X)
        np.testing.assert_allclose(P, 1 / 3, atol=1e-6)
    np.testing.assert_allclose(KernelRegressor().fit(X, y).predict(X), 1.0)


def test_its_machine_is_kernel_ridge_at_its_noise(classifier):
    """Recomputed from the kernel and C alone, with a constant kernel for the mean."""
    X, y = product(150)
    K = classifier.kernel_(X)
    signs = 2.0 * y - 1
    size = np.trace(K) / len(K)
    A = K + size + np.eye(len(K)) / classifier.C_
    dual = np.linalg.solve(A, signs - signs.mean())
    X_new, _ = product(40, seed=3)
    wanted = (classifier.kernel_(X_new, X) + size) @ dual + signs.mean()
    np.testing.assert_allclose(classifier.decision_function(X_new), wanted, atol=1e-6)


def test_error_on_labels_of_noise_is_that_of_chance():
    rng = np.random.default_rng(0)
    errors = []
    for _ in range(10):
        X, y = rng.normal(size=(100, 5)), rng.permutation(np.arange(100) % 2)
        errors.append(KernelClassifier().fit(X, y).cv_error_)
    # Ten fits of a hundred rows: a standard error of 1.6 points.
    assert 0.44 < np.mean(errors) < 0.56


def test_a_given_c_is_kept(classifier):
    X, y = product(150)
    given = KernelClassifier(C=0.5).fit(X, y)
    assert pytest.approx(0.5) == given.C_
    assert given.kernel_ == classifier.kernel_


def test_beyond_the_rows_that_tune_it_the_machine_still_sees_all(monkeypatch):
    monkeypatch.setattr(searched, "TUNED_ROWS", 60)
    X, y = product(150)
    clf = KernelClassifier().fit(X, y)
    assert clf.model_.n_rows == 150
    assert len(clf.model_.rows) == 150
    X_new, y_new = product(400, seed=4)
    assert clf.score(X_new, y_new) > 0.8
    assert np.isfinite(clf.predict_proba(X_new)).all()


def test_the_search_is_repeatable_and_leaves_the_learner_alone():
    X, y = product(80)
    search = KernelSearch()
    one, two = (KernelClassifier(search).fit(X, y) for _ in range(2))
    assert one.kernel_ == two.kernel_
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
    assert not hasattr(search, "kernel_")


def test_families_of_ones_own():
    X, y = product(80)
    clf = KernelClassifier(KernelSearch([Gaussian(ard=True)])).fit(X, y)
    assert {type(k.family) for k in clf.kernel_.kernels} == {Gaussian}


@pytest.mark.parametrize(
    "family", [Gaussian(), Gaussian(ard=True, columns=[0]), RationalQuadratic(ard=True), "gaussian"]
)
def test_families_that_cannot_be_searched(family):
    with pytest.raises(ValueError, match="'families' parameter of KernelSearch must list families"):
        KernelSearch([family]).fit(*product(30))


# -- the response -------------------------------------------------------------------------------


@pytest.mark.parametrize("curve", CURVES)
def test_curves_and_their_inverses(curve):
    rng = np.random.default_rng(0)
    y = rng.lognormal(size=50)
    response = Response.of(y, np.ones(50), curve)
    t = response.forward(y)
    assert t.mean() == pytest.approx(0, abs=1e-9)
    assert t.std() == pytest.approx(1)
    np.testing.assert_allclose(response.back(t), y, rtol=1e-9)
    step = 1e-6 * y
    slope = (response.forward(y + step) - response.forward(y - step)) / (2 * step)
    np.testing.assert_allclose(response.log_slope(y), np.log(slope), atol=1e-6)


def test_predictions_come_back_as_means():
    rng = np.random.default_rng(0)
    y = rng.lognormal(sigma=0.8, size=4000)
    response = Response.of(y, np.ones(len(y)), "log")
    t = response.forward(y)
    smeared = response.smeared(t - t.mean())
    assert smeared.back(np.array([t.mean()]))[0] == pytest.approx(y.mean(), rel=0.03)
    assert response.back(np.array([t.mean()]))[0] == pytest.approx(np.median(y), rel=0.1)


@pytest.mark.parametrize(("curves", "of"), [({"identity"}, lambda f: f), ({"root", "log"}, np.exp)])
def test_the_curve_of_the_response_is_found(curves, of):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3))
    f = 1.5 * X[:, 0] + np.sin(2 * X[:, 1]) + 0.1 * rng.normal(size=200)
    assert choose_response(X, of(f), np.ones(200)).curve in curves


@pytest.mark.parametrize("y", [np.full(20, 3.0), np.arange(20) % 2.0, 1e200 * np.arange(20.0)])
def test_odd_responses_have_a_curve(y):
    X = np.random.default_rng(0).normal(size=(20, 2))
    response = choose_response(X, y, np.ones(20))
    assert np.isfinite(response.forward(y)).all()
    np.testing.assert_allclose(response.back(response.forward(y)), y, rtol=1e-6)


def test_class_weights_move_predictions_towards_the_rare_class():
    """A costly row is not many equal rows, which would be evidence of little noise."""
    X, y = make_classification(
        700, 6, n_informative=4, weights=[0.93], class_sep=0.8, flip_y=0.02, random_state=3
    )
    recalls, kernels = [], []
    for weights in (None, "balanced"):
        model = KernelClassifier(class_weight=weights).fit(X[:300], y[:300])
        kernels.append(model.kernel_)
        recalls.append(np.mean(model.predict(X[300:])[y[300:] == 1] == 1))
    assert recalls[1] > recalls[0] + 0.05
    assert kernels[0] == kernels[1]


def test_fits_in_eight_threads_at_once_are_those_alone():
    """And BLAS has as many threads afterwards as before."""
    problems = [product(16, seed, d=5) for seed in range(8)]
    search = KernelSearch([Gaussian(ard=True)], effort="quick")
    model = KernelClassifier(search, cv=2, nested=False)

    def decisions(problem):
        return clone(model).fit(*problem).decision_function(problem[0])

    with threadpool_limits(2, user_api="blas"):
        alone = list(map(decisions, problems))
        with ThreadPoolExecutor(8) as pool:
            together = list(pool.map(decisions, problems))
        assert thread_count() == 2
    np.testing.assert_allclose(together, alone, atol=1e-12, rtol=0)
