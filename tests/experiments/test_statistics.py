"""Statistics against values computed by hand."""

import numpy as np
import pytest

from experiments import statistics
from experiments.rules import (
    NO_DATA,
    NOT,
    REPRODUCED,
    UNCLEAR,
    AtMost,
    BestInTasks,
    Close,
    Found,
    InBand,
    Order,
    Ratio,
    Smaller,
    Trend,
)


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


LOW, HIGH = [0.10 + 0.001 * k for k in range(10)], [0.20 + 0.002 * k for k in range(10)]


@pytest.mark.parametrize(
    ("rule", "verdict"),
    [
        (InBand("A", 0.09, 0.12), REPRODUCED),
        (InBand("A", 0.2, 0.3), NOT),
        (InBand("A", 0.105, 0.3), UNCLEAR),
        (InBand("Z", 0, 1), NO_DATA),
        (Smaller("A", "B"), REPRODUCED),
        (Smaller("B", "A"), NOT),
        (Smaller("A", "A"), UNCLEAR),
        (Smaller("A", "B", margin=0.5), UNCLEAR),
        (Close("A", "B", 0.2), REPRODUCED),
        (Close("A", "B", 0.01), NOT),
        (Ratio("B", "A", 1.5, 2.5, metric="error"), REPRODUCED),
        (Ratio("B", "A", 3, metric="error"), NOT),
        (AtMost("error", 0.3), REPRODUCED),
        (AtMost("error", 0.15), NOT),
    ],
)
def test_rules_on_one_task(rule, verdict):
    assert rule.judge(rows({"t": {"A": LOW, "B": HIGH}}), "e").verdict == verdict
    assert rule.describe()


def test_band_that_the_mean_misses_by_less_than_its_error_is_unclear():
    values = [0.10, 0.20, 0.30]
    assert InBand("A", 0.21, 0.3).judge(rows({"t": {"A": values}}), "e").verdict == UNCLEAR


@pytest.mark.parametrize(
    ("paper", "verdict"),
    [({"A": 1, "B": 2, "C": 3}, REPRODUCED), ({"A": 3, "B": 2, "C": 1}, NOT)],
)
def test_order_of_ranks(paper, verdict):
    table = {t: {"A": [0.1], "B": [0.2], "C": [0.3]} for t in "tuv"}
    assert Order(paper).judge(rows(table), "e").verdict == verdict


def test_best_in_tasks():
    table = {t: {"A": [0.1], "B": [0.2]} for t in "tuv"} | {"w": {"A": [0.3], "B": [0.2]}}
    best = BestInTasks("A", ("A", "B"), "error", largest=False)
    assert best.judge(rows(table), "e").verdict == UNCLEAR
    worst = BestInTasks("A", ("A", "B"), "error", largest=True)
    assert worst.judge(rows(table), "e").verdict == NOT


def tasks_rising(by, spread, repeats=6):
    """Four ordered tasks, a straight rise plus noise that has mean zero over the repeats."""
    noise = spread * np.linspace(-1, 1, repeats)
    return {f"g={g}": {"A": (0.1 + by * g / 3 + noise * (-1) ** g).tolist()} for g in range(4)}


@pytest.mark.parametrize(
    ("by", "spread", "repeats", "grows", "stays"),
    [
        (0.1, 0.001, 6, REPRODUCED, NOT),
        (0.0, 0.001, 6, NOT, REPRODUCED),
        (0.0, 0.5, 6, UNCLEAR, UNCLEAR),  # not significant is not the same as no rise
        (0.1, 0.001, 4, UNCLEAR, UNCLEAR),
        (0.015, 0.1, 6, UNCLEAR, UNCLEAR),
    ],
)
def test_trend(by, spread, repeats, grows, stays):
    table = tasks_rising(by, spread, repeats)
    rising, flat = (Trend("A", tuple(table), grows=g) for g in (True, False))
    assert rising.judge(rows(table), "e").verdict == grows
    assert flat.judge(rows(table), "e").verdict == stays


def test_rise_is_that_of_a_fitted_line():
    values = np.random.default_rng(0).normal(size=(3, 7))
    slopes = [np.polyfit(range(7), row, 1)[0] * 6 for row in values]
    assert statistics.rise(values).value == pytest.approx(np.mean(slopes))


def test_found_parameters():
    cells = rows({"t": {"CA": [0.1, 0.1]}})
    cells[0]["sigmas"], cells[1]["sigmas"] = [1.0, 3.05], [1.0, 2.0]
    assert Found("CA", (1.0, 3.0), 0.1, share=0.5).judge(cells, "e").verdict == REPRODUCED
    assert Found("CA", (1.0, 3.0), 0.1).judge(cells, "e").verdict == UNCLEAR
    assert Found("CA", (7.0,), 0.1).judge(cells, "e").verdict == NOT
