"""Shifted systems through a tridiagonal form."""

import numpy as np
import pytest

from kernalign import Gaussian
from kernalign.estimators.tridiagonal import Tridiagonal


@pytest.mark.parametrize("n", [1, 2, 3, 40])
def test_it_is_a_decomposition(n):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(n, n))
    K = A @ A.T
    found = Tridiagonal(K)
    Q = found.back(np.eye(n))
    T = np.diag(found.diagonal) + np.diag(found.beside, 1) + np.diag(found.beside, -1)
    np.testing.assert_allclose(Q @ Q.T, np.eye(n), atol=1e-12)
    np.testing.assert_allclose(Q @ T @ Q.T, K, atol=1e-10)
    np.testing.assert_allclose(found.rotate(A), Q.T @ A, atol=1e-10)


@pytest.mark.parametrize("n", [1, 2, 50])
@pytest.mark.parametrize("shift", [1e-6, 1.0, 1e5])
def test_shifted_systems(shift, n):
    rng = np.random.default_rng(0)
    K, B = Gaussian().at(1.0)(rng.normal(size=(n, 2))), rng.normal(size=(n, 3))
    found = Tridiagonal(K)
    solution = found.back(found.solve(shift, found.rotate(B)))
    # The residual, not the distance to another solution, which is as uncertain as this one.
    np.testing.assert_allclose(K @ solution + shift * solution, B, atol=1e-8)


def test_only_the_lower_triangle_is_read():
    rng = np.random.default_rng(0)
    K = Gaussian().at(1.0)(rng.normal(size=(20, 2)))
    whole, lower = Tridiagonal(K), Tridiagonal(np.tril(K))
    np.testing.assert_array_equal(whole.diagonal, lower.diagonal)


def test_a_shift_below_rounding_is_survived():
    K = np.ones((30, 30))
    found = Tridiagonal(K)
    assert np.isfinite(found.solve(1e-18, found.rotate(np.ones((30, 1))))).all()
