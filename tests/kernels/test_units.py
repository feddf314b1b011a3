"""Columns in units of their own."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernalign.kernels import Gaussian
from kernalign.kernels.units import SQUASH, TAIL, Units, weighted_median

both = pytest.mark.parametrize("squashed", [False, True])


def rows(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [rng.normal(size=n), rng.standard_cauchy(n), np.exp(3 * rng.normal(size=n)), np.ones(n)]
    )


@both
def test_columns_have_mean_zero_and_spread_one(squashed):
    X = rows()
    U = Units.of(X, np.ones(len(X)), squashed=squashed)(X)
    np.testing.assert_allclose(U[:, :3].mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(U[:, :3].std(axis=0), 1, rtol=1e-6)
    assert (U[:, 3] == 0).all(), "a constant column says nothing"


@both
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_change_of_units_changes_nothing(squashed, data):
    X = rows()
    factor = 10.0 ** np.array(data.draw(st.lists(st.floats(-3, 3), min_size=4, max_size=4)))
    shift = np.array(data.draw(st.lists(st.floats(-5, 5), min_size=4, max_size=4)))
    one = np.ones(len(X))
    U = Units.of(X, one, squashed=squashed)(X)
    other = X * factor + shift * factor
    V = Units.of(other, one, squashed=squashed)(other)
    np.testing.assert_allclose(U, V, atol=1e-6)


def test_a_plain_column_is_linear_up_to_its_tails():
    x = np.linspace(-2, 2, 41)
    X = np.append(x, [500.0])[:, None]
    U = Units.of(X, np.ones(len(X)))(X)[:, 0]
    steps = np.diff(U[:-1])
    np.testing.assert_allclose(steps, steps[0], rtol=1e-4)
    assert U[-1] < 30 * (U[-2] - U[0]), "the outlier is 500 deviations away, not on this scale"


def test_curves_against_their_formulas():
    X = rows()[:, [1]]
    w = np.ones(len(X))
    centre = np.median(X)
    deviation = np.abs(X - centre).mean()
    wanted = np.arcsinh(SQUASH * (X - centre) / deviation)
    wanted = (wanted - wanted.mean()) / wanted.std()
    np.testing.assert_allclose(Units.of(X, w, squashed=True)(X), wanted, atol=1e-6)
    plain = Units.of(X, w)
    u = (X - plain.centre) / plain.spread
    far = np.abs(u) > TAIL
    assert far.any()
    assert (~far).any()
    tails = np.where(far, np.sign(u) * (TAIL + np.log1p(np.maximum(np.abs(u) - TAIL, 0))), u)
    np.testing.assert_allclose(plain(X), (tails - tails.mean()) / tails.std(), atol=1e-6)


@both
def test_values_beyond_the_training_rows_are_their_ends(squashed):
    X = rows()
    units = Units.of(X, np.ones(len(X)), squashed=squashed)
    beyond = np.stack([X.max(axis=0) + 1e3, X.min(axis=0) - 1e3])
    ends = np.stack([X.max(axis=0), X.min(axis=0)])
    np.testing.assert_array_equal(units(beyond), units(ends))


def test_two_codes_are_as_far_apart_as_those_of_a_fair_coin():
    X = np.zeros((100, 1))
    X[:3] = 1
    U = Units.of(X, np.ones(100))(X)
    assert np.ptp(U) == pytest.approx(2.0, abs=1e-6)


@both
def test_integer_weights_are_repeated_rows(squashed):
    X = rows()
    w = np.random.default_rng(1).integers(1, 5, len(X))
    weighted = Units.of(X, w.astype(float), squashed=squashed)
    repeated = Units.of(np.repeat(X, w, axis=0), np.ones(w.sum()), squashed=squashed)
    np.testing.assert_allclose(weighted(X), repeated(X), atol=1e-6)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 4)), min_size=1, max_size=12))
def test_weighted_median(pairs):
    x, w = (np.array(v, dtype=float) for v in zip(*pairs, strict=True))
    repeated = np.repeat(x, w.astype(int))
    assert weighted_median(x[:, None], w)[0] == np.median(repeated)


def test_a_family_in_units_sees_the_converted_columns():
    X = rows()
    units = Units.of(X, np.ones(len(X)))
    family = Gaussian(columns=[0, 2]).in_units(units)
    expected = Gaussian().at(1.5)(units(X)[:, [0, 2]])
    np.testing.assert_array_equal(family.at(1.5)(X), expected)
    assert family == Gaussian(columns=[0, 2]).in_units(Units.of(X, np.ones(len(X))))
    assert family != Gaussian(columns=[0, 2])


def test_many_rows_have_the_units_of_each():
    rng = np.random.default_rng(0)
    X = rng.standard_cauchy((25_000, 2))
    for squashed in (False, True):
        units = Units.of(X, np.ones(len(X)), squashed=squashed)
        whole = units(X)
        np.testing.assert_array_equal(
            whole[[0, 9_999, 10_000, 24_999]], units(X[[0, 9_999, 10_000, 24_999]])
        )
        assert units(X[:0]).shape == (0, 2)


def test_columns_of_one_range_have_one_variance_on_average():
    X = rows()
    U = Units.by_range(X, np.ones(len(X)))(X)
    np.testing.assert_allclose(np.ptp(U[:, :3], axis=0), np.ptp(U[:, 0]), rtol=1e-6)
    np.testing.assert_allclose(U.mean(axis=0), 0, atol=1e-6)
    assert U[:, :3].var(axis=0).mean() == pytest.approx(1.0, rel=1e-6)


def test_ranges_do_not_depend_on_units_or_on_repeated_rows():
    X, factor = rows(), np.array([1e-3, 1e3, -2.0, 5.0])
    w = np.random.default_rng(1).integers(1, 5, len(X))
    U = Units.by_range(X, w.astype(float))(X)
    np.testing.assert_allclose(
        Units.by_range(X * factor, w.astype(float))(X * factor), U * np.sign(factor), atol=1e-6
    )
    repeated = Units.by_range(np.repeat(X, w, axis=0), np.ones(w.sum()))
    np.testing.assert_allclose(repeated(X), U, atol=1e-6)


def test_codes_keep_their_values_among_ranges():
    rng = np.random.default_rng(0)
    codes = np.array([0, 2, 4])
    X = np.column_stack([rng.normal(size=50), rng.integers(0, 2, 50), rng.integers(0, 4, 50)])
    U = Units.by_range(X, np.ones(50), codes=codes)(X)
    np.testing.assert_array_equal(U[:, 2], X[:, 2])
    assert np.ptp(U[:, 0]) == pytest.approx(np.ptp(U[:, 1]), rel=1e-6)


def test_unequal_ranges():
    x = np.linspace(-1, 1, 100)
    alike = Units.of(np.column_stack([x, 5 * x]), np.ones(100))
    assert alike.unequal_ranges == pytest.approx(1.0)
    rare = np.where(np.arange(100) < 3, np.arange(100), 0.0)
    assert Units.of(np.column_stack([x, rare, np.ones(100)]), np.ones(100)).unequal_ranges > 2
    assert Units.of(np.ones((5, 1)), np.ones(5)).unequal_ranges == 1.0
