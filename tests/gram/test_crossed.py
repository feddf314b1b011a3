"""Sums over features of pairs of rows and landmarks."""

import numpy as np
import pytest

from kernalign.gram import Target, crossed
from kernalign.gram.crossed import CrossedRows
from kernalign.kernels.codes import OF_PAIR
from tests.gram.test_packed import FUNCTIONS

RNG = np.random.default_rng(0)
U = RNG.normal(size=(90, 4))
#: A column of three codes, and one far from zero.
CODED = np.column_stack([U, RNG.integers(0, 3, len(U)), 50 + RNG.normal(size=len(U))])
CODES = np.array([0, 0, 0, 0, 3, 0])
M = 20
R = np.array([0.3, 0.0, 2.0, 1.0, 0.7, 0.4])


def landmarked(rows, precision, codes=None):
    target = Target(np.arange(len(rows), dtype=float)[:, None], np.ones(len(rows)))
    return CrossedRows(rows, target, M, precision, codes)


def of_pairs(feature, rows, codes):
    """f(x_ik, z_jk): (n, m, d), by its definition."""
    X, Z = rows[:, None, :], rows[None, :M, :]
    values = FUNCTIONS[feature](X, Z)
    for k, count in enumerate(codes):
        if count:
            equal, different = OF_PAIR[feature](float(count))
            values[..., k] = np.where(X[..., k] == Z[..., k], equal, different)
    return values


@pytest.mark.parametrize(("precision", "rtol"), [(np.float64, 1e-11), (np.float32, 3e-5)])
@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("feature", FUNCTIONS)
def test_sums_are_those_of_the_features(feature, coded, precision, rtol):
    rows, codes = (CODED, CODES) if coded else (U, np.zeros(4, dtype=int))
    if precision is np.float32 and feature == "product":
        # Products of a column far from zero have as many digits less.
        rtol *= 50
    crossed_rows = landmarked(rows, precision, codes if coded else None)
    of_features, r = of_pairs(feature, rows, codes), R[: rows.shape[1]]
    some = slice(7, 80)
    found = crossed_rows.summed(feature, r, some)
    assert found.dtype == precision
    np.testing.assert_allclose(found, of_features[some] @ r, rtol=rtol, atol=rtol * 10)
    one = crossed_rows.summed(feature, np.array([0.7]), some)
    np.testing.assert_allclose(one, 0.7 * of_features[some].sum(axis=2), rtol=rtol, atol=rtol * 10)
    W = RNG.normal(size=found.shape).astype(precision)
    expected = np.einsum("ij,ijk->k", W.astype(float), of_features[some])
    size = np.einsum("ij,ijk->k", np.abs(W), np.abs(of_features[some]))
    error = np.abs(crossed_rows.contracted(feature, W, some) - expected)
    assert (error <= 10 * rtol * (size + 1)).all()


@pytest.mark.parametrize("feature", ["product", "bump"])
def test_own_values_of_the_landmarks(feature):
    found = landmarked(CODED, float, CODES).own(feature)
    expected = np.einsum("iik->ik", of_pairs(feature, CODED, CODES)[:M])
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_results_do_not_depend_on_the_size_of_a_tile(monkeypatch):
    results = []
    for size in (1, 32, 1000):
        monkeypatch.setattr(crossed, "TILE", size)
        results.append(landmarked(U, float).summed("bump", R[:4], slice(0, 90)))
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
