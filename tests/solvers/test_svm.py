"""The machine on a fixed Gram matrix: bracketed optimum, whatever C and rank."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from kernalign.solvers import svm
from kernalign.solvers.svm import best_bias, box_qp, solve_svm
from tests import reference

C_GRID = 10.0 ** np.arange(-5, 5.01, 0.5)


def hinge_objective(K, y, C, weight, beta, bias):
    """P, by its definition."""
    margins = y * (K @ beta + bias)
    return 0.5 * beta @ K @ beta + C * np.sum(weight * np.maximum(0, 1 - margins))


def assert_certified(found, K, y, C, weight, gap=1e-4):
    """A bracket recomputed from beta and bias alone, with a feasible dual."""
    alpha = found.beta * y
    assert alpha.min() >= 0
    assert (alpha <= C * weight * (1 + 1e-12)).all()
    assert abs(found.beta.sum()) <= 1e-12 * alpha.sum()
    primal = hinge_objective(K, y, C, weight, found.beta, found.bias)
    dual = alpha.sum() - 0.5 * found.beta @ K @ found.beta
    # As far as cancellation in K beta lets two computations of it agree.
    rounding = 1e-15 * np.abs(found.beta) @ np.abs(K) @ (np.abs(found.beta) + C * weight)
    assert found.primal == pytest.approx(primal, rel=1e-9, abs=rounding)
    assert found.dual == pytest.approx(dual, rel=1e-9, abs=rounding)
    assert -1e-8 * primal - rounding <= primal - dual <= gap * primal
    np.testing.assert_allclose(found.outputs, K @ found.beta, atol=1e-9 * np.abs(K).sum())


def cosines(n, frequencies, seed=0):
    """The mean of Dirichlet Gram matrices: rank at most 1 + 2 * (number of frequencies)."""
    X, y = reference.sine_problem(n, seed)
    return np.mean([1 + 2 * np.cos(f * (X - X.T)) for f in frequencies], axis=0), y


@pytest.mark.parametrize(
    ("C", "optimum"), [(0.1, 3.58104923), (1, 21.36901898), (100, 82.51195515)]
)
@pytest.mark.parametrize("libsvm", [True, False])
def test_reference_values(C, optimum, libsvm):
    X, y = reference.section12()
    found = solve_svm(reference.gaussian(X, X, 1.0), y, C, gap=1e-9, libsvm=libsvm)
    assert found.primal == pytest.approx(optimum, rel=2e-8)
    assert found.dual == pytest.approx(optimum, rel=2e-8)


@pytest.mark.parametrize(("n", "frequencies"), [(500, range(10)), (200, np.sqrt([2, 12, 60]))])
def test_every_c_on_gram_matrices_of_low_rank(n, frequencies):
    K, y = cosines(n, frequencies)
    with threadpool_limits(1):
        for C in C_GRID:
            assert_certified(solve_svm(K, y, C), K, y, C, np.ones(n))


def test_libsvm_alone_would_not_do():
    """The reason for all this: at large C its answer is far from the optimum."""
    K, y = cosines(100, range(10))
    with pytest.warns(UserWarning, match="terminated early"):
        fitted = SVC(kernel="precomputed", C=1e5, max_iter=100_000).fit(K, y)
    beta = np.zeros(100)
    beta[fitted.support_] = fitted.dual_coef_[0]
    primal = hinge_objective(K, y, 1e5, 1, beta, best_bias(K @ beta, y, np.ones(100)))
    optimum = solve_svm(K, y, 1e5).primal
    assert primal > 1.05 * optimum


@pytest.mark.parametrize("C", [1e-4, 0.1, 10, 1e4])
def test_tight_gaps_are_reached(C):
    X, y = reference.section12()
    K = reference.gaussian(X, X, 4.0)
    found = solve_svm(K, y, C, gap=1e-8)
    assert_certified(found, K, y, C, np.ones(40), gap=1e-8)


@pytest.mark.parametrize("C", [0.03, 1.0, 300.0])
def test_agrees_with_a_conic_solver_on_weighted_rows(C):
    X, y = reference.section12()
    K = reference.gaussian(X, X, 1.0)
    weight = np.random.default_rng(0).uniform(0.2, 3, 40)
    found = solve_svm(K, y, C, weight, gap=1e-7)
    assert_certified(found, K, y, C, weight, gap=1e-7)
    L = np.linalg.cholesky(K + 1e-12 * np.eye(40))
    beta = cp.Variable(40)
    feasible = [cp.multiply(y, beta) >= 0, cp.multiply(y, beta) <= C * weight, cp.sum(beta) == 0]
    objective = cp.Maximize(y @ beta - 0.5 * cp.sum_squares(L.T @ beta))
    optimum = cp.Problem(objective, feasible).solve(solver=cp.CLARABEL)
    assert found.primal == pytest.approx(optimum, rel=1e-5)


@pytest.mark.parametrize("libsvm", [True, False])
def test_integer_weights_are_repeated_rows(libsvm):
    X, y = reference.section12()
    weight = np.arange(40) % 3 + 1.0
    X_long, y_long = reference.repeat_rows(X, y, weight)
    found = solve_svm(reference.gaussian(X, X, 1.0), y, 2.0, weight, gap=1e-7, libsvm=libsvm)
    long = solve_svm(reference.gaussian(X_long, X_long, 1.0), y_long, 2.0, gap=1e-7)
    assert found.primal == pytest.approx(long.primal, rel=1e-6)
    assert found.bias == pytest.approx(long.bias, abs=1e-3)


def test_equal_weights_scale_c():
    X, y = reference.section12()
    K = reference.gaussian(X, X, 1.0)
    weighted = solve_svm(K, y, 1.0, np.full(40, 3.0), gap=1e-8)
    assert weighted.primal == pytest.approx(solve_svm(K, y, 3.0, gap=1e-8).primal, rel=2e-8)


def test_one_class_needs_no_machine():
    found = solve_svm(np.eye(3), -np.ones(3), 1.0)
    assert (found.bias, found.primal, found.gap) == (-1.0, 0.0, 0.0)


def test_a_constant_kernel_leaves_the_bias():
    y = np.array([1.0, 1.0, 1.0, -1.0])
    found = solve_svm(np.ones((4, 4)), y, 1.0)
    assert found.primal == pytest.approx(2.0)
    assert found.gap <= 1e-4


def test_many_rows_expose_the_gap(monkeypatch):
    """Where the interior-point method is too expensive, the gap says what libsvm left open."""
    monkeypatch.setattr(svm, "INTERIOR_ROWS", 100)
    monkeypatch.setattr(svm, "LIBSVM_ITERATIONS", 20_000)
    K, y = cosines(200, range(10))
    found = solve_svm(K, y, 1e5)
    assert found.exhausted
    assert found.gap > 1e-2
    assert_certified(found, K, y, 1e5, np.ones(200), gap=1.0)


@given(
    outputs=st.lists(st.floats(-3, 3), min_size=4, max_size=8),
    weight=st.lists(st.integers(1, 4), min_size=8, max_size=8),
)
@settings(max_examples=50, deadline=None)
def test_bias_minimises_the_hinge_sum(outputs, weight):
    f = np.array(outputs)
    y = np.resize([1.0, -1.0, 1.0], f.size)
    w = np.array(weight[: f.size], dtype=float)

    def hinge(b):
        return np.sum(w * np.maximum(0, 1 - y * (f + b)))

    # A piecewise linear function has its minimum at a kink.
    assert hinge(best_bias(f, y, w)) <= min(hinge(b) for b in y - f) + 1e-9


@given(
    rank=st.integers(1, 12),
    log_C=st.floats(-5, 5),
    log_scale=st.floats(-3, 3),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=60, deadline=None)
def test_any_rank_scale_and_c(rank, log_C, log_scale, seed):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(30, rank))
    K = 10**log_scale * Z @ Z.T
    y = np.where(rng.random(30) < 0.4, 1.0, -1.0)
    y[:2] = 1, -1
    weight = rng.uniform(0.5, 2, 30)
    assert_certified(solve_svm(K, y, 10**log_C, weight), K, y, 10**log_C, weight)


@pytest.mark.parametrize("rank", [3, 12])
def test_box_qp_on_the_simplex(rank):
    rng = np.random.default_rng(rank)
    Z = rng.normal(size=(12, rank))
    A, c = Z @ Z.T, rng.normal(size=12)
    x = box_qp(A, c, np.ones(12), 1.0)
    assert x.min() >= 0
    assert x.sum() == pytest.approx(1, abs=1e-7)
    t = cp.Variable(12)
    objective = cp.Maximize(c @ t - 0.5 * cp.sum_squares(Z.T @ t))
    optimum = cp.Problem(objective, [t >= 0, cp.sum(t) == 1]).solve(solver=cp.CLARABEL)
    assert c @ x - 0.5 * x @ A @ x == pytest.approx(optimum, abs=1e-6)
