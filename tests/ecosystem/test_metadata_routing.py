"""Row weights reach `fit` and `score` through pipelines, searches and stacks."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.ensemble import StackingClassifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernalign import ContinuousAlignment, KernelClassifier, KernelFeatures, KernelRegressor
from tests.ecosystem.problems import ring, wave

FOLDS = StratifiedKFold(3)


@pytest.fixture(autouse=True)
def routing():
    with config_context(enable_metadata_routing=True):
        yield


def wrong_and_weightless(n=120):
    """A third of the labels is wrong; those rows weigh nothing."""
    X, y = ring(n)
    wrong = np.arange(n) % 3 == 0
    return X, np.where(wrong, 1 - y, y), (~wrong).astype(float)


def test_through_a_pipeline_to_the_classifier():
    X, y, weight = wrong_and_weightless()
    model = KernelClassifier(C=10.0).set_fit_request(sample_weight=True)
    pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
    pipe.fit(X, y, sample_weight=weight)
    scaled = pipe[0].transform(X)
    alone = KernelClassifier(C=10.0).fit(scaled, y, weight)
    assert pipe[-1].kernel_ == alone.kernel_
    np.testing.assert_array_equal(pipe.predict(X), alone.predict(scaled))
    # Rows of weight zero are as if removed.
    kept = KernelClassifier(C=10.0).fit(scaled[weight > 0], y[weight > 0])
    np.testing.assert_array_equal(pipe.predict(X), kept.predict(scaled))


def test_through_a_pipeline_to_the_features_and_not_to_the_linear_model():
    X, y, weight = wrong_and_weightless()
    features = KernelFeatures(n_components=10).set_fit_request(sample_weight=True)
    linear = LogisticRegression().set_fit_request(sample_weight=False)
    pipe = make_pipeline(features, linear).fit(X, y, sample_weight=weight)
    alone = KernelFeatures(n_components=10).fit(X, y, weight)
    assert pipe[0].kernel_ == alone.kernel_
    by_hand = LogisticRegression().fit(alone.transform(X), y)
    np.testing.assert_allclose(pipe[-1].coef_, by_hand.coef_)


def test_through_a_grid_search_to_fit_and_score():
    X, y, weight = wrong_and_weightless(90)
    model = KernelClassifier(ContinuousAlignment()).set_fit_request(sample_weight=True)
    model.set_score_request(sample_weight=True)
    search = GridSearchCV(model, {"C": [0.001, 10.0]}, cv=FOLDS)
    search.fit(X, y, sample_weight=weight)
    expected = []
    for train, test in FOLDS.split(X, y):
        fitted = KernelClassifier(ContinuousAlignment(), C=10.0).fit(
            X[train], y[train], weight[train]
        )
        expected.append(
            accuracy_score(y[test], fitted.predict(X[test]), sample_weight=weight[test])
        )
    assert search.cv_results_["mean_test_score"][1] == pytest.approx(np.mean(expected))
    assert search.best_params_ == {"C": 10.0}
    assert search.best_score_ > 0.85


def test_weights_that_are_not_asked_for_stay_out():
    X, y, weight = wrong_and_weightless(90)
    model = KernelClassifier(C=10.0).set_fit_request(sample_weight=False)
    model.set_score_request(sample_weight=True)
    found = cross_validate(
        model, X, y, cv=FOLDS, params={"sample_weight": weight}, return_estimator=True
    )
    for fitted, (train, _) in zip(found["estimator"], FOLDS.split(X, y), strict=True):
        assert fitted.kernel_ == KernelClassifier(C=10.0).fit(X[train], y[train]).kernel_


def test_a_request_that_was_not_made_is_an_error_not_a_silence():
    X, y, weight = wrong_and_weightless(60)
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        make_pipeline(KernelClassifier(C=10.0)).fit(X, y, sample_weight=weight)


def test_under_another_name():
    X, y, weight = wrong_and_weightless(60)
    model = KernelClassifier(C=10.0).set_fit_request(sample_weight="trust")
    pipe = make_pipeline(model).fit(X, y, trust=weight)
    assert pipe[-1].kernel_ == KernelClassifier(C=10.0).fit(X, y, weight).kernel_


def test_in_a_stack():
    X, y, weight = wrong_and_weightless(90)
    model = KernelClassifier(C=10.0).set_fit_request(sample_weight=True)
    final = LogisticRegression().set_fit_request(sample_weight=False)
    stack = StackingClassifier([("learned", model)], final_estimator=final, cv=FOLDS)
    stack.fit(X, y, sample_weight=weight)
    assert stack.named_estimators_["learned"].kernel_ == (
        KernelClassifier(C=10.0).fit(X, y, weight).kernel_
    )


def test_the_regressor_and_a_learner_take_requests_too():
    X, y = wave(80)
    weight = np.linspace(0.5, 2, 80)
    model = KernelRegressor(C=10.0).set_fit_request(sample_weight=True)
    pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
    pipe.fit(X, y, sample_weight=weight)
    alone = KernelRegressor(C=10.0).fit(pipe[0].transform(X), y, weight)
    np.testing.assert_array_equal(pipe.predict(X), alone.predict(pipe[0].transform(X)))
    learner = ContinuousAlignment().set_fit_request(sample_weight=True)
    requests = learner.get_metadata_routing().fit.requests
    assert requests == {"sample_weight": True}
