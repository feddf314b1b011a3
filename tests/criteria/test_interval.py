"""The error of an alignment is the spread that repeated samples show."""

import numpy as np
import pytest

from kernalign import Gaussian, LearnedKernel
from kernalign.criteria import alignment
from kernalign.criteria.interval import held_out_alignment
from kernalign.gram import Target
from kernalign.gram.centring import centred_cosine, cross_alignment, size_and_alignment

KERNEL = LearnedKernel([Gaussian().at(1.5), Gaussian().at(5.0)], np.array([1.0, 0.3]))


def sample(n, rng, classes=2):
    X = rng.standard_normal((n, 2)) * [1.0, 2.0]
    codes = np.digitize(X[:, 0] + 0.3 * rng.standard_normal(n), [0.2, 1.0][: classes - 1])
    values = np.eye(classes)[codes] if classes > 2 else np.where(codes == 1, 1.0, -1.0)[:, None]
    return X, values


@pytest.mark.parametrize("classes", [2, 3])
def test_error_is_the_spread_over_samples(classes):
    """400 samples know their own spread to about 1/sqrt(800), 4 %; three of these are allowed."""
    rng = np.random.default_rng(0)
    found = [held_out_alignment(KERNEL, *target_of(*sample(120, rng, classes))) for _ in range(400)]
    alignments, errors = np.transpose(found)
    assert np.mean(errors) == pytest.approx(np.std(alignments), rel=0.12)


def test_alignment_is_that_of_pairs_between_the_halves():
    X, target = target_of(*sample(300, np.random.default_rng(4)))
    A, B = target.rows(slice(0, None, 2)), target.rows(slice(1, None, 2))
    naive = cross_alignment(KERNEL(X[::2], X[1::2]), A, B)
    assert held_out_alignment(KERNEL, X, target)[0] == pytest.approx(naive)


def test_labels_without_meaning_have_no_alignment():
    """The alignment within one sample is positive for any labels."""
    rng = np.random.default_rng(5)
    found, within = [], []
    for _ in range(300):
        X, target = target_of(sample(60, rng)[0], rng.choice([-1.0, 1.0], size=(60, 1)))
        found.append(held_out_alignment(KERNEL, X, target))
        within.append(size_and_alignment(KERNEL(X), target)[1])
    alignments, errors = np.transpose(found)
    assert abs(np.mean(alignments)) < 3 * np.std(alignments) / np.sqrt(300)
    assert np.min(within) > 0
    assert np.mean(np.abs(alignments) < 1.96 * errors) > 0.93


def test_error_falls_as_the_root_of_the_rows():
    rng = np.random.default_rng(1)
    errors = [
        held_out_alignment(KERNEL, *target_of(*sample(n, rng)))[1] * np.sqrt(n) for n in (400, 1600)
    ]
    assert errors[0] == pytest.approx(errors[1], rel=0.15)


def target_of(X, values):
    return X, Target(values, np.ones(len(X)))


def test_scaled_weights_change_nothing():
    X, values = sample(150, np.random.default_rng(2))
    w = np.random.default_rng(3).uniform(0.5, 2, 150)
    one = held_out_alignment(KERNEL, X, Target(values, w))
    assert held_out_alignment(KERNEL, X, Target(values, 7 * w)) == pytest.approx(one)


def test_cosine_of_centred_matrices_is_their_alignment():
    rng = np.random.default_rng(0)
    K, L = (A @ A.T for A in rng.standard_normal((2, 12, 5)))
    C = np.eye(12) - 1 / 12
    naive = alignment(C @ K @ C, C @ L @ C)
    assert centred_cosine(K, L, np.ones(12)) == pytest.approx(naive)
    repeated = np.repeat(np.arange(12), 3)
    weighted = centred_cosine(K, L, np.full(12, 3.0))
    assert centred_cosine(
        K[np.ix_(repeated, repeated)], L[np.ix_(repeated, repeated)], np.ones(36)
    ) == pytest.approx(weighted)
