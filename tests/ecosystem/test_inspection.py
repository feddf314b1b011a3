"""Calibration, importances, data frames out, copies, processes."""

import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.inspection import permutation_importance
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernalign import (
    AnyOf,
    ContinuousAlignment,
    ContinuousRisk,
    CustomFamily,
    DiscreteAlignment,
    Fourier,
    Gaussian,
    KernelClassifier,
    KernelFeatures,
    KernelRegressor,
    LpNormMKL,
    Matern,
    UniformWeights,
)
from tests.ecosystem.problems import ring, wave


def noisy_labels(n=300):
    """A fifth of the labels is wrong, so that honest probabilities stay away from 0 and 1."""
    X, y = ring(n)
    wrong = np.random.default_rng(1).random(n) < 0.2
    return X, np.where(wrong, 1 - y, y)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration_by_scikit_learn(method):
    X, y = noisy_labels()
    model = CalibratedClassifierCV(KernelClassifier(C=1.0), method=method, cv=3)
    proba = model.fit(X[:150], y[:150]).predict_proba(X[150:])
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    base_rate = np.full(150, y[:150].mean())
    # At best 0.16 = 0.2 (1 - 0.2), with a fifth of the labels wrong; the base rate has 0.25.
    assert brier_score_loss(y[150:], proba[:, 1]) < 0.9 * brier_score_loss(y[150:], base_rate)


def test_calibration_of_a_frozen_classifier_keeps_its_kernel():
    X, y = noisy_labels()
    fitted = KernelClassifier(C=1.0).fit(X[:150], y[:150])
    model = CalibratedClassifierCV(FrozenEstimator(fitted)).fit(X[150:250], y[150:250])
    inner = model.calibrated_classifiers_[0].estimator
    assert inner.kernel_ is fitted.kernel_
    # A sigmoid of the decision value is monotone in it.
    order = np.argsort(fitted.decision_function(X[250:]))
    assert (np.diff(model.predict_proba(X[250:])[order, 1]) >= 0).all()


def test_permutation_importance_finds_what_the_label_is_made_of():
    X, y = ring(200, noise_features=3)
    frame = pd.DataFrame(X, columns=["east", "north", "a", "b", "c"])
    model = KernelClassifier(ContinuousAlignment(Gaussian(ard=True)), C=10.0)
    model.fit(frame[:120], y[:120])
    found = permutation_importance(model, frame[120:], y[120:], n_repeats=5, random_state=0)
    assert found.importances_mean[:2].min() > 0.15
    assert np.abs(found.importances_mean[2:]).max() < 0.05
    # It agrees with what the kernel itself says: 1/sigma^2, by kernel weight.
    kernel = model.kernel_
    relevance = sum(w / k.sigma**2 for w, k in zip(kernel.weights, kernel.kernels, strict=True))
    assert relevance[:2].min() > 5 * relevance[2:].max()


@pytest.mark.parametrize("output", ["features", "gram"])
def test_set_output_pandas(output):
    X, y = ring(40)
    frame = pd.DataFrame(X, columns=["a", "b"], index=np.arange(100, 140))
    features = KernelFeatures(n_components=5, output=output)
    plain = features.fit(frame, y).transform(frame)
    out = features.set_output(transform="pandas").transform(frame)
    assert isinstance(out, pd.DataFrame)
    assert out.index.tolist() == list(range(100, 140))
    assert out.columns.tolist() == features.get_feature_names_out().tolist()
    np.testing.assert_array_equal(out.to_numpy(), plain)
    assert isinstance(features.fit_transform(frame, y), pd.DataFrame)


@pytest.mark.parametrize("output", ["features", "gram"])
def test_set_output_polars_also_for_the_whole_session(output):
    X, y = ring(40)
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    features = KernelFeatures(n_components=5, output=output).fit(frame, y)
    plain = features.transform(frame)
    out = clone(features).set_output(transform="polars").fit_transform(frame, y)
    assert isinstance(out, pl.DataFrame)
    np.testing.assert_array_equal(out.to_numpy(), plain)
    with config_context(transform_output="polars"):
        assert features.transform(frame).columns == out.columns


def test_set_output_through_a_pipeline():
    X, y = ring(40)
    pipe = make_pipeline(StandardScaler(), KernelFeatures(n_components=5))
    out = pipe.set_output(transform="pandas").fit_transform(pd.DataFrame(X, columns=["a", "b"]), y)
    assert out.columns.tolist() == [f"kernelfeatures{i}" for i in range(5)]


def cauchy(X, Z, sigma):
    return 1 / (1 + ((X[:, None] - Z) ** 2).sum(-1) / sigma**2)


ESTIMATORS = {
    "default": KernelClassifier(C=10.0),
    "ard": KernelClassifier(ContinuousAlignment(Gaussian(ard=True)), C=10.0),
    "union": KernelClassifier(
        ContinuousAlignment(AnyOf(Matern(columns=[0, 1]), Fourier(columns=[1]))), C=10.0
    ),
    "custom": KernelClassifier(ContinuousAlignment(CustomFamily(cauchy, (0.1, 10))), C=10.0),
    "risk": KernelClassifier(ContinuousRisk(corrective=True), C=1.0),
    "finite": KernelClassifier(DiscreteAlignment(Gaussian().grid(0.3, 3, 4)), C=10.0),
    "one stage": KernelClassifier(LpNormMKL(Gaussian().grid(0.3, 3, 3), p=2), C=1.0),
    "regressor": KernelRegressor(C=10.0),
    "svr": KernelRegressor(UniformWeights(Gaussian().grid(0.3, 3, 3)), "svr", C=10.0),
    "features": KernelFeatures(n_components=10),
}


def outputs(model, X):
    return model.transform(X) if hasattr(model, "transform") else model.predict(X)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_copies_and_pickles_predict_the_same(name, tmp_path):
    X, y = ring(60)
    model = ESTIMATORS[name]
    fitted = clone(model).fit(X[:40], y[:40])
    expected = outputs(fitted, X[40:])
    for copy in (pickle.loads(pickle.dumps(fitted)), clone(fitted).fit(X[:40], y[:40])):
        np.testing.assert_array_equal(outputs(copy, X[40:]), expected)
        assert copy.kernel_ == fitted.kernel_
    joblib.dump(fitted, tmp_path / "model.joblib")
    loaded = joblib.load(tmp_path / "model.joblib")
    np.testing.assert_array_equal(outputs(loaded, X[40:]), expected)
    assert not hasattr(clone(fitted), "kernel_")


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_parallel_jobs_give_what_one_job_gives(backend):
    X, y = ring(90, noise_features=1)
    model = KernelClassifier(ContinuousAlignment(AnyOf(Gaussian(), Gaussian(columns=[0, 1]))))
    model.set_params(C=[0.1, 1.0, 10.0])
    alone = cross_val_score(model, X, y, cv=3)
    with joblib.parallel_config(backend, n_jobs=2):
        np.testing.assert_array_equal(cross_val_score(model, X, y, cv=3), alone)
    assert alone.mean() > 0.8


def test_the_learned_kernel_in_a_gaussian_process():
    X, y = wave(100)
    kernel = ContinuousAlignment().fit(X[:70], y[:70]).kernel_
    process = GaussianProcessRegressor(kernel, alpha=1e-2, normalize_y=True).fit(X[:70], y[:70])
    ridge = KernelRegressor(ContinuousAlignment(), C=100.0).fit(X[:70], y[:70])
    assert process.score(X[70:], y[70:]) > 0.9
    # A ridge of 1/C = alpha on a response of unit spread is the mean of the process, up to the
    # intercept that both take from the mean of the response.
    np.testing.assert_allclose(process.predict(X[70:]), ridge.predict(X[70:]), rtol=0.05, atol=0.1)
