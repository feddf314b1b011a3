"""What must not matter: names of categories, order of rows and columns, units, other rows."""

import os
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.api.types import is_numeric_dtype

from kernalign._warnings import ColumnWarning
from kernalign.tables import Columns

FOLDER = Path(os.environ.get("KERNALIGN_DATA", "")) / "tables"
needs_data = pytest.mark.skipif(not FOLDER.is_dir(), reason="KERNALIGN_DATA is not set")


def read(name):
    return pd.read_csv(FOLDER / f"{name}.csv.gz").iloc[:, :-1]


def same(codes, others):
    """Whether two columns of codes say the same of every pair of rows."""
    return len(set(zip(codes, others, strict=True))) == len(set(codes)) == len(set(others))


#: (numeric, categorical, left out, features) of each table.
COUNTS = {
    "ames": (33, 40, 0, 73),
    "lending_club": (17, 5, 0, 22),
    "titanic": (1, 2, 1, 4),
    "hitters": (16, 3, 0, 19),
    "diamonds": (6, 3, 0, 9),
    "carseats": (7, 3, 0, 10),
    "penguins": (4, 2, 0, 10),
}


@needs_data
@pytest.mark.parametrize("name", COUNTS)
def test_real_tables(name):
    table = read(name)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        columns = Columns.of(table)
    assert len(caught) == (name == "titanic")
    kinds = [column.kind for column in columns]
    found = (kinds.count("numeric"), kinds.count("categorical"), kinds.count("text"))
    assert (*found, len(columns.features)) == COUNTS[name]
    assert [c.kind for c in columns] == [
        "text" if c == "Name" else "numeric" if is_numeric_dtype(table[c]) else "categorical"
        for c in table
    ]
    X = columns.encode(table)
    assert np.isfinite(X).all()
    assert [column.missing for column in columns] == table.isna().sum().tolist()


@needs_data
def test_saved_index_is_left_out():
    table = read("carseats")
    with pytest.warns(ColumnWarning, match="'Unnamed: 0'"):
        columns = Columns.of(table.reset_index(names="Unnamed: 0"))
    np.testing.assert_array_equal(
        columns.encode(table.reset_index(names="Unnamed: 0")), Columns.of(table).encode(table)
    )


@needs_data
def test_names_of_categories_do_not_matter():
    table = read("ames")
    texts = [c for c in table if not is_numeric_dtype(table[c])]
    renamed = table.copy()
    for c in texts:
        names = {v: f"{hash(v)} {c}" for v in table[c].dropna().unique()}
        renamed[c] = table[c].map(names)
    np.testing.assert_array_equal(
        Columns.of(renamed).encode(renamed), Columns.of(table).encode(table)
    )


@needs_data
def test_order_of_categories_and_rows_does_not_matter():
    table = read("ames")
    order = np.random.default_rng(0).permutation(len(table))
    mixed = table.iloc[order].astype({"Neighborhood": "category"})
    levels = np.random.default_rng(1).permutation(mixed["Neighborhood"].cat.categories)
    mixed["Neighborhood"] = mixed["Neighborhood"].cat.set_categories(levels)
    columns, others = Columns.of(table), Columns.of(mixed)
    X, Y = columns.encode(table)[order], others.encode(mixed)
    for feature, x, y in zip(columns.features, X.T, Y.T, strict=True):
        assert same(x, y) if feature.is_code else (x == y).all()
    assert columns.scales == pytest.approx(others.scales, rel=1e-12)


@needs_data
def test_columns_are_matched_by_name():
    table = read("penguins")
    columns = Columns.of(table)
    np.testing.assert_array_equal(columns.encode(table[table.columns[::-1]]), columns.encode(table))


@needs_data
def test_rows_are_encoded_one_by_one():
    table = read("titanic").drop(columns="Name")
    columns = Columns.of(table)
    X = columns.encode(table)
    for row in (0, 500, 1312):
        np.testing.assert_array_equal(columns.encode(table.iloc[[row]])[0], X[row])


def test_units_follow_the_values():
    x = np.random.default_rng(0).normal(size=200)
    columns = Columns.of({"a": x, "b": 1e6 * x - 3})
    assert columns.scales[1] == pytest.approx(1e6 * columns.scales[0])
    assert columns.scales[0] == pytest.approx(1.0, rel=0.2)


def test_unit_of_rare_values_is_the_standard_deviation():
    x = np.r_[np.zeros(90), np.arange(10.0)]
    assert Columns.of({"a": x}).scales[0] == pytest.approx(x.std())


@pytest.mark.parametrize("values", [[1.7e308, -1.7e308, 1e308], [5e-324, 0.0, 5e-324, 0.0]])
def test_unit_of_extreme_values_is_finite(values):
    (scale,) = Columns.of({"a": values}).scales
    assert 0 < scale <= np.finfo(float).max


def test_unseen_categories_equal_no_other():
    columns = Columns.of({"a": ["x", "y", "x", None]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        codes = columns.encode({"a": ["new", "x", "newer", None, "new"]})[:, 0]
    assert codes[0] == codes[4]
    assert len({*codes[:4], *columns.encode({"a": ["x", "y", None]})[:, 0]}) == 5
    assert codes[1] < columns.features[0].codes <= codes[0]


def test_missing_cells_that_the_fit_did_not_see():
    columns = Columns.of({"a": ["x", "y", "x", "y"], "b": [1.0, 2.0, 4.0, 8.0]})
    with pytest.warns(ColumnWarning) as caught:
        X = columns.encode({"a": [None, "x"], "b": [None, 4.0]})
    assert len(caught) == 1
    assert X[0, 0] not in (0, 1)
    assert X[0, 1] == 2.0


def test_numbers_and_text_of_a_category_are_not_confused():
    columns = Columns.of({"zip": ["501", "502"] * 3}, kinds={"zip": "categorical"})
    with pytest.raises(ValueError, match=r"it held text .such as '501'. in the fit, and now"):
        columns.encode({"zip": [501, 502]})


def test_many_categories_take_memory_of_the_rows():
    values = np.random.default_rng(0).integers(0, 10_000, 20_000)
    table = pd.DataFrame({"a": [f"category {v}" for v in values]})
    tracemalloc.start()
    columns = Columns.of(table)
    X = columns.encode(table)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert X.shape == (20_000, 1)
    assert columns.features[0].codes > 8000
    assert peak < 500 * len(table)


def test_all_problems_at_once():
    table = {"a": [[1], [2]], "b": [1.0, np.inf], "c": [1.0, 2.0], "d": [1j, 2]}
    with pytest.raises(ValueError, match="3 of 4 columns") as error:
        Columns.of(table)
    assert [line[:5] for line in str(error.value).splitlines()[1:]] == ["- 'a'", "- 'b'", "- 'd'"]


def test_display():
    table = {"<b>": [1.0, None, 3.0], "c": ["x", "x", "y"], "one": [1, 1, 1]}
    columns = Columns.of(table)
    lines = repr(columns).splitlines()
    assert lines[0] == "3 columns of 3 rows: 2 used as 3 features, 1 left out"
    assert lines[1].split() == ["column", "kind", "missing", "features", "why", "examples"]
    assert lines[2].split() == ["<b>", "numeric", "1", "2", "it", "holds", "numbers", "1,", "3"]
    assert lines[4].split()[:4] == ["one", "constant", "left", "out"]
    assert "<b>" not in columns._repr_html_()
    assert columns._repr_html_().count("<tr>") == 4


def test_columns_are_a_sequence():
    columns = Columns.of({"a": [1.0, 2.5], "b": [True, False]})
    assert len(columns) == 2
    assert [column.name for column in columns] == ["a", "b"]
    assert columns[1] is columns["b"]
    assert columns.column_of_feature.tolist() == [0, 1]
    with pytest.raises(KeyError):
        columns["c"]


numbers = st.floats(allow_nan=False, allow_infinity=False, width=64)
cells = st.one_of(
    st.lists(st.none() | numbers, min_size=2, max_size=20),
    st.lists(st.none() | st.integers(), min_size=2, max_size=20),
    st.lists(st.none() | st.text(max_size=5), min_size=2, max_size=20),
    st.lists(st.none() | st.booleans(), min_size=2, max_size=20),
    st.lists(st.none() | st.datetimes() | st.dates(), min_size=2, max_size=20),
    st.lists(st.none() | numbers | st.text(max_size=3) | st.booleans(), min_size=2, max_size=20),
)


@settings(max_examples=300, deadline=None)
@given(cells)
def test_any_cells_are_encoded_or_refused_in_words(values):
    table = {"a": values, "row": [1.5] * (len(values) - 1) + [2.5]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ColumnWarning)
        refusal = ""
        try:
            columns = Columns.of(table)
        except ValueError as error:
            refusal = str(error)
        if refusal:
            assert refusal.startswith("Column 'a' cannot be used: ")
            return
        X = columns.encode(table)
        assert X.shape == (len(values), len(columns.features))
        assert np.isfinite(X).all()
        # Fitting says the same of rows that are repeated, up to what now repeats.
        np.testing.assert_array_equal(
            columns.encode({k: v * 2 for k, v in table.items()}), [*X, *X]
        )


@given(st.lists(st.none() | st.sampled_from("abcde"), min_size=1, max_size=30))
def test_codes_say_which_cells_are_equal(values):
    table = {"a": [*values, "a", "b"]}
    columns = Columns.of(table, kinds={"a": "categorical"})
    codes = columns.encode(table)[:, 0]
    assert same(codes, table["a"])
    assert columns.features[0].codes == len(set(table["a"]))


@given(
    st.lists(st.decimals(-(10**9), 10**9, places=2), min_size=3, max_size=20, unique=True),
    st.sampled_from([(".", ","), (".", ""), (",", "."), (",", "\u202f"), (".", "'"), (",", "")]),
    st.sampled_from(["{}", "{} €", "${}", "{}%", " {} ", "CHF {}"]),
)
def test_numbers_are_read_as_they_were_written(values, marks, template):
    decimal, thousands = marks
    swap = str.maketrans({".": decimal, ",": thousands})
    texts = [template.format(f"{value:,.2f}".translate(swap)) for value in values]
    table = {"a": texts}
    X = Columns.of(table, kinds={"a": "numeric"}).encode(table)
    np.testing.assert_array_equal(X[:, 0], np.array([float(v) for v in values]))
