"""Rows in the units of a kernel have the kernel values of the rows themselves."""

import numpy as np

from kernalign.kernels import Gaussian, LearnedKernel, Linear, Matern
from kernalign.kernels import converted as module
from kernalign.kernels.converted import converted
from kernalign.kernels.units import Units


def table(n=50):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4)) * [1.0, 1e3, 1.0, 1.0]
    X[:, 2], X[:, 3] = rng.integers(0, 4, n), rng.integers(0, 2, n)
    return X, Units.of(X, np.ones(n), codes=np.array([0, 0, 4, 2]))


def kernel(units, other=None):
    families = Gaussian(ard=True).in_units(units), Matern(1.5, ard=True).in_units(other or units)
    members = [family.at(*[1.0, 2.0, 3.0, 4.0]) for family in families]
    return LearnedKernel(members, np.array([1.0, 0.5]))


def test_kernel_values_are_the_same(monkeypatch):
    monkeypatch.setattr(module, "ROWS", 16)
    X, units = table()
    # Values outside the range are clipped to it.
    X[0] *= 3
    k = kernel(units)
    for precision in (np.float32, np.float64):
        own, rows = converted(k, X, precision)
        assert rows.dtype == precision
        np.testing.assert_array_equal(own(rows), k(X))
        np.testing.assert_array_equal(own(rows[:5], rows[5:]), k(X[:5], X[5:]))
        np.testing.assert_array_equal(own.diag(rows), k.diag(X))
    assert k.kernels[0].family.units is units


def test_some_columns_only():
    X, units = table()
    family = Gaussian(ard=True, columns=[1, 0]).in_units(units)
    k = LearnedKernel([family.at(*[1.0, 2.0])], np.ones(1))
    own, rows = converted(k, X, np.float64)
    np.testing.assert_array_equal(own(rows), k(X))


def test_kernels_without_units_or_with_different_ones_are_left_alone():
    X, units = table()
    other = Units.of(X[:20], np.ones(20), codes=np.array([0, 0, 4, 2]))
    plain = LearnedKernel([Linear().at(*np.ones(4))], np.ones(1))
    for k in (plain, kernel(units, other), LearnedKernel([], np.zeros(0))):
        own, rows = converted(k, X, np.float32)
        assert own is k
        assert rows is X
