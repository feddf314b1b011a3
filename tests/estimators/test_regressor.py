"""KernelRegressor: accuracy, invariance, machines, the choice of C, weights."""

import pickle
import warnings

import numpy as np
import pandas
import polars
import pytest
import sklearn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_friedman1
from sklearn.dummy import DummyRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import KFold, ShuffleSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR, NuSVR

from kernalign import AlignmentWarning, ContinuousAlignment, Gaussian, KernelRegressor
from kernalign.kernels.learned import rows_within_budget
from kernalign.machines import Precomputed
from kernalign.machines.base import C_GRID
from tests import reference


def waves(n=60, n_test=100, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n + n_test, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + noise * rng.standard_normal(n + n_test)
    return X[:n], y[:n], X[n:], y[n:]


@pytest.mark.parametrize("machine", [None, "ridge", "svr", KernelRidge(kernel="precomputed")])
def test_it_is_better_than_the_mean_on_friedmans_function(machine):
    X, y = make_friedman1(180, noise=0.5, random_state=0)
    model = KernelRegressor(ContinuousAlignment(), machine=machine, C=C_GRID[2:15:4]).fit(
        X[:80], y[:80]
    )
    assert model.score(X[80:], y[80:]) > 0.6
    mean = DummyRegressor().fit(X[:80], y[:80])
    assert mean.score(X[80:], y[80:]) < 0.05


def test_it_is_ridge_regression_on_the_learned_kernel():
    X, y, X_test, _ = waves()
    model = KernelRegressor(ContinuousAlignment(), C=3.0).fit(X, y)
    kernel = ContinuousAlignment().fit(X, y).kernel_
    np.testing.assert_allclose(model.kernel_(X), kernel(X), atol=1e-6)
    ridge = KernelRidge(alpha=1 / 3.0, kernel="precomputed").fit(kernel(X), y - y.mean())
    np.testing.assert_allclose(
        model.predict(X_test), ridge.predict(kernel(X_test, X)) + y.mean(), atol=1e-5
    )
    assert model.C_ == 3
    assert model.alignment_ == pytest.approx(
        reference.alignment(kernel(X), reference.target_regression(y)), abs=1e-8
    )


def test_kernel_ridge_handed_in_is_the_default():
    X, y, X_test, _ = waves()
    default = KernelRegressor(ContinuousAlignment(), C=2.0).fit(X, y)
    given = KernelRegressor(
        ContinuousAlignment(), machine=KernelRidge(kernel="precomputed"), C=2.0
    ).fit(X, y)
    np.testing.assert_allclose(given.predict(X_test), default.predict(X_test), atol=1e-9)


def test_support_vectors_handed_in_are_the_named_ones():
    X, y, X_test, _ = waves()
    named = KernelRegressor(ContinuousAlignment(), machine="svr", C=2.0).fit(X, y)
    (chosen,) = (record for record in named.path_ if record["chosen"])
    epsilon = float(chosen["machine"].split()[-1])
    given = KernelRegressor(
        ContinuousAlignment(), machine=SVR(kernel="precomputed", epsilon=epsilon), C=2.0
    ).fit(X, y)
    np.testing.assert_allclose(given.predict(X_test), named.predict(X_test), atol=1e-9)
    # Epsilon is a share of the response's spread: many rows lie inside the tube.
    assert named.model_.kept == "support vectors"
    assert len(named.model_.rows) < len(X)


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_the_width_of_the_tube_is_the_one_that_predicts_best(noise):
    X, y, *_ = waves(100, noise=noise)
    model = KernelRegressor(ContinuousAlignment(), "svr", C=[1.0, 10.0]).fit(X, y)
    best = min(model.path_, key=lambda record: record["error"])
    assert len({record["error"] for record in model.path_}) == 3
    assert best["chosen"]


def test_a_machine_without_a_limit_of_its_own_does_not_run_for_ever():
    """nu-SVR at a large C goes on for hours unless it is stopped; 1e3 only for a while."""
    X, y, X_test, y_test = waves(40)
    model = KernelRegressor(
        ContinuousAlignment(), machine=NuSVR(kernel="precomputed"), C=[1.0, 1e3], cv=2
    ).fit(X, y)
    assert model.score(X_test, y_test) > 0.5
    assert Precomputed(NuSVR(kernel="precomputed"), "Owner").estimator.max_iter > 0


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.differing_executors])
@given(
    offset=st.floats(-1e3, 1e3),
    scale=st.floats(1e-4, 1e4).flatmap(lambda s: st.sampled_from([s, -s])),
    machine=st.sampled_from(["ridge", "svr"]),
)
def test_an_affine_change_of_the_response_is_one_of_the_predictions(offset, scale, machine):
    X, y, X_test, _ = waves(30, 20)
    model = KernelRegressor(ContinuousAlignment(), machine=machine, C=1.0)
    plain = model.fit(X, y).predict(X_test)
    changed = model.fit(X, scale * (y + offset)).predict(X_test)
    np.testing.assert_allclose(
        changed / scale - offset, plain, atol=5e-3 if machine == "svr" else 1e-5
    )


def test_an_affine_change_of_the_response_changes_no_choice():
    X, y, *_ = waves(40)
    plain = KernelRegressor(ContinuousAlignment(), C=C_GRID[::4]).fit(X, y)
    changed = KernelRegressor(ContinuousAlignment(), C=C_GRID[::4]).fit(X, 1000 * y - 5)
    assert changed.C_ == plain.C_
    np.testing.assert_allclose(
        changed.cv_results_["error"], 1e6 * plain.cv_results_["error"], rtol=1e-6
    )


@pytest.mark.parametrize("nested", [True, False])
def test_the_error_of_each_c_is_the_squared_error_of_the_folds(nested):
    X, y, *_ = waves(30)
    values = [0.1, 1.0, 10.0]
    cv = KFold(3)
    model = KernelRegressor(ContinuousAlignment(), C=values, cv=cv, nested=nested).fit(X, y)
    whole = ContinuousAlignment().fit(X, y).kernel_
    scale = y.std()
    for C, error in zip(values, model.cv_results_["error"], strict=True):
        squares = []
        for train, test in cv.split(X):
            kernel = ContinuousAlignment().fit(X[train], y[train]).kernel_ if nested else whole
            mean = y[train].mean()
            ridge = KernelRidge(alpha=1 / C, kernel="precomputed")
            ridge.fit(kernel(X[train]), (y[train] - mean) / scale)
            predicted = scale * ridge.predict(kernel(X[test], X[train])) + mean
            squares.append((predicted - y[test]) ** 2)
        assert error == pytest.approx(np.concatenate(squares).mean(), rel=1e-4)
    best = np.argmin(model.cv_results_["error"])
    assert pytest.approx(values[best]) == model.C_


def test_the_chosen_c_predicts_better_than_the_ends_of_the_grid():
    X, y, X_test, y_test = waves(60, 200, noise=0.5, seed=2)
    chosen = KernelRegressor(ContinuousAlignment()).fit(X, y)
    np.testing.assert_allclose(chosen.cv_results_["C"], C_GRID)
    error = mean_squared_error(y_test, chosen.predict(X_test))
    for C in (C_GRID[0], C_GRID[-1]):
        end = KernelRegressor(ContinuousAlignment(), C=C).fit(X, y)
        assert mean_squared_error(y_test, end.predict(X_test)) > error


@pytest.mark.parametrize("cv", [2, 100, ShuffleSplit(2, random_state=0), [([0, 1, 2, 3], [4, 5])]])
def test_folds_of_any_kind(cv):
    X, y, X_test, _ = waves(20)
    with warnings.catch_warnings():
        # Of twenty rows few can be held out, and little is learned.
        warnings.simplefilter("ignore", AlignmentWarning)
        model = KernelRegressor(ContinuousAlignment(), C=[0.1, 10.0], cv=cv).fit(X, y)
    assert model.C_ in (0.1, 10.0)
    assert np.isfinite(model.predict(X_test)).all()


# --- weights -------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", ["ridge", "svr"])
def test_integer_weights_are_repeated_rows(machine):
    X, y, X_test, _ = waves(30)
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    model = KernelRegressor(ContinuousAlignment(), machine=machine, C=1.0)
    weighted = model.fit(X, y, sample_weight=weight).predict(X_test)
    repeated = model.fit(*reference.repeat_rows(X, y, weight)).predict(X_test)
    np.testing.assert_allclose(weighted, repeated, atol=1e-2 if machine == "svr" else 1e-4)
    plain = model.fit(X, y).predict(X_test)
    assert np.abs(weighted - plain).max() > 0.02


def test_rows_of_weight_zero_are_as_if_removed():
    X, y, X_test, _ = waves(60)
    weight = (np.arange(60) % 3 > 0).astype(float)
    y[weight == 0] = 1e6
    zero = KernelRegressor(ContinuousAlignment(), C=[0.1, 1.0, 10.0]).fit(
        X, y, sample_weight=weight
    )
    removed = KernelRegressor(ContinuousAlignment(), C=[0.1, 1.0, 10.0], cv=5).fit(
        X[weight > 0], y[weight > 0]
    )
    alone = KernelRegressor(ContinuousAlignment(), C=zero.C_).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_allclose(zero.predict(X_test), alone.predict(X_test), atol=1e-8)
    assert np.abs(removed.predict(X_test)).max() < 100


def test_folds_are_made_of_the_rows_that_count():
    """Only the first rows have weight: folds of all rows may have nothing to learn from."""
    X, y, X_test, _ = waves(30)
    weight = np.zeros(30)
    weight[:8] = 1
    # A splitter of the user's speaks of all rows, so its folds are held to what they leave.
    with pytest.raises(ValueError, match="'cv' parameter of KernelRegressor"):
        KernelRegressor(ContinuousAlignment(), C=[0.1, 1.0], cv=KFold(3)).fit(
            X, y, sample_weight=weight
        )
    model = KernelRegressor(ContinuousAlignment(), C=[0.1, 1.0], cv=5).fit(
        X, y, sample_weight=weight
    )
    assert np.isfinite(model.cv_results_["error"]).all()
    assert np.isfinite(model.predict(X_test)).all()


# --- as an estimator -----------------------------------------------------------------------------


def test_it_works_in_a_pipeline_and_under_cross_validation():
    X, y, *_ = waves(60)
    model = make_pipeline(
        StandardScaler(), KernelRegressor(ContinuousAlignment(), C=[1.0, 100.0], cv=3)
    )
    assert (cross_val_score(model, X, y, cv=3) > 0.7).all()


def test_it_pickles():
    X, y, X_test, _ = waves(30)
    model = KernelRegressor(ContinuousAlignment(), C=1.0).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X_test), model.predict(X_test))


@pytest.mark.parametrize("machine", ["ridge", "svr"])
def test_prediction_in_blocks_is_prediction_at_once(machine):
    X, y, *_ = waves(60)
    many = np.random.default_rng(1).uniform(-2, 2, (2500, 2))
    model = KernelRegressor(ContinuousAlignment(), machine=machine, C=1.0).fit(X, y)
    whole = model.predict(many)
    with sklearn.config_context(working_memory=1):
        assert rows_within_budget(60) < len(many) / 2
        np.testing.assert_allclose(model.predict(many), whole, atol=1e-10)


@pytest.mark.parametrize("frame", [pandas.DataFrame, polars.DataFrame], ids=["pandas", "polars"])
def test_data_frames_have_their_names_checked(frame):
    X, y, X_test, _ = waves(30)
    model = KernelRegressor(ContinuousAlignment(Gaussian(ard=True)), C=1.0)
    model.fit(frame({"a": X[:, 0], "b": X[:, 1]}), y)
    np.testing.assert_array_equal(model.feature_names_in_, ["a", "b"])
    plain = KernelRegressor(ContinuousAlignment(Gaussian(ard=True)), C=1.0).fit(X, y)
    np.testing.assert_allclose(
        model.predict(frame({"a": X_test[:, 0], "b": X_test[:, 1]})),
        plain.predict(X_test),
        atol=1e-8,
    )
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame({"b": X_test[:, 1], "a": X_test[:, 0]}))
