"""The kernel (sum_k mu_k kappa_k)^degree."""

import pickle

import numpy as np
import pytest

from kernalign.kernels import Gaussian, GramMatrix, LearnedKernel, Linear, Polynomial
from kernalign.kernels.base import FamilyMember
from kernalign.kernels.power_of_sum import PowerOfSum
from tests import reference

X, _ = reference.section12()
Z = X[:7] + 0.3
MU = np.array([0.7, 0.0, 1.3])
SIGMAS = (0.5, 1.0, 2.0)


def members() -> list[FamilyMember]:
    return [Gaussian().at(sigma) for sigma in SIGMAS]


def naive(A, B, degree):
    total = sum(m * reference.gaussian(A, B, s) for m, s in zip(MU, SIGMAS, strict=True))
    return total**degree


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_gram_and_diag_are_the_naive_ones(degree):
    kernel = PowerOfSum(members(), degree).at(MU)
    np.testing.assert_allclose(kernel(X), naive(X, X, degree), rtol=1e-12)
    np.testing.assert_allclose(kernel(Z, X), naive(Z, X, degree), rtol=1e-12)
    np.testing.assert_allclose(kernel.diag(X), np.diag(naive(X, X, degree)), rtol=1e-12)


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("other", [None, Z])
def test_gradient_is_the_central_difference(degree, other):
    # Linear kernels have negative entries, where an even power hides the sign of its base.
    family = PowerOfSum([*members()[:2], Linear().at([1.0, 0.5])], degree)
    family = family.resolve(X)
    W = np.random.default_rng(0).normal(size=(len(X), len(X if other is None else other)))
    mu = np.array([0.7, 0.2, 1.3])
    gradient = family.gradient(mu, X, other, W, family.gram(mu, X, other))
    for k, step in enumerate(1e-6 * np.eye(3)):
        ahead, behind = family.gram(mu + step, X, other), family.gram(mu - step, X, other)
        slope = np.vdot(W, ahead - behind) / 2e-6
        np.testing.assert_allclose(gradient[k], slope, rtol=1e-6)


def test_search_coordinates_are_the_weights():
    family = PowerOfSum(members())
    np.testing.assert_array_equal(family.from_search(family.to_search(MU)), MU)
    np.testing.assert_array_equal(family.d_sigma_d_z(MU), np.ones(3))
    with pytest.raises(TypeError, match="PolynomialMKL"):
        family.search_space(X, np.random.default_rng(0))


def test_it_is_positive_semidefinite_with_negative_entries():
    x = np.linspace(-1, 1, 20)[:, None]
    kernel = PowerOfSum([Linear().at(1.0), Gaussian().at(0.3)], 3).at([1.0, 0.2])
    assert np.linalg.eigvalsh(kernel(x)).min() > -1e-12


def test_a_learned_kernel_of_it_prints_pickles_and_compares():
    kernel = LearnedKernel([PowerOfSum(members(), 2).at(MU)], np.array([0.5]))
    assert repr(kernel) == "0.5 * (0.7 * Gaussian(sigma=0.5) + 1.3 * Gaussian(sigma=2))^2"
    copy = pickle.loads(pickle.dumps(kernel))
    assert copy == kernel
    assert hash(copy) == hash(kernel)
    np.testing.assert_array_equal(copy(Z, X), kernel(Z, X))
    np.testing.assert_allclose(kernel.diag(X), np.diag(kernel(X)), rtol=1e-12)
    assert kernel != LearnedKernel([PowerOfSum(members(), 3).at(MU)], np.array([0.5]))


def test_kernels_select_their_own_columns():
    family = PowerOfSum([Gaussian(columns=["b"]).at(1.0), Gaussian(columns=["a"]).at(2.0)])
    kernel = family.resolve(X, ["a", "b"]).at(1.0, 1.0)
    sums = reference.gaussian(X[:, 1:], X[:, 1:], 1.0) + reference.gaussian(X[:, :1], X[:, :1], 2.0)
    np.testing.assert_allclose(kernel(X), sums**2, rtol=1e-12)


def test_gram_matrices_can_stand_in_it():
    rows = np.arange(len(X))[:, None].astype(float)
    grams = [GramMatrix(reference.gaussian(X, X, s)).at() for s in SIGMAS]
    kernel = PowerOfSum(grams, 2).resolve(rows).at(MU)
    np.testing.assert_allclose(kernel(rows[:5], rows), naive(X[:5], X, 2), rtol=1e-12)


@pytest.mark.parametrize("mu", [[1.0, 2.0], [1.0, -1.0, 1.0], [1.0, np.nan, 1.0]])
def test_weights_that_are_none(mu):
    with pytest.raises(ValueError, match=r"needs as many weights in \[0, inf\)"):
        PowerOfSum(members()).at(mu)


@pytest.mark.parametrize("degree", [0, 1.5, "2"])
def test_degrees_that_are_none(degree):
    with pytest.raises(ValueError, match="'degree' parameter of PowerOfSum must be an int"):
        PowerOfSum(members(), degree).resolve(X)


def test_rows_beyond_all_scales_of_the_fit():
    X = np.random.default_rng(0).normal(size=(8, 2))
    family = PowerOfSum([Gaussian().at(1.0), Polynomial(2).at(1.0)], degree=3).resolve(X)
    kernel = family.at(1.0, 0.5)
    far = np.array([[1e200, 0.0], [-1e300, 1e300]])
    assert np.isfinite(kernel(far, X)).all()
    np.testing.assert_allclose(kernel.diag(far), np.diagonal(kernel(far)))
