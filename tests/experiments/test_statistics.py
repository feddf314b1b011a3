"""Statistics against values computed by hand."""

import numpy as np
import pytest

from experiments import statistics


def rows(table, metric="error", experiment="e"):
    """Rows of {task: {method: values of the repeats}}."""
    return [
        {"experiment": experiment, "task": task, "method": method, "repeat": repeat,
         "status": "done", metric: value}
        for task, methods in table.items()
        for method, values in methods.items()
        for repeat, value in enumerate(values)
    ]  # fmt: skip


def test_mean_and_standard_error():
    found = statistics.mean([1, 2, 3, 4])
    # s^2 = (2.25 + 0.25 + 0.25 + 2.25) / 3 = 5/3
    assert found.value == 2.5
    assert found.error == pytest.approx(np.sqrt(5 / 3) / 2)
    assert np.isnan(statistics.mean([1.0]).error)


def test_ties_share_their_mean_rank():
    found = statistics.ranks(np.array([[0.1, 0.2, 0.2], [0.3, 0.3, 0.3]]))
    np.testing.assert_array_equal(found, [[1, 2.5, 2.5], [2, 2, 2]])


def test_median_ranks_over_tasks():
    table = {
        "t1": {"A": {0: 1.0, 1: 3.0}, "B": {0: 2.0, 1: 2.0}, "C": {0: 5.0, 1: 5.0}},
        "t2": {"A": {0: 1.0}, "B": {0: 2.0}, "C": {0: 3.0}},
        "t3": {"A": {0: 9.0}, "B": {0: 2.0}, "C": {0: 3.0}},
        "without B": {"A": {0: 0.0}, "C": {0: 1.0}},
    }
    found = statistics.compare(table, ["A", "B", "C"])
    assert found.tasks == ["t1", "t2", "t3"]
    np.testing.assert_array_equal(found.ranks, [[1.5, 1.5, 3], [1, 2, 3], [3, 1, 2]])
    np.testing.assert_array_equal(found.median_ranks, [1.5, 1.5, 3])


def test_friedman_by_hand():
    # Four tasks in the same order: chi^2 = 12 N / (k (k+1)) sum (R_j - (k+1)/2)^2 = 4 * 2 = 8,
    # and for two degrees of freedom p = exp(-8 / 2).
    table = np.array([[1.0, 2.0, 3.0]] * 4)
    assert statistics.friedman(table) == pytest.approx(np.exp(-4))
    assert np.isnan(statistics.friedman(np.ones((4, 3))))


def test_nemenyi_is_demsars():
    # Demsar (2006), table 5: q = 2.569 for four classifiers; his example with 14 data sets.
    assert statistics.nemenyi(4, 14) == pytest.approx(2.569 * np.sqrt(4 * 5 / (6 * 14)), abs=1e-3)
    assert statistics.nemenyi(2, 10) == pytest.approx(1.960 * np.sqrt(6 / 60), abs=1e-3)


def test_wilcoxon_by_hand():
    # All five differences negative: p = 2 / 2^5.
    found = statistics.paired([1, 2, 3, 4, 5], [2, 4, 6, 8, 10])
    assert found.p_value == pytest.approx(2 / 32)
    assert (found.smaller, found.larger) == (5, 0)
    assert found.difference.value == -3
    assert statistics.paired([1, 2], [1, 2]).p_value == 1


def test_pairs_are_repeats_of_one_task_and_means_of_several():
    one = statistics.values_of(rows({"t": {"A": [1, 2], "B": [3, 4]}}), "e", "error")
    assert statistics.pairs(one, "A", "B") == ([1, 2], [3, 4])
    table = {"t": {"A": [1, 2], "B": [3, 4]}, "u": {"A": [5], "B": [6, 8]}}
    two = statistics.values_of(rows(table), "e", "error")
    assert statistics.pairs(two, "A", "B") == ([1.5, 5], [3.5, 6])


def test_groups_of_ranks_within_the_critical_difference():
    assert statistics.groups([1, 1.5, 2.4, 4], 1.0) == [(0, 1), (1, 2)]
    assert statistics.groups([1, 3, 5], 1.0) == []
    assert statistics.groups([1, 2, 3], 9.0) == [(0, 2)]


def test_rises_are_those_of_fitted_lines():
    values = np.random.default_rng(0).normal(size=(3, 7))
    slopes = [np.polyfit(range(7), row, 1)[0] * 6 for row in values]
    np.testing.assert_allclose(statistics.rises(values), slopes)
