"""The ridge machine that finds its own noise."""

import numpy as np
import pytest

from kernalign.criteria.kernel_sum import CONSTANT
from kernalign.gram import Target
from kernalign.gram.labels import class_target
from kernalign.kernels import Gaussian
from kernalign.machines.tuned_ridge import (
    FACTOR,
    MOST_STEPS,
    SAME_SCORE,
    class_score,
    noise_up_the_evidence,
    ridge_at,
    solved_ridge,
    tuned_ridge,
)


def problem(n=40, c=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1]])[:, :c] + 0.3 * rng.normal(size=(n, c))
    return Gaussian().at(1.5)(X), Y


def naive(K, Y, log_noise):
    """A, centred labels and the solution, for equal weights."""
    h = np.trace(K) / len(K)
    A = K + h * (CONSTANT + np.exp(log_noise) * np.eye(len(K)))
    centred = Y - Y.mean(axis=0)
    return A, centred, np.linalg.solve(A, centred), h


def test_outputs_evidence_and_slope_against_their_formulas():
    K, Y = problem(c=2)
    found = ridge_at(K.copy(), Target(Y, np.ones(40)), -1.0)
    _, _, a, h = naive(K, Y, -1.0)
    outputs = (K + CONSTANT * h) @ a + Y.mean(axis=0)
    np.testing.assert_allclose(found.model.predict(K), outputs, atol=1e-10)
    np.testing.assert_allclose(
        solved_ridge(K.copy(), Target(Y, np.ones(40)), -1.0).model.predict(K), outputs, atol=1e-10
    )

    def evidence(t):
        A, centred, a, _ = naive(K, Y, t)
        n, c = Y.shape
        return -n / 2 * np.log(np.vdot(a, centred) / (n * c)) - np.linalg.slogdet(A)[1] / 2

    assert found.evidence == pytest.approx(evidence(-1.0), rel=1e-10)
    assert found.slope == pytest.approx(
        (evidence(-1 + 1e-5) - evidence(-1 - 1e-5)) / 2e-5, rel=1e-6
    )


def test_left_out_outputs_are_those_of_machines_without_the_row():
    K, Y = problem()
    found = ridge_at(K.copy(), Target(Y, np.ones(40)), -1.0)
    A, centred, _, _ = naive(K, Y, -1.0)
    for i in range(40):
        others = np.arange(40) != i
        solution = np.linalg.solve(A[np.ix_(others, others)], centred[others])
        wanted = A[i, others] @ solution + Y.mean(axis=0)
        np.testing.assert_allclose(found.left_out[i], wanted, atol=1e-10)


def test_integer_weights_are_repeated_rows():
    K, Y = problem()
    w = np.random.default_rng(1).integers(1, 4, 40)
    copies = np.repeat(np.arange(40), w)
    weighted = ridge_at(K.copy(), Target(Y, w.astype(float)), -1.0)
    repeated = ridge_at(K[np.ix_(copies, copies)], Target(Y[copies], np.ones(w.sum())), -1.0)
    assert weighted.evidence == pytest.approx(repeated.evidence, rel=1e-9)
    assert weighted.slope == pytest.approx(repeated.slope, rel=1e-7)
    np.testing.assert_allclose(weighted.left_out[copies], repeated.left_out, atol=1e-9)
    np.testing.assert_allclose(
        weighted.model.predict(K), repeated.model.predict(K[:, copies]), atol=1e-9
    )


@pytest.mark.parametrize("start", [-6.0, 0.0, 4.0])
def test_tuning_raises_the_evidence_of_numbers(start):
    K, Y = problem(80)
    target = Target(Y, np.ones(80))
    first = ridge_at(K.copy(), target, start)
    tuned = tuned_ridge(K, target, start)
    assert tuned.evidence > first.evidence
    assert tuned_ridge(K, target, start, steps=0).log_noise == start


@pytest.mark.parametrize("classes", [2, 3])
def test_tuning_raises_the_left_out_probability_of_classes(classes):
    K, Y = problem(90)
    codes = np.digitize(Y[:, 0], np.quantile(Y, np.arange(1, classes) / classes))
    target = class_target(codes, classes, np.ones(90))
    np.testing.assert_array_equal(target.codes, codes)
    first = ridge_at(K.copy(), target, -9.0)
    tuned = tuned_ridge(K, target, -9.0, codes)
    before, after = (class_score(m.left_out, codes, target.weight) for m in (first, tuned))
    assert after > before + 1


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("first", [-9.0, -3.0, 0.0])
def test_the_noise_of_classes_is_the_largest_that_is_as_good_as_the_best(seed, first):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 4))
    K, codes = X @ X.T / 4, (X[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(int)
    target = class_target(codes, 2, np.ones(60))

    def score(log_noise):
        return class_score(ridge_at(K.copy(), target, log_noise).left_out, codes, target.weight)

    found = tuned_ridge(K, target, first, codes).log_noise
    steps = first + np.log(FACTOR) * np.arange(-MOST_STEPS, MOST_STEPS + 1)
    scores = np.array([score(step) for step in steps])
    # The scores of these problems have one maximum, so that no step is missed.
    good = steps[scores >= scores.max() - SAME_SCORE]
    assert found == pytest.approx(good.max())


def test_labels_of_noise_leak_nothing_through_the_mean():
    """Without the constant kernel, leaving a row out of many features tells its label."""
    rng = np.random.default_rng(0)
    right = []
    for _ in range(20):
        X = rng.normal(size=(40, 60))
        codes = rng.permutation(np.arange(40) % 2)
        K = X @ X.T / 60
        found = ridge_at(K, class_target(codes, 2, np.ones(40)), np.log(0.1))
        right.append(((found.left_out[:, 0] > 0) == codes).mean())
    assert 0.4 < np.mean(right) < 0.6


def test_the_noise_goes_up_while_the_evidence_rises():
    K, Y = problem(150)
    target = Target(Y, np.ones(150))
    grid = -9 + np.log(FACTOR) * np.arange(9)
    evidence = [ridge_at(K.copy(), target, log_noise).evidence for log_noise in grid]
    best = grid[int(np.argmax(evidence))]
    assert grid[0] < best < grid[-1]
    assert noise_up_the_evidence(K, target, grid[0]) == pytest.approx(best)
    # It is never lowered.
    assert noise_up_the_evidence(K, target, grid[-1]) == grid[-1]
