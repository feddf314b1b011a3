"""Evidence and leave-one-out loss against their definitions, and their gradients."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from kernalign.criteria.evidence import Evidence, LeaveOneOut
from kernalign.gram import Target
from kernalign.kernels import Gaussian

CRITERIA = [Evidence, LeaveOneOut]
NOISE = 0.3


def problem(n=12, outputs=2, weighted=True, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    weight = rng.uniform(0.5, 2, n) if weighted else np.ones(n)
    return X, Target(rng.normal(size=(n, outputs)), weight)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_gradient_in_k_and_noise(criterion):
    X, target = problem()
    f = criterion(target)
    rng = np.random.default_rng(1)
    K = Gaussian().at(1.5)(X)
    direction = rng.normal(size=K.shape)
    direction += direction.T
    slope, h = f.evaluate(K, NOISE), 1e-6
    up, down = (f.evaluate(K + s * h * direction, NOISE).value for s in (1, -1))
    assert np.vdot(slope.G, direction) == pytest.approx((up - down) / (2 * h), rel=1e-6)
    up, down = (f.evaluate(K, NOISE + s * h).value for s in (1, -1))
    assert slope.noise == pytest.approx((up - down) / (2 * h), rel=1e-6)


def test_evidence_is_that_of_a_gaussian_process():
    X, target = problem(outputs=1, weighted=False)
    K = Gaussian().at(1.5)(X)
    y = target.centred[:, 0]
    A = K + NOISE * np.eye(len(y))
    scale = y @ np.linalg.solve(A, y) / len(y)
    kernel = ConstantKernel(scale) * (RBF(1.5 / np.sqrt(2)) + WhiteKernel(NOISE))
    process = GaussianProcessRegressor(kernel, alpha=0, optimizer=None).fit(X, y)
    expected = -process.log_marginal_likelihood(process.kernel_.theta) / len(y)
    ours = Evidence(target).evaluate(K, NOISE).value + 0.5 * (1 + np.log(2 * np.pi))
    assert ours == pytest.approx(expected, rel=1e-10)
    # No other multiple of A explains the labels better.
    for other in (0.9, 1.1):
        process = GaussianProcessRegressor(
            ConstantKernel(other * scale) * (RBF(1.5 / np.sqrt(2)) + WhiteKernel(NOISE)),
            alpha=0,
            optimizer=None,
        ).fit(X, y)
        assert -process.log_marginal_likelihood(process.kernel_.theta) / len(y) > expected


def test_evidence_counts_a_row_of_weight_three_as_three_rows():
    X, target = problem(outputs=2, weighted=False)
    weight = np.array([3.0, 1, 2, *np.ones(len(X) - 3)])
    times = weight.astype(int)
    repeated = Target(np.repeat(target.values, times, axis=0), np.ones(times.sum()))
    K = Gaussian().at(1.5)
    once = Evidence(Target(target.values, weight)).evaluate(K(X), NOISE)
    twice = Evidence(repeated).evaluate(K(np.repeat(X, times, axis=0)), NOISE)
    assert once.value == pytest.approx(twice.value, rel=1e-9)
    assert once.noise == pytest.approx(twice.noise, rel=1e-7)


def test_leave_one_out_trains_a_machine_without_each_row():
    X, target = problem()
    K, Y, w = Gaussian().at(1.5)(X), target.centred, target.weight
    total = 0.0
    for i in range(len(X)):
        rest = np.delete(np.arange(len(X)), i)
        A = K[np.ix_(rest, rest)] + NOISE * np.diag(1 / w[rest])
        total += w[i] * ((Y[i] - K[i, rest] @ np.linalg.solve(A, Y[rest])) ** 2).sum()
    expected = 0.5 * np.log(total / (w.sum() * Y.shape[1]))
    assert LeaveOneOut(target).evaluate(K, NOISE).value == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_matrix_without_a_factor_is_infinitely_bad(criterion):
    X, target = problem()
    assert criterion(target).evaluate(-np.eye(len(X)), NOISE).value == np.inf


@pytest.mark.parametrize("criterion", CRITERIA)
def test_labels_without_spread_are_explained_by_every_kernel_alike(criterion):
    X, _ = problem()
    slope = criterion(Target(np.ones((len(X), 1)), np.ones(len(X)))).evaluate(np.eye(len(X)), NOISE)
    assert slope.value == slope.noise == 0
    assert not slope.G.any()
