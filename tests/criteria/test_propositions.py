"""The paper's propositions: the gradient of F, the best step, and objectives made of them."""

import numpy as np
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from kernalign.criteria import CenteredAlignment, SlopeObjective, StepObjective
from kernalign.criteria.alignment import stationary_step
from kernalign.gram import Element
from tests import reference
from tests.criteria.matrices import dense, labels, random_gram, space_of

# Seeds do not shrink to anything simpler.
properties = settings(max_examples=60, deadline=None, derandomize=True, phases=[Phase.generate])
seeds = st.integers(0, 10_000)
sizes = st.integers(3, 12)


def F(K, T):  # noqa: N802 - the paper's letter
    """Alignment of centred matrices."""
    return reference.frobenius(K, T) / (reference.norm(K) * reference.norm(T))


def random_problem(seed, n, number):
    """Grams, labels, their space, and an element that mixes identity and all but the last Gram."""
    rng = np.random.default_rng(seed)
    y = labels(rng, n)
    grams = [random_gram(rng, n) for _ in range(number)]
    sums = space_of(grams, y)
    coefficients = np.append([0.0, rng.uniform(0, 1)], rng.uniform(0, 1, number))
    coefficients[-1] = 0.0
    return rng, y, grams, sums, Element(sums, coefficients)


@properties
@given(seed=seeds, n=sizes)
def test_value(seed, n):
    _, y, grams, sums, K = random_problem(seed, n, 3)
    T = reference.centre(np.outer(y, y))
    expected = F(dense(K, grams, y), T)
    assert CenteredAlignment(sums.T).value(K) == pytest.approx(expected, abs=1e-12)
    assert CenteredAlignment(sums.T).value(sums.T) == pytest.approx(1, abs=1e-14)
    assert CenteredAlignment(sums.T).value(K * 0.0) == 0


def test_value_without_contrast_in_the_labels():
    sums = space_of([np.eye(5)], np.ones(5))
    assert CenteredAlignment(sums.T).value(sums.identity) == 0


# --- Proposition 1 -------------------------------------------------------------------------------


@properties
@given(seed=seeds, n=sizes)
def test_gradient_is_the_papers_matrix(seed, n):
    _, y, grams, sums, K = random_problem(seed, n, 3)
    T = reference.centre(np.outer(y, y))
    K_dense = dense(K, grams, y)
    P = dense(CenteredAlignment(sums.T).gradient(K), grams, y)
    expected = reference.P_matrix(K_dense, T)
    np.testing.assert_allclose(P, expected, atol=1e-11 / np.linalg.norm(K_dense))
    # F does not change along K, and P is centred.
    assert np.sum(P * K_dense) == pytest.approx(0, abs=1e-11)
    np.testing.assert_allclose(P.sum(axis=0), 0, atol=1e-11 * np.linalg.norm(P))


@properties
@given(seed=seeds, n=sizes)
def test_gradient_is_the_derivative_of_alignment(seed, n):
    """<P, H> = dF(K + t H)/dt for random positive semidefinite directions H, none of them in K."""
    _, y, grams, sums, K = random_problem(seed, n, 4)
    P = CenteredAlignment(sums.T).gradient(K)
    T = reference.centre(np.outer(y, y))
    K_dense = dense(K, grams, y)
    H = reference.centre(grams[-1])
    size = np.linalg.norm(K_dense) / np.linalg.norm(H)
    h = 1e-3 * size

    def f(t):
        return F(K_dense + t * H, T)

    difference = (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)
    assert size * P.inner(sums.atom(3)) == pytest.approx(size * difference, abs=1e-9)


# --- Proposition 2 -------------------------------------------------------------------------------


@properties
@given(seed=seeds, n=sizes, eta_max=st.sampled_from([1e-3, 0.1, 1.0, 10.0, 1e3]))
def test_step_is_the_best_of_a_line_search(seed, n, eta_max):
    _, y, grams, sums, K = random_problem(seed, n, 3)
    criterion = CenteredAlignment(sums.T)
    eta = criterion.step(K, sums.atom(2), eta_max)
    assert 0 <= eta <= eta_max
    T = reference.centre(np.outer(y, y))
    K_dense, H = dense(K, grams, y), reference.centre(grams[2])

    def value(t):
        return F(K_dense + t * H, T)

    grid = np.concatenate([np.linspace(0, eta_max, 100), eta_max * np.geomspace(1e-9, 1, 100)])
    best = max(value(t) for t in grid)
    assert value(eta) >= best - 1e-12
    around = minimize_scalar(
        lambda t: -value(t), bounds=(0, eta_max), method="bounded", options={"xatol": 1e-12}
    )
    assert value(eta) == pytest.approx(max(best, -around.fun), abs=1e-7)


@properties
@given(seed=seeds, n=sizes, eta_max=st.sampled_from([1e-3, 0.1, 1.0, 10.0, 1e3]))
def test_step_equals_reference(seed, n, eta_max):
    _, y, grams, sums, K = random_problem(seed, n, 3)
    eta = CenteredAlignment(sums.T).step(K, sums.atom(2), eta_max)
    K_dense, T = dense(K, grams, y), np.outer(y, y)
    expected = reference.eta_star(K_dense, grams[2], T, eta_max)
    # Ill-conditioned only where K and K' are nearly the same direction.
    assume(reference.alignment(K_dense, grams[2]) < 1 - 1e-4)
    assert eta == pytest.approx(expected, rel=1e-7, abs=1e-9 * eta_max)


@properties
@given(seed=seeds, n=sizes)
def test_step_at_a_stationary_minimum(seed, n):
    """Away from the target the stationary point is the worst one: an end is best."""
    _, y, grams, sums, K = random_problem(seed, n, 3)
    eta = CenteredAlignment(sums.T).step(-1.0 * K, -1.0 * sums.atom(2), 10.0)
    K_dense, H = dense(K, grams, y), reference.centre(grams[2])
    T = reference.centre(np.outer(y, y))
    values = [-F(K_dense + t * H, T) for t in np.linspace(0, 10, 200)]
    assert -F(K_dense + eta * H, T) >= max(values) - 1e-12


def test_steps_at_both_ends():
    y = np.array([1.0, 1, -1, -1, 1, -1])
    rng = np.random.default_rng(0)
    noise = random_gram(rng, 6, 6)
    sums = space_of([np.outer(y, y), noise], y)
    criterion = CenteredAlignment(sums.T)
    perfect, noisy = sums.atom(0), sums.atom(1)
    # The target itself cannot be improved on; from anything else one goes all the way to it.
    assert criterion.step(perfect, noisy, 1.0) == 0
    assert criterion.step(noisy, perfect, 1.0) == 1.0
    assert criterion.step(noisy, noisy, 1.0) == 0


def test_stationary_step():
    # K = (1, 0), K' = (0, 1) and T = (3, 4) in an orthonormal basis: the best direction is T's.
    assert stationary_step(3, 4, 1, 0, 1) == pytest.approx(4 / 3, rel=1e-15)
    # T behind K': the stationary point has a negative step.
    assert stationary_step(3, -4, 1, 0, 1) == 0
    # Parallel to the bound: no stationary point.
    assert stationary_step(0, 1, 1, 0, 1) == 0


# --- objectives of the search --------------------------------------------------------------------


def search_numbers(sums, K, atom):
    """What a probe reports of K': <T, K'>, <K, K'> and |K'|^2."""
    K_new = sums.atom(atom)
    return np.array([K_new.inner(sums.T), K_new.inner(K)]), K_new.inner(K_new)


@properties
@given(seed=seeds, n=sizes)
def test_slope_objective(seed, n):
    _, y, grams, sums, K = random_problem(seed, n, 3)
    objective = SlopeObjective(CenteredAlignment(sums.T), K)
    (P,) = objective.elements
    product = P.inner(sums.atom(2))
    T = reference.centre(np.outer(y, y))
    expected = np.sum(reference.P_matrix(dense(K, grams, y), T) * reference.centre(grams[2]))
    found = objective.value(np.array([product]), 1.0)
    assert found == pytest.approx(expected, rel=1e-8, abs=1e-9)
    assert objective.derivative(np.array([product]), 1.0)[0].tolist() == [1.0]
    assert objective.derivative(np.array([product]), 1.0)[1] == 0.0
    # Many candidates at once.
    np.testing.assert_array_equal(objective.value(np.ones((5, 1)), np.ones(5)), np.ones(5))


@properties
@given(seed=seeds, n=sizes)
def test_step_objective_is_the_largest_alignment_on_the_line(seed, n):
    """max F(K + eta K') over eta from 0 to infinity."""
    _, y, grams, sums, K = random_problem(seed, n, 3)
    objective = StepObjective(CenteredAlignment(sums.T), K)
    assert objective.elements[1] is K
    products, norm = search_numbers(sums, K, 2)
    found = float(objective.value(products, norm))
    T = reference.centre(np.outer(y, y))
    K_dense, H = dense(K, grams, y), reference.centre(grams[2])
    size = np.linalg.norm(K_dense) / np.linalg.norm(H)

    def value(angle):
        """Every direction between K and K'."""
        return F(np.cos(angle) * K_dense + np.sin(angle) * size * H, T)

    grid = np.linspace(0, np.pi / 2, 201)
    values = [value(angle) for angle in grid]
    best = int(np.argmax(values))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, 200)]
    refined = minimize_scalar(
        lambda angle: -value(angle), bounds=(low, high), method="bounded", options={"xatol": 1e-9}
    )
    assert found == pytest.approx(max(values[best], -refined.fun), abs=1e-10)
    # With several candidates each gets its own value.
    stack = objective.value(np.stack([products, products]), np.array([norm, norm]))
    np.testing.assert_allclose(stack, found, rtol=1e-14)


@properties
@given(seed=seeds, n=sizes, start=st.sampled_from(["K", "nothing"]))
def test_derivative_of_step_objective(seed, n, start):
    _, _, _, sums, K = random_problem(seed, n, 3)
    K = K if start == "K" else K * 0.0
    objective = StepObjective(CenteredAlignment(sums.T), K)
    products, norm = search_numbers(sums, K, 2)
    numbers = np.append(products, norm)
    d_products, d_norm = objective.derivative(products, norm)
    slope = np.append(d_products, d_norm)
    b, d, e = numbers
    c, norm_T = K.inner(K), sums.T.norm()
    # Steps that leave (b, d, e) the products of some kernel.
    unit = np.array([norm_T * np.sqrt(e), np.sqrt(c * e), e])
    eta = stationary_step(K.inner(sums.T), b, c, d, e) if c > 0 else 1.0
    share = eta * np.sqrt(e / c) if c > 0 else 1.0
    # At the border eta = 0 (or infinity) the maximum has a kink in its second derivative only.
    assume(share == 0 or 1e-2 < share < 1e2)
    if c > 0:
        assume(d**2 < 0.98 * c * e)

    def value(step):
        moved = numbers + step * unit
        return float(objective.value(moved[:2], moved[2]))

    h = 1e-5
    for k in range(3 if c > 0 else 1):
        v = np.eye(3)[k]
        difference = (value(h * v) - value(-h * v)) / (2 * h)
        assert slope[k] * unit[k] == pytest.approx(difference, rel=1e-5, abs=1e-6)
    difference = (value(h * np.eye(3)[2]) - value(-h * np.eye(3)[2])) / (2 * h)
    assert slope[2] * e == pytest.approx(difference, rel=1e-5, abs=1e-6)


@properties
@given(seed=seeds, n=sizes)
def test_step_objective_from_nothing_is_the_kernels_own_alignment(seed, n):
    _, y, grams, sums, K = random_problem(seed, n, 3)
    objective = StepObjective(CenteredAlignment(sums.T), K * 0.0)
    products, norm = search_numbers(sums, K * 0.0, 2)
    expected = reference.alignment(grams[2], np.outer(y, y))
    assert float(objective.value(products, norm)) == pytest.approx(expected, abs=1e-12)


def test_step_objective_of_a_vanishing_kernel():
    """A constant kernel has no direction: never the winner, never NaN, slope zero."""
    rng = np.random.default_rng(0)
    y = labels(rng, 8)
    sums = space_of([random_gram(rng, 8), np.ones((8, 8))], y)
    criterion = CenteredAlignment(sums.T)
    from_nothing = StepObjective(criterion, sums.identity * 0.0)
    assert from_nothing.value(np.zeros(2), 0.0) == -np.inf
    slope, d_norm = from_nothing.derivative(np.zeros(2), 0.0)
    assert slope.tolist() == [0.0, 0.0]
    assert d_norm == 0.0
    K = sums.atom(0)
    from_kernel = StepObjective(criterion, K)
    found = float(from_kernel.value(np.zeros(2), 0.0))
    assert found == pytest.approx(criterion.value(K), abs=1e-12)
    slope, d_norm = from_kernel.derivative(np.zeros(2), 0.0)
    assert np.isfinite([*slope, d_norm]).all()
