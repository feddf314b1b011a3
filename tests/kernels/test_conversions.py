"""The conversions to scikit-learn's kernels that the docstrings promise."""

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel

from kernalign.kernels import Gaussian, Laplacian, Matern, Polynomial, RationalQuadratic

X = np.random.default_rng(0).normal(size=(15, 3))
Z = np.random.default_rng(1).normal(size=(9, 3))
SIGMA = 1.7
SIGMAS = np.array([0.6, 1.7, 4.0])


def assert_same(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)


def test_gaussian_is_rbf_with_gamma_one_over_sigma_squared():
    assert_same(Gaussian().at(SIGMA)(X, Z), rbf_kernel(X, Z, gamma=1 / SIGMA**2))


def test_gaussian_per_feature_is_rbf_with_length_scales():
    theirs = gp.RBF(length_scale=SIGMAS / np.sqrt(2))
    assert_same(Gaussian(ard=True).at(*SIGMAS)(X, Z), theirs(X, Z))


def test_laplacian_is_laplacian_kernel_with_gamma_one_over_sigma():
    assert_same(Laplacian().at(SIGMA)(X, Z), laplacian_kernel(X, Z, gamma=1 / SIGMA))


def test_euclidean_laplacian_is_matern_one_half():
    distance = np.sqrt(((X[:, None] - Z) ** 2).sum(-1))
    assert_same(Matern(0.5).at(SIGMA)(X, Z), np.exp(-distance / SIGMA))


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_matern(nu):
    assert_same(Matern(nu).at(SIGMA)(X, Z), gp.Matern(length_scale=SIGMA, nu=nu)(X, Z))
    assert_same(Matern(nu, ard=True).at(*SIGMAS)(X, Z), gp.Matern(length_scale=SIGMAS, nu=nu)(X, Z))


@pytest.mark.parametrize("alpha", [0.3, 1.0, 7.0])
def test_rational_quadratic(alpha):
    theirs = gp.RationalQuadratic(length_scale=SIGMA / np.sqrt(2), alpha=alpha)
    assert_same(RationalQuadratic().at(SIGMA, alpha)(X, Z), theirs(X, Z))


def test_rational_quadratic_becomes_gaussian():
    wide, limit = RationalQuadratic().at(SIGMA, 1e8), Gaussian().at(SIGMA)
    np.testing.assert_allclose(wide(X, Z), limit(X, Z), rtol=1e-5)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_polynomial(degree):
    c = 0.3
    s2 = np.mean((X**2).sum(axis=1))
    theirs = polynomial_kernel(X, Z, degree=degree, gamma=1 / s2, coef0=c)
    assert_same(Polynomial(degree).resolve(X).at(c)(X, Z) * (1 + c) ** degree, theirs)
