"""The test of dependence: exact enumeration, exchangeability, what the draws keep, discoveries."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from kernalign import alignment_test
from kernalign.criteria.dependence import (
    DEGREE,
    ConditionalTest,
    column_features,
    discoveries,
    hermite,
    normal_scores,
    permuted_p_value,
    sequential_p_value,
    unit,
)
from tests import reference


def test_scores_do_not_depend_on_units_or_shape_and_ties_stay():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    np.testing.assert_allclose(normal_scores(X), normal_scores(np.exp(3 * X)))
    binary = normal_scores((X[:, :1] > 0).astype(float))
    assert len(np.unique(binary)) == 2
    np.testing.assert_allclose([binary.mean(), binary.std()], [0, 1], atol=1e-12)
    assert not normal_scores(np.ones((5, 1))).any()


def test_polynomials_are_orthonormal_for_a_normal_column():
    z = np.linspace(-12, 12, 20001)
    H = np.stack([np.ones_like(z), *hermite(z)])
    inner = (H * norm.pdf(z)) @ H.T * (z[1] - z[0])
    np.testing.assert_allclose(inner, np.eye(DEGREE + 1), atol=1e-8)


def test_the_statistic_is_the_numerator_of_centred_alignment():
    rng = np.random.default_rng(1)
    Phi, Y = column_features(normal_scores(rng.normal(size=(20, 2)))), rng.normal(size=(20, 2))
    Y -= Y.mean(axis=0)
    K = Phi @ Phi.T
    np.testing.assert_allclose(reference.centre(K), K, atol=1e-12)
    assert np.linalg.norm(K) == pytest.approx(1)
    inner = reference.frobenius(K, reference.centre(Y @ Y.T))
    assert np.square(Phi.T @ Y).sum() == pytest.approx(inner)


def test_few_rows_are_enumerated():
    rng = np.random.default_rng(2)
    Phi, Y = unit(rng.normal(size=(5, 3))), rng.normal(size=(5, 1))
    K, y = Phi @ Phi.T, Y[:, 0] - Y.mean()
    values = [y[list(p)] @ K @ y[list(p)] for p in permutations(range(5))]
    wanted = np.mean(np.array(values) >= y @ K @ y - 1e-12)
    assert permuted_p_value(Phi, Y, 10_000, rng) == (pytest.approx(wanted), 120)


def test_under_exchangeable_labels_the_p_value_is_uniform_on_its_grid():
    """All 24 orders of four labels in turn: no p-value is more frequent than it says."""
    rng = np.random.default_rng(3)
    Phi, Y = unit(rng.normal(size=(4, 2))), np.array([[0.0], [1.0], [3.0], [7.0]])
    found = [permuted_p_value(Phi, Y[list(p)], 24, rng)[0] for p in permutations(range(4))]
    for level in np.unique(found):
        assert np.mean(np.array(found) <= level) == pytest.approx(level)


def test_random_permutations_count_the_identity():
    rng = np.random.default_rng(4)
    z = rng.normal(size=(60, 1))
    p, number = permuted_p_value(column_features(z), z, 99, rng)
    assert (p, number) == (0.01, 99)


def test_draws_end_at_the_twentieth_as_large():
    rng = np.random.default_rng(5)
    values = rng.random(5000)
    drawn = []

    def draw(number):
        drawn.append(number)
        start = sum(drawn) - number
        return values[start : start + number]

    last = int(np.flatnonzero(values >= 0.7)[19]) + 1
    assert sequential_p_value(draw, 0.7, 5000) == 20 / last
    assert sum(drawn) < 500
    drawn.clear()
    as_large = np.sum(values >= 0.9995)
    assert sequential_p_value(draw, 0.9995, 5000) == (1 + as_large) / 5001


@pytest.mark.parametrize("group", [[2], [1, 3]])
def test_draws_keep_all_that_the_other_columns_know(group):
    """Fitted values and inner products of the residuals, which stay orthogonal to the others."""
    # Before each column gets its own values back, in the order of the draw.
    rng = np.random.default_rng(6)
    A = rng.normal(size=(40, 5))
    A[:, 2] += A[:, 0]
    Z, Y = normal_scores(A), rng.normal(size=(40, 1))
    test = ConditionalTest(Z, np.array(group), Y, rng)
    seen, found = [], []
    same = test._of_same_values
    test._of_same_values = lambda copies: seen.append(copies) or same(copies)
    test.statistic = lambda columns: found.append(columns) or np.zeros(len(columns))
    test.draw(7)
    for copy, drawn in zip(found[0], seen[0], strict=True):
        np.testing.assert_array_equal(np.sort(copy, axis=0), np.sort(Z[:, group], axis=0))
        np.testing.assert_array_equal(np.argsort(copy, axis=0), np.argsort(drawn, axis=0))
    others = np.column_stack([np.ones(40), np.delete(Z, group, axis=1)])
    fitted = others @ np.linalg.lstsq(others, Z[:, group])[0]
    e = Z[:, group] - fitted
    for copy in seen[0]:
        np.testing.assert_allclose(others.T @ (copy - fitted), 0, atol=1e-9)
        np.testing.assert_allclose(
            (copy - fitted).T @ (copy - fitted), e.T @ e, rtol=1e-6, atol=1e-6
        )
        assert np.abs(copy - Z[:, group]).max() > 0.1


def test_level_of_a_column_that_only_correlates_with_a_relevant_one():
    """300 columns of correlation 0.8: 5 % is 15, and a test given nothing would find them all."""
    rng = np.random.default_rng(7)
    below = 0
    for _ in range(100):
        common = rng.normal(size=(60, 1))
        Z = normal_scores(0.9 * common + 0.45 * rng.normal(size=(60, 4)))
        Y = Z[:, :1] + 0.3 * rng.normal(size=(60, 1))
        for j in (1, 2, 3):
            below += ConditionalTest(Z, np.array([j]), Y, rng).p_value(100) <= 0.05
    assert 4 <= below <= 28


def test_a_column_that_the_others_determine_adds_nothing():
    rng = np.random.default_rng(8)
    Z = rng.normal(size=(30, 2))
    Z = np.column_stack([Z, Z.sum(axis=1)])
    assert ConditionalTest(Z, np.array([2]), Z[:, 2:], rng).p_value(50) == 1.0


def test_discoveries_against_the_definition():
    rng = np.random.default_rng(9)
    for _ in range(20):
        p = rng.random(12) ** 3
        ordered = np.sort(p)
        k = max((i for i in range(1, 13) if ordered[i - 1] <= 0.2 * i / 12), default=0)
        assert discoveries(p, 0.2).sum() == k
        assert discoveries(p, 0.2, dependent=True).sum() <= k
    assert not discoveries(np.ones(3), 0.1).any()


# --- the function --------------------------------------------------------------------------------


def correlated(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 1] = 0.9 * X[:, 0] + 0.44 * X[:, 1]
    return X, (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)


def test_it_finds_the_column_and_not_its_companion():
    X, y = correlated()
    found = alignment_test(X, y, n_permutations=999)
    assert found.p_value == 0.001
    assert found.found == ["x0"]
    assert found.p_values[1] > 0.05
    assert 0 < found.alignment < 1
    table = pd.DataFrame(X, columns=list("abcd"))
    named = alignment_test(table, np.where(y, "yes", "no"), n_permutations=999)
    assert named.found == ["a"]
    np.testing.assert_array_equal(named.p_values, found.p_values)


def test_groups_are_tested_together_given_the_rest():
    X, y = correlated()
    found = alignment_test(
        pd.DataFrame(X, columns=list("abcd")), y, groups={"pair": ["a", "b"], "rest": ["c", 3]},
        n_permutations=499,
    )  # fmt: skip
    assert found.names == ["pair", "rest"]
    assert found.found == ["pair"]
    assert alignment_test(X, y, groups={}, n_permutations=99).found == []


def test_an_interaction_without_effects_of_its_own_is_found():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 5))
    found = alignment_test(X, np.sign(X[:, 1] * X[:, 3]).astype(int), n_permutations=999)
    assert sorted(found.found) == ["x1", "x3"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"fdr": 1.5}, "'fdr' of alignment_test must be a float in"),
        ({"n_permutations": 0}, "'n_permutations' of alignment_test must be an int in"),
        ({"random_state": None}, "'random_state' of alignment_test must be an int in"),
        ({"groups": ["a"]}, "'groups' of alignment_test must be a dict"),
        ({"groups": {"g": [9]}}, "Group 'g' of alignment_test must list columns of X"),
        ({"X": np.full((9, 2), np.nan)}, "Row 0 of column 0 holds nan"),
        ({"X": np.zeros((3, 2))}, "at least four rows"),
    ],
)
def test_bad_input_gets_one_sentence(changed, message):
    given = {"X": np.random.default_rng(0).normal(size=(9, 2)), "y": np.arange(9.0)} | changed
    given["y"] = given["y"][: len(given["X"])]
    with pytest.raises(ValueError, match=message):
        alignment_test(given.pop("X"), given.pop("y"), **given)
