"""Each kind of column, from pandas, polars and pyarrow: one table, one description, one matrix."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from kernalign._warnings import ColumnWarning
from kernalign.tables import Columns, is_table

LIBRARIES = {
    "pandas": pd.DataFrame,
    "pandas with pyarrow": lambda d: pd.DataFrame(
        pa.table(d).to_pandas(types_mapper=pd.ArrowDtype)
    ),
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "dictionary": dict,
    "list of dictionaries": lambda d: [
        dict(zip(d, row, strict=True)) for row in zip(*d.values(), strict=True)
    ],
}
library = pytest.mark.parametrize("make", LIBRARIES.values(), ids=LIBRARIES)

DAYS = [datetime.datetime(2020, 1, 1) + datetime.timedelta(days=37 * i) for i in range(40)]


def described(make, values, **options):
    table = make({"a": values})
    columns = Columns.of(table, **options)
    return columns, columns.encode(table)


@library
def test_numbers(make):
    columns, X = described(make, [1.5, 2.0, 4.0, 8.0])
    (feature,) = columns.features
    assert columns["a"].kind == "numeric"
    assert (feature.name, feature.column, feature.state, feature.codes) == ("a", "a", "value", 0)
    np.testing.assert_array_equal(X, [[1.5], [2.0], [4.0], [8.0]])


@library
def test_missing_numbers_are_the_median_and_a_state_of_their_own(make):
    columns, X = described(make, [1.0, None, 7.0, 3.0, None])
    assert columns["a"].missing == 2
    assert [(f.name, f.state, f.codes) for f in columns.features] == [
        ("a", "value", 0),
        ("a is missing", "missing", 2),
    ]
    np.testing.assert_array_equal(X, [[1, 0], [3, 1], [7, 0], [3, 0], [3, 1]])


@library
def test_text_that_repeats_is_categorical(make):
    columns, X = described(make, ["x", "y", None, "x", "z", "y"])
    assert columns["a"].kind == "categorical"
    assert columns.features[0].codes == 4
    # Missing is the last code.
    np.testing.assert_array_equal(X[:, 0], [0, 1, 3, 0, 2, 1])


@library
def test_booleans(make):
    columns, X = described(make, [True, False, None, True])
    assert columns["a"].kind == "boolean"
    np.testing.assert_array_equal(X[:, 0], [0, 1, 2, 0])


@library
def test_dates(make):
    columns, X = described(make, DAYS)
    assert columns["a"].kind == "datetime"
    assert columns.feature_names == ["a (trend)", "a (year, sine)", "a (year, cosine)"]
    np.testing.assert_allclose(np.diff(X[:, 0]), 37.0)
    assert columns.features[0].scale == pytest.approx(37 * 39 / 2 / 1.349)
    first = 2 * np.pi * np.array([0.0, 37 / 366, 74 / 366])
    np.testing.assert_allclose(X[:3, 1:], np.column_stack([np.sin(first), np.cos(first)]))


@library
def test_missing_dates_have_no_phase(make):
    columns, X = described(make, [*DAYS, None])
    assert columns.feature_names[-1] == "a is missing"
    np.testing.assert_array_equal(X[-1], [0, 0, 0, 1])
    assert not X[:-1, -1].any()


@library
def test_text_that_does_not_repeat_is_left_out(make):
    table = make({"a": [f"text {i}" for i in range(6)], "b": [1.5, 2, 3, 5, 8, 13]})
    with pytest.warns(ColumnWarning, match="'a'"):
        columns = Columns.of(table)
    assert columns["a"].kind == "text"
    assert not columns["a"].used
    assert columns.encode(table).shape == (6, 1)
    # A column that was left out is not needed again.
    assert columns.encode(make({"b": [1.0, 2.0]})).shape == (2, 1)


@library
def test_decimal_commas(make):
    columns, X = described(make, ["1,5", "2", None, "1.204,25"])
    assert columns["a"].why == "numbers written with a decimal comma and thousands marks"
    np.testing.assert_array_equal(X[:, 0], [1.5, 2.0, 2.0, 1204.25])


@library
def test_levels_of_an_ordered_column(make):
    columns, X = described(make, ["S", "L", "M", "S"], kinds={"a": ["S", "M", "L"]})
    assert columns["a"].kind == "ordered"
    np.testing.assert_array_equal(X[:, 0], [0, 2, 1, 0])


@library
def test_rows_in_another_library_encode_the_same(make):
    fitted = pd.DataFrame(
        {
            "n": [1, 2, 4, 4],
            "c": ["x", "y", "x", "y"],
            "d": DAYS[:4],
            "b": [True, False, True, True],
        }
    )
    rows = {"d": DAYS[1:3], "b": [False, True], "c": ["y", "x"], "n": [2.0, 4.0]}
    columns = Columns.of(fitted)
    np.testing.assert_array_equal(columns.encode(make(rows)), columns.encode(fitted)[1:3])


@pytest.mark.parametrize(
    "values",
    [
        pd.Categorical(["lo", "hi", None, "lo"], ["lo", "mid", "hi"], ordered=True),
        pd.array([3, 1, None, 3], dtype=pd.CategoricalDtype([3, 2, 1], ordered=True)),
    ],
)
def test_ordered_categories_of_pandas_are_ranks(values):
    table = pd.DataFrame({"a": values})
    columns = Columns.of(table)
    assert columns["a"].kind == "ordered"
    np.testing.assert_array_equal(columns.encode(table), [[0, 0], [2, 0], [0, 1], [0, 0]])


def test_ordered_dictionaries_of_pyarrow_are_ranks():
    array = pa.DictionaryArray.from_arrays([0, 1, None, 0], ["lo", "hi"], ordered=True)
    assert Columns.of(pa.table({"a": array}))["a"].kind == "ordered"


@pytest.mark.parametrize("dtype", [pl.Categorical, pl.Enum(["y", "x", "z"])])
def test_categories_of_polars_have_no_order(dtype):
    table = pl.DataFrame({"a": pl.Series(["x", "y", "x"], dtype=dtype)})
    assert Columns.of(table)["a"].kind == "categorical"


def test_a_value_outside_the_order_is_missing():
    table = pd.DataFrame({"a": pd.Categorical(["lo", "hi"], ["lo", "hi"], ordered=True)})
    columns = Columns.of(table)
    with pytest.warns(ColumnWarning, match="complete in the fit: 'a'"):
        X = columns.encode(pd.DataFrame({"a": ["hi", "higher"]}))
    np.testing.assert_array_equal(X, [[1.0], [0.0]])


def test_a_category_of_any_dtype_is_categorical_however_rare():
    table = pd.DataFrame({"a": pd.Categorical(["x", "y", "z"])})
    assert Columns.of(table)["a"].kind == "categorical"


def test_half_of_the_cells_must_share_their_value():
    few = pd.DataFrame({"a": ["x", "x", "y", "z"], "b": [1.5, 2, 3, 5]})
    assert Columns.of(few)["a"].kind == "categorical"
    fewer = pd.DataFrame({"a": ["x", "x", "y", "z", "w"], "b": [1.5, 2, 3, 5, 8]})
    with pytest.warns(ColumnWarning, match="4 different texts in 5 rows"):
        assert Columns.of(fewer)["a"].kind == "text"


def test_row_numbers_of_a_training_set_are_recognised():
    rng = np.random.default_rng(0)
    rows = rng.permutation(1500)[:1000]
    table = pd.DataFrame({"row": rows, "count": rng.integers(0, 1500, 1000)})
    with pytest.warns(ColumnWarning, match="'row'"):
        columns = Columns.of(table)
    assert columns["row"].kind == "identifier"
    assert columns["count"].kind == "numeric"


@pytest.mark.parametrize("name", ["t", "time", "Day", "age", "month", "reign_years", "Period"])
def test_a_trend_is_no_identifier(name):
    assert Columns.of({name: list(range(1, 101))})[name].kind == "numeric"


def test_few_values_may_be_categories_though_most_are_numbers():
    """The cylinders of cars are 4, 6, 8 and rotary."""
    cylinders = ["4", "6", "8", "4"] * 20 + ["rotary"]
    assert Columns.of({"cylinders": cylinders})["cylinders"].kind == "categorical"


def test_identifiers_may_be_numbers_with_letters():
    table = {"ID": [*map(str, range(40)), "15A"], "x": [0.5 * i for i in range(41)]}
    with pytest.warns(ColumnWarning, match="'ID' .41 different texts"):
        Columns.of(table)


def test_the_text_that_is_no_date_is_named():
    dates = [f"3/{day}/2020" for day in range(1, 29)]
    with pytest.raises(ValueError, match="row 28 holds '3/1/2020 - 3/9/2020', which is not a date"):
        Columns.of({"a": [*dates, "3/1/2020 - 3/9/2020"]}, kinds={"a": "datetime"})
    with pytest.raises(ValueError, match="row 28 holds '2020-03-01', which is not a date"):
        Columns.of({"a": [*dates, "2020-03-01"]}, kinds={"a": "datetime"})


@pytest.mark.parametrize(
    ("step", "count", "periods"),
    [
        ("1h", 24 * 3, ["day"]),
        ("1h", 24 * 14, ["week", "day"]),
        ("1D", 13, []),
        ("1D", 14, ["week"]),
        ("1D", 729, ["week"]),
        ("1D", 730, ["year", "week"]),
        ("1W", 110, ["year"]),
        ("MS", 24, ["year"]),
        ("QS", 12, ["year"]),
        ("YS", 50, []),
    ],
)
def test_periods_that_dates_can_show(step, count, periods):
    table = pd.DataFrame({"a": pd.date_range("2021-01-01", periods=count, freq=step)})
    states = [feature.state for feature in Columns.of(table).features]
    assert states == ["trend", *(period for period in periods for _ in range(2))]


def test_times_of_day_meet_at_midnight():
    times = [datetime.time(23, 59), datetime.time(0, 1), datetime.time(12), None]
    X = Columns.of(table := {"a": times}).encode(table)
    near, far = np.linalg.norm(X[0] - X[1]), np.linalg.norm(X[0] - X[2])
    assert near < 0.01
    assert far == pytest.approx(2.0, abs=1e-4)
    np.testing.assert_array_equal(X[3], [0, 0, 1])


def test_zones_keep_the_local_time_of_day():
    hours = pd.date_range("2021-01-01", periods=72, freq="1h")
    plain = Columns.of(a := pd.DataFrame({"a": hours})).encode(a)
    zoned = Columns.of(b := pd.DataFrame({"a": hours.tz_localize("Asia/Tokyo")})).encode(b)
    np.testing.assert_array_equal(plain, zoned)


@pytest.mark.parametrize("features", [["b"], [1], [False, True], np.array([-1]), pd.Index(["b"])])
def test_categorical_features_by_name_position_and_mask(features):
    table = pd.DataFrame({"a": [1, 5, 9, 12], "b": [1, 2, 2, 1]})
    columns = Columns.of(table, categorical_features=features)
    assert columns.is_code.tolist() == [False, True]
    # The same for an array of numbers, whose columns have positions only.
    if features != ["b"] and not isinstance(features, pd.Index):
        array = Columns.of(table.to_numpy(), categorical_features=features)
        assert array.is_code.tolist() == [False, True]


def test_no_categorical_features():
    table = pd.DataFrame({"a": pd.Categorical([3, 1, 3]), "b": pd.Categorical(["2", "5", "5"])})
    columns = Columns.of(table, categorical_features=None)
    assert [column.kind for column in columns] == ["numeric", "numeric"]
    np.testing.assert_array_equal(columns.encode(table), [[3, 2], [1, 5], [3, 5]])


def test_arrays_of_numbers_stay_as_they_are():
    X = np.random.default_rng(0).normal(size=(20, 3))
    X[:, 1] = 1.0
    X[:, 2] = np.arange(20)
    columns = Columns.of(X)
    np.testing.assert_array_equal(columns.encode(X), X)
    assert not is_table(X)


@pytest.mark.parametrize(
    ("X", "table"),
    [
        (pd.DataFrame({"a": [1]}), True),
        (pl.DataFrame({"a": [1]}), True),
        (pa.table({"a": [1]}), True),
        (np.array([[1, "x"]], dtype=object), True),
        (np.array([["x"]]), True),
        ({"a": [1]}, True),
        ([{"a": 1}], True),
        ([[1, "x"]], True),
        ([[1, 2]], False),
        (np.zeros((2, 2)), False),
        (pl.LazyFrame({"a": [1]}), False),
        (None, False),
    ],
)
def test_what_is_a_table(X, table):
    assert is_table(X) is table


def test_sparse_matrices_are_no_tables():
    from scipy.sparse import csr_array

    assert not is_table(csr_array(np.eye(3)))
    with pytest.raises(TypeError, match="used as it is"):
        Columns.of(csr_array(np.eye(3)))
