"""Rows in Parquet files: the answers of memory, read in batches."""

from itertools import pairwise

import numpy as np
import pandas
import pyarrow
import pyarrow.dataset
import pytest
import sklearn
from sklearn.base import clone

from kernalign import (
    ContinuousAlignment,
    Gaussian,
    KernelClassifier,
    KernelRegressor,
    KernelSearch,
    Linear,
)
from kernalign.estimators import base, landmark_solutions, landmarked, linear
from kernalign.features import NystroemMap
from kernalign.kernels import LearnedKernel
from kernalign.machines import normal_equations
from kernalign.rows import arrow, sample
from kernalign.rows.arrow import DataSet
from kernalign.rows.files import FileRows
from kernalign.tables import Columns

QUICK = KernelSearch([Gaussian(ard=True)], effort="quick")
ONE = ContinuousAlignment(max_iter=2)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(arrow, "BATCH_ROWS", 90)


@pytest.fixture
def files_stay(monkeypatch):
    """Rows are not loaded, and few rows are many: the default fit has landmarks, and recomputes
    kernel values."""
    monkeypatch.setattr(base, "can_load", lambda *_: False)
    monkeypatch.setattr(base, "SOLVED_ROWS", 200)
    monkeypatch.setattr(landmarked, "TUNED_ROWS", 150)
    monkeypatch.setattr(landmark_solutions, "KEPT_BYTES", 8 * 50 * 150)
    monkeypatch.setattr(linear, "features_fit", lambda *_: False)
    monkeypatch.setattr(linear, "FOLDS_ROWS", 100)


def table(n=400, seed=0):
    """Numbers and categories, with missing cells."""
    rng = np.random.default_rng(seed)
    frame = pandas.DataFrame(rng.standard_normal((n, 3)), columns=["a", "b", "c"])
    frame["whole"] = rng.integers(0, 50, n)
    frame["colour"] = rng.choice(["red", "green", "blue"], n)
    frame["size"] = pandas.Categorical(rng.choice(["S", "L"], n))
    frame.loc[3, ["a", "colour"]] = None
    return frame


def labels(frame):
    return np.where((frame["b"] * frame["c"] > 0) ^ (frame["colour"] == "red"), "yes", "no")


def numbers(frame):
    noise = np.random.default_rng(1).standard_normal(len(frame))
    return np.exp(frame["b"] + (frame["colour"] == "red") + 0.5 * noise)


def written(frame, folder, *lengths):
    """Files of these lengths, and one of the rest."""
    edges = [0, *np.cumsum(lengths), len(frame)]
    for i, (a, b) in enumerate(pairwise(edges)):
        frame.iloc[a:b].to_parquet(folder / f"{i}.parquet")
    return folder


# --- rows ----------------------------------------------------------------------------------------


@pytest.fixture
def both(tmp_path):
    """Rows of files, and the array that they are."""
    frame = table(300)
    columns = Columns.of(frame)
    return FileRows(DataSet(written(frame, tmp_path, 20, 0, 100)), columns), columns.encode(frame)


def test_some_rows_and_columns(both):
    rows, X = both
    assert rows.shape == X.shape
    index = np.array([299, 3, 3, 70, 0])
    np.testing.assert_array_equal(rows.take(index), X[index])
    np.testing.assert_array_equal(rows.take(slice(None)), X)
    for k in range(X.shape[1]):
        np.testing.assert_array_equal(rows.column(k), X[:, k])
    mask = X[:, 0] > 0
    part = rows.subset(mask).select([2, 0]).subset(np.arange(5, 50))
    np.testing.assert_array_equal(part.take(slice(None)), X[mask][5:50][:, [2, 0]])
    assert part.select([1]).shape == (45, 1)


def test_spread_and_sums(both):
    rows, X = both
    weight = np.random.default_rng(1).integers(1, 4, len(X)).astype(float)
    used = np.arange(len(X)) % 3 != 1
    for mine, array, w in ((rows, X, weight), (rows.subset(used), X[used], weight[used])):
        mean = np.average(array, axis=0, weights=w)
        expected = np.sqrt(np.average((array - mean) ** 2, axis=0, weights=w))
        np.testing.assert_allclose(mine.spread(w), expected, rtol=1e-12)
    features = NystroemMap(LearnedKernel([Gaussian().at(2.0)], np.ones(1)), X[:7])
    for index in (None, np.flatnonzero(used)):
        found, expected = (
            normal_equations(features, one, X[:, :2], weight, index) for one in (rows, X)
        )
        np.testing.assert_array_equal(found.gram, expected.gram)
        np.testing.assert_array_equal(found.cross, expected.cross)


def test_sums_over_pairs_need_memory(both):
    with (
        sklearn.config_context(working_memory=1e-3),
        pytest.raises(ValueError, match="too small for sums over all pairs of 300 rows of files"),
    ):
        both[0].pass_over_pairs(None, None)


def test_batches_are_small(both, monkeypatch):
    sizes = []
    encode = Columns.encode
    monkeypatch.setattr(
        Columns, "encode", lambda self, part: sizes.append(len(part)) or encode(self, part)
    )
    rows, X = both
    assert [len(block) for block in rows.blocks(64)] == [64, 64, 64, 64, 44]
    assert max(sizes) <= 90
    assert sum(sizes) == len(X)


# --- fits ----------------------------------------------------------------------------------------


def assert_same(near, far, frame):
    assert far.solver_ == near.solver_
    np.testing.assert_allclose(far.C_, near.C_, rtol=1e-9)
    np.testing.assert_allclose(far.held_out_.outputs, near.held_out_.outputs, atol=1e-6)
    assert repr(far.kernel_) == repr(near.kernel_)
    assert list(far.feature_names_in_) == list(near.feature_names_in_)
    np.testing.assert_allclose(
        far.model_.outputs(far.columns_.encode(frame)),
        near.model_.outputs(near.columns_.encode(frame)),
        atol=1e-6,
    )


@pytest.mark.parametrize("stay", [False, True])
@pytest.mark.parametrize("make", [KernelClassifier, KernelRegressor], ids=lambda m: m.__name__)
def test_the_fit_is_that_of_the_table(make, stay, tmp_path, request):
    if stay:
        request.getfixturevalue("files_stay")
    frame = table()
    y = labels(frame) if make is KernelClassifier else numbers(frame)
    weight = np.random.default_rng(2).integers(0, 3, len(frame)).astype(float)
    folder = written(frame.assign(y=y, w=weight), tmp_path, 150, 0, 30)
    model = make(QUICK, C=3.0, n_components=60, nested=False)
    near = clone(model).fit(frame, y, sample_weight=weight)
    far = model.fit_files(str(folder / "*.parquet"), "y", sample_weight="w")
    assert (far.model_.kept == "landmarks") == stay
    assert_same(near, far, frame)
    np.testing.assert_array_equal(far.predict(frame), near.predict(frame))


@pytest.mark.parametrize("family", [Gaussian(), Linear()], ids=["nystroem", "fourier"])
def test_other_learners(family, files_stay, tmp_path):
    frame = table()[["a", "b", "c"]].fillna(0.0)
    y, groups = frame["a"] * frame["b"] > 0, np.arange(len(frame)) % 40
    folder = written(frame.assign(y=y, g=groups), tmp_path, 100)
    learner = ContinuousAlignment(family, max_iter=2)
    solver = {"solver": "nystroem", "n_components": 30}
    near = KernelClassifier(learner, **solver).fit(frame, y, groups=groups)
    far = KernelClassifier(learner, **solver).fit_files(folder, "y", groups="g")
    assert_same(near, far, frame)


def test_several_responses(tmp_path):
    frame = table(60)
    Y = pandas.DataFrame({"one": frame["b"], "two": frame["c"] ** 2})
    folder = written(frame[["b", "c", "size"]].join(Y), tmp_path)
    near = KernelRegressor(QUICK, nested=False).fit(frame[["b", "c", "size"]], Y)
    far = KernelRegressor(QUICK, nested=False).fit_files([folder / "0.parquet"], ["one", "two"])
    np.testing.assert_allclose(
        far.predict(frame[["b", "c", "size"]]), near.predict(frame[["b", "c", "size"]])
    )
    assert far.response_.names == ("one", "two")


def test_numbers_of_other_width_and_files_without_values(tmp_path):
    """Types of one column may differ as far as one type holds all values."""
    frame = table(90)[["a", "b", "whole"]]
    y = frame["b"] > 0
    parts = [frame.iloc[:40].astype({"whole": float}), frame.iloc[40:80].astype({"a": "float32"})]
    parts.append(frame.iloc[80:].assign(a=None))
    for i, part in enumerate(parts):
        part.assign(y=y).to_parquet(tmp_path / f"{i}.parquet")
    expected = pandas.concat([*parts[:2], parts[2].astype({"a": float})])
    near = KernelClassifier(ONE).fit(expected, y)
    far = KernelClassifier(ONE).fit_files(tmp_path, "y")
    np.testing.assert_allclose(far.decision_function(expected), near.decision_function(expected))


def test_predictions_for_a_data_set(tmp_path):
    frame = table(120)
    y = labels(frame)
    folder = written(frame.assign(y=y), tmp_path, 50)
    model = KernelClassifier(ONE).fit_files(folder, "y")
    data = pyarrow.dataset.dataset(folder)
    np.testing.assert_array_equal(model.predict(data), model.predict(frame))
    np.testing.assert_array_equal(model.predict_proba(data), model.predict_proba(frame))
    also = KernelClassifier(ONE).fit_files(data, "y")
    np.testing.assert_array_equal(also.predict(frame), model.predict(frame))
    lacking = pyarrow.dataset.dataset(pyarrow.Table.from_pandas(frame.drop(columns="b")))
    with pytest.raises(ValueError, match="The files have no column 'b'"):
        model.predict(lacking)
    plain = KernelClassifier(ONE).fit(frame[["b", "c"]].to_numpy(), y)
    with pytest.raises(ValueError, match="was fitted to an array"):
        plain.predict(data)


# --- kinds of columns ----------------------------------------------------------------------------


def test_what_is_rare_is_known(tmp_path, monkeypatch):
    """A category, a missing cell, and a value of a column that is otherwise constant."""
    monkeypatch.setattr(sample, "SAMPLE_CELLS", 0)
    monkeypatch.setattr(sample, "SAMPLE_ROWS", 40)
    frame = table(1000)
    frame.loc[3, ["a", "colour"]] = 0.0, "red"
    frame["rare"] = 0.0
    frame.loc[[611, 612, 613], ["colour", "b", "rare"]] = "violet", None, 5.0
    rows = sample.representative_rows(DataSet(written(frame, tmp_path, 300)), list(frame))
    assert len(rows.table) < 100
    found, expected = Columns.of(rows.table), Columns.of(frame)
    assert set(found["colour"].encoder.categories) == {"red", "green", "blue", "violet"}
    assert found["b"].encoder.has_missing
    assert not found["a"].encoder.has_missing
    assert [c.kind for c in found] == [c.kind for c in expected]
    # Missing cells get the median, which is that of the sample.
    full, numeric = frame.drop(index=[611, 612, 613]), found.is_code == 0
    np.testing.assert_array_equal(found.encode(full)[:, numeric], expected.encode(full)[:, numeric])


def test_too_many_categories(tmp_path, monkeypatch):
    monkeypatch.setattr(sample, "SAMPLE_CELLS", 0)
    monkeypatch.setattr(sample, "SAMPLE_ROWS", 100)
    monkeypatch.setattr(sample, "MAX_CATEGORIES", 10)
    frame = table(300).assign(y=np.arange(300) % 2)
    frame["town"] = [f"town {i % 30}" for i in range(300)]
    folder = written(frame, tmp_path)
    with pytest.raises(ValueError, match=r"'town' must have at most 10 categories.*'drop'"):
        KernelClassifier(ONE).fit_files(folder, "y")
    model = KernelClassifier(ONE, kinds={"town": "drop"}).fit_files(folder, "y")
    assert model.columns_["town"].kind == "dropped"


# --- what is refused -----------------------------------------------------------------------------


def test_infinity_is_named(tmp_path, monkeypatch):
    frame = table(300).assign(y=np.arange(300) % 2)
    frame.loc[222, "c"] = np.inf
    folder = written(frame, tmp_path, 100)
    with pytest.raises(ValueError, match=r"'c'.* infinite in row 222"):
        KernelClassifier(ONE).fit_files(folder, "y")
    monkeypatch.setattr(sample, "SAMPLE_CELLS", 0)
    monkeypatch.setattr(sample, "SAMPLE_ROWS", 50)
    with pytest.raises(ValueError, match=r"Column 'c' is infinite in row 222 of the files"):
        KernelClassifier(ONE).fit_files(folder, "y")


def test_files_that_differ_are_named(tmp_path):
    frame = table(60).assign(y=np.arange(60) % 2)
    written(frame, tmp_path, 30)
    frame.iloc[30:].drop(columns="c").to_parquet(tmp_path / "1.parquet")
    with pytest.raises(ValueError, match=r"same columns\. '.*1\.parquet' has no column 'c', which"):
        KernelClassifier().fit_files(tmp_path, "y")
    frame.iloc[30:].assign(d=1.0).to_parquet(tmp_path / "1.parquet")
    with pytest.raises(ValueError, match=r"same columns\. '.*0\.parquet' has no column 'd', which"):
        KernelClassifier().fit_files(tmp_path, "y")
    frame.iloc[30:].assign(c="text").to_parquet(tmp_path / "1.parquet")
    with pytest.raises(
        ValueError,
        match=r"'c' must have the same type in all files\. Got double in .* (large_)?string in",
    ):
        KernelClassifier().fit_files(tmp_path, "y")
    (tmp_path / "1.parquet").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"1\.parquet' cannot be read as a Parquet file"):
        KernelClassifier().fit_files(tmp_path, "y")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "z"}, "The files have no column 'z'. Their columns are: 'a', 'b', 'c'"),
        ({"sample_weight": "z"}, "no column 'z'"),
        ({"sample_weight": "colour"}, "'colour' of the files must hold numbers. Got text"),
        ({"sample_weight": "a"}, "NaN"),
        ({"groups": "z"}, "no column 'z'"),
        ({"groups": "colour"}, "groups has no entry in row 3"),
        ({"target": "a"}, r"y \('a'\) has no label in row 3"),
        ({"target": "one"}, "at least two classes in y. Got one class"),
    ],
)
def test_columns_that_are_refused(options, message, tmp_path):
    frame = table(60).assign(y=np.arange(60) % 2, one=1)
    folder = written(frame, tmp_path, 30)
    model = KernelClassifier(ONE).fit(frame[["b", "c"]], frame["y"])
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit_files(folder, **{"target": "y", **options})
    assert vars(model) == before


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_response_is_finite(value, tmp_path):
    frame = table(60)
    frame.loc[41, "b"] = value
    with pytest.raises(ValueError, match=r"y \('b'\) is (missing|infinite) in row 41"):
        KernelRegressor().fit_files(written(frame, tmp_path, 30), "b")


def test_arguments_that_are_refused(tmp_path):
    frame = table(60).assign(y=np.arange(60) % 2)
    folder = written(frame, tmp_path)
    with pytest.raises(TypeError, match=r"'target' must be the name of a column.*Got 3"):
        KernelClassifier().fit_files(folder, 3)
    with pytest.raises(TypeError, match=r"'groups' must be the name of a column. Got \[0\]"):
        KernelClassifier().fit_files(folder, "y", groups=[0])
    with pytest.raises(TypeError, match=r"'files' must be a path.*Got DataFrame"):
        KernelClassifier().fit_files(frame, "y")
    for nothing in ("none.parquet", "*.csv", tmp_path / "none"):
        with pytest.raises(FileNotFoundError, match="There is no"):
            KernelClassifier().fit_files(nothing, "y")
    frame[["y"]].to_parquet(folder / "0.parquet")
    with pytest.raises(ValueError, match="no columns besides those of the labels"):
        KernelClassifier().fit_files(folder, "y")
    frame.iloc[:0].to_parquet(folder / "0.parquet")
    with pytest.raises(ValueError, match="The files have no rows"):
        KernelClassifier().fit_files(folder, "y")


def test_files_that_change_are_noticed(tmp_path):
    frame = table(60)
    frame.to_csv(tmp_path / "rows.csv")
    data = DataSet(pyarrow.dataset.dataset(tmp_path / "rows.csv", format="csv"))
    frame.iloc[:50].to_csv(tmp_path / "rows.csv")
    with pytest.raises(ValueError, match="changed while they were read: they had 60 rows"):
        data.table(["a"])
    data = DataSet(written(frame, tmp_path) / "0.parquet")
    (tmp_path / "0.parquet").write_bytes(b"PAR1")
    with pytest.raises(ValueError, match="The files cannot be read"):
        data.table(["a"])


def test_machines_that_need_all_rows_are_refused(files_stay, tmp_path):
    folder = written(table(60).assign(y=np.arange(60) % 2), tmp_path)
    with pytest.raises(ValueError, match="if the rows are not in memory"):
        KernelClassifier(solver="exact").fit_files(folder, "y")
