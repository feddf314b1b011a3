"""The choice of the units of columns."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_friedman1

from kernalign import KernelSearch
from kernalign.kernels.units import Units


@pytest.fixture(scope="module")
def pixels():
    X, y = load_digits(return_X_y=True)
    return X[:600], y[:600]


def test_pixels_are_divided_by_their_range(pixels):
    """Pixels at the border are nearly always zero, and should not count as much as others."""
    X, y = pixels
    learner = KernelSearch(effort="quick").fit(X, y)
    wanted = Units.by_range(X, np.ones(len(X)))
    np.testing.assert_allclose(learner.units_(X), wanted(X), atol=1e-6)


def test_the_choice_does_not_depend_on_units(pixels):
    X, y = pixels
    factor = 10.0 ** np.random.default_rng(0).uniform(-3, 3, X.shape[1])
    kernels = [KernelSearch(effort="quick").fit(rows, y).kernel_(rows) for rows in (X, X * factor)]
    np.testing.assert_allclose(*kernels, atol=1e-6)


def test_ordinary_columns_keep_their_spreads():
    X, y = make_friedman1(300, 5, noise=1.0, random_state=0)
    learner = KernelSearch(effort="quick").fit(X, y)
    np.testing.assert_allclose(learner.units_(X).std(axis=0), 1.0, rtol=1e-5)


def test_an_outlier_is_no_range():
    """One extreme row would squeeze all others of a column together."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=400)
    X[0, 0] = 1e4
    units = KernelSearch(effort="quick").fit(X, y).units_
    assert np.ptp(units(X[1:])[:, 0]) > 1
