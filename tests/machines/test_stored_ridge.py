"""Ridge regression on all rows by conjugate gradients, against the equations it solves."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from kernalign.criteria.kernel_sum import CONSTANT
from kernalign.gram import Target
from kernalign.kernels import Gaussian, Laplacian, LearnedKernel, Linear, Matern
from kernalign.machines import stored_ridge
from kernalign.machines.stored_ridge import StoredRidge
from kernalign.machines.tuned_ridge import solved_ridge

KERNELS = {
    "smooth": LearnedKernel([Gaussian(ard=True).at(*[2.0, 3.0, 5.0])], np.array([1.5])),
    "rough": LearnedKernel([Laplacian(ard=True).at(*[4.0, 3.0, 9.0])], np.array([0.7])),
    "narrow": LearnedKernel([Gaussian().at(1e-3)], np.array([1.0])),
    "sum": LearnedKernel(
        [Matern(2.5, ard=True).at(*[2.0, 3.0, 5.0]), Linear().at(*[1.0, 0.5, 0.2])],
        np.array([1.0, 0.3]),
    ),
}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(stored_ridge, "LANDMARKS", 40)
    monkeypatch.setattr(stored_ridge, "CHUNK", 90)
    monkeypatch.setattr(stored_ridge, "ROWS", 32)


def problem(n=300, outputs=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    Y = np.column_stack([np.sin((k + 1) * X[:, 0]) + X[:, 1] for k in range(outputs)])
    return X, Y + 0.3 * rng.normal(size=Y.shape), rng.uniform(0.5, 2.0, n)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("noise", [0.3, 1e-3])
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_it_solves_the_equations(name, noise, precision):
    """(K + noise / w) a = y - mean, with the constant kernel in K."""
    kernel, (X, Y, w) = KERNELS[name], problem(outputs=2)
    tolerance = 1e-4 if precision == np.float32 else 1e-9
    machine = StoredRidge(kernel, X, np.log(noise), precision)
    model = machine.solve(Target(Y, w), tolerance=tolerance)
    K = kernel(X)
    h = np.diagonal(K).mean()
    mean = w @ Y / w.sum()
    left = K + CONSTANT * h + np.diag(noise * h / w)
    wanted = mean + (K + CONSTANT * h) @ np.linalg.solve(left, Y - mean)
    found = model.predict(K)
    # The residual bounds the error of f; kernel values are rounded.
    size = np.sqrt(np.mean((Y - mean) ** 2))
    terms = np.abs(K + CONSTANT * h) @ np.abs(model.coefficients)
    rounding = np.sqrt(len(X)) * np.finfo(precision).eps * terms.max()
    # D is at least 0.7, by which the residual of a row is divided.
    assert np.sqrt(np.mean((found - wanted) ** 2)) < 2 * tolerance * size + rounding


def test_it_is_the_exact_machine():
    X, Y, w = problem()
    kernel, target = KERNELS["smooth"], Target(Y, w)
    found = StoredRidge(kernel, X, -3.0, np.float64).solve(target, tolerance=1e-10)
    wanted = solved_ridge(kernel(X), target, -3.0).model
    np.testing.assert_allclose(found.predict(kernel(X)), wanted.predict(kernel(X)), atol=1e-7)


def test_kernel_values_are_symmetric():
    X, _, _ = problem()
    machine = StoredRidge(KERNELS["sum"], X, -3.0, np.float32)
    np.testing.assert_array_equal(machine.K, machine.K.T)
    np.testing.assert_allclose(machine.K, KERNELS["sum"](X) + machine.constant, atol=1e-5)


def test_rows_of_no_weight_have_no_say():
    X, Y, w = problem()
    w[200:] = 0.0
    Y[200:] = 1e3
    kernel = KERNELS["smooth"]
    model = StoredRidge(kernel, X, -3.0, np.float64).solve(Target(Y, w), tolerance=1e-9)
    assert (model.coefficients[200:] == 0).all()
    alone = StoredRidge(kernel, X[:200], -3.0, np.float64)
    wanted = alone.solve(Target(Y[:200], w[:200]), tolerance=1e-9).predict(kernel(X, X[:200]))
    np.testing.assert_allclose(model.predict(kernel(X)), wanted, atol=1e-6)


def test_a_weight_of_two_is_two_rows():
    X, Y, _ = problem(100)
    kernel, w = KERNELS["smooth"], np.ones(100)
    w[:20] = 2.0
    again = np.r_[np.arange(100), np.arange(20)]
    weighted, twice = (
        StoredRidge(kernel, X[rows], -3.0, np.float64).solve(Target(Y[rows], v), tolerance=1e-9)
        for rows, v in ((np.arange(100), w), (again, np.ones(120)))
    )
    found, wanted = weighted.predict(kernel(X)), twice.predict(kernel(X, X[again]))
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_a_start_near_the_answer_and_the_preconditioner_save_steps(monkeypatch):
    X, Y, w = problem(600)
    kernel, target = KERNELS["rough"], Target(Y, w)
    steps = []
    times = StoredRidge.times
    monkeypatch.setattr(StoredRidge, "times", lambda *given: steps.append(1) or times(*given))

    def number(start=None):
        steps.clear()
        model = StoredRidge(kernel, X, np.log(0.01), np.float64).solve(target, start)
        return len(steps), model

    cold, model = number()
    warm, _ = number(model)
    assert warm <= 2
    monkeypatch.setattr(StoredRidge, "_preconditioner", lambda *_: lambda r: r)
    assert cold < 0.7 * number()[0]


def test_the_preconditioner_is_positive():
    """Also along eigenvectors whose eigenvalues are many orders above the noise."""
    X, _, w = problem(400)
    machine = StoredRidge(KERNELS["smooth"], X, np.log(1e-3), np.float32)
    inverse = machine._preconditioner(np.sqrt(w)[:, None])
    P = inverse(np.eye(400))
    assert np.linalg.eigvalsh((P + P.T) / 2)[0] > 0


def test_equal_rows_do_no_harm():
    X, Y, w = problem(100)
    X = np.repeat(X, 3, axis=0)
    Y, w = np.repeat(Y, 3, axis=0), np.repeat(w, 3)
    model = StoredRidge(KERNELS["smooth"], X, np.log(0.1), np.float32).solve(Target(Y, w))
    assert np.mean((model.predict(KERNELS["smooth"](X)) - Y) ** 2) < 0.5 * Y.var()


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_constant_response(value):
    X, Y, w = problem(100)
    model = StoredRidge(KERNELS["smooth"], X, -3.0, np.float32).solve(Target(0 * Y + value, w))
    np.testing.assert_allclose(model.predict(KERNELS["smooth"](X)), value, atol=1e-12)


def test_rows_too_far_for_single_precision():
    X, Y, w = problem()
    X[0] = 1e25
    machine = StoredRidge(KERNELS["smooth"], X, -1.0, np.float32)
    assert np.isfinite(machine.solve(Target(Y, w)).coefficients).all()


def test_the_number_of_threads_changes_nothing():
    X, Y, w = problem()
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            machine = StoredRidge(KERNELS["sum"], X, -3.0, np.float32)
            results.append(machine.solve(Target(Y, w)).coefficients)
    np.testing.assert_array_equal(*results)
