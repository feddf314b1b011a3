"""Estimators on Dask arrays: the checks of memory, and its answers."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas
import pytest
from sklearn.exceptions import NotFittedError

from kernalign import (
    ContinuousAlignment,
    Fourier,
    Gaussian,
    KernelClassifier,
    KernelFeatures,
    KernelRegressor,
    LpNormMKL,
    Sampled,
)

ONE = ContinuousAlignment(max_iter=2)


@pytest.fixture(autouse=True)
def in_this_process(rows_stay):
    with dask.config.set(scheduler="threads"):
        yield


def problem(n=120, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def chunks_of(X):
    return da.from_array(X, chunks=(-(-len(X) // 3), -1))


both = pytest.mark.parametrize(
    "make", [KernelClassifier, KernelRegressor], ids=lambda m: m.__name__
)


# --- the answers of memory -----------------------------------------------------------------------


@both
def test_few_rows_give_the_model_of_memory(make):
    X, y = problem()
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    near = make(ONE).fit(X, y, sample_weight=weight)
    far = make(ONE).fit(chunks_of(X), da.from_array(y, chunks=50), sample_weight=weight)
    assert far.solver_ == near.solver_ == "exact"
    assert far.C_ == near.C_
    assert far.cv_error_ == near.cv_error_
    found = far.predict(chunks_of(X))
    assert isinstance(found, da.Array)
    np.testing.assert_array_equal(found.compute(), near.predict(X))


def test_probabilities_of_three_classes_are_those_of_memory():
    X, y = problem()
    y = np.array(["no", "yes", "perhaps"])[y + (X[:, 2] > 1)]
    near, far = (KernelClassifier(ONE).fit(rows, y) for rows in (X, chunks_of(X)))
    for method in ("decision_function", "predict_proba"):
        found = getattr(far, method)(chunks_of(X))
        assert found.shape == (len(X), 3)
        np.testing.assert_allclose(found.compute(), getattr(near, method)(X), atol=1e-12)
    np.testing.assert_array_equal(far.predict(chunks_of(X)).compute(), near.predict(X))


def test_folds_and_machines_of_few_rows_may_be_given():
    from sklearn.svm import SVC

    X, y = problem()
    splits = [(np.arange(80), np.arange(80, 120)), (np.arange(40, 120), np.arange(40))]
    near, far = (
        KernelClassifier(ONE, SVC(kernel="precomputed"), cv=splits).fit(rows, y)
        for rows in (X, chunks_of(X))
    )
    assert far.C_ == near.C_


@pytest.mark.parametrize(
    "family", [Fourier(), Gaussian(columns=[0, 1]), Gaussian(ard=True)], ids=repr
)
def test_any_family_is_learned_where_rows_stay(family):
    X, y = problem(300)
    learner = Sampled(ContinuousAlignment(family, max_iter=2), tol=1.0, min_rows=200)
    options = {"solver": "nystroem", "n_components": 30, "C": 1.0}
    for given in (learner, learner.learner):
        model = KernelClassifier(given, **options).fit(chunks_of(X), y)
        found = model.decision_function(chunks_of(X)).compute()
        np.testing.assert_allclose(found, model.decision_function(X), atol=1e-10)


# --- the checks of memory ------------------------------------------------------------------------


@both
@pytest.mark.parametrize("wrong", [-5, 2.5, True])
@pytest.mark.parametrize("solver", ["auto", "nystroem"])
def test_number_of_components_is_checked(make, wrong, solver):
    X, y = problem(60)
    with pytest.raises(ValueError, match=f"'n_components' parameter of {make.__name__} must be"):
        make(ONE, n_components=wrong, solver=solver).fit(chunks_of(X), y)


@both
def test_an_unfitted_model_says_so(make):
    X, _ = problem(60)
    methods = ["predict"]
    if make is KernelClassifier:
        methods += ["decision_function", "predict_proba"]
    for method in methods:
        with pytest.raises(NotFittedError, match=f"This {make.__name__} instance is not fitted"):
            getattr(make(), method)(chunks_of(X))


@both
def test_labels_are_checked(make):
    X, y = problem(60)
    with pytest.raises(ValueError, match=f"{make.__name__} requires y to be passed"):
        make().fit(chunks_of(X), None)
    broken = y.astype(float)
    broken[4] = np.nan
    with pytest.raises(ValueError, match=r"y (has no label|is missing) in row 4"):
        make().fit(chunks_of(X), broken)
    with pytest.raises(
        ValueError, match=r"X and y must have the same number of rows\. Got 60 and 59"
    ):
        make().fit(chunks_of(X), y[:59])


def test_many_rows_refuse_what_needs_them_all():
    X, y = problem(2001)
    chunks = chunks_of(X)
    with pytest.raises(ValueError, match="'solver' parameter of KernelClassifier must be 'auto'"):
        KernelClassifier(solver="exact").fit(chunks, y)
    with pytest.raises(ValueError, match="'cv' parameter of KernelRegressor must be an int"):
        KernelRegressor(cv=[(np.arange(30), np.arange(30, 60))]).fit(chunks, y)
    with pytest.raises(ValueError, match="'machine' parameter of KernelRegressor must be None"):
        KernelRegressor(machine="svr").fit(chunks, y)
    mkl = LpNormMKL([Gaussian().at(1.0)])
    with pytest.raises(
        ValueError, match="'learner' parameter of KernelClassifier must be a learner"
    ):
        KernelClassifier(mkl).fit(chunks, y)
    few = KernelClassifier(mkl, C=1.0).fit(chunks[:60], y[:60])
    assert few.predict(chunks[:60]).compute().shape == (60,)


def test_a_refused_fit_leaves_the_model_before_whole():
    X, y = problem(60)
    frame = pandas.DataFrame(X, columns=list("abc"))
    model = KernelClassifier(ONE).fit(dd.from_pandas(frame, npartitions=2), y)
    before = model.predict(frame)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.fit(chunks_of(np.where(X > 2, np.nan, X)), y)
    np.testing.assert_array_equal(model.predict(frame), before)
    assert list(model.feature_names_in_) == list("abc")
    model.fit(chunks_of(X), y)
    assert not hasattr(model, "feature_names_in_")


# --- features ------------------------------------------------------------------------------------


def test_features_stay_where_rows_are():
    X, y = problem(200)
    model = KernelFeatures(ONE, n_components=20).fit(chunks_of(X), y)
    found = model.transform(chunks_of(X))
    assert isinstance(found, da.Array)
    assert found.shape == (200, 20)
    np.testing.assert_allclose(found.compute(), model.transform(X), atol=1e-12)
    # phi'phi is the kernel on the landmarks.
    Z = model.model_.rows
    phi = model.transform(Z)
    np.testing.assert_allclose(phi @ phi.T, model.kernel_(Z), atol=1e-6)


def test_features_that_need_all_rows_are_refused():
    X, y = problem(60)
    for options in ({"output": "gram"}, {"n_components": None}):
        with pytest.raises(ValueError, match="stores only landmarks of a Dask array"):
            KernelFeatures(ONE, **options).fit(chunks_of(X), y)
