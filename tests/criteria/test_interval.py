"""The error of an alignment is the spread that repeated samples show."""

import numpy as np
import pytest

from kernalign import Gaussian, LearnedKernel
from kernalign.criteria import alignment
from kernalign.criteria.interval import alignment_error
from kernalign.gram import Target
from kernalign.gram.centring import centred_cosine, size_and_alignment

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
    found, errors = [], []
    for _ in range(400):
        X, values = sample(120, rng, classes)
        target = Target(values, np.ones(len(X)))
        found.append(size_and_alignment(KERNEL(X), target)[1])
        errors.append(alignment_error(KERNEL, X, target))
    assert np.mean(errors) == pytest.approx(np.std(found), rel=0.12)


def test_error_falls_as_the_root_of_the_rows():
    rng = np.random.default_rng(1)
    errors = [alignment_error(KERNEL, *_target(*sample(n, rng))) * np.sqrt(n) for n in (400, 1600)]
    assert errors[0] == pytest.approx(errors[1], rel=0.15)


def _target(X, values):
    return X, Target(values, np.ones(len(X)))


def test_scaled_weights_change_nothing():
    X, values = sample(150, np.random.default_rng(2))
    w = np.random.default_rng(3).uniform(0.5, 2, 150)
    one = alignment_error(KERNEL, X, Target(values, w))
    assert alignment_error(KERNEL, X, Target(values, 7 * w)) == pytest.approx(one)


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
