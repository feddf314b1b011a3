"""Intervals and sets: the conformal quantile, a naive refit in folds, and what is refused."""

import dask
import dask.array as da
import numpy as np
import pytest
from sklearn.datasets import make_classification, make_friedman1
from sklearn.model_selection import KFold

from kernalign import Gaussian, KernelClassifier, KernelRegressor, UniformWeights, load, save
from kernalign.estimators.scores import Scores
from kernalign.estimators.sets import more_probable
from kernalign.kernels.beyond import variance_beyond

QUICK = UniformWeights(Gaussian().grid(0.5, 2.0, 2))


def problem(n=100, seed=0):
    return make_friedman1(n, n_features=5, noise=1.0, random_state=seed)


@pytest.fixture(scope="module")
def regressor():
    return KernelRegressor(cv=KFold(3)).fit(*problem())


@pytest.fixture(scope="module")
def classifier():
    X, y = make_classification(
        300, 6, n_informative=3, n_redundant=0, n_classes=3, n_clusters_per_class=1, flip_y=0.2,
        random_state=0,
    )  # fmt: skip
    return KernelClassifier().fit(X[:120], y[:120]), X[120:], y[120:]


# --- the quantile --------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.5, 0.8, 0.9, 0.95, 2 / 3])
@pytest.mark.parametrize("n", [3, 9, 19, 40])
def test_one_of_exchangeable_values_is_below_the_quantile_of_the_others_as_often_as_asked(n, share):
    """Enumerated: each of n + 1 values in turn is the new one."""
    values = np.random.default_rng(0).normal(size=n + 1)
    below = [
        values[i] <= Scores.of(np.delete(values, i), np.ones(n)).above(share) for i in range(n + 1)
    ]
    assert sum(below) == min(np.ceil((n + 1) * share - 1e-9), n + 1)


def test_both_tails_are_alike_and_quantiles_do_not_cross():
    values = np.random.default_rng(1).normal(size=57)
    scores, mirrored = Scores.of(values, np.ones(57)), Scores.of(-values, np.ones(57))
    shares = np.linspace(0.02, 0.98, 49)
    found = [scores.quantile(share) for share in shares]
    assert (np.diff(found) >= 0).all()
    np.testing.assert_allclose(found, [-mirrored.quantile(1 - share) for share in shares])
    inside = np.abs(values) <= scores.within(0.9)
    assert inside.sum() == np.ceil(58 * 0.9)


def test_integer_weights_count_as_repeated_rows_and_too_few_rows_are_unbounded():
    values, w = np.random.default_rng(2).normal(size=20), np.arange(20) % 3 + 1
    once, often = (
        Scores.of(values, w.astype(float)),
        Scores.of(np.repeat(values, w), np.ones(w.sum())),
    )
    for share in (0.1, 0.5, 0.9):
        assert once.quantile(share) == often.quantile(share)
        assert once.within(share) == often.within(share)
    assert Scores.of(values[:8], np.ones(8)).within(0.9) == np.inf
    assert Scores.of(values[:9], np.ones(9)).within(0.9) < np.inf


def test_many_scores_are_kept_as_their_quantiles():
    values = np.random.default_rng(3).normal(size=5000)
    scores = Scores.of(values, np.ones(5000))
    assert len(scores.values) == 500
    assert scores.above(0.9) == np.sort(values)[4509]
    assert np.mean(values <= scores.above(0.9)) == pytest.approx(0.9, abs=3e-3)


# --- numbers -------------------------------------------------------------------------------------


def test_the_interval_against_folds_that_are_fitted_by_hand(regressor):
    X, y = problem()
    t = regressor.response_.forward(y)
    scores = np.empty(len(y))
    for train, test in KFold(3).split(X):
        search = regressor.learner_.for_folds().fit(X[train], t[train])
        K = search.kernel_(X[train])
        h = np.trace(K) / len(K)
        A = K + h + h * search.noise_ * np.eye(len(K))
        centred = t[train] - t[train].mean()
        a = np.linalg.solve(A, centred)
        k = search.kernel_(X[test], X[train]) + h
        own = search.kernel_.diag(X[test]) + h + h * search.noise_
        own += variance_beyond(search.kernel_, X[test])
        variance = a @ centred / len(K) * (own - np.sum(k * np.linalg.solve(A, k.T).T, axis=1))
        scores[test] = (t[test] - t[train].mean() - k @ a) / np.sqrt(variance)
    size = np.sort(np.abs(scores))[int(np.ceil(0.8 * 101)) - 1]
    X_new, _ = problem(40, seed=1)
    mean, deviation = regressor.predict(X_new, return_std=True)
    wanted = np.column_stack([mean - size * deviation, mean + size * deviation])
    np.testing.assert_allclose(regressor.predict_interval(X_new, 0.8), wanted, rtol=1e-5)


def test_they_hold_new_rows_and_are_wider_where_no_rows_were(regressor):
    X_new, y_new = problem(2000, seed=1)
    low, high = regressor.predict_interval(X_new).T
    # 100 rows of scores: the coverage itself has a standard deviation of 3 points.
    assert 0.82 < np.mean((low <= y_new) & (y_new <= high)) < 0.98
    far = regressor.predict_interval(X_new[:20] + 10.0)
    assert (
        np.ptp(far, axis=1).min() > 1.5 * np.ptp(regressor.predict_interval(X_new), axis=1).mean()
    )


def test_quantiles_go_through_the_curve_of_the_response():
    """On the scale of the curve, intervals are symmetric and quantiles are scores times sizes."""
    X, y = problem()
    curved = KernelRegressor().fit(X, np.exp(y))
    assert curved.response_.curve == "log"
    X_new, _ = problem(30, seed=1)
    t = curved.model_.outputs(X_new)
    low, high = curved.response_.forward(curved.predict_interval(X_new)).T
    np.testing.assert_allclose((low + high) / 2, t, atol=1e-9)
    deviation = (high - low) / 2 / curved.certainty_.scores.within(0.9)
    found = curved.response_.forward(curved.predict_quantiles(X_new, [0.1, 0.7]))
    for share, of_rows in zip((0.1, 0.7), found.T, strict=True):
        score = curved.certainty_.scores.quantile(share)
        np.testing.assert_allclose(of_rows, t + score * deviation, atol=1e-9)
    mean, spread = curved.predict(X_new, return_std=True)
    assert (spread > 0).all()
    np.testing.assert_array_equal(mean, curved.predict(X_new))


def test_a_machine_with_a_chosen_c_has_intervals_of_one_size():
    X, y = problem()
    X_new, y_new = problem(500, seed=1)
    for machine in ("ridge", "svr"):
        other = KernelRegressor(QUICK, machine, C=1.0).fit(X, y)
        width = np.ptp(other.predict_interval(X_new), axis=1)
        assert np.ptp(width) < 1e-9 * width.mean()
        low, high = other.predict_interval(X_new).T
        assert 0.8 < np.mean((low <= y_new) & (y_new <= high)) < 0.99
    with pytest.raises(ValueError, match="return_std needs a machine that is a Gaussian process"):
        other.predict(X_new, return_std=True)


def test_the_posterior_of_a_given_ridge_machine():
    X, y = problem(40)
    ridge = KernelRegressor(QUICK, "ridge", C=2.0).fit(X, y)
    t = (y - y.mean()) / y.std()
    A = ridge.kernel_(X) + np.eye(40) / 2
    X_new, _ = problem(10, seed=1)
    k = ridge.kernel_(X_new, X)
    own = ridge.kernel_.diag(X_new) + 1 / 2
    scale = t @ np.linalg.solve(A, t) / 40 * y.var()
    wanted = np.sqrt(scale * (own - np.sum(k * np.linalg.solve(A, k.T).T, axis=1)))
    np.testing.assert_allclose(ridge.predict(X_new, return_std=True)[1], wanted, rtol=1e-6)


def test_a_constant_response_is_certain():
    X, _ = problem(20)
    constant = KernelRegressor().fit(X, np.full(20, 3.0))
    np.testing.assert_allclose(constant.predict_interval(X[:4]), 3.0)
    np.testing.assert_allclose(constant.predict(X[:4], return_std=True)[1], 0.0)


# --- classes -------------------------------------------------------------------------------------


def test_scores_are_the_probabilities_of_more_probable_classes():
    found = more_probable(np.array([[0.5, 0.2, 0.3], [0.25, 0.25, 0.5]]))
    np.testing.assert_allclose(found, [[0.0, 0.8, 0.5], [0.5, 0.5, 0.0]])


def test_sets_hold_the_class_as_often_as_asked_and_grow(classifier):
    model, X, y = classifier
    sizes = []
    for coverage in (0.6, 0.9, 0.97):
        sets = model.predict_set(X, coverage)
        assert sets.dtype == bool
        assert sets.any(axis=1).all()
        assert sets[np.arange(len(y)), np.searchsorted(model.classes_, y)].mean() > coverage - 0.08
        sizes.append(sets.sum())
        # The most probable class is always there.
        assert sets[np.arange(len(y)), model.predict_proba(X).argmax(axis=1)].all()
    assert sizes == sorted(sizes)


# --- elsewhere, and what is refused --------------------------------------------------------------


def test_they_are_saved_and_work_on_dask(regressor, classifier, tmp_path):
    X, _ = problem(40, seed=1)
    model, X_class, _ = classifier
    again, other = (load(save(m, tmp_path / "m.kern")) for m in (regressor, model))
    np.testing.assert_array_equal(again.predict_interval(X), regressor.predict_interval(X))
    np.testing.assert_array_equal(other.predict_set(X_class), model.predict_set(X_class))
    with dask.config.set(scheduler="threads"):
        far = regressor.predict_interval(da.from_array(X, chunks=(15, -1)))
        np.testing.assert_allclose(far.compute(), regressor.predict_interval(X), rtol=1e-9)
        _, deviation = regressor.predict(da.from_array(X, chunks=(15, -1)), return_std=True)
        wanted = regressor.predict(X, return_std=True)[1]
        np.testing.assert_allclose(deviation.compute(), wanted, rtol=1e-9)
        sets = model.predict_set(da.from_array(X_class, chunks=(50, -1)))
        np.testing.assert_array_equal(sets.compute(), model.predict_set(X_class))


def test_what_is_not_known_is_refused_in_words(regressor):
    X, y = problem(40)
    for coverage in (0.0, 1.0, 90, "most", None):
        with pytest.raises(ValueError, match=r"'coverage' of KernelRegressor must be in \(0, 1\)"):
            regressor.predict_interval(X, coverage)
    with pytest.raises(ValueError, match=r"'quantiles' of KernelRegressor must be in \(0, 1\)"):
        regressor.predict_quantiles(X, [0.5, 1.5])
    with pytest.raises(ValueError, match="with nested=False"):
        KernelRegressor(nested=False).fit(X, y).predict_interval(X)
    with pytest.raises(ValueError, match="with nested=False"):
        KernelClassifier(nested=False).fit(X, y > y.mean()).predict_set(X)
    several = KernelRegressor(QUICK, C=1.0).fit(X, np.column_stack([y, -y]))
    with pytest.raises(ValueError, match="does not know its intervals: y has several columns"):
        several.predict_interval(X)
    with pytest.raises(ValueError, match="return_std supports one response"):
        several.predict(X, return_std=True)
