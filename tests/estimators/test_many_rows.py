"""The default fit on many rows: a ridge machine on landmarks."""

from functools import partialmethod

import dask.array as da
import numpy as np
import pytest
from sklearn.datasets import make_friedman1, make_moons

import kernalign
from kernalign import KernelClassifier, KernelRegressor, KernelSearch
from kernalign.criteria.kernel_sum import CONSTANT
from kernalign.estimators import base, landmark_rows, landmark_solutions, landmark_task, landmarked
from kernalign.gram import Target
from kernalign.kernels import Additive, Linear
from kernalign.learners import kernel_search
from kernalign.machines import posterior, stored_ridge
from kernalign.machines.landmark_ridge import LandmarkRidge
from kernalign.machines.stored_ridge import StoredRidge


@pytest.fixture
def few_are_many(monkeypatch):
    """Landmarks from 300 rows on; evidence sees 150 at most."""
    monkeypatch.setattr(base, "SOLVED_ROWS", 300)
    monkeypatch.setattr(landmark_solutions, "PAIR_BYTES", 0)
    monkeypatch.setattr(landmarked, "MIN_LANDMARKS", 150)
    monkeypatch.setattr(landmarked, "TUNED_ROWS", 150)
    monkeypatch.setattr(kernel_search, "MANY_ROWS", 300)
    sizes = kernel_search.Sizes(scan=100, search=150, judge=150, refine=150)
    monkeypatch.setitem(kernel_search.SIZES, "full", (sizes, kernel_search.Effort()))


def skewed(n):
    X, y = make_friedman1(n, 5, noise=1.0, random_state=0)
    return X, np.exp(y / 5)


@pytest.mark.parametrize("streamed", [False, True])
def test_numbers(few_are_many, monkeypatch, streamed):
    if streamed:
        monkeypatch.setattr(landmark_solutions, "KEPT_BYTES", 8 * 200 * 500)
    X, y = skewed(1400)
    model = KernelRegressor().fit(X[:600], y[:600])
    exact = KernelRegressor(solver="exact").fit(X[:600], y[:600])
    assert model.solver_ == "nystroem"
    assert model.model_.kept == "landmarks"
    assert model.model_.n_rows == 600
    assert model.response_.curve == "log"
    errors = [np.mean((m.predict(X[600:]) - y[600:]) ** 2) for m in (model, exact)]
    assert errors[0] < 1.25 * errors[1]
    # Sixty held-out rows tell it roughly.
    assert 0.4 * errors[0] < model.cv_error_ < 2.5 * errors[0]


def test_classes(few_are_many):
    X, y = make_moons(1600, noise=0.3, random_state=0)
    model = KernelClassifier().fit(X[:600], y[:600])
    wrong = 1 - model.score(X[600:], y[600:])
    assert wrong < 0.12
    assert abs(model.cv_error_ - wrong) < 3 * model.cv_error_std_ + 0.03
    p = model.predict_proba(X[600:])[:, 1]
    assert np.mean((p - y[600:]) ** 2) < 0.09


def test_several_classes_and_weights(few_are_many):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 2))
    y = np.where(X[:, 0] > 0.5, "far", np.where(X[:, 1] > 0, "up", "down"))
    weight = rng.uniform(0.5, 2.0, 900)
    weight[:50] = 0.0
    model = KernelClassifier().fit(X, y, sample_weight=weight)
    assert model.solver_ == "nystroem"
    assert model.score(X, y) > 0.95
    assert model.decision_function(X[:3]).shape == (3, 3)


def test_the_number_of_landmarks_can_be_given(few_are_many):
    X, y = skewed(400)
    model = KernelRegressor(n_components=60).fit(X, y)
    assert len(model.model_.rows) == 60


def test_a_skewed_response_between_tuned_and_solved_rows():
    """Rows that the noise is not tuned on have no leave-one-out output."""
    X, y = skewed(2300)
    model = KernelRegressor(cv=2).fit(X[:2100], y[:2100])
    assert model.response_.curve == "log"
    assert model.score(X[2100:], y[2100:]) > 0.7


def test_intervals_cover(few_are_many):
    X, y = make_friedman1(2600, 5, noise=1.0, random_state=0)
    model = KernelRegressor().fit(X[:1200], y[:1200])
    low, high = model.predict_interval(X[1200:], 0.9).T
    assert 0.84 < np.mean((low <= y[1200:]) & (y[1200:] <= high)) < 0.97
    mean, deviation = model.predict(X[1200:], return_std=True)
    assert 0.8 < np.std((y[1200:] - mean) / deviation) < 1.25


def test_no_landmark_is_held_out(few_are_many):
    """Such rows would have larger errors than new ones."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(6000, 2))
    y = np.sin(25 * X[:, 0]) * np.sin(25 * X[:, 1]) > 0
    model = KernelClassifier(n_components=900).fit(X[:2000], y[:2000])
    held = {tuple(row) for row in X[model.held_out_.index]}
    assert not held & {tuple(row) for row in model.model_.rows}
    wrong = 1 - model.score(X[2000:], y[2000:])
    assert model.cv_error_ < wrong + 2.5 * model.cv_error_std_


@pytest.fixture
def few_landmarks_are_many(few_are_many, monkeypatch):
    """Blocks of at most 60 landmarks, if more than 60 are asked for."""
    monkeypatch.setattr(landmarked, "MAX_LANDMARKS", 60)
    monkeypatch.setattr(landmark_solutions, "BLOCK_LANDMARKS", 60)
    monkeypatch.setattr(posterior, "MOST_LANDMARKS", 60)


def waves(n):
    """A function that takes many landmarks."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 2))
    return X, np.sin(20 * X[:, 0]) * np.sin(20 * X[:, 1]) + 0.05 * rng.normal(size=n)


def repeated(n, copies):
    """Rows of which half are copies of a few."""
    X, y = make_friedman1(n, 5, noise=0.1, random_state=0)
    X[: n // 2] = X[np.arange(n // 2) // copies]
    return X, y


def task_of(X, y, held):
    return landmark_task.Task(None, X, Target(y[:, None], np.ones(len(y))), held, 0.0)


def test_equal_rows_do_not_use_up_landmarks():
    X, y = repeated(1000, 50)
    held = np.arange(0, 1000, 10)
    places, landmarks = landmark_rows.first_landmarks(task_of(X, y, held), 400)
    assert len(places) == len(np.unique(landmarks, axis=0)) >= 0.9 * 400
    assert np.array_equal(landmarks, X[places])
    assert not np.isin(places, held).any()


def test_all_different_rows_are_landmarks_if_they_are_few():
    X, y = repeated(400, 50)
    X[200:] = X[:200]
    _, landmarks = landmark_rows.first_landmarks(task_of(X, y, np.array([0])), 100)
    assert len(landmarks) == len(np.unique(X, axis=0)) == 4


def test_rows_equal_to_a_landmark_are_not_added():
    X, y = repeated(1000, 50)
    held, known = np.arange(0, 1000, 10), np.array([1, 51, 701])
    blocks = landmark_rows.further_landmarks(task_of(X, y, held), known, 16_000, 100)
    rows, free = X[np.concatenate([known, *blocks])], np.delete(X, held, axis=0)
    assert len(rows) == len(np.unique(rows, axis=0)) == len(np.unique(free, axis=0))


def test_the_machine_has_the_noise_of_many_rows(few_are_many):
    X, y = skewed(600)
    model = KernelRegressor().fit(X, y)
    size = np.average(model.kernel_.diag(X))
    assert pytest.approx(1 / (model.learner_.noise_ * size), rel=0.01) == model.C_
    given = KernelRegressor(C=2 * model.C_).fit(X, y)
    assert given.C_ == 2 * model.C_
    # The noise that a user gives is that of the deviations too.
    assert given.certainty_.posterior.noise == pytest.approx(1 / given.C_, rel=0.01)


@pytest.mark.parametrize("n", [310, 600])
def test_the_search_on_many_rows_sees_no_row_of_the_hold_out_set(few_are_many, n):
    model = KernelRegressor().fit(*skewed(n))
    assert len(model.learner_.rows_) > 0.7 * n
    assert not np.isin(model.held_out_.index, model.learner_.rows_).any()
    assert len(model.held_out_.index) >= 0.05 * n


def test_exact_rows_among_noisy_ones_are_predicted_with_less_noise(few_are_many, monkeypatch):
    """Evidence needs the noise of the few noisy rows for all."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.uniform(-3, 3, (300, 1)), 4, axis=0)[rng.permutation(1200)]
    y = np.sin(4 * X[:, 0]) + np.sign(np.sin(7 * X[:, 0]))
    y[X[:, 0] < -2.5] += rng.normal(size=(X[:, 0] < -2.5).sum())
    tuned = KernelRegressor().fit(X[:900], y[:900])
    monkeypatch.setattr(kernel_search, "MANY_ROWS", 10_000)
    plain = KernelRegressor().fit(X[:900], y[:900])
    assert tuned.C_ > plain.C_
    assert tuned.score(X[900:], y[900:]) > plain.score(X[900:], y[900:])


def test_many_landmarks_are_solved_in_blocks(few_landmarks_are_many, tmp_path):
    X, y = waves(1500)
    few, many = (KernelRegressor(n_components=m).fit(X[:700], y[:700]) for m in (60, 300))
    assert len(many.model_.rows) == 300
    errors = [np.mean((model.predict(X[700:]) - y[700:]) ** 2) for model in (few, many)]
    assert errors[1] < 0.5 * errors[0]
    assert 0.3 * errors[1] < many.cv_error_ < 3 * errors[1]
    low, high = many.predict_interval(X[700:], 0.9).T
    assert 0.8 < np.mean((low <= y[700:]) & (y[700:] <= high)) < 0.98
    kernalign.save(many, tmp_path / "model.kernalign")
    loaded = kernalign.load(tmp_path / "model.kernalign")
    np.testing.assert_array_equal(loaded.predict(X), many.predict(X))
    np.testing.assert_array_equal(loaded.predict(X, return_std=True)[1], many.predict(X, True)[1])


def test_several_classes_in_blocks(few_landmarks_are_many):
    X, _ = waves(900)
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + X[:, 1], [0.8, 1.2])]
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 900)
    weight[:50] = 0.0
    model = KernelClassifier(n_components=200).fit(X, y, sample_weight=weight)
    assert len(model.model_.rows) == 200
    assert model.score(X, y) > 0.95


def test_landmarks_are_added_while_they_help(few_are_many, monkeypatch):
    monkeypatch.setattr(landmarked, "MIN_LANDMARKS", 60)
    monkeypatch.setattr(landmarked, "MAX_LANDMARKS", 60)
    X, y = waves(1500)
    grown = KernelRegressor().fit(X[:700], y[:700])
    number = len(grown.model_.rows)
    # Blocks of 60, up to all rows that are not held out.
    assert 120 <= number <= 630
    held = {tuple(row) for row in X[grown.held_out_.index]}
    assert not held & {tuple(row) for row in grown.model_.rows}
    monkeypatch.setattr(landmark_solutions, "MAX_GROWN", 120)
    assert len(KernelRegressor().fit(X[:700], y[:700]).model_.rows) == 120
    monkeypatch.setattr(landmark_solutions, "MAX_GROWN", 60)
    fixed = KernelRegressor().fit(X[:700], y[:700])
    errors = [np.mean((model.predict(X[700:]) - y[700:]) ** 2) for model in (fixed, grown)]
    assert errors[1] < 0.7 * errors[0]


def test_landmarks_that_do_not_help_are_not_added(few_are_many, monkeypatch):
    """The fit is then exactly that of a given number."""
    monkeypatch.setattr(landmarked, "MIN_LANDMARKS", 60)
    monkeypatch.setattr(landmarked, "MAX_LANDMARKS", 60)
    X, _ = waves(700)
    y = X[:, 0] + 0.3 * np.random.default_rng(1).normal(size=700)
    found, given = KernelRegressor().fit(X, y), KernelRegressor(n_components=60).fit(X, y)
    assert len(found.model_.rows) == 60
    np.testing.assert_array_equal(found.predict(X), given.predict(X))


def noisy(n):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 2))
    return X, np.sin(6 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n)


def test_all_rows_are_landmarks_if_their_pairs_fit(few_are_many, monkeypatch):
    """The machine, the hold-out set included, is that of an exact solution at the same noise."""
    monkeypatch.setattr(landmark_solutions, "PAIR_BYTES", 8 * 700**2)
    monkeypatch.setattr(landmark_solutions, "MIN_PAIR_NOISE", 1e-9)
    exactly = partialmethod(StoredRidge.solve, tolerance=1e-9)
    monkeypatch.setattr(StoredRidge, "solve", exactly)
    X, y = noisy(700)
    model = KernelRegressor().fit(X, y)
    assert len(model.model_.rows) == 700
    # A constant kernel represents the mean.
    K = model.kernel_(X)
    h = np.diagonal(K).mean()
    assert model.response_.curve == "identity"
    left = K + CONSTANT * h + np.eye(700) / model.C_
    wanted = y.mean() + (K + CONSTANT * h) @ np.linalg.solve(left, y - y.mean())
    np.testing.assert_allclose(model.predict(X), wanted, atol=1e-6)
    # The hold-out set has no coefficients in the machine that is evaluated on it.
    held = model.held_out_.index
    rest = np.setdiff1d(np.arange(700), held)
    mean = y[rest].mean()
    a = np.linalg.solve(left[np.ix_(rest, rest)], y[rest] - mean)
    wanted = mean + (K + CONSTANT * h)[np.ix_(held, rest)] @ a
    # Outputs are of the standardised response.
    wanted = (wanted - y.mean()) / y.std()
    np.testing.assert_allclose(model.held_out_.outputs, wanted, atol=1e-6)
    monkeypatch.setattr(landmark_solutions, "PAIR_BYTES", 4 * 700**2 - 1)
    assert len(KernelRegressor().fit(X, y).model_.rows) < 700


def test_iterations_on_all_rows_that_do_not_converge_are_compared_with_landmarks(
    few_are_many, monkeypatch
):
    """Without noise, they left twice the error of landmarks on one table; with some, they were as
    good as at their end."""
    monkeypatch.setattr(landmark_solutions, "PAIR_BYTES", 1e9)
    monkeypatch.setattr(landmark_solutions, "MIN_PAIR_NOISE", 1e-9)
    monkeypatch.setattr(stored_ridge, "ITERATIONS", 2)
    assert KernelRegressor().fit(*noisy(700)).solver_ == "cg"
    assert KernelRegressor().fit(*waves(700)).solver_ == "nystroem"


def test_with_little_noise_the_better_of_two_machines_is_used(few_are_many, monkeypatch):
    """All rows with more noise, or landmarks with that of the kernel."""
    monkeypatch.setattr(landmark_solutions, "PAIR_BYTES", 1e9)
    X, y = waves(700)
    monkeypatch.setattr(landmark_solutions, "MIN_PAIR_NOISE", 1e3)
    landmarks = KernelRegressor().fit(X, y)
    assert landmarks.solver_ == "nystroem"
    # A noise that the user gives is not changed.
    assert KernelRegressor(C=landmarks.C_).fit(X, y).solver_ == "cg"
    least = 5 * landmarks.learner_.noise_
    monkeypatch.setattr(landmark_solutions, "MIN_PAIR_NOISE", least)
    monkeypatch.setattr(landmarked, "MIN_LANDMARKS", 5)
    monkeypatch.setattr(landmarked, "ROWS_PER_LANDMARK", 1000)
    monkeypatch.setattr(landmark_solutions, "MAX_GROWN", 5)
    rows = KernelRegressor().fit(X, y)
    assert rows.solver_ == "cg"
    size = np.average(rows.kernel_.diag(X))
    assert pytest.approx(1 / (least * size), rel=0.01) == rows.C_


def test_rows_elsewhere_have_a_limit_of_landmarks(monkeypatch):
    monkeypatch.setattr(base, "can_load", lambda *_: False)
    X, y = waves(400)
    with pytest.raises(ValueError, match=r"'n_components' .* in \[1, 16000\], if the rows are not"):
        KernelRegressor(n_components=50_000).fit(da.from_array(X, chunks=(100, -1)), y)


def test_little_noise_of_classes_is_solved():
    """In single precision, conjugate gradients diverged, and predictions were random."""
    X, y = make_moons(5001, noise=0.1, random_state=0)
    model = KernelClassifier(KernelSearch(effort="quick"), C=1e5, n_components=300).fit(X, y)
    assert model.score(X, y) > 0.98


def test_double_precision_if_single_diverges(few_are_many, monkeypatch):
    monkeypatch.setattr(landmark_task, "precision_for", lambda *_: np.float32)
    # A kernel of low rank.
    X, y = make_moons(1200, noise=0.1, random_state=0)
    found, solve = [], LandmarkRidge.solve

    def noted(self, *given, **more):
        model = solve(self, *given, **more)
        found.append((self.precision, self.converged))
        return model

    monkeypatch.setattr(LandmarkRidge, "solve", noted)
    model = KernelClassifier(KernelSearch([Linear(), Additive()]), C=1e9).fit(X, y)
    assert found[0] == (np.float32, False)
    assert all(one == (np.float64, True) for one in found[1:])
    assert model.score(X, y) > 0.98
