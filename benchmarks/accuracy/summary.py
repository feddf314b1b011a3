"""The table of the documentation: errors and mean ranks, from the stored rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.accuracy import tasks
from benchmarks.accuracy.bars import OURS, distances, ranked, small
from benchmarks.accuracy.page import mean_of, shared_splits
from experiments.cells import Row
from experiments.statistics import Comparison, values_of

TABLE = Path(__file__).parents[2] / "docs" / "measured" / "accuracy.rst"
#: Methods and tasks of the table, with their names in it.
METHODS = {
    OURS: "kernalign",
    "tuned SVC": "tuned SVM",
    "CatBoost": "CatBoost",
    "LightGBM": "LightGBM",
    "XGBoost": "XGBoost",
    "RealMLP": "RealMLP",
    "boosting": "scikit-learn boosting",
    "forest": "random forest",
    "logistic": "logistic or ridge",
    "ridge": "logistic or ridge",
    "xRFM tuned": "xRFM tuned",
    "xRFM tabular": "xRFM tabular",
}
CLASSIFICATION = {
    "sines": "sines, n=500",
    "gaussians gamma=0": "50-d Gaussians, all features relevant, n=50",
    "gaussians gamma=40": "the same, few features relevant",
    "moons + 48": "two moons + 48 noise features, n=1000",
    "clusters n=1000": "``make_classification``, 20 features, n=1000",
    "breast cancer": "breast cancer, n=284",
}
REGRESSION = {"friedman1": "Friedman 1, n=300", **{n: n for n in tasks.SMALL_PUBLIC_REGRESSION}}
#: A task on which the default is worse than the best method by at least so many points is named.
NAMED_DISTANCE = 0.5


def classification_ranks(rows: Sequence[Row]) -> Comparison:
    """Mean ranks of all methods over the small tasks, on the splits that they have in common."""
    found = ranked(small(values_of(rows, "classification", "error")), fewest=1)
    assert found is not None
    return found


def worst_tasks(rows: Sequence[Row]) -> dict[str, float]:
    """Points by which the default is worse than the best method of a task, the largest first."""
    errors = values_of(rows, "classification", "error")
    found = distances(errors, small(errors))
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def accuracy_table(rows: Sequence[Row]) -> str:
    """reStructuredText: a list-table with a task a row and a method a column."""
    ranks = classification_ranks(rows)
    by_method = dict(zip(ranks.methods, ranks.mean_ranks, strict=True))
    names = list(dict.fromkeys(METHODS.values()))
    first = {METHODS[m]: f"{r:.1f}" for m, r in by_method.items() if m in METHODS}
    lines = [
        ".. This file is written by: python -m benchmarks accuracy --report",
        "",
        ".. list-table::",
        "   :header-rows: 1",
        "   :stub-columns: 1",
        "",
        "   * -",
        *(f"     - {name}" for name in names),
        *_line(f"mean rank of {len(ranks.methods)}, {len(ranks.tasks)} tasks", first, names),
    ]
    for experiment, shown in (("classification", CLASSIFICATION), ("regression", REGRESSION)):
        errors = values_of(rows, experiment, "error")
        for task, title in shown.items():
            lines += _line(title, _cells(errors.get(task, {})), names)
    clear = [
        METHODS.get(m, m)
        for m, r in sorted(by_method.items(), key=lambda item: item[1])
        if r - by_method[OURS] > ranks.critical_difference
    ]
    worse = {n: d for n, d in worst_tasks(rows).items() if d >= NAMED_DISTANCE}
    listed = ", ".join(f"{name} {distance:.1f}" for name, distance in worse.items())
    lines += [
        "",
        "Test error in %; from Friedman 1 on, the mean squared error in % of the variance. Means",
        "over the splits that the methods with five or more splits share. Other methods have the",
        "number of their splits in brackets.",
        "",
        f"Mean ranks differ significantly above {ranks.critical_difference:.1f} (Nemenyi, 5 %).",
        f"The methods with a significantly higher mean rank than kernalign are {', '.join(clear)}.",
        "",
        "Points by which kernalign is worse than the best method with five common splits, if at",
        f"least {NAMED_DISTANCE}: {listed}.",
        "",
    ]
    return "\n".join(lines)


def _cells(found: dict[str, dict[int, float]]) -> dict[str, str]:
    """Mean error of each method, the number of its splits if it lacks some, the smallest bold."""
    if not found:
        return {}
    shared = shared_splits(found)
    means = {METHODS[m]: mean_of(v, shared) for m, v in found.items() if m in METHODS}
    best = min(m.value for m in means.values() if m.n == len(shared))
    cells = {}
    for name, value in means.items():
        complete = value.n == len(shared)
        text = f"{100 * value.value:.1f}" + ("" if complete else f" ({value.n})")
        cells[name] = f"**{text}**" if complete and value.value == best else text
    return cells


def _line(title: str, cells: dict[str, str], names: Sequence[str]) -> list[str]:
    return [f"   * - {title}", *(f"     - {cells.get(name, '')}".rstrip() for name in names)]
