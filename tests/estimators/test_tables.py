"""Tables as people have them, at the front door of the estimators."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.inspection import permutation_importance

from kernalign import (
    AnyOf,
    ColumnWarning,
    ContinuousAlignment,
    ContinuousEvidence,
    Gaussian,
    KernelClassifier,
    KernelFeatures,
    KernelRegressor,
    KernelSearch,
    Laplacian,
    Polynomial,
    load,
    save,
)

COLOURS = ["red", "green", "blue", "grey"]


def table(n=120, seed=0):
    """Every kind of column, and a response that needs the categories and the missing cells."""
    rng = np.random.default_rng(seed)
    colour = rng.choice(COLOURS, n)
    height = rng.normal(170, 10, n)
    age = rng.uniform(20, 60, n)
    day = np.datetime64("2024-01-01") + rng.integers(0, 700, n)
    gone = rng.random(n) < 0.2
    effect = {"red": 2.0, "green": 0.0, "blue": -2.0, "grey": 0.5}
    y = np.array([effect[c] for c in colour]) + (height - 170) / 10 + gone
    frame = pd.DataFrame(
        {
            "height": height,
            "colour": colour,
            "age": np.where(gone, np.nan, age),
            "member": rng.random(n) < 0.5,
            "size": pd.Categorical(
                rng.choice(["S", "M", "L"], n), categories=["S", "M", "L"], ordered=True
            ),
            "joined": day,
        }
    )
    return frame, y + 0.1 * rng.normal(size=n)


@pytest.fixture(scope="module")
def fitted():
    X, y = table()
    return KernelRegressor().fit(X, y)


def test_a_table_is_taken_as_it_is(fitted):
    new, y = table(80, seed=1)
    assert fitted.score(new, y) > 0.9
    kinds = {column.name: column.kind for column in fitted.columns_}
    assert kinds == {
        "height": "numeric",
        "colour": "categorical",
        "age": "numeric",
        "member": "boolean",
        "size": "ordered",
        "joined": "datetime",
    }
    assert fitted.n_features_in_ == 6
    assert fitted.feature_names_in_.tolist() == list(kinds)


def test_columns_are_matched_by_name(fitted):
    new, _ = table(30, seed=1)
    turned = new[new.columns[::-1]]
    np.testing.assert_array_equal(fitted.predict(turned), fitted.predict(new))
    with pytest.raises(ValueError, match="now missing:\n- height"):
        fitted.predict(new.drop(columns="height"))


def test_unseen_categories_and_new_missing_cells(fitted):
    new, _ = table(10, seed=1)
    new.loc[0, "colour"] = "violet"
    new.loc[1, "height"] = np.nan
    with pytest.warns(ColumnWarning, match="'height'"):
        assert np.isfinite(fitted.predict(new)).all()


def test_libraries_of_tables_agree(fitted):
    X, y = table()
    new, _ = table(20, seed=1)
    expected = fitted.predict(new)
    for convert in (pl.from_pandas, pa.Table.from_pandas):
        np.testing.assert_allclose(fitted.predict(convert(new)), expected, atol=1e-12)
    other = KernelRegressor().fit(pl.from_pandas(X.drop(columns="size")), y)
    assert other.columns_["colour"].kind == "categorical"


def test_classes_of_a_table():
    X, y = table()
    clf = KernelClassifier().fit(X, np.where(y > 0, "high", "low"))
    new, y = table(80, seed=1)
    assert clf.score(new, np.where(y > 0, "high", "low")) > 0.85


def test_pickled_cloned_and_saved(fitted, tmp_path):
    new, _ = table(10, seed=1)
    expected = fitted.predict(new)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(new), expected)
    save(fitted, tmp_path / "model.kern")
    loaded = load(tmp_path / "model.kern")
    np.testing.assert_array_equal(loaded.predict(new), expected)
    assert repr(loaded.columns_) == repr(fitted.columns_)
    assert not hasattr(clone(fitted), "columns_")


def test_frame_of_floats_equals_its_array():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.sin(X[:, 0]) + X[:, 1]
    frame = pd.DataFrame(X, columns=list("abc"))
    of_frame, of_array = KernelRegressor().fit(frame, y), KernelRegressor().fit(X, y)
    np.testing.assert_array_equal(of_frame.predict(frame), of_array.predict(X))
    assert not hasattr(of_array, "columns_")
    with pytest.raises(ValueError, match="same order"):
        of_frame.predict(frame[["c", "b", "a"]])


def test_columns_of_an_array_can_be_categories():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=80), rng.integers(0, 5, 80)])
    y = np.array([3.0, -1.0, 2.0, 0.0, -3.0])[X[:, 1].astype(int)] + 0.1 * X[:, 0]
    model = KernelRegressor(categorical_features=[1]).fit(X[:60], y[:60])
    assert model.columns_[1].kind == "categorical"
    assert model.score(X[60:], y[60:]) > 0.95


def test_kinds_override():
    X, y = table()
    model = KernelRegressor(
        KernelSearch(effort="quick"), kinds={"joined": "drop", "size": ["S", "M", "L"]}
    )
    assert model.fit(X, y).columns_["joined"].kind == "dropped"


@pytest.mark.parametrize(
    "learner",
    [
        ContinuousAlignment(),
        ContinuousAlignment(AnyOf(Gaussian(columns=["colour"]), Laplacian(columns=["height"]))),
        ContinuousEvidence(),
    ],
)
def test_other_learners_take_tables(learner):
    X, y = table()
    model = KernelRegressor(learner).fit(X, y)
    new, y = table(80, seed=1)
    assert model.score(new, y) > 0.6


def test_nystroem_on_a_table():
    X, y = table(300)
    model = KernelRegressor(ContinuousAlignment(), solver="nystroem", n_components=60).fit(X, y)
    assert model.score(*table(80, seed=1)) > 0.6
    with pytest.raises(ValueError, match="on columns of categories: use solver='nystroem'"):
        KernelRegressor(ContinuousAlignment(), solver="fourier").fit(X, y)


def test_families_of_numbers_name_the_column():
    X, y = table()
    with pytest.raises(ValueError, match="'colour' is categorical"):
        KernelRegressor(ContinuousAlignment(Polynomial())).fit(X, y)


def test_features_of_a_table():
    X, y = table()
    features = KernelFeatures(n_components=10).fit(X, y)
    assert features.transform(X).shape == (120, 10)
    assert features.get_feature_names_out()[0] == "kernelfeatures0"


def test_missing_cells_of_an_array_recommend_a_table():
    X = np.random.default_rng(0).normal(size=(20, 3))
    y = X[:, 0].copy()
    X[4, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN: column 1 in row 4\..*pandas\.DataFrame\(X\)"):
        KernelRegressor().fit(X, y)
    KernelRegressor(ContinuousAlignment()).fit(pd.DataFrame(X), y)


def test_identifiers_are_left_out_with_a_warning():
    X, y = table()
    X.insert(0, "Unnamed: 0", np.arange(len(X)))
    with pytest.warns(ColumnWarning, match="'Unnamed: 0'"):
        model = KernelRegressor(ContinuousAlignment()).fit(X, y)
    assert model.columns_["Unnamed: 0"].kind == "identifier"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(X.drop(columns="Unnamed: 0"))


def test_sparse_matrices_within_memory():
    X = np.random.default_rng(0).normal(size=(40, 5)) * (np.arange(5) > 1)
    y = X[:, 2] + X[:, 3]
    dense = KernelRegressor(ContinuousAlignment()).fit(X, y)
    thin = KernelRegressor(ContinuousAlignment()).fit(sparse.csr_array(X), y)
    np.testing.assert_array_equal(thin.predict(sparse.csc_matrix(X)), dense.predict(X))
    with pytest.raises(ValueError, match=r"takes 762939 MiB as an array.*TruncatedSVD"):
        KernelRegressor().fit(sparse.coo_array((100_000, 1_000_000)), y)


def test_importance_by_the_users_columns(fitted):
    X, y = table()
    found = permutation_importance(fitted, X, y, n_repeats=2, random_state=0)
    assert found.importances_mean.argmax() == 1


def test_a_refused_table_leaves_the_model_as_it_was():
    X, y = table(60)
    model = KernelRegressor(ContinuousAlignment()).fit(X, y)
    before = model.columns_
    bad = X.assign(height=[[1, 2]] * 60, age=np.inf)
    with pytest.raises(ValueError, match="2 of 6 columns cannot be used"):
        model.fit(bad, y)
    assert model.columns_ is before
