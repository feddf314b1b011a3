"""LAPACK without Python's global lock, against numpy."""

import threading
import time

import numpy as np
import pytest

from kernalign import _lapack


@pytest.fixture
def matrix():
    B = np.random.default_rng(0).normal(size=(7, 7))
    return np.asfortranarray(B @ B.T + 7 * np.eye(7))


def below(A):
    return A[np.tril_indices(len(A))]


def test_factor_inverse_and_solutions(matrix):
    A = matrix
    L = A.copy(order="F")
    assert _lapack.factorise(L) == 0
    np.testing.assert_allclose(np.tril(L), np.linalg.cholesky(A), rtol=1e-12)
    B = np.random.default_rng(1).normal(size=(7, 3))
    np.testing.assert_allclose(_lapack.solve(L, B), np.linalg.solve(A, B), rtol=1e-10)
    np.testing.assert_allclose(_lapack.solve(L, B[:, 0]), np.linalg.solve(A, B[:, 0]), rtol=1e-10)
    half = np.tril(L)
    np.testing.assert_allclose(half @ _lapack.solve_half(L, B), B, atol=1e-12)
    np.testing.assert_allclose(half.T @ _lapack.solve_half(L, B, transposed=True), B, atol=1e-12)
    diagonal = _lapack.inverse_diagonal(L.copy(order="F"))
    np.testing.assert_allclose(diagonal, np.diagonal(np.linalg.inv(A)), rtol=1e-10)
    np.testing.assert_allclose(below(_lapack.invert(L)), below(np.linalg.inv(A)), rtol=1e-10)


@pytest.mark.parametrize("n", [1, _lapack.LEAF, _lapack.LEAF + 1, 3 * _lapack.LEAF + 5])
def test_inverses_of_any_size_ignore_what_is_above_the_diagonal(n):
    rng = np.random.default_rng(n)
    L = np.asfortranarray(rng.normal(size=(n, n)) + 3 * np.sqrt(n) * np.eye(n))
    half, above = np.tril(L), np.triu(L, 1)
    found = _lapack.invert_triangle(L.copy(order="F"))
    np.testing.assert_allclose(half @ np.tril(found), np.eye(n), atol=1e-12)
    np.testing.assert_array_equal(np.triu(found, 1), above)
    A = np.linalg.inv(half @ half.T)
    np.testing.assert_allclose(_lapack.inverse_diagonal(L.copy(order="F")), np.diagonal(A))
    np.testing.assert_allclose(below(_lapack.invert(L)), below(A), atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_entries_below_the_diagonal_are_packed_by_columns(n):
    A = np.asfortranarray(np.random.default_rng(0).normal(size=(n, n)))
    columns, rows = np.triu_indices(n, 1)
    np.testing.assert_array_equal(_lapack.pack(A), A[rows, columns])
    expected = A.copy()
    expected[rows, columns] = np.arange(len(rows))
    _lapack.unpack(np.arange(float(len(rows))), A)
    np.testing.assert_array_equal(A, expected)


def test_an_outer_product_is_added_below_the_diagonal(matrix):
    A = matrix
    a = np.random.default_rng(1).normal(size=(7, 2))
    found = _lapack.add_outer(A.copy(order="F"), -2.5, a)
    np.testing.assert_allclose(below(found), below(A - 2.5 * a @ a.T), rtol=1e-12)


def test_an_indefinite_matrix_is_told(matrix):
    A = matrix
    A[3, 3] = -1.0
    assert _lapack.factorise(A) == 4


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_matrix_that_rounding_made_indefinite_gets_what_it_takes(order):
    v = np.random.default_rng(0).normal(size=(30, 2))
    A = v @ v.T
    A[7, 7] -= 1e-7 * np.trace(A)
    L = np.tril(_lapack.cholesky(A.copy(order=order)))
    added = L @ L.T - A
    np.testing.assert_allclose(added, added[0, 0] * np.eye(30), atol=1e-12 * np.trace(A))
    assert 0 < added[0, 0] < 1e-4 * np.trace(A)


def test_the_product_of_a_factor_with_itself(matrix):
    L = np.asfortranarray(np.tril(matrix))
    found = _lapack.product(L.copy(order="F"))
    np.testing.assert_allclose(below(found), below(L.T @ L), rtol=1e-12)


def test_what_is_not_in_fortrans_order_is_refused(matrix):
    A = matrix
    with pytest.raises(AssertionError, match="Fortran"):
        _lapack.factorise(np.ascontiguousarray(np.triu(A)))
    with pytest.raises(AssertionError, match="doubles"):
        _lapack.factorise(A.astype(np.float32))


def test_another_thread_goes_on_meanwhile():
    # SciPy's own wrapper holds the lock: the other thread then counts next to nothing.
    A = np.asfortranarray(np.eye(1500) * 2 + 1e-3)
    ticks = []
    done = threading.Event()

    def count():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(1e-4)

    other = threading.Thread(target=count)
    other.start()
    began = time.perf_counter()
    _lapack.factorise(A)
    ended = time.perf_counter()
    done.set()
    other.join()
    assert sum(began < t < ended for t in ticks) >= 5
