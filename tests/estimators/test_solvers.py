"""Solvers of the second stage: equal to the exact one where they must be, chosen by n."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_friedman1
from sklearn.linear_model import Ridge
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from kernalign import (
    AlignmentWarning,
    ContinuousAlignment,
    ContinuousRisk,
    Fourier,
    Gaussian,
    KernelClassifier,
    KernelRegressor,
    Linear,
    Sampled,
    UniformWeights,
)
from kernalign.estimators import linear
from kernalign.estimators.linear import default_features, held_out_split, on_sample
from kernalign.estimators.preselection import sample_rows
from kernalign.features import NystroemMap
from kernalign.gram import Target
from kernalign.machines import FeatureModel

KERNELS = UniformWeights(Gaussian().grid(1.0, 4.0, 2))
WIDE = UniformWeights(Gaussian().grid(3.0, 6.0, 2))
APPROXIMATE = ["nystroem", "fourier", "cg"]


def friedman(n=160):
    X, y = make_friedman1(n + 100, noise=0.5, random_state=0)
    return X[:n], y[:n], X[n:], y[n:]


def classes(n=300, number=2):
    X, y = make_classification(
        n + 200, 6, n_informative=4, n_redundant=0, n_classes=number, random_state=0
    )
    return X[:n], y[:n], X[n:], y[n:]


# --- the same solution ---------------------------------------------------------------------------


def features_of(model, X):
    """The features that a model was trained on."""
    if model.solver_ == "fourier":
        return model.model_.features
    return NystroemMap(model.kernel_, model.model_.rows)


def only_least_squares(monkeypatch):
    """As where features of all rows cannot be kept, and the squared hinge is not tried."""
    monkeypatch.setattr(linear, "features_fit", lambda *_: False)


@pytest.mark.parametrize("solver", ["nystroem", "cg"])
@pytest.mark.parametrize("weighted", [False, True])
def test_all_rows_as_landmarks_are_kernel_ridge_regression(solver, weighted):
    """The intercept differs: least squares fits it, kernel ridge takes the mean response."""
    X, y, X_test, _ = friedman()
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weighted else np.ones(len(y))
    options = {"learner": KERNELS, "C": 10.0, "cv": 2}
    exact = KernelRegressor(**options, solver="exact").fit(X, y, sample_weight=weight)
    model = KernelRegressor(**options, solver=solver).fit(X, y, sample_weight=weight)
    assert (exact.solver_, model.solver_) == ("exact", solver)
    if solver == "cg":
        np.testing.assert_allclose(model.predict(X_test), exact.predict(X_test), rtol=1e-4)
        return
    K = model.kernel_(X)
    values, vectors = np.linalg.eigh(K)
    phi = vectors * np.sqrt(np.maximum(values, 0))
    phi_test = model.kernel_(X_test, X) @ (vectors / np.sqrt(np.maximum(values, 1e-12)))
    ridge = Ridge(alpha=1 / 10.0).fit(phi, model.response_.forward(y), sample_weight=weight)
    naive = model.response_.back(ridge.predict(phi_test))
    np.testing.assert_allclose(model.predict(X_test), naive, rtol=1e-3)


@pytest.mark.parametrize("solver", APPROXIMATE)
@pytest.mark.parametrize("number", [2, 3])
def test_classes_are_least_squares_on_signs(solver, number, monkeypatch):
    only_least_squares(monkeypatch)
    X, y, X_test, y_test = classes(number=number)
    model = KernelClassifier(WIDE, solver=solver, n_components=150).fit(X, y)
    decision = model.decision_function(X_test)
    assert decision.shape == ((len(X_test),) if number == 2 else (len(X_test), number))
    if solver != "cg":
        features = features_of(model, X)
        phi, phi_test = (features.transform(Z) for Z in (X, X_test))
        signs = 2.0 * y - 1 if number == 2 else 2 * np.eye(number)[y] - 1
        naive = Ridge(alpha=1 / model.C_).fit(phi, signs).predict(phi_test)
        np.testing.assert_allclose(decision, naive, atol=1e-5)
    assert model.score(X_test, y_test) > 0.75
    p = model.predict_proba(X_test)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X_test))
    # Rows far outside the data and a copy from a file give the same as one by one.
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(copy.decision_function(X_test[:3]), decision[:3], atol=1e-8)


@pytest.mark.parametrize("solver", APPROXIMATE)
def test_rows_of_weight_zero_are_no_rows(solver):
    X, y, X_test, _ = classes(120)
    weight = np.ones(120)
    weight[::3] = 0
    options = {"learner": KERNELS, "C": 1.0, "cv": 2, "solver": solver, "n_components": 40}
    model = KernelClassifier(**options).fit(X, y, sample_weight=weight)
    removed = KernelClassifier(**options).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_allclose(
        model.decision_function(X_test), removed.decision_function(X_test), atol=1e-8
    )


def test_explicit_features_of_frequencies_are_exact():
    """The same machine as on landmarks, of which as many as the rank explain the kernel."""
    X, y, X_test, _ = friedman()
    learner = UniformWeights([Fourier().at([1.0, 2.0] + [0.0] * 8), Linear().at([1.0] * 10)])
    model = KernelRegressor(learner, C=1.0, cv=2, solver="fourier").fit(X, y)
    assert isinstance(model.model_, FeatureModel)
    seen = KernelRegressor(learner, C=1.0, cv=2, solver="nystroem").fit(X, y)
    np.testing.assert_allclose(model.predict(X_test), seen.predict(X_test), rtol=1e-4)
    assert model.model_.features.n_features == 3 + 10


# --- what "auto" is ------------------------------------------------------------------------------


def test_auto_is_exact_for_few_rows_and_for_other_machines(monkeypatch):
    X, y, X_test, _ = classes(80)
    auto, exact = (
        KernelClassifier(KERNELS, solver=s, cv=2).fit(X, y).decision_function(X_test)
        for s in ("auto", "exact")
    )
    np.testing.assert_array_equal(auto, exact)
    monkeypatch.setattr("kernalign.estimators.base.EXACT_ROWS", 50)
    assert KernelClassifier(KERNELS, C=1.0, cv=2).fit(X, y).solver_ == "nystroem"
    machine = SVC(kernel="precomputed")
    assert KernelClassifier(KERNELS, machine, C=1.0, cv=2).fit(X, y).solver_ == "exact"
    risk = ContinuousRisk(corrective=True)
    assert KernelClassifier(risk, C=1.0, cv=2).fit(X, y).solver_ == "exact"
    frequencies = ContinuousAlignment(Fourier(), max_iter=2)
    assert KernelClassifier(frequencies, C=1.0, cv=2).fit(X, y).solver_ == "fourier"
    assert KernelRegressor(KERNELS, "ridge", C=1.0, cv=2).fit(X, y).solver_ == "nystroem"
    assert KernelRegressor(KERNELS, "svr", C=1.0, cv=2).fit(X, y).solver_ == "exact"


def test_samples_where_cost_grows_faster_than_rows():
    one, many, waves = Gaussian(), Gaussian(ard=True), Fourier()
    for few in (ContinuousAlignment(one), ContinuousAlignment()):
        assert on_sample(few, 20_000) is few
        # Rows are left for the choice of C.
        assert on_sample(few, 10_000, free=2000).max_rows == 8000
    for family, n, largest in ((one, 20_001, 20_000), (None, 10**6, 20_000), (many, 5000, 4000)):
        wrapped = on_sample(ContinuousAlignment(family), n)
        assert isinstance(wrapped, Sampled)
        assert wrapped.max_rows == largest
    assert on_sample(UniformWeights(), 4001).max_rows == 4000
    assert on_sample(UniformWeights(), 300, True, 60).max_rows == 240
    # Linear in n already.
    assert isinstance(on_sample(ContinuousAlignment(waves), 10**6), ContinuousAlignment)
    # One pass over pairs is all that can be sent to rows elsewhere.
    for one in (ContinuousAlignment(), ContinuousAlignment(Gaussian(columns=[0]))):
        assert on_sample(one, 100, remote=True) is one
    for other in (Gaussian(ard=True), Fourier()):
        assert isinstance(on_sample(ContinuousAlignment(other), 100, remote=True), Sampled)
    assert isinstance(on_sample(UniformWeights(), 100, remote=True), Sampled)
    given = Sampled(max_rows=50)
    assert on_sample(given, 10**6) is given


def test_features_are_more_where_there_are_rows_for_them():
    sizes = np.unique(np.geomspace(100, 1e7, 300).astype(int))
    number = np.array([default_features(n, "auto") for n in sizes])
    assert (number[(sizes <= 30_000) | (sizes >= 250_000)] == 3000).all()
    more = number > 3000
    assert (sizes[more] >= 10 * number[more]).all()
    assert number.max() > 6000
    # Sums cost n times the square: never less for more rows, but for whole numbers.
    cost = sizes * number.astype(float) ** 2
    assert (cost[1:] >= cost[:-1] * (1 - 1e-3)).all()
    assert default_features(60_000, "cg") == 3000


def test_rows_that_decide_between_kernels_cost_the_same_for_any_number_of_features():
    assert [sample_rows(d) for d in (2, 100, 400)] == [2000, 2000, 1000]
    assert sample_rows(784) ** 2 * 784 <= 2000**2 * 100


def test_c_is_chosen_on_rows_that_the_sample_does_not_hold():
    y = np.repeat([0.0, 1.0], [300, 100])[:, None]
    used = np.arange(0, 400, 2)
    train, test = held_out_split(Target(y, np.ones(400)), 80, used)
    assert sorted([*train, *test]) == list(range(400))
    assert len(test) == 80
    assert not set(test) & set(used)
    assert y[test].sum() == pytest.approx(20, abs=1)


def test_sampled_kernel_serves_the_choice_and_the_fit(monkeypatch):
    """One kernel, one set of features: the sums of the choice are a part of those of the fit."""
    X, y, *_ = classes(600)
    monkeypatch.setattr(linear, "FOLDS_ROWS", 500)
    learner = Sampled(tol=0.5, min_rows=60)
    passes = []
    real = linear.normal_equations

    def counting(features, X, Y, weight, rows=None, kept=None):
        passes.append(len(X) if rows is None else len(rows))
        return real(features, X, Y, weight, rows, kept)

    monkeypatch.setattr(linear, "normal_equations", counting)
    only_least_squares(monkeypatch)
    model = KernelClassifier(learner, solver="nystroem", n_components=50).fit(X, y)
    assert passes == [480, 120]
    # The same machine from one pass over all rows.
    features = features_of(model, X)
    signs = (2.0 * y - 1)[:, None]
    one = real(features, X, signs, np.ones(600)).path(features.root, np.array([model.C_]))[0]
    np.testing.assert_allclose(model.model_.coefficients, one.coefficients[:, 0], rtol=1e-6)


@pytest.mark.parametrize("cv", [5, StratifiedKFold(5)])
def test_the_choice_between_kernels_is_judged_too(cv):
    """Labels without a signal, and the luckiest of many kernels: its error is not told."""
    errors = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 20)), np.arange(60) % 2
        learners = [UniformWeights([Gaussian(columns=[k]).at(1.0)]) for k in range(20)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AlignmentWarning)
            model = KernelClassifier(learners, solver="nystroem", C=[1.0, 10.0], cv=cv).fit(X, y)
        errors.append(model.cv_error_)
    assert np.mean(errors) > 0.45


def test_a_sample_that_decides_is_told_of(monkeypatch):
    monkeypatch.setattr("kernalign.estimators.base.EXACT_ROWS", 50)
    monkeypatch.setattr(linear, "FOLDS_ROWS", 50)
    X, y, *_ = classes(200)
    learners = [
        UniformWeights(Gaussian().grid(0.3, 1, 2)),
        UniformWeights(Gaussian().grid(1, 3, 2)),
    ]
    for model in (KernelRegressor(learners, C=1.0), KernelClassifier(learners, C=1.0)):
        model.fit(X, y)
        assert len(model.path_) >= 3
        assert np.isfinite(model.cv_error_)


def test_a_class_that_is_hardly_in_the_sample_has_no_say(monkeypatch):
    monkeypatch.setattr(linear, "FOLDS_ROWS", 50)
    X, y, *_ = classes(200)
    for rare in (0, 1, 2):
        labels = np.where(y == 0, (rare + 1) % 3, (rare + 2) % 3)
        labels[:2] = rare
        learners = [UniformWeights(Gaussian().grid(s, 2 * s, 2)) for s in (0.3, 1.0)]
        model = KernelClassifier(learners, solver="nystroem", n_components=30, C=[1.0, 10.0])
        assert len(model.fit(X, labels).path_) >= 3


def test_a_bootstrap_may_choose(monkeypatch):
    X, y, *_ = classes(60)
    rng = np.random.default_rng(0)
    folds = [(rng.integers(0, 60, 60), np.arange(0, 60, 2)) for _ in range(2)]
    model = KernelClassifier(KERNELS, solver="nystroem", nested=False, cv=folds, C=[1.0, 10.0])
    assert model.fit(X, y).score(X, y) > 0.7


def test_few_rows_have_all_folds():
    X, y, *_ = classes(100)
    model = KernelClassifier(KERNELS, solver="nystroem", C=[1.0, 2.0]).fit(X, y)
    folds = StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)
    given = KernelClassifier(KERNELS, solver="nystroem", C=[1.0, 2.0], cv=list(folds)).fit(X, y)
    np.testing.assert_array_equal(model.cv_results_["error"], given.cv_results_["error"])


def test_given_folds_are_used():
    X, y, *_ = classes(90)
    folds = [(np.arange(45), np.arange(45, 90)), (np.arange(45, 90), np.arange(45))]
    model = KernelClassifier(KERNELS, cv=folds, solver="nystroem", C=[0.1, 1.0]).fit(X, y)
    assert model.cv_results_["error"].shape == (2,)
    errors = []
    for train, test in folds:
        part = KernelClassifier(KERNELS, C=model.C_, cv=2, solver="nystroem")
        errors.append(1 - part.fit(X[train], y[train]).score(X[test], y[test]))
    assert model.cv_results_["error"].min() == pytest.approx(np.mean(errors))


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"solver": "fast"}, "'solver' parameter of KernelClassifier must be one of 'auto'"),
        ({"solver": None}, "'solver' parameter"),
        ({"n_components": 0}, "'n_components' parameter of KernelClassifier"),
        ({"n_components": 2.5}, "'n_components' parameter"),
        (
            {"solver": "nystroem", "machine": SVC(kernel="precomputed")},
            "supports no other machine. Got machine=SVC",
        ),
        ({"solver": "cg", "learner": ContinuousRisk()}, "which trains its own"),
    ],
)
def test_wrong_parameters_are_named(options, match):
    X, y, *_ = classes(40)
    with pytest.raises(ValueError, match=match):
        KernelClassifier(**options).fit(X, y)
