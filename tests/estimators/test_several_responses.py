"""Several responses at once: one kernel, one machine, a scale for each response."""

import numpy as np
import pandas as pd
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import r2_score

from kernalign import (
    ContinuousAlignment,
    Gaussian,
    KernelRegressor,
    RidgeMKL,
    UniformWeights,
    load,
    save,
)
from kernalign.plots import embedding_info

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 3))
Y = np.column_stack(
    [
        np.sin(X[:, 0]) + 0.1 * rng.normal(size=120),
        np.exp(X[:, 1] + 0.1 * rng.normal(size=120)),
        1000 * X[:, 2],
    ]
)
TRAIN, TEST = slice(0, 80), slice(80, 120)
KERNELS = [Gaussian().at(1.0), Gaussian().at(3.0)]


@pytest.fixture(scope="module")
def fitted():
    return KernelRegressor().fit(X[TRAIN], Y[TRAIN])


def test_predictions_have_a_column_for_each_response(fitted):
    found = fitted.predict(X[TEST])
    assert found.shape == Y[TEST].shape
    assert (r2_score(Y[TEST], found, multioutput="raw_values") > 0.8).all()
    assert fitted.score(X[TEST], Y[TEST]) == r2_score(Y[TEST], found)


def test_each_response_has_a_curve_of_its_own(fitted):
    assert fitted.response_.curve == ("identity", "log", "identity")
    assert [fitted.response_.columns[1].curve, len(fitted.response_)] == ["log", 3]


#: The search stops when another step gains little: rounding decides a digit of it.
SEARCHED = 1e-3


def test_the_same_response_twice_is_one_response():
    for j in (0, 1):
        one = KernelRegressor().fit(X[TRAIN], Y[TRAIN, j])
        twice = KernelRegressor().fit(X[TRAIN], Y[TRAIN][:, [j, j]])
        expected = np.column_stack([one.predict(X[TEST])] * 2)
        off = (twice.predict(X[TEST]) - expected) / Y[:, j].std()
        assert np.abs(off).max() < SEARCHED
        assert twice.cv_error_ == pytest.approx(one.cv_error_, rel=SEARCHED)


def test_neither_order_nor_units_of_responses_matter(fitted):
    order, units = [2, 0, 1], np.array([1e-3, 7.0, 40.0])
    other = KernelRegressor().fit(X[TRAIN], Y[TRAIN][:, order] * units)
    expected = fitted.predict(X[TEST])[:, order] * units
    off = (other.predict(X[TEST]) - expected) / expected.std(axis=0)
    assert np.abs(off).max() < SEARCHED


@pytest.mark.parametrize(
    "options",
    [
        {"machine": None},
        {"machine": "ridge", "solver": "nystroem"},
        {"machine": KernelRidge(kernel="precomputed")},
    ],
    ids=["exact", "nystroem", "given"],
)
def test_the_error_is_the_mean_of_the_errors_of_each(options):
    """With one kernel and one C, responses have nothing to do with each other."""

    def fit(y):
        return KernelRegressor(UniformWeights(KERNELS), C=10.0, **options).fit(X, y)

    together, alone = fit(Y), [fit(y) for y in Y.T]
    expected = np.column_stack([one.predict(X) for one in alone])
    np.testing.assert_allclose(together.predict(X), expected, rtol=1e-6, atol=1e-6)
    assert together.cv_error_ == pytest.approx(np.mean([one.cv_error_ for one in alone]))
    error = together.cv_results_["error"]
    assert error == pytest.approx(np.mean([one.cv_results_["error"] for one in alone]))


def test_one_stage_learners_take_several():
    fitted = KernelRegressor(RidgeMKL(KERNELS), C=10.0, cv=2).fit(X, Y)
    assert fitted.predict(X).shape == Y.shape


def test_a_machine_of_one_response_is_refused():
    with pytest.raises(
        ValueError, match=r"'machine' parameter.*several responses.*3 columns.*'svr'"
    ):
        KernelRegressor(machine="svr").fit(X, Y)


def test_frames_keep_the_names(fitted):
    frame = pd.DataFrame(Y[TRAIN], columns=["wave", "growth", "line"])
    named = KernelRegressor().fit(X[TRAIN], frame)
    assert named.response_.names == ("wave", "growth", "line")
    np.testing.assert_array_equal(named.predict(X), fitted.predict(X))


def test_saved_models(fitted, tmp_path):
    save(fitted, tmp_path / "model.kern")
    again = load(tmp_path / "model.kern")
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    assert again.response_ == fitted.response_


def test_chunks_of_dask():
    da = pytest.importorskip("dask.array")
    model = KernelRegressor(ContinuousAlignment(max_iter=3), solver="nystroem")
    near = model.fit(X, Y).predict(X)
    chunks = da.from_array(X, chunks=(50, -1))
    far = model.fit(chunks, da.from_array(Y, chunks=(40, -1)))
    assert far.predict(chunks).shape == Y.shape
    found = far.predict(chunks).compute()
    assert (r2_score(Y, found, multioutput="raw_values") > 0.8).all()
    assert np.corrcoef(found[:, 2], near[:, 2])[0, 1] > 0.99


def test_a_picture_shows_one_response(fitted):
    with pytest.raises(ValueError, match=r"A picture shows one response\. Got 3 columns of y"):
        embedding_info(fitted, X[TRAIN], Y[TRAIN])
    assert len(embedding_info(fitted, X[TRAIN], Y[TRAIN, 0]).labels) == 80
