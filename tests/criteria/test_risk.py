"""S(K) = y'(K + rho diag(1/w))^-1 y: value, dual vectors, gradient, bound and best step."""

import numpy as np
import pytest
from scipy.linalg import LinAlgError
from scipy.optimize import minimize_scalar

from kernalign.criteria.risk import RegularisedRisk
from tests import reference

RHOS = [1e-3, 0.1, 1.0, 30.0]


def naive(K, Y, rho, weight):
    """S and c with an explicit inverse."""
    c = np.linalg.inv(K + rho * np.diag(1 / weight)) @ Y
    return np.sum(Y * c), c


def problem(outputs=1, seed=0, n=25):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    Y = rng.normal(size=(n, outputs))
    grams = [reference.gaussian(X, X, s) for s in (0.5, 2.0)]
    return *grams, Y, rng.uniform(0.5, 3, n)


def at(K, Y, rho, weight):
    risk = RegularisedRisk(Y, rho, weight)
    risk.set(K)
    return risk


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("rho", RHOS)
def test_value_and_dual_vectors(rho, outputs):
    K, _, Y, weight = problem(outputs)
    risk = at(K, Y, rho, weight)
    S, c = naive(K, Y, rho, weight)
    assert risk.value == pytest.approx(S, rel=1e-9)
    np.testing.assert_allclose(risk.c, c, rtol=1e-7, atol=1e-9 * np.abs(c).max())
    assert risk.fit == pytest.approx(np.trace(c.T @ K @ c), rel=1e-7, abs=1e-12 * S)


def test_value_is_the_least_regularised_risk():
    """rho S = min_f sum_i w_i (y_i - f_i)^2 + rho |f|^2, and any other f has more."""
    K, _, Y, weight = problem()
    rho = 0.3
    risk = at(K, Y, rho, weight)

    def regularised(c):
        loss = weight @ (Y - K @ c)[:, 0] ** 2
        return loss + rho * (c.T @ K @ c).item()

    assert regularised(risk.c) == pytest.approx(rho * risk.value, rel=1e-10)
    rng = np.random.default_rng(1)
    for _ in range(20):
        assert regularised(risk.c + 1e-3 * rng.normal(size=Y.shape)) > rho * risk.value


def test_before_any_kernel():
    _, _, Y, weight = problem()
    risk = RegularisedRisk(Y, 0.5, weight)
    np.testing.assert_allclose(risk.c, weight[:, None] * Y / 0.5)
    assert risk.value == pytest.approx(weight @ Y[:, 0] ** 2 / 0.5)
    assert risk.fit == 0


@pytest.mark.parametrize("outputs", [1, 3])
def test_gradient_against_central_differences(outputs):
    K, other, Y, weight = problem(outputs)
    G = at(K, Y, 0.2, weight).gradient()
    direction = other - K
    h = 1e-5
    ahead = naive(K + h * direction, Y, 0.2, weight)[0]
    behind = naive(K - h * direction, Y, 0.2, weight)[0]
    assert np.sum(G * direction) == pytest.approx((ahead - behind) / (2 * h), rel=1e-6)


@pytest.mark.parametrize("tol", [1e-6, 1e-4])
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("swap", [False, True])
def test_step_is_the_minimum_of_the_line(rho, outputs, swap, tol):
    K, G, Y, weight = problem(outputs, seed=3)
    if swap:
        K, G = G, K
    found = minimize_scalar(
        lambda t: naive((1 - t) * K + t * G, Y, rho, weight)[0],
        bounds=(0, 1),
        method="bounded",
        options={"xatol": 1e-10},
    )
    least = min(found.fun, naive(K, Y, rho, weight)[0], naive(G, Y, rho, weight)[0])
    risk = at(K, Y, rho, weight)
    step = risk.step_towards(G.copy(), tol)
    assert 0 <= step <= 1
    assert risk.value <= least * (1 + 2 * tol**2 + 1e-10)
    # Where it stopped is where it says it is.
    mixed = (1 - step) * K + step * G
    np.testing.assert_allclose(risk.K, mixed, atol=1e-13)
    assert risk.value == pytest.approx(naive(mixed, Y, rho, weight)[0], rel=1e-8)


def test_step_may_go_all_the_way():
    """Towards a kernel that explains everything, from one that explains nothing."""
    y = np.array([1.0, 1, -1, -1])[:, None]
    risk = at(np.ones((4, 4)), y, 0.1, np.ones(4))
    assert risk.step_towards(y @ y.T) == 1.0
    np.testing.assert_allclose(risk.K, y @ y.T)


def test_no_step_uphill():
    y = np.array([1.0, 1, -1, -1])[:, None]
    risk = at(y @ y.T, y, 0.1, np.ones(4))
    before = risk.value
    assert risk.step_towards(np.ones((4, 4))) == 0.0
    assert risk.value == before


def test_gap_bounds_the_distance_to_the_optimum():
    """S* >= S^2 / (S + delta) for the best mixture of two kernels."""
    K, G, Y, weight = problem(seed=5)
    for rho in RHOS:
        best = min(naive((1 - t) * K + t * G, Y, rho, weight)[0] for t in np.linspace(0, 1, 201))
        for t in (0.0, 0.2, 0.7, 1.0):
            risk = at((1 - t) * K + t * G, Y, rho, weight)
            largest = max(np.sum(risk.c * (M @ risk.c)) for M in (K, G))
            assert risk.value * (1 - risk.gap(largest)) <= best * (1 + 1e-12)
    assert risk.gap(-1.0) == 0.0


def test_weights_count_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(9, 2)), rng.normal(size=9)
    weight = rng.integers(1, 4, 9)
    X_long, y_long = reference.repeat_rows(X, y, weight)
    short = at(reference.gaussian(X, X, 1.0), y[:, None], 0.3, weight.astype(float))
    long = at(reference.gaussian(X_long, X_long, 1.0), y_long[:, None], 0.3, np.ones(len(y_long)))
    assert short.value == pytest.approx(long.value, rel=1e-10)
    # A row's dual coefficient is the sum over its copies: predictions are the same.
    copies = np.repeat(np.arange(9), weight)
    np.testing.assert_allclose(short.c[:, 0], np.bincount(copies, long.c[:, 0]), rtol=1e-8)


def test_singular_matrix_gets_a_jitter_and_says_so():
    y = np.arange(30.0)[:, None]
    risk = at(np.ones((30, 30)), y, 1e-20, np.ones(30))
    assert 0 < risk.jitter < 1e-9
    assert np.isfinite(risk.value)
    risk.set_rho(1.0)
    risk.set(np.ones((30, 30)))
    assert risk.jitter == 0


def test_indefinite_matrix_is_refused():
    with pytest.raises(LinAlgError, match="not positive definite"):
        at(np.array([[0.0, 5.0], [5.0, 0.0]]), np.ones((2, 1)), 1e-3, np.ones(2))


def test_constant_zero_output():
    K, G, Y, weight = problem(2)
    Y[:, 1] = 0
    risk = at(K, Y, 0.1, weight)
    risk.step_towards(G)
    assert (risk.c[:, 1] == 0).all()
    assert np.isfinite(risk.c).all()
