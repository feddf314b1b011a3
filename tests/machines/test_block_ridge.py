"""Ridge regression on blocks of landmarks, against the machine on all of them."""

import numpy as np
import pytest
from scipy.linalg import solve_triangular
from threadpoolctl import threadpool_limits

from kernalign.gram import Target
from kernalign.kernels import Gaussian, Laplacian, LearnedKernel, Linear, Matern
from kernalign.machines import block_ridge
from kernalign.machines.block_ridge import BlockRidge, block_size, similar_blocks
from kernalign.machines.landmark_ridge import ITERATIONS, TOLERANCE, LandmarkRidge

KERNELS = {
    "smooth": LearnedKernel([Gaussian(ard=True).at(2.0, 3.0, 5.0)], np.array([1.5])),
    "rough": LearnedKernel([Laplacian(ard=True).at(4.0, 3.0, 9.0)], np.array([0.7])),
    "sum": LearnedKernel(
        [Matern(2.5, ard=True).at(2.0, 3.0, 5.0), Linear().at(1.0, 0.5, 0.2)],
        np.array([1.0, 0.3]),
    ),
}
#: Landmarks, and landmarks of a block.
M, SIZE = 90, 20


def problem(n=300, outputs=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    Y = np.column_stack([np.sin((k + 1) * X[:, 0]) + X[:, 1] for k in range(outputs)])
    return X, Y + 0.3 * rng.normal(size=Y.shape), rng.uniform(0.5, 2.0, n)


def places(n=300, m=M):
    return np.random.default_rng(1).permutation(n)[:m]


def equations(machine, target):
    """Half the Hessian of J in `a`, half its slope at zero, and J at zero, without any blocks."""
    Z, w = machine.X[machine.landmarks], target.weight
    V = machine.kernel(machine.X, Z) + machine.constant
    K = machine.kernel(Z) + machine.constant + machine.jitter * np.eye(len(Z))
    Y = target.centred
    return V.T @ (w[:, None] * V) + machine.noise * K, V.T @ (w[:, None] * Y), w @ Y**2


def minimum(machine, target):
    """The least J: ridge regression on features phi(x) = T^-1 k(Z, x), TT' = K."""
    Z, w = machine.X[machine.landmarks], target.weight
    K = machine.kernel(Z) + machine.constant + machine.jitter * np.eye(len(Z))
    V = machine.kernel(machine.X, Z) + machine.constant
    phi = solve_triangular(np.linalg.cholesky(K), V.T, lower=True).T
    ridge = np.sqrt(machine.noise) * np.eye(len(Z))
    stacked = np.vstack([np.sqrt(w)[:, None] * phi, ridge])
    right = np.vstack(
        [np.sqrt(w)[:, None] * target.centred, np.zeros((len(Z), target.values.shape[1]))]
    )
    b = np.linalg.lstsq(stacked, right, rcond=None)[0]
    return float(((stacked @ b - right) ** 2).sum())


def objective(machine, target, a):
    H, g, constant = equations(machine, target)
    return float((constant + (a * (H @ a) - 2 * a * g).sum(axis=0)).sum())


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("noise", [0.3, 0.01])
def test_it_converges_to_the_minimum(name, noise):
    """The gap to the minimum falls at least as 1 / sweeps, as that of any block descent on a convex
    function. It is then sweeps times the decrease in a sweep; random blocks make a factor."""
    X, Y, w = problem(outputs=2)
    target, tolerance = Target(Y, w), 1e-4
    machine = BlockRidge(KERNELS[name], X, places(), SIZE, float(np.log(noise)))
    found = machine.solve(target, tolerance=tolerance, sweeps=200)
    assert found.sweeps < 200
    least, reached = minimum(machine, target), objective(machine, target, found.a)
    assert least * (1 - 1e-6) <= reached <= least * (1 + 3 * found.sweeps * tolerance)


def test_the_objective_and_the_outputs_are_those_of_the_coefficients():
    X, Y, w = problem(outputs=2)
    target = Target(Y, w)
    machine = BlockRidge(KERNELS["sum"], X, places(), SIZE, -4.0)
    found = machine.solve(target, sweeps=3)
    V = machine.kernel(X, X[machine.landmarks])
    np.testing.assert_allclose(found.f, V @ found.a + machine.constant * found.a.sum(axis=0))
    wanted = objective(machine, target, found.a)
    assert machine.objective(target, found) == pytest.approx(wanted, rel=1e-8)
    mean = w @ Y / w.sum()
    np.testing.assert_allclose(machine.model(target, found).predict(V), mean + found.f)


@pytest.mark.parametrize("log_noise", [-1.0, -6.0])
def test_no_block_and_no_sweep_increases_the_objective(log_noise):
    """In single and in double precision."""
    X, Y, w = problem()
    target = Target(Y, w)
    machine = BlockRidge(KERNELS["rough"], X, places(), SIZE, log_noise)
    now = machine.zero(1)
    values = [machine.objective(target, now)]
    for seed in range(4):
        for block in similar_blocks(machine.kernel, X[places()], SIZE, np.random.default_rng(seed)):
            now = machine.descend(target, now, [block])
            values.append(machine.objective(target, now))
        now = machine.solve(target, now, sweeps=1)
        values.append(machine.objective(target, now))
    assert values[1] < 0.8 * values[0]
    assert (np.diff(values) <= 1e-6 * values[0]).all()


def test_extrapolation_minimises_over_both_changes():
    """J has no slope along this sweep's change and the one before."""
    X, Y, w = problem(outputs=2)
    target = Target(Y, w)
    machine = BlockRidge(KERNELS["sum"], X, places(), SIZE, -6.0)
    before = machine.solve(target, tolerance=0.0, sweeps=2)
    after = machine.solve(target, before, tolerance=0.0, sweeps=1)
    H, g, _ = equations(machine, target)
    slope = g - H @ after.a
    for change in (after.last[0], before.last[0]):
        steepest = np.linalg.norm(g, axis=0) * np.linalg.norm(change, axis=0)
        assert (np.abs((change * slope).sum(axis=0)) < 1e-9 * steepest).all()


@pytest.mark.parametrize("curvature", [0.0, 1e-310, -1e-12])
def test_a_change_of_nothing_is_not_used(curvature):
    H, g = np.array([[4.0, 1e-6], [1e-6, curvature]]), np.array([2.0, 1e-6])
    np.testing.assert_allclose(block_ridge._solved(H, g), [0.5, 0.0])
    np.testing.assert_array_equal(block_ridge._solved(0 * H, g), [0.0, 0.0])


@pytest.mark.parametrize("factor", [0.0, 1e-12])
def test_a_response_that_is_hardly_there(factor):
    """With more noise than signal, sweeps soon change nothing."""
    X, Y, w = problem()
    machine = BlockRidge(KERNELS["rough"], X, places(), SIZE, float(np.log(1e3)))
    found = machine.solve(Target(factor * Y, w), tolerance=0.0, sweeps=30)
    assert np.abs(found.f).max() <= factor * np.abs(Y).max()


def test_a_single_block_is_the_machine_on_landmarks(monkeypatch):
    X, Y, w = problem()
    target, kernel = Target(Y, w), KERNELS["smooth"]
    monkeypatch.setattr(block_ridge, "FIRST_STOP", (TOLERANCE, ITERATIONS))
    machine = BlockRidge(kernel, X, places(), M, -4.0)
    found = machine.model(target, machine.solve(target, sweeps=1))
    wanted = LandmarkRidge(kernel, X[places()], X, -4.0).solve(target)
    K = kernel(X, X[places()])
    np.testing.assert_allclose(found.predict(K), wanted.predict(K), atol=1e-3 * np.ptp(Y))


def test_more_landmarks_start_from_the_same_function():
    X, Y, w = problem()
    target = Target(Y, w)
    few = BlockRidge(KERNELS["rough"], X, places()[:SIZE], SIZE, -4.0)
    start = few.at(few.first.solve(target))
    more = few.extended(places()[SIZE:])
    now = more.descend(target, start, [])
    assert now.a.shape == (M, 1)
    np.testing.assert_array_equal(now.f, start.f)
    assert more.objective(target, now) == pytest.approx(few.objective(target, start))
    fresh = BlockRidge(KERNELS["rough"], X, places(), SIZE, -4.0)
    found, wanted = (
        machine.solve(target, begin, tolerance=1e-8, sweeps=300)
        for machine, begin in ((more, start), (fresh, None))
    )
    np.testing.assert_allclose(found.f, wanted.f, atol=1e-3 * np.ptp(Y))


def test_a_weight_of_two_is_two_rows():
    X, Y, _ = problem(100)
    kernel, Z, w = KERNELS["rough"], np.arange(60), np.ones(100)
    w[:20] = 2.0
    again = np.r_[np.arange(100), np.arange(20)]
    found, wanted = (
        BlockRidge(kernel, rows, Z, SIZE, -3.0).solve(target, tolerance=1e-9, sweeps=200).f
        for rows, target in (
            (X, Target(Y, w)),
            (X[again], Target(Y[again], np.ones(120))),
        )
    )
    np.testing.assert_allclose(found, wanted[:100], atol=1e-3 * np.ptp(Y))


def test_rows_of_no_weight_have_no_say():
    X, Y, w = problem()
    w[200:] = 0.0
    Y[200:] = 1e3
    machine = BlockRidge(KERNELS["smooth"], X, places(), SIZE, -3.0)
    assert np.abs(machine.solve(Target(Y, w)).f).max() < 10


def test_the_number_of_threads_changes_nothing():
    X, Y, w = problem(2000)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            machine = BlockRidge(KERNELS["sum"], X, places(2000), SIZE, -4.0)
            found.append(machine.solve(Target(Y, w), sweeps=2).f)
    np.testing.assert_array_equal(*found)


def test_two_blocks_of_kernel_values_are_in_memory(monkeypatch):
    """Those of the first landmarks and those of the block that is solved."""
    X, Y, w = problem()
    alive, most = set(), []
    keep = LandmarkRidge._keep

    class Counted(LandmarkRidge):
        def _keep(self):
            keep(self)
            alive.add(id(self))
            most.append(len(alive))

        def __del__(self):
            alive.discard(id(self))

    monkeypatch.setattr(block_ridge, "LandmarkRidge", Counted)
    machine = BlockRidge(KERNELS["smooth"], X, places(), SIZE, -3.0)
    machine.solve(Target(Y, w), tolerance=0.0, sweeps=2)
    assert len(most) > 8
    assert max(most) == 2


def test_blocks_fit_in_memory():
    assert block_size(200_000, np.float32, 2.4e9) == 3000
    assert block_size(200_000, np.float64, 2.4e9) == 1500
    assert block_size(10**9, np.float32, 1e6) == 1


@pytest.mark.parametrize("number", [1, 20, 21, 97])
def test_blocks_divide_the_landmarks_evenly(number):
    Z = problem(number)[0]
    blocks = similar_blocks(KERNELS["sum"], Z, 20, np.random.default_rng(0))
    np.testing.assert_array_equal(np.sort(np.concatenate(blocks)), np.arange(number))
    sizes = [len(block) for block in blocks]
    assert len(blocks) == -(-number // 20)
    assert max(sizes) <= 20
    assert max(sizes) - min(sizes) <= 1


def test_blocks_have_similar_landmarks():
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.repeat(np.arange(2), 50))
    Z = rng.normal(size=(100, 3)) + 20.0 * groups[:, None]
    for block in similar_blocks(KERNELS["smooth"], Z, 50, rng):
        assert len(set(groups[block])) == 1
