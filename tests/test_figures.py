"""Figures of README and documentation are those of the stored results."""

import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks import tables
from benchmarks.accuracy import summary, tasks
from benchmarks.accuracy.bars import OURS, distances
from benchmarks.accuracy.run import RESULTS
from experiments import results
from experiments.statistics import values_of

ROOT = Path(__file__).parents[1]
README = re.sub(r"\s+", " ", (ROOT / "README.md").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def rows():
    return results.read(RESULTS)


def test_the_table_of_accuracy_is_that_of_the_stored_rows(rows):
    assert summary.TABLE.read_text(encoding="utf-8") == summary.accuracy_table(rows)


def test_the_table_of_tables_is_that_of_the_stored_rows():
    assert tables.TABLE.read_text(encoding="utf-8") == tables.summary(tables.read())


def test_ranks_in_the_readme(rows):
    found = summary.classification_ranks(rows)
    rank = dict(zip(found.methods, found.mean_ranks, strict=True))
    assert (
        f"On {len(found.tasks)} classification tasks with at most 2000 rows, the mean rank of the "
        f"default is {rank[OURS]:.1f} of {len(rank)} methods (a tuned SVM {rank['tuned SVC']:.1f}, "
        f"CatBoost {rank['CatBoost']:.1f}, RealMLP {rank['RealMLP']:.1f})."
    ) in README


def test_losses_in_the_readme(rows):
    worst = summary.worst_tasks(rows)
    assert list(worst)[:4] == ["heart", "german", "iris", "thyroid"]
    heart, german, iris, thyroid = list(worst.values())[:4]
    assert (
        f"by {heart:.1f} points on heart, {german:.1f} on german, {iris:.1f} on iris and "
        f"{thyroid:.1f} on thyroid."
    ) in README


def test_regression_in_the_readme(rows):
    errors = values_of(rows, "regression", "error")
    found = distances(errors, tasks.SMALL_PUBLIC_REGRESSION)
    assert (
        f"On {len(found)} public regression tasks it is at most {max(found.values()):.1f} points "
        "of variance behind the best."
    ) in README


def test_tables_in_the_readme():
    stored = tables.read()
    errors, seconds = tables.means(stored, "error"), tables.means(stored, "seconds")
    names = [n for n in tables.TABLES if all((n, m) in errors for m in tables.METHODS)]
    ranks = {m: np.mean(places) for m, places in tables.ranks_of(errors, names).items()}
    ratios = [seconds[n, tables.OURS] / seconds[n, tables.CATBOOST] for n in names]
    assert (
        f"On {len(names)} public tables with categories and missing cells, the mean rank is "
        f"{ranks[tables.OURS]:.1f} of {len(ranks)} (CatBoost {ranks[tables.CATBOOST]:.1f})."
    ) in README
    assert (
        f"On the table ames, {errors['ames', tables.OURS]:.1f} % of the variance is left "
        f"(CatBoost: {errors['ames', tables.CATBOOST]:.1f} %)."
    ) in README
    assert (
        f"takes {np.median(ratios):.1f} times as long as CatBoost's in the median, and at most "
        f"{max(ratios):.1f} times."
    ) in README
