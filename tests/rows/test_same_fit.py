"""The same data gives the same kernel, C and predictions on Dask and in memory."""

import dask
import dask.array as da
import numpy as np
import pytest
from sklearn.base import clone

from kernalign import (
    ContinuousAlignment,
    Gaussian,
    KernelClassifier,
    KernelRegressor,
    KernelSearch,
    UniformWeights,
)
from kernalign.estimators import base, landmark_solutions, landmark_task, landmarked, linear
from kernalign.estimators.hinge import features_fit
from kernalign.estimators.linear import can_load
from kernalign.gram import sampling
from kernalign.learners import kernel_search
from kernalign.machines import landmark_logistic, landmark_ridge, squared_hinge
from kernalign.rows import input as rows_input

ONE = ContinuousAlignment(max_iter=2)
FEATURES = {"solver": "nystroem", "n_components": 30}


def problem(make, n):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    signal = X[:, 0] * X[:, 1] + 0.2 * rng.standard_normal(n)
    return X, (signal > 0).astype(int) if make is KernelClassifier else signal


def assert_same(make, options, n):
    X, y = problem(make, n)
    chunks = da.from_array(X, chunks=(-(-n // 3), -1))
    with dask.config.set(scheduler="threads"):
        near, far = make(**options).fit(X, y), make(**options).fit(chunks, y)
        found = far.predict(chunks).compute()
    np.testing.assert_allclose(far.C_, near.C_, rtol=1e-6)
    assert far.solver_ == near.solver_
    assert [p["machine"] for p in far.path_] == [p["machine"] for p in near.path_]
    for a, b in zip(far.kernel_.kernels, near.kernel_.kernels, strict=True):
        np.testing.assert_allclose(a.sigma, b.sigma, rtol=1e-6)
    np.testing.assert_allclose(far.kernel_.weights, near.kernel_.weights, rtol=1e-6)
    if make is KernelClassifier:
        np.testing.assert_array_equal(found, near.predict(X))
        found, expected = far.decision_function(X), near.decision_function(X)
        np.testing.assert_allclose(found, expected, atol=1e-6)
    else:
        np.testing.assert_allclose(found, near.predict(X), atol=1e-6 * np.ptp(y))
    return far


both = pytest.mark.parametrize(
    "make", [KernelClassifier, KernelRegressor], ids=lambda m: m.__name__
)


@both
@pytest.mark.parametrize(
    ("options", "n"),
    [({"learner": KernelSearch(effort="quick")}, 40), ({"learner": ONE, **FEATURES}, 300)],
    ids=["search", "features"],
)
def test_rows_that_fit_are_loaded(make, options, n):
    """A squared hinge loss is tried for classes, as in memory."""
    found = assert_same(make, options, n)
    if "solver" in options and make is KernelClassifier:
        assert any("hinge" in record["machine"] for record in found.path_)


@both
@pytest.mark.parametrize(
    "learner",
    [ONE, ContinuousAlignment(Gaussian(ard=True), max_iter=1), KernelSearch(effort="quick")],
    ids=lambda learner: f"{type(learner).__name__}",
)
def test_rows_that_do_not_fit_are_fitted_where_they_are(make, learner, monkeypatch):
    """Nor are the features of so many rows stored in memory: the fits are the same."""
    monkeypatch.setattr(base, "can_load", lambda *_: False)
    monkeypatch.setattr(linear, "features_fit", lambda *_: False)
    # So that C is selected on one hold-out set, as for many rows.
    monkeypatch.setattr(linear, "FOLDS_ROWS", 100)
    found = assert_same(make, {"learner": learner, **FEATURES}, 300)
    assert {record["machine"] for record in found.path_} == {"least squares (nystroem)"}


@both
@pytest.mark.parametrize("stored", [True, False])
def test_the_default_is_fitted_where_the_rows_are(make, stored, monkeypatch):
    """Kernel values of all rows are stored, or recomputed by the workers in each step.

    In double precision and solved exactly: rounding errors, and with them the steps of an inexact
    solution, depend on the chunks.
    """
    monkeypatch.setattr(landmark_task, "precision_for", lambda *_: np.float64)
    monkeypatch.setattr(landmark_solutions, "FINAL_TOL", 1e-11)
    monkeypatch.setattr(landmark_ridge, "PASSES", 200)
    monkeypatch.setattr(base, "can_load", lambda *_: False)
    monkeypatch.setattr(base, "SOLVED_ROWS", 200)
    monkeypatch.setattr(landmarked, "TUNED_ROWS", 150)
    if not stored:
        monkeypatch.setattr(landmark_solutions, "KEPT_BYTES", 8 * 50 * 150)
    found = assert_same(make, {"learner": KernelSearch(effort="quick"), "n_components": 50}, 400)
    assert found.model_.kept == "landmarks"


@pytest.fixture
def few_are_many(monkeypatch):
    """The default fit of 400 rows is that of many; samples are drawn from a part of the rows."""
    monkeypatch.setattr(landmark_task, "precision_for", lambda *_: np.float64)
    monkeypatch.setattr(landmark_solutions, "FINAL_TOL", 1e-11)
    monkeypatch.setattr(landmark_logistic, "STOP", (1e-11, 500))
    monkeypatch.setattr(landmark_solutions, "KEPT_BYTES", 8 * 50 * 150)
    monkeypatch.setattr(landmark_ridge, "PASSES", 200)
    monkeypatch.setattr(base, "can_load", lambda *_: False)
    monkeypatch.setattr(base, "SOLVED_ROWS", 200)
    monkeypatch.setattr(landmarked, "TUNED_ROWS", 100)
    monkeypatch.setattr(landmarked, "MAX_HELD_OUT", 30)
    monkeypatch.setattr(kernel_search, "MOST_ROWS", 120)
    monkeypatch.setattr(sampling, "STRATIFIED_ROWS", 150)


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize("weights", [None, "some zero", "fractions"])
@pytest.mark.parametrize("kind", ["text", "numbers", "two responses", "skewed"])
def test_labels_of_any_kind_stay_with_their_rows(kind, weights):
    rng = np.random.default_rng(1)
    X, signal = problem(KernelRegressor, 400)
    y = {
        "text": np.array(["yes", "no", "perhaps"], dtype=object)[
            np.where(X[:, 2] > 1, 2, signal > 0)
        ],
        "numbers": signal,
        "two responses": np.column_stack([signal, X[:, 0] + 0.1 * signal]),
        "skewed": np.exp(signal + 0.5 * rng.standard_normal(len(signal))),
    }[kind]
    weight = {
        None: None,
        "some zero": rng.integers(0, 3, len(y)).astype(float),
        "fractions": rng.uniform(0.1, 1, len(y)),
    }[weights]
    options = {"learner": KernelSearch(effort="quick"), "n_components": 50}
    if kind == "text":
        model = KernelClassifier(**options, class_weight="balanced")
    else:
        model = KernelRegressor(**options)
    near = clone(model).fit(X, y, sample_weight=weight)
    there = [
        None if v is None else da.from_array(v, chunks=(130, *v.shape[1:])) for v in (y, weight)
    ]
    with dask.config.set(scheduler="threads"):
        far = clone(model).fit(da.from_array(X, chunks=(150, -1)), there[0], there[1])
    for a, b in zip(far.kernel_.kernels, near.kernel_.kernels, strict=True):
        np.testing.assert_array_equal(a.sigma, b.sigma)
    np.testing.assert_array_equal(far.kernel_.weights, near.kernel_.weights)
    np.testing.assert_array_equal(far.held_out_.index, near.held_out_.index)
    np.testing.assert_array_equal(far.held_out_.y, near.held_out_.y)
    np.testing.assert_allclose(far.cv_error_, near.cv_error_, rtol=1e-6)
    np.testing.assert_allclose(far.C_, near.C_, rtol=1e-9)
    if kind == "text":
        np.testing.assert_array_equal(far.classes_, near.classes_)
        np.testing.assert_array_equal(far.predict(X), near.predict(X))
        # Golden section finds the logarithm of the slope to 14 * 0.618**30 = 8e-6.
        np.testing.assert_allclose(far.predict_proba(X), near.predict_proba(X), atol=2e-5)
    else:
        assert far.response_.curve == near.response_.curve
        assert (kind == "skewed") == (far.response_.curve in ("root", "log"))
        np.testing.assert_allclose(far.predict(X), near.predict(X), atol=1e-6 * np.ptp(y))


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize(
    ("make", "y", "message"),
    [
        (KernelClassifier, [0, 1] * 40 + [0.5, 1.0] * 10, "Unknown label type: continuous"),
        (
            KernelClassifier,
            ["a", "b"] * 40 + [None, "b"] * 10,
            "chunk of rows 60 to 99.*no label in rows 20, 22",
        ),
        (KernelClassifier, ["a", "b"] * 30 + [1, 2] * 20, "labels of one type"),
        (KernelClassifier, [1] * 100, "at least two classes in y. Got one class: 1"),
        (
            KernelRegressor,
            [0.5, 1.0] * 40 + [np.nan] * 20,
            "chunk of rows 60 to 99.*y is missing in rows 20",
        ),
    ],
)
def test_bad_labels_are_named_where_they_are(make, y, message, monkeypatch):
    monkeypatch.setattr(rows_input, "FIRST_ROWS", 10)
    X, _ = problem(make, 100)
    text = any(isinstance(label, str) for label in y)
    labels = da.from_array(np.array(y, dtype=object if text else None), chunks=60)
    with (
        dask.config.set(scheduler="threads"),
        pytest.raises(ValueError, match=message),
    ):
        make().fit(da.from_array(X, chunks=(60, -1)), labels)


@pytest.mark.usefixtures("few_are_many")
def test_bad_weights_are_named_where_they_are():
    X, y = problem(KernelClassifier, 100)
    chunks = da.from_array(X, chunks=(60, -1))
    labels = da.from_array(y, chunks=60)
    for weight, message in ((np.zeros(100), "positive entry"), (-np.ones(100), "Negative values")):
        with (
            dask.config.set(scheduler="threads"),
            pytest.raises(ValueError, match=message),
        ):
            KernelClassifier().fit(chunks, labels, weight)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_squared_hinge_is_tried_where_the_rows_are(classes, monkeypatch):
    """And chosen as in memory, if it is better: rows far behind the margin draw least squares away.

    In double precision: rounding errors of sums in single precision depend on the chunks. To the
    optimum: the rows of the preconditioner, and so the steps, depend on the order of the rows.
    """
    monkeypatch.setattr(squared_hinge, "TOLERANCE", 1e-16)
    monkeypatch.setattr(squared_hinge, "MAX_PRODUCTS", 10_000)
    monkeypatch.setattr(base, "can_load", lambda *_: False)
    monkeypatch.setattr(linear, "PRECISION", np.float64)
    monkeypatch.setattr(linear, "FOLDS_ROWS", 500)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, classes))
    y = X.argmax(axis=1)
    X[(y == 0) & (rng.random(len(X)) < 0.4), 0] += 8.0
    weight = rng.uniform(0.5, 2, len(y))
    learner = UniformWeights(Gaussian().grid(20.0, 40.0, 2))
    model = KernelClassifier(learner, solver="nystroem", n_components=6)
    near = clone(model).fit(X, y, sample_weight=weight)
    with dask.config.set(scheduler="threads"):
        labels, weights = da.from_array(y, chunks=130), da.from_array(weight, chunks=400)
        far = clone(model).fit(da.from_array(X, chunks=(300, -1)), labels, sample_weight=weights)
    assert far.C_ == near.C_
    assert [p["machine"] for p in far.path_ if p["chosen"]] == ["squared hinge (nystroem)"]
    assert [p["machine"] for p in far.path_] == [p["machine"] for p in near.path_]
    found, expected = far.decision_function(X), near.decision_function(X)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(far.predict_proba(X), near.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(far.held_out_.index, near.held_out_.index)


def test_features_are_stored_in_all_processes():
    assert not features_fit(10**6, 3000)
    assert not features_fit(10**6, 3000, 8)
    assert features_fit(10**6, 3000, 16)


def test_what_fits():
    assert can_load(50_000, 20, "auto", None)
    assert not can_load(60_000, 20, "auto", None)
    assert can_load(1_000_000, 20, "nystroem", 200)
    assert not can_load(50_000, 5000, "auto", None)
