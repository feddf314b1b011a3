"""Ridge regression on landmarks by conjugate gradients, against the equations it solves."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from kernalign.criteria.kernel_sum import CONSTANT
from kernalign.gram import Target
from kernalign.kernels import Gaussian, Laplacian, LearnedKernel, Linear, Matern
from kernalign.machines import landmark_ridge, landmark_values
from kernalign.machines.landmark_ridge import JITTER, LandmarkRidge, Sample
from kernalign.machines.landmark_values import LandmarkValues, precision_for

KERNELS = {
    "smooth": LearnedKernel([Gaussian(ard=True).at(*[2.0, 3.0, 5.0])], np.array([1.5])),
    "rough": LearnedKernel([Laplacian(ard=True).at(*[4.0, 3.0, 9.0])], np.array([0.7])),
    "sum": LearnedKernel(
        [Matern(2.5, ard=True).at(*[2.0, 3.0, 5.0]), Linear().at(*[1.0, 0.5, 0.2])],
        np.array([1.0, 0.3]),
    ),
}


def problem(n=300, outputs=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    Y = np.column_stack([np.sin((k + 1) * X[:, 0]) + X[:, 1] for k in range(outputs)])
    return X, Y + 0.3 * rng.normal(size=Y.shape), rng.uniform(0.5, 2.0, n)


def solved(kernel, Z, X, Y, w, log_noise, jitter):
    """Ridge regression on features phi(x) = V'k(Z, x) / sqrt(values), by eigenvectors V of K_zz."""
    h = np.diagonal(kernel(Z)).mean()
    values, V = np.linalg.eigh(kernel(Z) + CONSTANT * h)
    whitened = V / np.sqrt(np.maximum(values, 0) + jitter * (1 + CONSTANT) * h)
    root, mean = np.sqrt(w)[:, None], w @ Y / w.sum()
    phi = (kernel(X, Z) + CONSTANT * h) @ whitened
    ridge = np.sqrt(np.exp(log_noise) * h) * np.eye(phi.shape[1])
    stacked = np.vstack([root * phi, ridge])
    right = np.vstack([root * (Y - mean), np.zeros((phi.shape[1], Y.shape[1]))])
    b = np.linalg.lstsq(stacked, right, rcond=None)[0]
    return phi @ b + mean


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("noise", [0.3, 1e-3])
@pytest.mark.parametrize("saved", [0.0, np.inf], ids=["numpy", "compiled"])
def test_it_solves_the_normal_equations(name, noise, saved, monkeypatch):
    monkeypatch.setattr(landmark_ridge, "seconds_saved", lambda *_, saved=saved: saved)
    kernel, (X, Y, w) = KERNELS[name], problem(outputs=2)
    Z, log_noise = X[::6], float(np.log(noise))
    machine = LandmarkRidge(kernel, Z, X, log_noise)
    # Single precision for much noise, double for little.
    assert machine.precision == (np.float32 if noise > 0.1 else np.float64)
    model = machine.solve(Target(Y, w), tolerance=1e-7)
    wanted = solved(kernel, Z, X, Y, w, log_noise, JITTER[machine.precision])
    K = kernel(X, Z)
    found = model.predict(K)
    # Rounding errors of a sum over the landmarks, in the precision of the machine.
    terms = (np.abs(K) @ np.abs(model.coefficients)).max()
    rounding = len(Z) * np.finfo(machine.precision).eps * terms
    assert np.abs(found - wanted).max() < rounding + 1e-5 * np.abs(wanted).max()


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_compiled_loops_give_the_same_kernel_values(name, precision, monkeypatch):
    pytest.importorskip("numba")
    X, found = problem()[0], []
    for saved in (0.0, np.inf):
        monkeypatch.setattr(landmark_ridge, "seconds_saved", lambda *_, saved=saved: saved)
        found.append(LandmarkRidge(KERNELS[name], X[::6], X, -2.0, precision=precision)._kept)
    by_numpy, by_loops = found
    assert (by_numpy != by_loops).any(), "otherwise the test compares numpy with itself"
    np.testing.assert_allclose(by_loops, by_numpy, rtol=10 * np.finfo(precision).eps)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("saved", [0.0, np.inf], ids=["numpy", "compiled"])
def test_values_of_blocks_do_not_depend_on_threads_or_on_the_array(name, saved, monkeypatch):
    monkeypatch.setattr(landmark_values, "ROWS", 37)
    X = problem()[0]
    values = LandmarkValues(KERNELS[name], X[::6], 0.1, np.float32, saved)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            found.append([block for _, block in values.blocks(X)])
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)
    of_rows, out = values.of_rows(X), np.full((37, 50), np.nan, dtype=np.float32)
    assert of_rows(slice(0, 37), out) is out
    np.testing.assert_array_equal(out, found[0][0])
    whole = of_rows(slice(0, len(X)))
    np.testing.assert_allclose(np.vstack(found[0]), whole, rtol=1e-5)


def test_kernel_values_may_be_computed_anew():
    X, Y, w = problem()
    kernel, target = KERNELS["smooth"], Target(Y, w)
    kept = LandmarkRidge(kernel, X[:40], X, -4.0).solve(target)
    streamed = LandmarkRidge(kernel, X[:40], X, -4.0, keep=False).solve(target)
    assert np.allclose(kept.coefficients, streamed.coefficients, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("outputs", [1, 3])
def test_a_sample_saves_passes_over_all_rows(outputs, monkeypatch):
    X, Y, w = problem(3000, outputs)
    kernel, target, Z = KERNELS["smooth"], Target(Y, w), X[:60]
    everything = LandmarkRidge(kernel, Z, X, -6.0, keep=False)
    passes = []
    summed = LandmarkRidge.products

    def counted(self, *args):
        if self is everything:
            passes.append(args)
        return summed(self, *args)

    monkeypatch.setattr(LandmarkRidge, "products", counted)
    wanted = everything.solve(target, tolerance=1e-8)
    plain = len(passes)
    rows = np.arange(0, 3000, 3)
    part = LandmarkRidge(kernel, Z, X[rows], -6.0)
    sample = Sample.of(part, target, rows)
    assert sample.weight.sum() == pytest.approx(w.sum())
    found = everything.solve(target, part.solve(target.rows(rows)), 1e-8, sample)
    assert len(passes) - plain < 0.6 * plain
    K = kernel(X, Z)
    np.testing.assert_allclose(found.predict(K), wanted.predict(K), atol=1e-5)


def test_a_weight_of_two_is_two_rows():
    X, Y, _ = problem(100)
    kernel, Z = KERNELS["smooth"], X[:30]
    w = np.ones(100)
    w[:20] = 2.0
    weighted = LandmarkRidge(kernel, Z, X, -3.0).solve(Target(Y, w), tolerance=1e-9)
    again = np.r_[np.arange(100), np.arange(20)]
    repeated = LandmarkRidge(kernel, Z, X[again], -3.0)
    twice = repeated.solve(Target(Y[again], np.ones(120)), tolerance=1e-9)
    K = kernel(X, Z)
    assert np.allclose(weighted.predict(K), twice.predict(K), atol=1e-6)


def test_rows_of_no_weight_have_no_say():
    X, Y, w = problem()
    w[200:] = 0.0
    Y[200:] = 1e3
    machine = LandmarkRidge(KERNELS["smooth"], X[:40], X, -3.0)
    found = machine.solve(Target(Y, w)).predict(KERNELS["smooth"](X[200:], X[:40]))
    assert np.abs(found).max() < 10


def test_a_start_near_the_answer_saves_steps(monkeypatch):
    X, Y, w = problem(2000)
    machine = LandmarkRidge(KERNELS["smooth"], X[:100], X, -3.0)
    without = w.copy()
    without[:100] = 0.0
    near = machine.solve(Target(Y, without))
    steps = []
    system = machine._system
    monkeypatch.setattr(machine, "_system", lambda *given: steps.append(1) or system(*given))
    cold = machine.solve(Target(Y, w))
    from_nothing = len(steps)
    warm = machine.solve(Target(Y, w), near)
    assert len(steps) - from_nothing < from_nothing
    K = KERNELS["smooth"](X, X[:100])
    assert np.abs(cold.predict(K) - warm.predict(K)).mean() < 1e-3


def test_equal_landmarks_do_no_harm():
    X, Y, w = problem()
    Z = np.vstack([X[:40], X[:40]])
    kernel = KERNELS["smooth"]
    doubled = LandmarkRidge(kernel, Z, X, -3.0).solve(Target(Y, w), tolerance=1e-7)
    single = LandmarkRidge(kernel, X[:40], X, -3.0).solve(Target(Y, w), tolerance=1e-7)
    found, wanted = doubled.predict(kernel(X, Z)), single.predict(kernel(X, X[:40]))
    assert np.abs(found - wanted).max() < 1e-3


def test_rows_too_far_for_single_precision():
    X, Y, w = problem()
    X[0] = 1e25
    machine = LandmarkRidge(KERNELS["smooth"], X[1:40], X, -1.0)
    assert np.isfinite(machine.solve(Target(Y, w)).coefficients).all()


def test_classes_need_no_double_precision():
    """Labels are right or wrong by far more than a rounding error."""
    X, Y, w = problem(800)
    kernel, Z, target = KERNELS["rough"], X[:200], Target(np.sign(Y), w, classes=True)
    single, double = (
        LandmarkRidge(kernel, Z, X, np.log(1e-3), precision=precision).solve(target)
        for precision in (precision_for(np.log(1e-3), classes=True), np.float64)
    )
    assert precision_for(np.log(1e-3), classes=True) == np.float32
    assert precision_for(np.log(1e-3)) == np.float64
    outputs = [model.predict(kernel(X, Z)) for model in (single, double)]
    assert np.abs(outputs[0] - outputs[1]).max() < 2e-3
