"""Centring and centred alignment of matrices at hand against their definition."""

import numpy as np
import pytest

from kernalign import Gaussian, LearnedKernel, alignment
from kernalign.criteria import CenteredAlignment
from kernalign.gram import Target, pair_sums
from kernalign.gram.centring import (
    centre,
    centre_block,
    cosine,
    cross_alignment,
    size_and_alignment,
)
from kernalign.gram.dictionary import dictionary_products
from tests import reference


def target(n, outputs, seed):
    rng = np.random.default_rng(seed)
    return Target(rng.normal(size=(n, outputs)), np.ones(n))


@pytest.mark.parametrize("outputs", [1, 3])
def test_cross_alignment_is_that_of_the_centred_block(outputs):
    rng = np.random.default_rng(0)
    rows, columns = target(7, outputs, 1), target(11, outputs, 2)
    K = Gaussian().at(1.0)(rng.normal(size=(7, 2)), rng.normal(size=(11, 2)))
    C_rows, C_columns = (np.eye(n) - np.ones((n, n)) / n for n in (7, 11))
    K_c = C_rows @ K @ C_columns
    T = rows.centred @ columns.centred.T
    expected = (K_c * T).sum() / (np.linalg.norm(K_c) * np.linalg.norm(T))
    assert cross_alignment(K.copy(), rows, columns) == pytest.approx(expected, rel=1e-12)


def test_a_weight_of_two_counts_as_two_rows():
    rng = np.random.default_rng(0)
    rows, columns = target(5, 2, 1), target(6, 2, 2)
    K = rng.normal(size=(5, 6))
    times = np.array([1, 2, 1, 1, 3])
    heavy = Target(rows.values, times.astype(float))
    repeated = Target(np.repeat(rows.values, times, axis=0), np.ones(times.sum()))
    assert cross_alignment(K.copy(), heavy, columns) == pytest.approx(
        cross_alignment(np.repeat(K, times, axis=0), repeated, columns), rel=1e-12
    )


def test_noise_does_not_align_with_other_rows_however_few():
    values = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X, Y = rng.normal(size=(20, 3)), np.sign(rng.normal(size=(20, 1)))
        K = Gaussian().at(0.3)(X)
        T = Target(Y, np.ones(20))
        crossed = cross_alignment(K[:5, 5:].copy(), T.rows(slice(0, 5)), T.rows(slice(5, None)))
        values.append([crossed, alignment(K[:5, :5], Y[:5] @ Y[:5].T)])
    crossed, within = np.nanmean(values, axis=0)
    assert abs(crossed) < 0.05
    assert within > 0.2


def rows_of(n, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), rng.integers(1, 4, n)


def test_centring_is_two_products_with_the_centring_matrix():
    (X, _), (Z, _) = rows_of(6, 0), rows_of(9, 1)
    K = Gaussian().at(1.0)(X, Z)
    naive = reference.centring_matrix(6) @ K @ reference.centring_matrix(9)
    np.testing.assert_allclose(centre(K.copy(), np.ones(6), np.ones(9)), naive, atol=1e-14)
    square = Gaussian().at(1.0)(X)
    np.testing.assert_allclose(
        centre(square.copy(), np.ones(6)), reference.centre(square), atol=1e-14
    )


def test_weighted_centring_is_that_of_repeated_rows():
    X, times = rows_of(7, 2)
    K = Gaussian().at(1.0)(X)
    long = np.ix_(np.repeat(np.arange(7), times), np.repeat(np.arange(7), times))
    found = centre(K.copy(), times.astype(float))
    np.testing.assert_allclose(found[long], reference.centre(K[long]), atol=1e-13)


def test_a_block_is_centred_by_the_means_of_the_whole():
    X, times = rows_of(8, 3)
    K, weight = Gaussian().at(1.0)(X), times.astype(float)
    means = K @ weight / weight.sum()
    block = centre_block(K[2:5].copy(), means[2:5], means, float(weight @ means / weight.sum()))
    np.testing.assert_allclose(block, centre(K.copy(), weight)[2:5], atol=1e-14)


@pytest.mark.parametrize("outputs", [1, 3])
def test_dense_products_and_elements_agree(outputs):
    """Three ways to the sums over pairs, one alignment; the reference repeats the rows."""
    X, times = rows_of(9, 4)
    T = Target(np.random.default_rng(5).normal(size=(9, outputs)), times.astype(float))
    kernels = [Gaussian().at(0.5), Gaussian().at(2.0)]
    weights = np.array([0.3, 1.2])
    K = LearnedKernel(kernels, weights)(X)
    again = np.repeat(np.arange(9), times)
    naive = reference.alignment(K[np.ix_(again, again)], T.values[again] @ T.values[again].T)
    size, dense = size_and_alignment(K.copy(), T)
    assert dense == pytest.approx(naive, rel=1e-12)
    long = reference.centre(K[np.ix_(again, again)])
    assert size == pytest.approx(np.trace(long) / len(again), rel=1e-12)
    products = dictionary_products(kernels, X, T)
    assert products.alignment(weights, T) == pytest.approx(naive, rel=1e-12)
    family = Gaussian(ard=True).resolve(X)
    sums = pair_sums([family], [None], X, T)
    atoms = [sums.append(0, family.to_search(np.full(2, s))) for s in (0.5, 2.0)]
    value = CenteredAlignment(sums.T).value(0.3 * atoms[0] + 1.2 * atoms[1])
    assert value == pytest.approx(naive, rel=1e-10)


def test_a_constant_kernel_is_not_aligned():
    T = target(6, 1, 0)
    assert size_and_alignment(np.full((6, 6), 3.0), T) == (1.0, 0.0)
    assert np.isnan(cross_alignment(np.full((6, 6), 3.0), T, T))
    assert cosine(1.0, 0.0, 1.0) == 0.0
