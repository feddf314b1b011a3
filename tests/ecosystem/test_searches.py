"""Under scikit-learn's searches and cross-validation."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401 - makes the class importable
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from kernalign import (
    AnyOf,
    ContinuousAlignment,
    DiscreteAlignment,
    Gaussian,
    KernelClassifier,
    KernelRegressor,
    Laplacian,
    UniformWeights,
)
from tests.ecosystem.problems import ring, wave

FOLDS = StratifiedKFold(3)


def test_a_grid_over_nested_parameters_of_the_learner():
    X, y = ring(90, noise_features=6)
    model = KernelClassifier(ContinuousAlignment(Gaussian()), C=10.0, cv=2)
    grid = {"learner__family__ard": [False, True], "learner__max_iter": [1, 2]}
    search = GridSearchCV(model, grid, cv=FOLDS).fit(X, y)
    # Six of eight features are noise: one bandwidth per feature must win.
    assert search.best_params_["learner__family__ard"] is True
    scores = search.cv_results_["mean_test_score"]
    assert scores[2:].max() > scores[:2].max() + 0.1
    for params, score in zip(search.cv_results_["params"], scores, strict=True):
        alone = KernelClassifier(
            ContinuousAlignment(
                Gaussian(ard=params["learner__family__ard"]),
                max_iter=params["learner__max_iter"],
            ),
            C=10.0,
            cv=2,
        )
        assert cross_val_score(alone, X, y, cv=FOLDS).mean() == pytest.approx(score)
    assert model.learner.family.ard is False


def test_a_grid_over_c_agrees_with_the_classifiers_own_choice():
    X, y = ring(90, seed=3)
    values = [0.01, 0.1, 1.0, 10.0, 100.0]
    one = KernelClassifier(ContinuousAlignment(), SVC(kernel="precomputed"))
    search = GridSearchCV(one, {"C": values}, cv=FOLDS).fit(X, y)
    own = clone(one).set_params(C=values, cv=FOLDS).fit(X, y)
    # Folds of equal size: the mean over folds is the mean over rows.
    np.testing.assert_allclose(
        1 - search.cv_results_["mean_test_score"], own.cv_results_["error"], atol=1e-12
    )
    assert search.best_params_["C"] == own.C_
    np.testing.assert_array_equal(search.predict(X), own.predict(X))


def test_a_grid_over_c_of_the_regressor():
    X, y = wave(90)
    values = [1e-4, 1.0, 1e3]
    search = GridSearchCV(
        KernelRegressor(), {"C": values}, cv=KFold(3), scoring="neg_mean_squared_error"
    ).fit(X, y)
    # Too strong a ridge predicts the mean.
    assert search.best_params_["C"] > 1e-4
    errors = -search.cv_results_["mean_test_score"]
    assert errors[0] > 5 * errors.min()


def test_a_grid_over_whole_learners_and_families():
    X, y = ring()
    grid = [
        {"learner": [UniformWeights(Gaussian().grid(1e3, 1e4, 4)), ContinuousAlignment()]},
        {"learner": [ContinuousAlignment()], "learner__family": [Gaussian(), Laplacian()]},
    ]
    search = GridSearchCV(KernelClassifier(C=10.0), grid, cv=FOLDS).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    # Bandwidths a thousand times the data cannot see the ring.
    assert scores[0] < 0.8
    assert scores[1] > 0.9
    # The default family is the Gaussian.
    assert scores[1] == scores[2]
    assert isinstance(search.best_estimator_.learner, ContinuousAlignment)


def test_a_grid_over_one_member_of_a_union():
    X, y = ring(noise_features=2)
    union = AnyOf(Gaussian(columns=[2, 3]), Gaussian(columns=[3]))
    grid = {"learner__family__family_1__columns": [[2], [0, 1]]}
    search = GridSearchCV(KernelClassifier(ContinuousAlignment(union), C=10.0), grid, cv=FOLDS)
    search.fit(X, y)
    assert search.best_params_["learner__family__family_1__columns"] == [0, 1]
    assert search.best_score_ > 0.9
    assert union.families[1].columns == [3]


def test_a_grid_over_a_finite_dictionary():
    X, y = ring()
    grid = {"learner__kernels": [Gaussian().grid(1e3, 1e4, 3), Gaussian().grid(0.3, 3, 3)]}
    search = GridSearchCV(KernelClassifier(DiscreteAlignment(), C=10.0), grid, cv=FOLDS).fit(X, y)
    assert search.best_index_ == 1
    assert search.best_score_ > 0.9


@pytest.mark.filterwarnings("ignore::kernalign.AlignmentWarning")
def test_successive_halving():
    X, y = ring(120, noise_features=4)
    search = HalvingGridSearchCV(
        KernelClassifier(ContinuousAlignment(Gaussian(), max_iter=1), C=10.0, cv=2),
        {"learner__family__ard": [False, True], "C": [0.001, 10.0]},
        cv=FOLDS,
        factor=2,
        min_resources=60,
        random_state=0,
    ).fit(X, y)
    assert search.n_resources_ == [60, 120]
    assert search.best_params_ == {"C": 10.0, "learner__family__ard": True}
    last = search.cv_results_["iter"] == 1
    assert last.sum() == 2
    assert search.cv_results_["mean_test_score"][last].max() > 0.85


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_cross_val_predict_is_the_loop_over_folds(method):
    X, y = ring(90)
    model = KernelClassifier(C=10.0)
    found = cross_val_predict(model, X, y, cv=FOLDS, method=method)
    for train, test in FOLDS.split(X, y):
        fitted = KernelClassifier(C=10.0).fit(X[train], y[train])
        np.testing.assert_array_equal(found[test], getattr(fitted, method)(X[test]))
    if method == "predict":
        assert (found == y).mean() > 0.85


def test_cross_val_predict_of_three_classes_and_of_numbers():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 2))
    y = np.array(["inner", "middle", "outer"])[np.digitize(np.hypot(*X.T), [0.9, 1.5])]
    proba = cross_val_predict(KernelClassifier(C=10.0), X, y, cv=FOLDS, method="predict_proba")
    assert proba.shape == (120, 3)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert (np.unique(y)[proba.argmax(axis=1)] == y).mean() > 0.8

    X, y = wave(120)
    predicted = cross_val_predict(KernelRegressor(C=100.0), X, y, cv=KFold(3))
    assert 1 - np.var(y - predicted) / np.var(y) > 0.9


def test_a_search_over_a_pipeline_leaves_the_scaler_out_of_the_test_rows():
    X, y = ring(90)
    X = X * [1, 100]
    pipe = make_pipeline(StandardScaler(), KernelClassifier())
    search = GridSearchCV(pipe, {"kernelclassifier__C": [1.0, 10.0]}, cv=FOLDS).fit(X, y)
    scores = []
    for train, test in FOLDS.split(X, y):
        scaler = StandardScaler().fit(X[train])
        alone = KernelClassifier(C=10.0).fit(scaler.transform(X[train]), y[train])
        scores.append(alone.score(scaler.transform(X[test]), y[test]))
    assert search.cv_results_["mean_test_score"][1] == pytest.approx(np.mean(scores))
