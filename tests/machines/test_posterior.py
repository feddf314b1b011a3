"""Standard deviations of the Gaussian process, against scikit-learn's and against repeated rows."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel

from kernalign import Gaussian, LearnedKernel, Linear
from kernalign.gram import Target
from kernalign.machines.posterior import ROWS, Posterior
from kernalign.machines.tuned_ridge import solved_ridge

KERNEL = LearnedKernel([Gaussian().at(1.5), Linear().at(1.0)], np.array([0.7, 0.2]))


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=n)


def test_it_is_the_posterior_of_a_gaussian_process():
    X, y = rows(50)
    found = solved_ridge(KERNEL(X), Target(y[:, None], np.ones(50)), -1.0).posterior
    prior = ConstantKernel(found.scale, "fixed") * (
        KERNEL + ConstantKernel(found.constant, "fixed")
    )
    process = GaussianProcessRegressor(prior, alpha=found.scale * found.noise, optimizer=None)
    X_new, _ = rows(ROWS + 7, seed=1)
    _, of_f = process.fit(X, y - y.mean()).predict(X_new, return_std=True)
    wanted = np.sqrt(of_f**2 + found.scale * found.noise)
    np.testing.assert_allclose(found.on_rows(KERNEL, X)(X_new), wanted, rtol=1e-7)


def test_its_scale_is_the_one_of_largest_evidence():
    X, y = rows(40)
    target = Target(y[:, None], np.ones(40))
    found = solved_ridge(KERNEL(X), target, -1.0).posterior
    A = KERNEL(X) + found.constant + found.noise * np.eye(40)
    centred = y - y.mean()

    def evidence(scale):
        log_det = np.linalg.slogdet(scale * A)[1]
        return -0.5 * (centred @ np.linalg.solve(scale * A, centred) + log_det)

    assert evidence(found.scale) > max(evidence(1.01 * found.scale), evidence(0.99 * found.scale))


def test_the_deviation_at_a_row_left_out_is_the_inverse_of_its_entry():
    """var(y_i without row i) = scale / (A^-1)_ii."""
    X, y = rows(30)
    found = solved_ridge(KERNEL(X), Target(y[:, None], np.ones(30)), -1.0).posterior
    A = KERNEL(X) + found.constant + found.noise * np.eye(30)
    wanted = np.sqrt(found.scale / np.diagonal(np.linalg.inv(A)))
    for i in range(30):
        others = np.arange(30) != i
        without = found.at_rows(np.flatnonzero(others)).on_rows(KERNEL, X[others])
        assert without(X[i : i + 1])[0] == pytest.approx(wanted[i], rel=1e-8)


def test_integer_weights_are_repeated_rows():
    X, y = rows(30)
    w = np.random.default_rng(1).integers(1, 4, 30)
    copies = np.repeat(np.arange(30), w)
    once = solved_ridge(KERNEL(X), Target(y[:, None], w.astype(float)), -1.0).posterior
    target = Target(y[copies, None], np.ones(len(copies)))
    often = solved_ridge(KERNEL(X[copies]), target, -1.0).posterior
    assert once.scale == pytest.approx(often.scale, rel=1e-9)
    X_new, _ = rows(20, seed=1)
    found = once.on_rows(KERNEL, X)(X_new)
    np.testing.assert_allclose(found, often.on_rows(KERNEL, X[copies])(X_new), rtol=1e-7)


def test_without_rows_it_is_the_prior():
    X, _ = rows(5)
    prior = Posterior(2.0, 0.5, 1.0, np.empty(0)).on_rows(KERNEL, np.empty((0, 2)))
    np.testing.assert_allclose(prior(X) ** 2, 2 * (KERNEL.diag(X) + 1.5))
