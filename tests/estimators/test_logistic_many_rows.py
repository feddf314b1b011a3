"""The default fit on many rows of classes: ridge or logistic regression, by the hold-out set."""

import dask.array as da
import numpy as np
import pytest
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

import kernalign
from kernalign import KernelClassifier
from kernalign.estimators import (
    base,
    landmark_solutions,
    landmark_task,
    landmarked,
    logistic_solutions,
)
from kernalign.estimators.logistic_solutions import class_losses, clearly_lower
from kernalign.gram import Target
from kernalign.learners import kernel_search
from kernalign.machines import landmark_logistic, posterior
from kernalign.report import report_html

LOGISTIC = "logistic regression"
N = 1200


def few_landmarks(patch):
    """On landmarks from 300 rows on, whose kernel values are stored."""
    patch.setattr(base, "SOLVED_ROWS", 300)
    patch.setattr(landmark_solutions, "PAIR_BYTES", 0)
    patch.setattr(landmarked, "MIN_LANDMARKS", 150)
    patch.setattr(landmarked, "MAX_LANDMARKS", 150)
    patch.setattr(landmarked, "TUNED_ROWS", 150)
    patch.setattr(landmark_solutions, "MAX_GROWN", 150)
    # The smallest hold-out set that tells the machines of a thousand rows apart.
    patch.setattr(landmarked, "MAX_HELD_OUT_SHARE", 0.3)
    sizes = kernel_search.Sizes(scan=100, search=150, judge=150, refine=150)
    patch.setitem(kernel_search.SIZES, "full", (sizes, kernel_search.Effort()))


def recomputed(patch):
    few_landmarks(patch)
    patch.setattr(landmark_solutions, "KEPT_BYTES", 4 * 150 * 1000)


def all_rows(patch):
    few_landmarks(patch)
    patch.setattr(landmark_solutions, "PAIR_BYTES", 1e9)
    patch.setattr(landmark_solutions, "LOGISTIC_LANDMARKS", 150)


def blocks(patch):
    few_landmarks(patch)
    patch.setattr(landmark_solutions, "MAX_GROWN", 300)
    patch.setattr(landmark_solutions, "MIN_GAIN", -1.0)
    patch.setattr(posterior, "MOST_LANDMARKS", 60)


PATHS = {f.__name__: f for f in (few_landmarks, recomputed, all_rows, blocks)}


def rare(n, classes=2):
    """All classes but the first are rare, and their probability is near zero at most rows: squared
    errors of labels, which are largest where it is not, say little about it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    wave = 2 * np.sin(3 * X[:, 1])
    scores = np.column_stack([np.zeros(n), 3 * X[:, 0] - 5 + wave, 3 * X[:, 1] - 5])[:, :classes]
    return X, np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)


@pytest.fixture(params=PATHS)
def path(request, monkeypatch):
    PATHS[request.param](monkeypatch)
    return request.param


def machine_of(model):
    return model.path_[0]["machine"]


def without_logistic(patch, X, y, **more):
    patch.setattr(logistic_solutions, "MIN_DEVIATIONS", np.inf)
    return KernelClassifier().fit(X, y, **more)


@pytest.mark.parametrize("classes", [2, 3])
def test_it_is_used_where_its_probabilities_are_better(path, classes, monkeypatch):
    X, y = rare(N + 4000, classes)
    model = KernelClassifier().fit(X[:N], y[:N])
    assert machine_of(model) == LOGISTIC
    assert model.solver_ == ("cg" if path == "all_rows" else "nystroem")
    ridge = without_logistic(monkeypatch, X[:N], y[:N])
    assert machine_of(ridge) == "ridge regression"
    np.testing.assert_array_equal(model.held_out_.index, ridge.held_out_.index)
    losses = [log_loss(y[N:], m.predict_proba(X[N:])) for m in (model, ridge)]
    assert losses[0] < losses[1]
    assert 1 - model.score(X[N:], y[N:]) < 1.1 * (1 - ridge.score(X[N:], y[N:]))
    # Less noise may have been used: C is that of the machine.
    assert round(model.C_ / ridge.C_, 6) in (1, 4, 16)


def test_a_given_c_is_that_of_ridge_regression(monkeypatch):
    few_landmarks(monkeypatch)
    X, y = rare(N)
    assert machine_of(KernelClassifier(C=1.0).fit(X, y)) == "ridge regression"


def test_rows_on_a_cluster_have_the_same_machine(monkeypatch):
    recomputed(monkeypatch)
    monkeypatch.setattr(landmark_task, "precision_for", lambda *_: np.float64)
    monkeypatch.setattr(landmark_solutions, "FINAL_TOL", 1e-11)
    monkeypatch.setattr(landmark_logistic, "STOP", (1e-11, 500))
    X, y = rare(N)
    here = KernelClassifier().fit(X, y)
    assert machine_of(here) == LOGISTIC
    monkeypatch.setattr(base, "can_load", lambda *_: False)
    there = KernelClassifier().fit(da.from_array(X, chunks=(200, -1)), y)
    assert machine_of(there) == LOGISTIC
    np.testing.assert_allclose(there.decision_function(X), here.decision_function(X), atol=1e-3)


def test_weights_count(path, monkeypatch):
    """Rows of no weight have no say, and a costly class is predicted more often."""
    X, y = rare(N)
    wrong, weight = y.copy(), np.ones(N)
    wrong[:100], weight[:100] = 1 - y[:100], 0.0
    model = KernelClassifier().fit(X, wrong, sample_weight=weight)
    alone = KernelClassifier().fit(X[100:], y[100:])
    np.testing.assert_allclose(model.decision_function(X), alone.decision_function(X), atol=1e-3)
    costly = KernelClassifier(class_weight={0: 1.0, 1: 5.0}).fit(X, y)
    assert costly.predict(X).sum() > KernelClassifier().fit(X, y).predict(X).sum()


def test_saved_models_and_the_report(monkeypatch, tmp_path):
    few_landmarks(monkeypatch)
    X, y = rare(N)
    model = KernelClassifier().fit(X, y)
    assert machine_of(model) == LOGISTIC
    kernalign.save(model, tmp_path / "model.kernalign")
    loaded = kernalign.load(tmp_path / "model.kernalign")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert machine_of(loaded) == LOGISTIC
    assert "</html>" in report_html(loaded, X, y, compare=False)


def test_losses_are_those_of_probabilities_and_noise_is_not_a_gain():
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=400)
    outputs = np.eye(3)[codes] + rng.normal(size=(400, 3))
    target = Target(np.eye(3)[codes], np.ones(400), True)
    before = class_losses(outputs, target)
    # Calibration makes them independent of the scale of the outputs.
    np.testing.assert_allclose(class_losses(3 * outputs, target), before, rtol=1e-4)
    after = before + rng.normal(size=400)
    gain = before - after
    for shift in (0.9, 1.1):
        shifted = after + gain.mean() - shift * gain.std() / 20
        assert clearly_lower(before, shifted, np.ones(400)) == (shift > 1)
    assert not clearly_lower(before[:1], before[:1] - 1, np.ones(1))
    assert not clearly_lower(before, before * np.nan, np.ones(400))


def test_results_do_not_depend_on_the_number_of_threads(path, monkeypatch):
    """Rounding in a preconditioner of several threads changed probabilities by 3e-4."""
    X, y = rare(N, 3)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            found.append(KernelClassifier().fit(X, y).predict_proba(X[:100]))
    # Blocks of predictions depend on it, up to rounding.
    np.testing.assert_allclose(*found, rtol=1e-11)
