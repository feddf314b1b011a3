"""The learned kernel: a weighted sum that scikit-learn takes anywhere it takes a kernel."""

import pickle
import re

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import WhiteKernel
from sklearn.svm import SVC

from kernalign.kernels import (
    Dirichlet,
    FamilyMember,
    Gaussian,
    Laplacian,
    LearnedKernel,
    Linear,
    Matern,
    Polynomial,
)
from kernalign.kernels.learned import rows_within_budget
from tests import reference
from tests.kernels.families import CASES, problem

X = np.random.default_rng(0).normal(size=(20, 3))
Z = np.random.default_rng(1).normal(size=(13, 3))
y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] > 0, 1, -1)
WEIGHTS = np.array([0.6, 0.0, 2.5])


def test_budget_too_small_for_one_row_says_the_least_that_works():
    least = 8 * 8 * 5000 / 2**20
    with (
        config_context(working_memory=0.01),
        pytest.raises(ValueError, match="too small for one row of 5000 kernel values") as error,
    ):
        rows_within_budget(5000)
    named = float(re.search(r"Set at least ([\d.]+) MiB", str(error.value))[1])
    assert least <= named < 1.01 * least
    with config_context(working_memory=named):
        assert rows_within_budget(5000) == 1


def learned():
    return LearnedKernel(
        [Gaussian().at(1.4), Laplacian(columns=[0, 2]).at(0.8), Dirichlet(columns=[1]).at(2.0)],
        WEIGHTS.copy(),
    )


def naive(A, B):
    return (
        0.6 * reference.gaussian(A, B, 1.4)
        + 0.0 * reference.laplacian(A[:, [0, 2]], B[:, [0, 2]], 0.8)
        + 2.5 * reference.dirichlet(A[:, [1]], B[:, [1]], 2.0)
    )


def test_equals_weighted_sum():
    k = learned()
    np.testing.assert_allclose(k(X), naive(X, X), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(k(X, Z), naive(X, Z), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_weighted_sum_of_any_family(case):
    p = problem(case)
    k = LearnedKernel([FamilyMember(p.family, p.sigma)] * 2, np.array([0.5, 1.5]))
    expected = 2 * case.reference(p.X, p.sigma, p.X, p.Z)
    np.testing.assert_allclose(k(p.full, p.other_full), expected, rtol=1e-12, atol=1e-13)


def test_arguments_stay_as_they_are():
    k = learned()
    k(X)
    k(X, Z)
    k.diag(X)
    np.testing.assert_array_equal(k.weights, WEIGHTS)


def test_diag():
    k = learned()
    np.testing.assert_allclose(k.diag(Z), np.full(13, 0.6 + 2.5 * 3), rtol=1e-14)
    np.testing.assert_allclose(k.diag(X), np.diag(k(X)), rtol=1e-14)


def test_repr():
    assert repr(learned()) == (
        "0.6 * Gaussian(sigma=1.4) + 0 * Laplacian(sigma=0.8, columns=[0, 2]) "
        "+ 2.5 * Dirichlet(sigma=2, columns=[1])"
    )
    assert repr(LearnedKernel([], np.zeros(0))) == "0"


def test_empty_combination_is_zero():
    np.testing.assert_array_equal(LearnedKernel([], np.zeros(0))(X, Z), np.zeros((20, 13)))


def test_refuses_vectors():
    with pytest.raises(ValueError, match=r"two-dimensional array of rows. Got 1-D"):
        learned()(X[0])
    with pytest.raises(ValueError, match="Got 1-D"):
        learned()(X, Z[0])


def test_equality_and_hash():
    assert learned() == learned()
    assert hash(learned()) == hash(learned())
    heavier = learned()
    heavier.weights[0] = 0.7
    assert learned() != heavier
    assert learned() != LearnedKernel([Gaussian().at(1.4)], np.array([0.6]))


@pytest.mark.parametrize("copy", [clone, lambda k: pickle.loads(pickle.dumps(k))])
def test_copies_are_equal_and_independent(copy):
    # Constants of the training data travel with the kernel.
    k = LearnedKernel(
        [Linear().resolve(X).at(1, 0.5, 0.2), Polynomial(3).resolve(X).at(0.4)],
        np.array([0.6, 0.4]),
    )
    twin = copy(k)
    assert twin is not k
    np.testing.assert_array_equal(twin(X, Z), k(X, Z))
    assert twin == k
    assert repr(twin) == repr(k)
    twin.weights[0] = 0
    assert k.weights[0] == 0.6


# --- blocks --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "family",
    [
        Gaussian(),
        Laplacian(),
        Matern(0.5),
        Matern(1.5),
        Matern(2.5),
        Polynomial(2),
        Dirichlet(columns=[1]),
    ],
    ids=repr,
)
def test_blockwise_evaluation_gives_the_same_numbers(family):
    rng = np.random.default_rng(2)
    many, other = rng.normal(size=(301, 3)), rng.normal(size=(257, 3))
    k = LearnedKernel([family.resolve(many).at(1.3), Gaussian().at(0.4)], np.array([0.7, 0.3]))
    whole, rectangle = k(many), k(many, other)
    with config_context(working_memory=1):
        assert rows_within_budget(301) < 301, "one block would prove nothing"
        blocks, rectangle_blocks = k(many), k(many, other)
    np.testing.assert_allclose(blocks, whole, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(rectangle_blocks, rectangle, rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(blocks, blocks.T)
    np.testing.assert_array_equal(whole, whole.T)


def test_budget_counts_rows():
    with config_context(working_memory=1):
        # 2^20 bytes are 2^17 doubles, eight arrays of 2^5 columns hold 2^9 rows each.
        assert rows_within_budget(32) == 512
        with pytest.raises(ValueError, match="too small for one row of 1000000000 kernel values"):
            rows_within_budget(10**9)


# --- scikit-learn --------------------------------------------------------------------------------


def test_kernel_of_a_support_vector_machine():
    k = learned()
    ours = SVC(kernel=k, C=10).fit(X, y)
    precomputed = SVC(kernel="precomputed", C=10).fit(naive(X, X), y)
    np.testing.assert_allclose(
        ours.decision_function(Z), precomputed.decision_function(naive(Z, X)), rtol=1e-8
    )


def test_kernel_of_a_gaussian_process():
    k = learned()
    target = np.sin(X[:, 0])
    process = GaussianProcessRegressor(k + WhiteKernel(0.1, "fixed")).fit(X, target)
    mean, deviation = process.predict(Z, return_std=True)
    A = naive(X, X) + 0.1 * np.eye(20)
    cross = naive(Z, X)
    np.testing.assert_allclose(mean, cross @ np.linalg.solve(A, target), rtol=1e-8)
    variance = np.diag(naive(Z, Z) - cross @ np.linalg.solve(A, cross.T)) + 0.1
    np.testing.assert_allclose(deviation**2, variance, rtol=1e-7)


def test_noise_of_a_gaussian_process_is_optimised():
    k = LearnedKernel([Gaussian().at(6.0)], np.ones(1))
    noise = np.random.default_rng(3).normal(size=20)
    process = GaussianProcessRegressor(k + WhiteKernel(1.0), random_state=0).fit(X, 0.3 * noise)
    assert process.kernel_.k1 == k
    # The target is noise of variance 0.09 and the kernel too smooth to explain it.
    assert 0.03 < process.kernel_.k2.noise_level < 0.3


def test_is_a_gaussian_process_kernel_without_hyperparameters():
    k = learned()
    K, gradient = k(X, eval_gradient=True)
    np.testing.assert_array_equal(K, k(X))
    assert gradient.shape == (20, 20, 0)
    assert k.theta.size == 0
    assert k.requires_vector_input
    assert not k.is_stationary()
