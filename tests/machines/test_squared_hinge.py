"""The squared hinge: its optimum, what it reduces to, weights, columns, precision."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from kernalign import Gaussian, LearnedKernel
from kernalign.features import NystroemMap
from kernalign.machines import SquaredHinge, normal_equations, squared_hinge
from kernalign.machines.least_squares import LinearModel, outputs

KERNEL = LearnedKernel([Gaussian().at(2.0), Gaussian().at(5.0)], np.array([1.0, 0.5]))


def problem(n=150, c=1, landmarks=15):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    noise = 0.3 * rng.standard_normal((n, 3))
    Y = np.where(np.column_stack([X[:, 0] * X[:, 1], X[:, 2], X[:, 0]]) + noise > 0.2, 1.0, -1.0)
    return X, Y[:, :c], rng.uniform(0.5, 3.0, n), NystroemMap(KERNEL, X[:landmarks])


def machine(features, X, Y, weight, dtype=float):
    """The problem and its solution by least squares, as a function of C."""
    phi = np.empty((len(X), features.n_features), dtype=dtype)
    sums = normal_equations(features, X, Y, weight, kept=phi)
    hinge = SquaredHinge(phi, Y, weight, sums, features.root)
    return hinge, lambda C: sums.path(features.root, np.array([C]))[0]


def solved(features, X, Y, weight, C, dtype=float):
    hinge, squares = machine(features, X, Y, weight, dtype)
    return hinge.solve(C, squares(C))[0]


def objective(features, X, y, weight, C, z):
    """The formula, z = (v, b) on whitened features."""
    f = features.transform(X) @ z[:-1] + z[-1]
    return float(weight @ np.maximum(0, 1 - y * f) ** 2 + z[:-1] @ z[:-1] / C)


def unknowns(features, model, column=0):
    return np.append(features.root.T @ model.coefficients[:, column], model.intercept[column])


@pytest.fixture
def exact(monkeypatch):
    monkeypatch.setattr(squared_hinge, "TOLERANCE", 1e-14)
    monkeypatch.setattr(squared_hinge, "INEXACT", 1e-3)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(squared_hinge, "ROWS", 32)


@pytest.mark.usefixtures("exact", "small_blocks")
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_gradient_of_the_formula_is_zero(C):
    """By central differences; and scipy finds no better point."""
    X, Y, weight, features = problem()
    model = solved(features, X, Y, weight, C)
    z = unknowns(features, model)

    def value(z):
        return objective(features, X, Y[:, 0], weight, C, z)

    h = 1e-6
    slopes = [(value(z + h * e) - value(z - h * e)) / (2 * h) for e in np.eye(len(z))]
    np.testing.assert_allclose(slopes, 0, atol=1e-6 * max(1.0, value(z)))
    assert value(z) <= minimize(value, z, method="L-BFGS-B").fun * (1 + 1e-8)
    assert value(z) <= minimize(value, np.zeros_like(z), method="L-BFGS-B").fun * (1 + 1e-8)


def test_the_tolerance_is_kept():
    """As used, single precision and few products: the objective is the least one to 1e-3."""
    X, Y, weight, features = problem(c=3)
    for C in (0.1, 10.0):
        model = solved(features, X, Y, weight, C, np.float32)
        for column in range(3):
            y, z = Y[:, column], unknowns(features, model, column)

            def value(z, y=y, C=C):
                return objective(features, X, y, weight, C, z)

            assert value(z) <= minimize(value, z, method="L-BFGS-B").fun * (1 + 1e-3)


@pytest.mark.usefixtures("exact")
def test_with_all_rows_inside_the_margin_it_is_least_squares():
    """So little weight on the loss that no output reaches 1."""
    X, Y, weight, features = problem()
    hinge, squares = machine(features, X, Y, weight)
    start = squares(1e-3)
    assert (Y * outputs(features, [start], X)[0] < 1).all()
    elsewhere = LinearModel(np.zeros_like(start.coefficients), np.zeros(1))
    for model, _ in (hinge.solve(1e-3, start), hinge.solve(1e-3, elsewhere)):
        np.testing.assert_allclose(
            outputs(features, [model], X), outputs(features, [start], X), atol=1e-8
        )


@pytest.mark.usefixtures("exact")
def test_integer_weights_are_repeated_rows():
    X, Y, _, features = problem()
    weight = np.random.default_rng(1).integers(1, 4, len(X))
    one = solved(features, X, Y, weight.astype(float), 1.0)
    repeated = (np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0))
    two = solved(features, *repeated, np.ones(weight.sum()), 1.0)
    np.testing.assert_allclose(outputs(features, [one], X), outputs(features, [two], X), atol=1e-6)


@pytest.mark.usefixtures("exact")
def test_columns_are_problems_of_their_own():
    X, Y, weight, features = problem(c=3)
    together = outputs(features, [solved(features, X, Y, weight, 1.0)], X)[0]
    for column in range(3):
        alone = solved(features, X, Y[:, [column]], weight, 1.0)
        found = outputs(features, [alone], X)[0]
        np.testing.assert_allclose(together[:, [column]], found, atol=1e-6)


@pytest.mark.usefixtures("exact")
def test_it_is_scikit_learns_where_the_intercept_is_not_penalised():
    """LinearSVC penalises its intercept, which a large intercept_scaling undoes; its C is twice."""
    X, Y, weight, features = problem()
    phi = features.transform(X)
    svc = LinearSVC(C=10.0, dual=False, tol=1e-10, intercept_scaling=1e3, max_iter=10**5)
    svc.fit(phi, Y[:, 0], sample_weight=weight)
    model = solved(features, X, Y, weight, 2 * 10.0)
    np.testing.assert_allclose(
        outputs(features, [model], X)[0][:, 0], svc.decision_function(phi), atol=1e-3
    )


@pytest.mark.usefixtures("exact")
def test_any_start_leads_to_the_optimum():
    X, Y, weight, features = problem()
    hinge, squares = machine(features, X, Y, weight)
    from_squares, _ = hinge.solve(1.0, squares(1.0))
    far = LinearModel(50 * squares(100.0).coefficients, np.array([30.0]))
    found = [outputs(features, [m], X) for m in (from_squares, hinge.solve(1.0, far)[0])]
    np.testing.assert_allclose(*found, atol=1e-5)


@pytest.mark.usefixtures("small_blocks")
def test_threads_change_nothing():
    X, Y, weight, features = problem(c=2)
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            results.append(solved(features, X, Y, weight, 1.0, np.float32).coefficients)
    np.testing.assert_array_equal(*results)


def test_features_are_kept_on_the_way():
    X, Y, weight, features = problem()
    phi = np.empty((50, features.n_features))
    sums = normal_equations(features, X, Y, weight, np.arange(50), phi)
    np.testing.assert_allclose(phi, features.transform(X[:50]), atol=1e-8)
    without = normal_equations(features, X[:50], Y[:50], weight[:50])
    np.testing.assert_array_equal(sums.gram, without.gram)


@pytest.mark.usefixtures("exact", "small_blocks")
def test_a_preconditioner_that_rounding_left_indefinite():
    X, Y, weight, features = problem()
    hinge, squares = machine(features, X, Y, weight)
    wanted, _ = hinge.solve(1e4, squares(1e4))
    smallest = np.linalg.eigvalsh(hinge.A)[0]
    hinge.A[np.diag_indices(len(hinge.A))] -= smallest + 0.01
    found, _ = hinge.solve(1e4, squares(1e4))
    values = [
        objective(features, X, Y[:, 0], weight, 1e4, unknowns(features, model))
        for model in (found, wanted)
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-6)


@pytest.mark.parametrize("most", [1, 100])
def test_the_preconditioner_is_the_matrix_of_least_squares(monkeypatch, most):
    """Of all rows if there are few per feature; otherwise of every tenth."""
    monkeypatch.setattr(squared_hinge, "PRECONDITIONER_ROWS", most)
    monkeypatch.setattr(squared_hinge, "BLOCK", 32)
    X, Y, weight, features = problem()
    hinge, _ = machine(features, X, Y, weight)
    step = 10 if most == 1 else 1
    phi = features.transform(X)
    mean = weight @ phi / weight.sum()
    some = np.column_stack([phi - mean, np.ones(len(X))])[::step]
    wanted = step * some.T @ (weight[::step, None] * some)
    np.testing.assert_allclose(hinge.A, wanted, rtol=1e-6, atol=1e-8)


def test_it_says_whether_it_converged(monkeypatch):
    X, Y, weight, features = problem()
    hinge, squares = machine(features, X, Y, weight)
    assert hinge.solve(1.0, squares(1.0))[1]
    monkeypatch.setattr(squared_hinge, "MAX_PRODUCTS", 1)
    assert not hinge.solve(1.0, squares(1e-3))[1]
