"""Rows in memory and on Dask answer alike, and chunks are read no more often than needed."""

import dask
import dask.array as da
import numpy as np
import pytest

from kernalign import ContinuousAlignment, Gaussian, KernelRegressor, LpNormMKL, Sampled
from kernalign.features import NystroemMap
from kernalign.gram.dictionary import dictionary_products
from kernalign.gram.target import Target
from kernalign.kernels import LearnedKernel
from kernalign.machines import normal_equations
from kernalign.rows import ArrayRows, as_rows
from kernalign.rows.dask import DaskSource
from kernalign.rows.input import source_of
from kernalign.rows.memory import SMALLEST_SPREAD


@pytest.fixture(autouse=True)
def in_this_process():
    with dask.config.set(scheduler="threads"):
        yield


def table(n=150, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * [1.0, 1e3, 1e-3, 2.0][:d]
    # A chunk in which a column is zero, and a constant column.
    X[:20, 2] = 0.0
    X[:, 3] = 7.0
    return X, rng.integers(1, 4, n).astype(float)


def chunked(X, *lengths):
    sizes = (*lengths, len(X) - sum(lengths))
    return DaskSource(da.from_array(X, chunks=(sizes, -1))).opened([])[0]


@pytest.fixture(params=["memory", "dask"])
def both(request):
    """Rows, the array that they are, and weights."""
    X, weight = table()
    return (ArrayRows(X) if request.param == "memory" else chunked(X, 20, 0, 100)), X, weight


# --- what rows are asked for ---------------------------------------------------------------------


def test_shape_and_some_rows(both):
    rows, X, _ = both
    assert rows.shape == X.shape
    assert len(rows) == len(X)
    index = np.array([149, 3, 3, 70, 0])
    np.testing.assert_array_equal(rows.take(index), X[index])


def test_subsets_and_columns_stay_rows(both):
    rows, X, _ = both
    mask = X[:, 0] > 0
    for index in (mask, np.flatnonzero(mask)):
        part = as_rows(rows.subset(index))
        np.testing.assert_array_equal(part.take(np.arange(len(part))), X[mask])
    part = as_rows(rows.select([2, 0]))
    np.testing.assert_array_equal(part.take(np.arange(len(X))), X[:, [2, 0]])
    part = as_rows(rows.select(slice(1, None)))
    assert part.shape == (150, 3)


def test_spread_is_the_weighted_standard_deviation(both):
    rows, X, weight = both
    mean = np.average(X, axis=0, weights=weight)
    expected = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
    # A constant column is measured by the widest.
    expected[3] = expected.max()
    np.testing.assert_allclose(rows.spread(weight), expected, rtol=1e-12)


def test_spread_neither_overflows_nor_loses_a_small_column(both):
    rows, X, weight = both
    for factor in (1e300, 1e-300):
        scaled = as_rows(X * factor) if rows.in_memory else chunked(X * factor, 20, 60)
        np.testing.assert_allclose(scaled.spread(weight), rows.spread(weight) * factor, rtol=1e-10)


def test_numbers_can_be_divided_by_the_spread(both):
    """Of what is denormal it is the smallest that is searched with."""
    rows, X, weight = both
    scaled = as_rows(X * 1e-310) if rows.in_memory else chunked(X * 1e-310, 20, 60)
    np.testing.assert_array_equal(scaled.spread(weight), SMALLEST_SPREAD)
    assert np.isfinite(100 / scaled.spread(weight)).all()


@pytest.mark.parametrize("saved", [0.0, np.inf], ids=["numpy", "compiled"])
def test_sums_over_pairs_are_those_of_gram_matrices(both, saved):
    rows, X, weight = both
    rng = np.random.default_rng(1)
    target = Target(rng.standard_normal((len(X), 1)), weight)
    family = Gaussian(columns=[0, 2]).resolve(X, None, weight)
    kernels = [family.at(0.5), family.at(3.0)]
    found = dictionary_products(kernels, rows, target, saved)
    total = weight.sum()
    K = [kernel(X) for kernel in kernels]
    root = np.sqrt(weight)
    centred = []
    for matrix in K:
        means = matrix @ weight / total
        matrix = matrix - means - means[:, None] + weight @ means / total
        centred.append(root[:, None] * matrix * root)
    expected = [[np.vdot(A, B) for A in centred] for B in centred]
    np.testing.assert_allclose(found.between, expected, rtol=1e-9)


def test_sums_of_features_are_those_of_a_loop(both):
    rows, X, weight = both
    rng = np.random.default_rng(2)
    Y = rng.standard_normal((len(X), 2))
    kernel = LearnedKernel([Gaussian(columns=[0, 3]).at(1.0)], np.ones(1))
    features = NystroemMap(kernel, X[:7])
    some = np.flatnonzero(X[:, 0] > 0.3)
    for index in (None, some):
        found = normal_equations(features, rows, Y, weight, index)
        used = np.arange(len(X)) if index is None else index
        raw, w = features.raw(X[used]), weight[used]
        assert found.total == pytest.approx(w.sum())
        np.testing.assert_allclose(found.raw, w @ raw, rtol=1e-10)
        np.testing.assert_allclose(found.y, w @ Y[used], rtol=1e-10)
        np.testing.assert_allclose(np.tril(found.gram), np.tril((raw.T * w) @ raw), rtol=1e-10)
        np.testing.assert_allclose(found.cross, (raw.T * w) @ Y[used], rtol=1e-9, atol=1e-12)


def test_arrays_are_rows_in_memory():
    X, _ = table()
    assert as_rows(X).in_memory
    assert source_of(X) is None
    rows = as_rows(X)
    assert as_rows(rows) is rows


# --- how often chunks are read -------------------------------------------------------------------


class Counted:
    """A Dask array of which every reading of a chunk is counted."""

    def __init__(self, X, rows):
        self.reads = 0
        self.array = da.from_array(X, chunks=(rows, -1)).map_blocks(
            self._read, dtype=X.dtype, meta=np.empty((0, 0))
        )

    def _read(self, chunk):
        self.reads += 1
        return chunk

    def times(self, number):
        """Readings of all chunks, on average."""
        return self.reads / number


def labelled(n=600, d=3):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, d))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def test_learning_reads_chunks_as_often_as_there_are_passes():
    """Check, spread, scale of distances, tabulating pass, exact pass over the kernels found."""
    X, y = labelled()
    counted = Counted(X, 200)
    ContinuousAlignment().fit(counted.array, y)
    assert counted.times(3) <= 5


def test_early_stopping_takes_a_sample_once():
    X, y = labelled()
    counted = Counted(X, 200)
    far = ContinuousAlignment(early_stopping=True).fit(counted.array, y)
    near = ContinuousAlignment(early_stopping=True).fit(X, y)
    assert counted.times(3) <= 6
    assert [r["held_out"] for r in far.stopping_path_] == pytest.approx(
        [r["held_out"] for r in near.stopping_path_], rel=1e-6
    )
    assert far.kernel_.weights == pytest.approx(near.kernel_.weights, rel=1e-6)


def test_each_sample_is_taken_once():
    X, y = labelled()
    counted = Counted(X, 200)
    learner = Sampled(ContinuousAlignment(Gaussian(ard=True), max_iter=2), tol=1e-9, min_rows=50)
    with pytest.warns(match="max_rows"):
        learner.set_params(max_rows=200).fit(counted.array, y)
    assert [record["rows"] for record in learner.samples_] == [50, 100, 200]
    # The check, and one reading for each sample.
    assert counted.times(3) <= 4


def test_labels_and_rows_of_one_file_are_read_together():
    X, y = labelled()
    counted = Counted(np.column_stack([X, y]), 200)
    DaskSource(counted.array[:, :3]).opened([counted.array[:, 3], None])
    assert counted.times(3) == 1


# --- what a user may hand in ---------------------------------------------------------------------


def test_family_on_some_columns_is_that_of_memory():
    X, y = labelled()
    learner = ContinuousAlignment(Gaussian(columns=[0, 1]), max_iter=3)
    far = learner.fit(da.from_array(X, chunks=(250, -1)), y).kernel_
    near = learner.fit(X, y).kernel_
    for one, two in zip(far.kernels, near.kernels, strict=True):
        np.testing.assert_allclose(one.sigma, two.sigma, rtol=1e-6)


def test_families_that_take_more_than_one_pass_are_named():
    from kernalign import Fourier

    X, y = labelled()
    chunks = da.from_array(X, chunks=(250, -1))
    with pytest.raises(ValueError, match="Learning Fourier on rows that are not in memory"):
        ContinuousAlignment(Fourier()).fit(chunks, y)
    with pytest.raises(ValueError, match="Learning Gaussian on rows that are not in memory"):
        ContinuousAlignment(Gaussian(ard=True), penalty="path").fit(chunks, y)
    tied = ContinuousAlignment(Gaussian(ard=True), penalty=np.inf, max_iter=2)
    near = ContinuousAlignment(Gaussian(), max_iter=2).fit(X, y)
    assert tied.fit(chunks, y).alignment_ == pytest.approx(near.alignment_, rel=1e-6)


def test_learner_that_trains_a_machine_says_what_it_needs():
    X, y = labelled(60)
    learner = LpNormMKL([Gaussian().at(1.0)])
    with pytest.raises(ValueError, match=r"LpNormMKL needs rows in memory\..*load some of them"):
        learner.fit(da.from_array(X, chunks=(30, -1)), y)


@pytest.mark.parametrize("make", [ContinuousAlignment, KernelRegressor], ids=lambda m: m.__name__)
def test_labels_are_checked_as_in_memory(make):
    X, y = labelled(60)
    chunks = da.from_array(X, chunks=(30, -1))
    with pytest.raises(ValueError, match=f"{make.__name__} requires y to be passed"):
        make().fit(chunks, None)
    broken = y.astype(float)
    broken[4] = np.nan
    for labels in (broken, da.from_array(broken, chunks=20)):
        with pytest.raises(ValueError, match=r"y contains NaN|y is missing in row 4"):
            make().fit(chunks, labels)
    with pytest.raises(
        ValueError, match="labels of one type" if make is ContinuousAlignment else "Got 'a'"
    ):
        make().fit(chunks, np.array(["a", 1.0] * 30, dtype=object))


def test_text_in_a_chunk_is_named():
    X, y = labelled(60)
    mixed = X.astype(object)
    mixed[40, 1] = "seven"
    with pytest.raises(ValueError, match=r"X must hold numbers. Column 1 holds text .*'seven'"):
        ContinuousAlignment().fit(da.from_array(mixed, chunks=(30, -1)), y)


def test_names_of_an_earlier_fit_are_forgotten():
    import dask.dataframe as dd
    import pandas

    X, y = labelled(60)
    frame = dd.from_pandas(pandas.DataFrame(X, columns=list("abc")), npartitions=2)
    learner = ContinuousAlignment(max_iter=2).fit(frame, y)
    assert list(learner.feature_names_in_) == list("abc")
    learner.fit(da.from_array(X, chunks=(30, -1)), y)
    assert not hasattr(learner, "feature_names_in_")
