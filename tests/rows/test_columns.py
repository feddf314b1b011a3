"""Columns in memory and on Dask answer alike, whatever their chunks."""

import dask
import dask.array as da
import numpy as np
import pytest

from kernalign.estimators.response import Response
from kernalign.gram.sampling import rows_in_proportion, stratified_order
from kernalign.gram.target import Target, meant_weights, relative_weights
from kernalign.rows import (
    AllBut,
    all_different,
    exactly_summed,
    has_all,
    kept,
    loaded,
    mapped,
    others,
    reduced,
    summed,
    taken,
)
from kernalign.rows.dask import DaskSource

N = 150


@pytest.fixture(autouse=True)
def in_this_process():
    with dask.config.set(scheduler="threads"):
        yield


def columns(*values, chunks=(20, 0, 100, 30), own=None):
    """Rows, and values as columns of them; `own` are the chunks of the values themselves."""
    X = da.from_array(np.arange(2.0 * N).reshape(N, 2), chunks=(chunks, -1))
    given = [da.from_array(v, chunks=(own or 37, *v.shape[1:])) for v in values]
    return DaskSource(X).opened(given)


def labels(seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((N, 2)), rng.integers(1, 4, N).astype(float)


def test_values_maps_and_sums_are_those_of_arrays():
    Y, w = labels()
    rows, (there, weight) = columns(Y, w)
    assert len(there) == N
    assert there.shape == Y.shape
    np.testing.assert_array_equal(loaded(there), Y)
    index = np.array([149, 3, 3, 70, 0, -1])
    np.testing.assert_array_equal(taken(there, index), Y[index])
    assert taken(there, np.empty(0, dtype=int)).shape == (0, 2)
    np.testing.assert_array_equal(loaded(mapped(np.multiply, weight, weight)), w * w)
    np.testing.assert_allclose(summed(np.matmul, weight, there), w @ Y, rtol=1e-13)
    assert reduced(np.max, max, weight) == w.max()
    np.testing.assert_array_equal(loaded(rows.positions()), np.arange(N))


@pytest.mark.parametrize("kind", ["column", "mask", "index", "all but"])
def test_parts_of_columns_and_rows_stay_together(kind):
    Y, w = labels()
    rows, (there, weight) = columns(Y, w)
    used = w > 1
    index = {
        "column": mapped(np.greater, weight, mapped(np.ones_like, weight)),
        "mask": used,
        "index": np.flatnonzero(used),
        "all but": AllBut(N, np.flatnonzero(~used)),
    }[kind]
    part = kept(there, index)
    np.testing.assert_array_equal(loaded(part), Y[used])
    np.testing.assert_array_equal(part.lengths, rows.subset(index).lengths)
    assert (
        rows.subset(index).take(slice(None))[:, 0].tolist() == (2.0 * np.flatnonzero(used)).tolist()
    )
    np.testing.assert_array_equal(loaded(kept(rows.positions(), index)), np.flatnonzero(used))


def test_all_rows_but_some():
    rows = AllBut(10, np.array([7, 2]))
    np.testing.assert_array_equal(np.asarray(rows), [0, 1, 3, 4, 5, 6, 8, 9])
    assert len(rows) == 8
    assert [row for row in range(-1, 12) if row in rows] == [0, 1, 3, 4, 5, 6, 8, 9]
    for index in (rows, np.asarray(rows)):
        np.testing.assert_array_equal(others(index, 10), [2, 7])
        assert has_all(index, np.array([1, 9]))
        assert not has_all(index, np.array([1, 2]))
        assert all_different(index)
    assert not all_different(np.array([1, 1]))


def test_a_target_is_that_of_arrays():
    """Sums of n numbers in another order differ by at most n roundings."""
    Y, w = labels()
    near, far = Target(Y, w), Target(*columns(Y, w)[1])
    bound = N * np.finfo(float).eps
    assert far.total == near.total
    size = np.abs(Y).max()
    np.testing.assert_allclose(far.mean, near.mean, atol=bound * size)
    np.testing.assert_allclose(loaded(far.weighted), near.weighted, atol=4 * bound * size)
    np.testing.assert_allclose(
        far.covariance, near.covariance, rtol=8 * bound, atol=bound * N * size
    )
    some = np.array([5, 100, 7])
    np.testing.assert_array_equal(far.rows(some).values, Y[some])


@pytest.mark.parametrize("classes", [2, 3])
def test_classes_of_a_target_are_those_of_arrays(classes):
    from kernalign.gram.labels import class_target

    _, w = labels()
    codes = np.random.default_rng(1).integers(0, classes, N)
    near = class_target(codes, classes, w)
    far = class_target(columns(codes)[1][0], classes, w)
    for name in ("values", "signs", "codes"):
        np.testing.assert_array_equal(loaded(getattr(far, name)), getattr(near, name))


@pytest.mark.parametrize("factor", [1.0, 0.3, 7.0])
def test_weights_are_meant_as_in_memory(factor):
    w = labels()[1] * factor
    w[[0, 30, 149]] = 0.0
    (weight,) = columns(w)[1]
    np.testing.assert_array_equal(loaded(meant_weights(weight)), meant_weights(w))
    np.testing.assert_array_equal(loaded(relative_weights(weight)), relative_weights(w))
    equal = np.where(w > 0, factor, 0.0)
    found = loaded(relative_weights(columns(equal)[1][0]))
    np.testing.assert_array_equal(found, equal > 0)


@pytest.mark.parametrize("curve", ["identity", "root", "log", "asinh"])
def test_the_scale_of_a_response_is_exactly_that_of_memory(curve):
    y, w = np.exp(labels()[0][:, 0]), labels()[1]
    near = Response.of(y, w, curve, 0.5 if curve == "asinh" else 0.0)
    for chunks in ((20, 0, 100, 30), (1,) * N):
        there, weight = columns(y, w, chunks=chunks)[1]
        assert Response.of(there, weight, curve, near.centre) == near


def test_exact_sums_lose_nothing():
    y = np.array([1e100, 1.0, -1e100, 1e-100] * 10)
    y = np.concatenate([y, np.zeros(N - len(y))])
    assert exactly_summed(np.positive, y) == 10.0
    (there,) = columns(y, chunks=(3, 5, 142))[1]
    assert exactly_summed(np.positive, there) == 10.0


# --- samples of many rows -------------------------------------------------------------------------


def test_samples_of_many_rows_are_those_of_memory(monkeypatch):
    monkeypatch.setattr("kernalign.gram.sampling.STRATIFIED_ROWS", 40)
    codes = (np.arange(N) % 5 == 0).astype(float)[:, None]
    near = Target(codes, np.ones(N), classes=True)
    far = Target(*columns(codes[:, 0])[1], np.ones(N), classes=True)
    far = Target(mapped(_column, far.values), np.ones(N), classes=True)
    for draw in (rows_in_proportion, lambda t, m, rng: stratified_order(t, rng, m)[:m]):
        one = draw(near, 15, np.random.default_rng(0))
        np.testing.assert_array_equal(draw(far, 15, np.random.default_rng(0)), one)
        assert len(one) == len(np.unique(one)) == 15
    everything = stratified_order(near, np.random.default_rng(0))
    np.testing.assert_array_equal(np.sort(everything), np.arange(N))


def _column(values):
    return values[:, None]


def test_samples_of_many_rows_are_stratified(monkeypatch):
    """As far as the random part is: its share of a class has the deviation of a binomial one."""
    monkeypatch.setattr("kernalign.gram.sampling.STRATIFIED_ROWS", 4000)
    rng = np.random.default_rng(0)
    codes = (rng.random(50_000) < 0.3).astype(float)[:, None]
    target = Target(codes, np.ones(len(codes)), classes=True)
    share = codes[rows_in_proportion(target, 1000, rng)].mean()
    assert abs(share - codes.mean()) < 4 * np.sqrt(0.3 * 0.7 / 4000) + 1 / 1000
