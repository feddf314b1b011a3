"""Squared error of held-out rows: against machines that are solved directly, and differences."""

from dataclasses import replace

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from kernalign.criteria import held_out_error
from kernalign.criteria.held_out_error import RIDGE, HeldOutError
from kernalign.criteria.kernel_sum import CONSTANT, KernelSum, Term, retied
from kernalign.gram import Target
from kernalign.gram.crossed import CrossedRows
from kernalign.kernels import Gaussian
from tests.criteria.test_sum_evidence import FAMILIES, dense

N, M, D = 61, 12, 3
WEIGHTS = {
    "equal": np.ones(N),
    "integer": np.random.default_rng(5).integers(1, 4, N).astype(float),
    "fractional": np.random.default_rng(6).uniform(0.3, 3.0, N),
}


def problem(weight, precision=float, tied=None, strength=3.0, families=FAMILIES):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1] * X[:, 2]]) + 0.1 * rng.normal(size=(N, 2))
    tied = [False] * len(families) if tied is None else tied
    rows = CrossedRows(X, Target(Y, weight), M, precision)
    E = HeldOutError(rows, families, tied, strength)
    x = rng.normal(scale=0.5, size=sum(E.sizes) + len(families)) - 0.5
    return X, Y, E, x


def naive_value(X, Y, w, k, strength):
    """The machine of each half, from its normal equations on the rows outside the half."""
    K = dense(X, k)[:, :M]
    h = np.trace(K[:M]) / M
    K = K + CONSTANT * h
    Y = Y - w @ Y / w.sum()
    half = M + (N - M) // 2
    error = 0.0
    for held in (np.arange(M, half), np.arange(half, N)):
        others = np.setdiff1d(np.arange(N), held)
        S = K[others].T @ (w[others, None] * K[others])
        S += np.exp(k.log_noise) * h * K[:M]
        S += RIDGE[np.float64] * w.sum() * ((1 + CONSTANT) * h) ** 2 * np.eye(M)
        a = np.linalg.solve(S, K[others].T @ (w[others, None] * Y[others]))
        error += (w[held, None] * (Y[held] - K[held] @ a) ** 2).sum()
    total = w[M:].sum()
    penalty = sum(
        strength * np.log1p((t.u - t.u.mean()) ** 2).sum() for t in k.terms if len(t.u) > 1
    )
    return total / 2 * np.log(error / (total * Y.shape[1])) + penalty


@pytest.mark.parametrize("weights", WEIGHTS)
def test_value_is_the_error_of_machines_that_have_not_seen_the_rows(weights):
    w = WEIGHTS[weights]
    X, Y, E, x = problem(w)
    k = E.split(x)
    assert E.value(k) == pytest.approx(naive_value(X, Y, w, k, 3.0), rel=1e-8)
    np.testing.assert_array_equal(E.join(k), x)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("tied", [[True] * 6, [False] * 6, [False, True] * 3])
def test_gradient_is_the_derivative(weights, tied):
    _, _, E, x = problem(WEIGHTS[weights], tied=tied)
    value, slope = E(x)
    assert value == pytest.approx(E.value(E.split(x)), rel=1e-12)
    step = 1e-5
    differences = [(E(x + step * e)[0] - E(x - step * e)[0]) / (2 * step) for e in np.eye(len(x))]
    np.testing.assert_allclose(slope, differences, atol=2e-6 * np.abs(slope).max())


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: type(f).__name__)
def test_gradient_of_columns_of_codes(family):
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=N), rng.integers(0, 3, N), rng.integers(0, 2, N)])
    y = (np.sin(2 * X[:, 0]) * (X[:, 1] == 1) + 0.1 * rng.normal(size=N))[:, None]
    codes = np.array([0, 3, 2])
    rows = CrossedRows(X, Target(y, WEIGHTS["equal"]), M, float, codes)
    E = HeldOutError(rows, [family], [False], 3.0)
    x = rng.normal(scale=0.3, size=4) - 0.5
    _, slope = E(x)
    step = 1e-5
    differences = [(E(x + step * e)[0] - E(x - step * e)[0]) / (2 * step) for e in np.eye(4)]
    np.testing.assert_allclose(slope, differences, atol=2e-6 * np.abs(slope).max())


def test_weights_are_numbers_of_equal_rows():
    """Beyond the landmarks: equal landmarks would be a singular system."""
    X, Y, E, x = problem(WEIGHTS["integer"])
    w = WEIGHTS["integer"].astype(int)
    copies = np.concatenate([np.arange(M), np.repeat(np.arange(M, N), w[M:])])
    weight = np.ones(len(copies))
    weight[:M] = w[:M]
    mean = np.average(Y, axis=0, weights=w)
    rows = CrossedRows(X[copies], Target(Y[copies], weight), M, float)
    repeated = HeldOutError(rows, FAMILIES, [False] * 6, 3.0)
    np.testing.assert_allclose(np.average(Y[copies], axis=0, weights=weight), mean)
    # The halves of the repeated rows are divided at the same row.
    half = M + (N - M) // 2
    ends = (M, M + int(w[M:half].sum()), len(copies))
    repeated.parts = (slice(0, M), slice(M, ends[1]), slice(ends[1], ends[2]))
    assert repeated(x)[0] == pytest.approx(E(x)[0], rel=1e-10)
    np.testing.assert_allclose(repeated(x)[1], E(x)[1], rtol=1e-6, atol=1e-6)


def test_single_precision_changes_less_than_the_ridge_that_covers_it(monkeypatch):
    def at(precision):
        E = HeldOutError(CrossedRows(*large(400), precision), [Gaussian(ard=True)], [False], 3.0)
        return E(np.array([-0.5, -0.3, -1.0, -1.5]))

    exact, single = at(np.float64), at(np.float32)
    monkeypatch.setattr(held_out_error, "RIDGE", dict.fromkeys(RIDGE, RIDGE[np.float32]))
    double = at(np.float64)
    assert abs(single[0] - double[0]) < abs(double[0] - exact[0])
    assert np.abs(single[1] - double[1]).max() < np.abs(double[1] - exact[1]).max()


def large(n):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, D))
    y = np.sin(2 * X[:, :1]) + 0.3 * rng.normal(size=(n, 1))
    return X, Target(y, np.ones(n)), 40


def test_a_search_lowers_the_error_of_other_rows():
    X, target, m = large(1500)
    k = KernelSum((Term(Gaussian(ard=True), np.full(D, -1.0)),), 0.0)
    found, gained = HeldOutError.like(CrossedRows(X, target, m, float), k, 3.0).minimise(k, 15)
    u = found.terms[0].u
    # Only the first feature matters.
    assert u[0] > u[1:].max() + 2
    fresh, labels, _ = large(3000)
    rows = CrossedRows(fresh[1500:], labels.rows(np.arange(1500, 3000)), m, float)
    other = HeldOutError.like(rows, k, 3.0)
    assert other.value(found) < other.value(k) - 50
    assert gained > -other.value(k)


def test_a_tied_term_equals_one_of_equal_relevances():
    X, target, m = large(200)
    k = KernelSum((Term(Gaussian(ard=True), np.array([-0.7]), 0.4),), -1.0)
    rows = CrossedRows(X, target, m, float)
    one, each = (HeldOutError.like(rows, s, 3.0).value(s) for s in (k, retied(k, D)))
    assert one == pytest.approx(each, rel=1e-12)


@pytest.mark.parametrize("value", [0.0, 3.0, 1e-300])
def test_a_constant_response_has_a_finite_value(value):
    X, target, m = large(200)
    constant = Target(np.full((200, 1), value), target.weight)
    k = KernelSum((Term(Gaussian(ard=True), np.full(D, -1.0)),), 0.0)
    E = HeldOutError.like(CrossedRows(X, constant, m, float), k, 3.0)
    found, slope = E(E.join(k))
    assert np.isfinite(found)
    assert np.isfinite(slope).all()


def test_slopes_do_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(3000, 8)), rng.normal(size=(3000, 30))
    k = KernelSum((Term(Gaussian(ard=True), np.full(8, -2.0)),), -2.0)
    rows = CrossedRows(X, Target(Y, np.ones(3000)), 1000, np.float32)
    E, found = HeldOutError.like(rows, k, 3.0), []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            found.append(E(E.join(k))[1])
    np.testing.assert_array_equal(*found)


def test_values_at_several_values_of_the_noise():
    _, _, E, x = problem(WEIGHTS["fractional"])
    k = E.split(x)
    noises = [-5.0, -1.0, 2.0]
    expected = [E.value(replace(k, log_noise=log_noise)) for log_noise in noises]
    assert list(E.values_at(k, noises)) == pytest.approx(expected, rel=1e-12)
