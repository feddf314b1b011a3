"""Labels and responses as people have them."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import DataConversionWarning

from kernalign import ColumnWarning
from kernalign.tables import class_labels, responses

SERIES = {
    "list": list,
    "array": np.array,
    "objects": lambda v: np.array(v, dtype=object),
    "pandas": pd.Series,
    "categories": lambda v: pd.Series(v, dtype="category"),
    "polars": pl.Series,
    "pyarrow": pa.array,
    "chunked": lambda v: pa.chunked_array([v]),
    "frame": lambda v: pd.DataFrame({"y": v}),
    "column": lambda v: pd.DataFrame({"y": v}).to_numpy()[:, :1].tolist(),
}
series = pytest.mark.parametrize("make", SERIES.values(), ids=SERIES)


@series
@pytest.mark.parametrize(
    "labels", [["b", "a", "b"], [True, False, True], [3, 1, 3], [0.5, 1.0, 0.5]]
)
def test_class_labels(make, labels):
    found = class_labels(make(labels))
    assert found.shape == (3,)
    assert found.tolist() == labels
    assert np.unique(found).tolist() == sorted(set(labels))


@series
def test_responses(make):
    values, names = responses(make([1.5, 2.0, 4.0]))
    np.testing.assert_array_equal(values, [1.5, 2.0, 4.0])
    assert len(names) == 1


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_several_responses(make):
    values, names = responses(make({"u": [1, 2], "v": [0.5, -1.0]}))
    np.testing.assert_array_equal(values, [[1, 0.5], [2, -1]])
    assert names == ("u", "v")
    np.testing.assert_array_equal(responses(np.eye(3))[0], np.eye(3))


def test_responses_written_otherwise():
    said = "y holds numbers written with a decimal comma, thousands marks and a currency: it is"
    with pytest.warns(ColumnWarning, match=said):
        found = responses(["1.234,5 €", "0,25 €"])[0]
    np.testing.assert_array_equal(found, [1234.5, 0.25])
    np.testing.assert_array_equal(responses([True, False])[0], [1.0, 0.0])
    with pytest.warns(ColumnWarning, match="y holds durations, in days"):
        found = responses(pd.to_timedelta([1, 2], unit="D"))[0]
    np.testing.assert_array_equal(found, [1.0, 2.0])


@pytest.mark.parametrize(
    "y",
    [
        np.array([0.0, 1.0, 0.0]),
        np.array([3, 1, 3], dtype=np.int8),
        np.array([True, False, True]),
        np.array(["b", "a", "b"]),
        np.array(["b", "a", "b"], dtype=object),
        pd.Series(["b", "a", "b"], dtype="category"),
        pd.Series([2, 1, 2], dtype="category"),
        pl.Series(["b", "a", "b"]),
    ],
    ids=lambda y: f"{type(y).__module__}-{y.dtype}",
)
def test_labels_have_the_type_that_numpy_gives_them(y):
    assert class_labels(y).dtype == np.asarray(y).dtype


def test_labels_of_types_that_numpy_has_not():
    assert class_labels(pd.Series([2, 1, 2], dtype="Int64")).dtype == np.int64
    assert class_labels(pd.Series([True, False], dtype="boolean")).dtype == bool
    assert class_labels(pd.Series(["a", "b"], dtype="string")).dtype == object


def test_a_column_vector_of_labels_is_used_with_a_warning():
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        assert class_labels(np.array([["b"], ["a"]])).tolist() == ["b", "a"]


@series
def test_missing_labels_are_named_with_their_rows(make):
    with pytest.raises(
        ValueError, match=r"y has no label in rows 1 and 3 \(counted from 0\): remove"
    ):
        class_labels(make(["a", None, "b", None]))


@pytest.mark.parametrize(
    ("y", "says"),
    [
        ([1.0, np.nan], "y is missing in row 1 .counted from 0.: remove these rows"),
        ([1.0, np.inf], "y is infinite in row 1"),
        (
            ["1", "2", "many"],
            "y must hold numbers. Got 'many' in row 2 .counted from 0.: correct it",
        ),
        (
            ["good", "bad"],
            "Got 'good' in row 0 .* and others in 1 more row: for labels",
        ),
        (pd.Series([1.0, None], name="price"), r"y \('price'\) is missing in row 1"),
        (pd.DataFrame({"u": [1, 2], "v": [None, 2]}), r"y \('v'\) is missing in row 0"),
        (
            pd.DataFrame({"u": [1, None, np.inf], "v": ["1", "a", "b"]}),
            r"(?s)y \('u'\) is missing in row 1 .*y \('v'\) must .* Got 'a' in row 1 .* 1 more row",
        ),
        ([datetime.date(2020, 1, 1)] * 2, "must hold numbers. Got dates"),
        ([[1], [2, 3]], "y"),
        ([1j, 2], "Complex data not supported in y"),
        ([{"a": 1}, {"a": 2}], "y cannot be used: row 0 holds several values"),
        (np.zeros((2, 2, 2)), "y must have one or two dimensions. Got 3"),
        (5, "y must have one or two dimensions. Got 0"),
        (None, "y is needed"),
    ],
)
def test_responses_that_cannot_be_used(y, says):
    with pytest.raises(ValueError, match=says):
        responses(y)


@pytest.mark.parametrize(
    ("y", "says"),
    [
        (["a", 1, "b"], r"labels of one type. Got text \(row 0: 'a'\) and numbers \(row 1: 1\)"),
        ([True, "b"], "Got true/false .row 0: True. and text .row 1: 'b'."),
        ([1.0, np.inf], "infinite in row 1"),
        (np.eye(3), "one column of labels. Got 3 columns"),
        ([["a", "b"], ["c"]], "y"),
        ([[1, 2], None], "y"),
        (None, "y is needed"),
    ],
)
def test_labels_that_cannot_be_used(y, says):
    with pytest.raises(ValueError, match=says):
        class_labels(y)


def test_dates_as_labels():
    assert class_labels([datetime.date(2020, 1, 2)] * 2)[0].startswith("2020-01-02")
