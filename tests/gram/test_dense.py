"""Alignment between different rows against its definition."""

import numpy as np
import pytest

from kernalign import Gaussian, alignment
from kernalign.gram import Target
from kernalign.gram.dense import cross_alignment


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
