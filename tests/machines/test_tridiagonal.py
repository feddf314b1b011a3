"""Shifted systems through a tridiagonal form."""

import numpy as np
import pytest

from kernalign import Gaussian
from kernalign.machines.tridiagonal import Tridiagonal


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


@pytest.mark.parametrize("shift", [1e-18, 1e-300])
def test_a_shift_below_rounding_is_rounding(shift):
    """A smooth kernel on a smooth function: what rounding made up must not blow up."""
    x = np.linspace(-1, 1, 80)[:, None]
    K, y = Gaussian().at(1.0)(x), np.sin(3 * x)
    found = Tridiagonal(K)
    fitted = K @ found.back(found.solve(shift, found.rotate(y)))
    np.testing.assert_allclose(fitted, y, atol=1e-6)


def test_a_matrix_with_negative_eigenvalues_is_solved_too():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(20, 20))
    K, b = A + A.T, rng.normal(size=(20, 1))
    found = Tridiagonal(K)
    solution = found.back(found.solve(0.1, found.rotate(b)))
    np.testing.assert_allclose(K @ solution + 0.1 * solution, b, atol=1e-8)
