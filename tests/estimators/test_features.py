"""KernelFeatures: inner products that are the kernel, Gram matrices, names, pipelines."""

import pickle

import numpy as np
import pandas
import polars
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import make_circles, make_friedman1, make_moons
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from kernalign import (
    ContinuousAlignment,
    Gaussian,
    KernelClassifier,
    KernelFeatures,
    Laplacian,
    Linear,
    Polynomial,
)
from kernalign.kernels.learned import rows_within_budget


def circles(n=60, n_test=100):
    X, y = make_circles(n + n_test, noise=0.08, factor=0.5, random_state=0)
    return X[:n], y[:n], X[n:], y[n:]


def moons(n=60):
    return make_moons(n, noise=0.2, random_state=0)


FAMILIES = [Gaussian(), Gaussian(ard=True), Laplacian(), Linear(), Polynomial()]


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
@pytest.mark.parametrize("components", [1, 5, 25])
def test_inner_products_of_features_are_the_kernel_on_the_landmarks(family, components):
    X, y = moons()
    learner = ContinuousAlignment(family, max_iter=3)
    features = KernelFeatures(learner, n_components=components).fit(X, y)
    landmarks = features.model_.rows
    assert len(landmarks) == components
    assert all((row == X).all(axis=1).any() for row in landmarks)
    phi = features.transform(landmarks)
    assert phi.shape == (components, components)
    np.testing.assert_allclose(phi @ phi.T, features.kernel_(landmarks), atol=1e-8)


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_with_all_landmarks_the_training_gram_is_exact(family):
    X, y = moons(40)
    learner = ContinuousAlignment(family, max_iter=3)
    features = KernelFeatures(learner, n_components=None).fit(X, y)
    phi = features.transform(X)
    np.testing.assert_allclose(phi @ phi.T, features.kernel_(X), atol=1e-8)


def test_more_landmarks_come_closer_to_the_kernel():
    X, y, X_test, _ = circles(80)
    learner = ContinuousAlignment(max_iter=2)
    errors = []
    for components in (2, 10, 40, None):
        features = KernelFeatures(learner, n_components=components).fit(X, y)
        phi = features.transform(X_test)
        errors.append(np.linalg.norm(phi @ phi.T - features.kernel_(X_test)))
    assert (np.diff(errors) < 0).all()


def test_repeated_rows_are_one_landmark():
    X, y, *_ = circles(20)
    X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3)
    features = KernelFeatures(n_components=None).fit(X, y)
    assert len(features.model_.rows) == 20
    phi = features.transform(X)
    np.testing.assert_allclose(phi @ phi.T, features.kernel_(X), atol=1e-8)


def test_rows_of_weight_zero_are_no_landmarks():
    X, y, *_ = circles(40)
    weight = np.ones(40)
    weight[:10] = 0
    features = KernelFeatures(n_components=None).fit(X, y, sample_weight=weight)
    assert len(features.model_.rows) == 30
    assert not any((features.model_.rows == row).all(axis=1).any() for row in X[:10])
    removed = KernelFeatures(n_components=None).fit(X[10:], y[10:])
    np.testing.assert_array_equal(features.transform(X), removed.transform(X))


def test_the_seed_chooses_the_landmarks():
    X, y, X_test, _ = circles()
    one = KernelFeatures(n_components=7, random_state=1).fit(X, y)
    same = KernelFeatures(n_components=7, random_state=1).fit(X, y)
    other = KernelFeatures(n_components=7, random_state=2).fit(X, y)
    np.testing.assert_array_equal(one.transform(X_test), same.transform(X_test))
    assert not np.array_equal(one.model_.rows, other.model_.rows)


# --- Gram output ---------------------------------------------------------------------------------


def test_gram_output_is_the_kernel_with_the_training_rows():
    X, y, X_test, _ = circles()
    gram = KernelFeatures(output="gram").fit(X, y)
    np.testing.assert_allclose(gram.transform(X_test), gram.kernel_(X_test, X), atol=1e-12)
    np.testing.assert_allclose(gram.transform(X), gram.kernel_(X), atol=1e-12)
    assert gram.transform(X_test).shape == (len(X_test), len(X))


def test_gram_output_feeds_a_precomputed_machine():
    X, y, X_test, y_test = circles()
    model = make_pipeline(KernelFeatures(output="gram"), SVC(kernel="precomputed", C=1.0))
    model.fit(X, y)
    assert model.score(X_test, y_test) > 0.9
    machine = SVC(kernel="precomputed")
    same = KernelClassifier(ContinuousAlignment(), machine, C=1.0).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(X_test), same.decision_function(X_test), atol=1e-6
    )


# --- with linear models --------------------------------------------------------------------------


def test_a_linear_model_on_the_features_separates_circles():
    X, y, X_test, y_test = circles()
    assert LogisticRegression().fit(X, y).score(X_test, y_test) < 0.75
    model = make_pipeline(KernelFeatures(n_components=20), LogisticRegression())
    assert model.fit(X, y).score(X_test, y_test) > 0.9
    assert cross_val_score(model, X, y, cv=3).mean() > 0.9


def test_regression_on_the_features():
    X, y = make_friedman1(120, random_state=0)
    model = make_pipeline(KernelFeatures(n_components=None), Ridge(alpha=1e-2))
    assert model.fit(X[:80], y[:80]).score(X[80:], y[80:]) > 0.5


def test_a_search_can_tune_learner_and_components():
    X, y = moons()
    model = make_pipeline(KernelFeatures(ContinuousAlignment()), LogisticRegression())
    grid = {
        "kernelfeatures__n_components": [1, 15],
        "kernelfeatures__learner__family": [Linear(), Gaussian()],
    }
    search = GridSearchCV(model, grid, cv=2).fit(X, y)
    assert search.best_params_["kernelfeatures__n_components"] == 15
    assert isinstance(search.best_params_["kernelfeatures__learner__family"], Gaussian)


# --- names and containers ------------------------------------------------------------------------


@pytest.mark.parametrize(("output", "columns"), [("features", 6), ("gram", 30)])
def test_names_of_the_features(output, columns):
    X, y, X_test, _ = circles(30)
    features = KernelFeatures(n_components=6, output=output).fit(X, y)
    names = features.get_feature_names_out()
    np.testing.assert_array_equal(names, [f"kernelfeatures{i}" for i in range(columns)])
    frame = features.set_output(transform="pandas").transform(X_test)
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == list(names)
    plain = clone(features).set_output(transform="default").fit(X, y).transform(X_test)
    np.testing.assert_array_equal(frame.to_numpy(), plain)


def test_polars_in_and_out():
    X, y, X_test, _ = circles(30)
    features = KernelFeatures(n_components=6).set_output(transform="polars")
    features.fit(polars.DataFrame({"a": X[:, 0], "b": X[:, 1]}), y)
    np.testing.assert_array_equal(features.feature_names_in_, ["a", "b"])
    frame = features.transform(polars.DataFrame({"a": X_test[:, 0], "b": X_test[:, 1]}))
    assert isinstance(frame, polars.DataFrame)
    assert frame.shape == (len(X_test), 6)
    with pytest.raises(ValueError, match="feature names"):
        features.transform(polars.DataFrame({"b": X_test[:, 1], "a": X_test[:, 0]}))


def test_a_pandas_index_survives():
    X, y, *_ = circles(20)
    frame = pandas.DataFrame(X, columns=["a", "b"], index=[f"row {i}" for i in range(20)])
    out = KernelFeatures(n_components=4).set_output(transform="pandas").fit_transform(frame, y)
    assert list(out.index) == list(frame.index)


def test_transform_in_blocks_is_transform_at_once():
    X, y, *_ = circles()
    many = np.random.default_rng(0).uniform(-1, 1, (2500, 2))
    for output in ("features", "gram"):
        features = KernelFeatures(n_components=None, output=output).fit(X, y)
        whole = features.transform(many)
        with sklearn.config_context(working_memory=1):
            assert rows_within_budget(60) < len(many) / 2
            np.testing.assert_allclose(features.transform(many), whole, atol=1e-9)


def test_it_pickles():
    X, y = make_moons(30, random_state=0)
    features = KernelFeatures(n_components=5).fit(X, y)
    copy = pickle.loads(pickle.dumps(features))
    np.testing.assert_array_equal(copy.transform(X), features.transform(X))
    assert copy.kernel_ == features.kernel_
