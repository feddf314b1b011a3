"""Conjugate gradients beside a dense solution."""

import numpy as np
import pytest

from kernalign.solvers.conjugate_gradients import conjugate_gradients


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    G = rng.normal(size=(30, 40))
    return G @ G.T + np.eye(30), rng.normal(size=(30, 3))


def test_solves_all_columns(problem):
    A, right = problem
    b, converged = conjugate_gradients(lambda V: A @ V, right, np.full(3, 1e-10), 200)
    assert converged
    np.testing.assert_allclose(b, np.linalg.solve(A, right), atol=1e-9)


def test_is_exact_after_as_many_iterations_as_eigenvalues(problem):
    """Two distinct eigenvalues: two iterations."""
    Q = np.linalg.qr(problem[0])[0]
    A = Q @ np.diag(np.r_[np.full(20, 2.0), np.full(10, 7.0)]) @ Q.T
    _, converged = conjugate_gradients(lambda V: A @ V, problem[1], np.full(3, 1e-9), 2)
    assert converged


def test_an_inverse_that_changes_from_call_to_call_still_leads_to_the_solution(problem):
    A, right = problem
    rng = np.random.default_rng(1)

    def inverse(R):
        return R / np.diag(A)[:, None] * (1 + 0.1 * rng.uniform(size=R.shape))

    b, converged = conjugate_gradients(lambda V: A @ V, right, np.full(3, 1e-8), 200, inverse)
    assert converged
    np.testing.assert_allclose(b, np.linalg.solve(A, right), atol=1e-7)


def test_tells_that_it_stopped_early_and_takes_columns_of_zeros(problem):
    A, right = problem
    right[:, 1] = 0.0
    b, converged = conjugate_gradients(lambda V: A @ V, right, np.zeros(3), 3)
    assert not converged
    assert (b[:, 1] == 0).all()
    assert np.isfinite(b).all()


def test_stops_where_rounding_errors_make_the_residual_grow():
    """As for a system that is not symmetric: without the limit, the numbers overflow."""
    rng, calls = np.random.default_rng(0), []
    G = rng.normal(size=(30, 30))
    A = np.eye(30) + 5 * (G - G.T)
    right = rng.normal(size=(30, 1))
    found, converged = conjugate_gradients(
        lambda b: calls.append(1) or A @ b, right, np.array([1e-9]), 5000
    )
    assert not converged
    assert np.isfinite(found).all()
    assert len(calls) < 5000
