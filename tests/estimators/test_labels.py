"""y as people have it: what the estimators take, and what they give back."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from kernalign import ColumnWarning, ContinuousAlignment, KernelClassifier, KernelRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 2))
SIGN = (X[:, 0] > 0).astype(int)


def classifier():
    return KernelClassifier(ContinuousAlignment(max_iter=3), C=1.0, cv=2)


def regressor():
    return KernelRegressor(ContinuousAlignment(max_iter=3), C=1.0, cv=2)


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (np.array(["yes", "no"])[SIGN], ["no", "yes"]),
        (pd.Series(["yes", "no"])[SIGN].astype("category"), ["no", "yes"]),
        (pl.Series(np.array(["yes", "no"])[SIGN], dtype=pl.Categorical), ["no", "yes"]),
        (pa.array(np.array(["yes", "no"])[SIGN].tolist()), ["no", "yes"]),
        (SIGN.astype(bool).tolist(), [False, True]),
        (pd.Series(SIGN * 2.0), [0.0, 2.0]),
        (pd.array(SIGN, dtype="Int64"), [0, 1]),
    ],
    ids=["array", "pandas categories", "polars", "pyarrow", "list", "floats", "nullable"],
)
def test_labels_of_any_type(y, classes):
    fitted = classifier().fit(X, y)
    assert fitted.classes_.tolist() == classes
    assert {type(c) for c in fitted.classes_.tolist()} == {type(c) for c in classes}
    found = fitted.predict(X)
    assert found.dtype == fitted.classes_.dtype
    assert np.mean(found == np.asarray(y)) > 0.9


def test_rows_without_a_label_are_all_named():
    y = pd.Series(np.array(["no", "yes"])[SIGN], name="bought", dtype=object)
    y[[3, 17, 20]] = None
    with pytest.raises(ValueError, match=r"y \('bought'\) has no label in rows 3, 17 and 20"):
        classifier().fit(X, y)


def test_a_response_written_as_text_is_read():
    text = [f"{value:.3f}".replace(".", ",") + " €" for value in X[:, 0]]
    with pytest.warns(ColumnWarning, match="numbers written with a decimal comma and a currency"):
        found = regressor().fit(X, text).predict(X)
    np.testing.assert_array_equal(found, regressor().fit(X, X[:, 0].round(3)).predict(X))


@pytest.mark.parametrize("make", [lambda v: v[:, None], lambda v: pd.DataFrame({"price": v})])
def test_one_column_is_one_response(make):
    found = regressor().fit(X, make(X[:, 0])).predict(X)
    np.testing.assert_array_equal(found, regressor().fit(X, X[:, 0]).predict(X))
