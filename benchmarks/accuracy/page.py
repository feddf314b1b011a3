"""The page: errors by task, ranks with a critical-difference diagram, wins and losses, times."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.accuracy.bars import OURS, SPLITS, ranked, small
from benchmarks.accuracy.peers import VARIANTS
from experiments.cells import Row
from experiments.report import STYLE
from experiments.statistics import Mean, mean, paired, pairs, values_of

TITLES = {
    "classification": "Classification: wrong classes, %",
    "regression": "Regression: squared error over the variance of the response, %",
}
#: Many columns: a wide page, on which the names of the tasks stay in sight.
WIDE = (
    "body{max-width:1800px} td:first-child,th:first-child{position:sticky;left:0;background:#fff}"
)
#: In a cell without a figure.
NONE = "-"


def write_page(rows: Sequence[Row], directory: Path) -> Path:
    """accuracy.html beside the rows, self-contained."""
    body = "".join(_part(rows, name) for name in TITLES)
    machines = sorted({row["machine"] for row in rows})
    page = directory / "accuracy.html"
    page.write_text(
        "<!doctype html><html lang=en><meta charset=utf-8>"
        '<meta name=viewport content="width=device-width">'
        f"<title>Accuracy</title><style>{STYLE}{WIDE}</style><h1>Accuracy of the default fit</h1>"
        f"<p class=note>{html.escape('; '.join(machines))}. Means ± standard errors, "
        "over the splits that all methods with five or more splits share; the lowest is bold. "
        "A method with fewer splits has their number in brackets. Made by "
        "python -m benchmarks accuracy.</p>"
        f"{body}</html>\n",
        encoding="utf-8",
    )
    return page


def _part(rows: Sequence[Row], experiment: str) -> str:
    errors = values_of(rows, experiment, "error")
    found = dict.fromkeys(m for e in errors.values() for m in e)
    methods = sorted(found, key=lambda m: (m in VARIANTS, m != OURS))
    if not methods:
        return ""
    return (
        f"<h2>{TITLES[experiment]}</h2>"
        + _errors(errors, methods)
        + _diagram(errors, experiment)
        + _duels(errors, methods)
        + _times(rows, experiment, methods)
    )


def _table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{html.escape(h)}</th>" for h in header)
    body = "".join("<tr>" + "".join(f"<td>{c}</td>" for c in line) + "</tr>" for line in lines)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"<div class=scroll>{table}</div>"


def _errors(errors: dict, methods: Sequence[str]) -> str:
    lines = []
    for task, found in errors.items():
        shared = shared_splits(found)
        means = {m: mean_of(found[m], shared) for m in methods if found.get(m)}
        best = min((v.value for v in means.values() if v.n == len(shared)), default=np.nan)
        line = [html.escape(task), str(len(shared))]
        for m in methods:
            if m not in means:
                line.append(NONE)
                continue
            text = f"{100 * means[m].value:.1f}"
            if means[m].n > 1:
                text += f" ± {100 * means[m].error:.1f}"
            if means[m].n < len(shared):
                text += f" <small>({means[m].n})</small>"
            best_here = means[m].value == best and means[m].n == len(shared)
            line.append(f"<b>{text}</b>" if best_here else text)
        lines.append(line)
    return _table(["task", "splits", *methods], lines)


def shared_splits(found: dict[str, dict[int, float]]) -> set[int]:
    """Splits of a task that all methods have, of those with five or more, or else with most."""
    most = max(len(values) for values in found.values())
    full = [set(values) for values in found.values() if len(values) >= min(SPLITS, most)]
    return set.intersection(*full)


def mean_of(values: dict[int, float], shared: set[int]) -> Mean:
    """Over the shared splits; over its own if a method does not have them all."""
    kept = shared if shared <= set(values) else set(values)
    return mean([values[split] for split in sorted(kept)])


def _diagram(errors: dict, experiment: str) -> str:
    """Ranks, where there are tasks that several methods ran on."""
    # matplotlib is slow to import and a run does not need it.
    import matplotlib.pyplot as plt

    from experiments.figures import plot_critical_difference, svg

    found = ranked(small(errors))
    if found is None:
        return ""
    figure, ax = plt.subplots(figsize=(9, 0.9 + 0.3 * len(found.methods)))
    plot_critical_difference(ax, found, {})
    caption = (
        f"Mean ranks over the {len(found.tasks)} tasks with at most 2000 rows to fit of which all "
        f"these methods have {SPLITS} splits or more; methods joined by a bar "
        f"do not differ (Nemenyi, 5 %). Friedman p = {found.p_value:.2g}."
    )
    picture = svg(figure, f"ranks {experiment}")
    return f"<figure>{picture}<figcaption>{caption}</figcaption></figure>"


def _duels(errors: dict, methods: Sequence[str]) -> str:
    """The default fit against each other method: a task counts once, by its mean error."""
    lines = []
    for other in methods:
        ours, theirs = pairs(errors, OURS, other)
        if other == OURS or not ours:
            continue
        p = paired((100 * np.array(ours)).tolist(), (100 * np.array(theirs)).tolist())
        d = p.difference
        interval = f"{d.value:+.2f} ± {2 * d.error:.2f}" if d.n > 1 else f"{d.value:+.2f}"
        counts = [str(d.n), str(p.smaller), str(p.larger)]
        lines.append([html.escape(other), *counts, interval, f"{p.p_value:.2g}"])
    header = ["against", "tasks", "lower", "higher", "mean difference ± two standard errors", "p"]
    title = "Error of the default fit against each method (points; p by Wilcoxon over tasks)"
    return f"<h3>{title}</h3>" + _table(header, lines)


def _times(rows: Sequence[Row], experiment: str, methods: Sequence[str]) -> str:
    lines = []
    for metric, label in (("fit_seconds", "fit"), ("predict_seconds", "predict")):
        table = values_of(rows, experiment, metric)
        median = [f"median processor seconds to {label}"]
        ratio = ["as a multiple of kernalign's, median over common tasks"]
        for m in methods:
            values = [v for found in table.values() for v in found.get(m, {}).values()]
            median.append(f"{np.median(values):.2g}" if values else NONE)
            theirs, ours = pairs(table, m, OURS)
            ratio.append(f"{np.median(np.divide(theirs, ours)):.2g}" if ours else NONE)
        lines += [median, ratio]
    return _table(["", *methods], lines)
