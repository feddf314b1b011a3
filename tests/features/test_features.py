"""Features whose inner products are the kernel: exactly where they say so, else in the mean."""

import numpy as np
import pytest

from kernalign import (
    Dirichlet,
    Fourier,
    Gaussian,
    Laplacian,
    LearnedKernel,
    Linear,
    Matern,
    Polynomial,
)
from kernalign.features import (
    ExplicitMap,
    NystroemMap,
    choose_landmarks,
    has_exact_features,
)
from kernalign.features.landmarks import METHODS, pivots


def rows(n=40, d=3, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def combination(*kernels):
    return LearnedKernel(list(kernels), np.arange(1.0, len(kernels) + 1))


def one_family(family, *sigmas):
    """Members that share their family, as learners return them."""
    return [family.at(sigma) for sigma in sigmas]


COMBINATIONS = [
    combination(*one_family(Gaussian(), 1.0, 3.0), Linear().at([1.0, 0.5, 0.0])),
    combination(Gaussian(ard=True).at([1.0, 2.0, np.inf]), *one_family(Laplacian(), 2.0, 1.0)),
    combination(*one_family(Matern(2.5), 1.0, 2.0), Polynomial(2).at(1.0)),
]


# --- landmarks -----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kernel", COMBINATIONS, ids=range(3))
def test_landmarks_are_distinct_rows_and_features_give_the_kernel_there(kernel, method):
    X = rows(60)
    Z = choose_landmarks(kernel, X, 9, np.random.default_rng(0), method)
    assert len(Z) == len(np.unique(Z, axis=0)) <= 9
    assert all((row == X).all(axis=1).any() for row in Z)
    phi = NystroemMap(kernel, Z).transform(Z)
    np.testing.assert_allclose(phi @ phi.T, kernel(Z), atol=1e-6)


def test_all_rows_as_landmarks_are_exact():
    X = rows()
    kernel = COMBINATIONS[0]
    phi = NystroemMap.on(kernel, X, 1000, np.random.default_rng(0)).transform(X)
    np.testing.assert_allclose(phi @ phi.T, kernel(X), atol=1e-6)


def test_features_are_the_projection_on_the_landmarks():
    """phi'phi = K_xz K_zz^{-1} K_zx."""
    X, Z = rows(), rows(6, seed=1)
    kernel = COMBINATIONS[0]
    phi = NystroemMap(kernel, Z).transform(X)
    naive = kernel(X, Z) @ np.linalg.solve(kernel(Z), kernel(Z, X))
    np.testing.assert_allclose(phi @ phi.T, naive, atol=1e-6)


def test_pivots_of_a_kernel_of_low_rank_are_as_many_as_its_rank():
    """Linear in three dimensions: three rows explain all others."""
    kernel = combination(Linear().at([1.0, 1.0, 1.0]))
    X = rows(500)
    assert len(pivots(kernel, X, 50, np.random.default_rng(0))) == 3
    assert len(choose_landmarks(kernel, X, 50, np.random.default_rng(0))) == 3


def test_pivots_explain_more_than_chance():
    """A dense cluster and a few rows far away, which chance misses and pivots find."""
    X = np.vstack([0.1 * rows(400), 10 + rows(12, seed=1)])
    kernel = combination(Gaussian().at(1.0))

    def unexplained(method):
        phi = NystroemMap.on(kernel, X, 20, np.random.default_rng(0), method).transform(X)
        return np.trace(kernel(X) - phi @ phi.T)

    assert unexplained("pivots") < 0.5 * unexplained("uniform")
    assert unexplained("kmeans++") < 0.5 * unexplained("uniform")


def test_repeated_rows_are_no_second_landmark():
    X = np.repeat(rows(10), 5, axis=0)
    for method in METHODS:
        Z = choose_landmarks(COMBINATIONS[0], X, 30, np.random.default_rng(0), method)
        assert len(Z) == 10


# --- explicit features ---------------------------------------------------------------------------


def test_families_with_features_are_exact():
    X = rows()
    kernel = combination(
        Fourier().at([1.0, -2.0, 0.5]),
        Linear().at([1.0, 0.0, 0.5]),
        Dirichlet(columns=[1]).at(3.0),
    )
    assert has_exact_features(kernel)
    features = ExplicitMap(kernel, 10, 3, np.random.default_rng(0))
    phi = features.transform(X)
    assert phi.shape == (40, features.n_features) == (40, 3 + 3 + 3)
    np.testing.assert_allclose(phi @ phi.T, kernel(X), atol=1e-12)


@pytest.mark.parametrize(
    "member",
    [
        Gaussian().at(1.5),
        Gaussian(ard=True).at([1.0, 3.0, np.inf]),
        Laplacian().at(2.0),
        Laplacian(ard=True).at([1.0, 4.0, np.inf]),
        Matern(0.5).at(1.0),
        Matern(1.5).at(1.5),
        Matern(2.5, ard=True).at([1.0, 2.0, 5.0]),
        Gaussian(columns=[0, 2]).at(1.0),
    ],
    ids=repr,
)
def test_random_features_are_the_kernel_in_the_mean(member):
    """Within four standard errors of a mean of cosines, which is at most 1/sqrt(2 waves)."""
    X = rows(12)
    waves = 40_000
    kernel = LearnedKernel([member], np.array([2.0]))
    phi = ExplicitMap(kernel, 2 * waves, 3, np.random.default_rng(0)).transform(X)
    assert phi.shape[1] == 2 * waves
    np.testing.assert_allclose(phi @ phi.T, kernel(X), atol=2 * 4 / np.sqrt(2 * waves))
    # Cosine and sine together: the diagonal has no error at all.
    np.testing.assert_allclose((phi**2).sum(axis=1), 2.0)


def test_random_features_are_shared_out_by_weight():
    kernel = LearnedKernel([Gaussian().at(1.0), Laplacian().at(1.0)], np.array([3.0, 1.0]))
    features = ExplicitMap(kernel, 400, 3, np.random.default_rng(0))
    assert [omega.shape[1] for omega in features.frequencies] == [150, 50]


def test_kernel_without_fourier_features_is_named():
    kernel = combination(Polynomial(2).at(1.0))
    with pytest.raises(ValueError, match=r"Got Polynomial: use solver='nystroem'"):
        ExplicitMap(kernel, 10, 3, np.random.default_rng(0))
