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
from experiments.statistics import mean, paired, pairs, values_of

TITLES = {
    "classification": "Classification: wrong classes, %",
    "regression": "Regression: squared error over the variance of the response, %",
}
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
        f"<title>Accuracy</title><style>{STYLE}</style><h1>Accuracy of the default fit</h1>"
        f"<p class=note>{html.escape('; '.join(machines))}. Means over repeats ± standard errors; "
        "the lowest error of a row is bold, among methods with all of its repeats. Made by "
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
        means = {m: mean(list(found[m].values())) for m in methods if found.get(m)}
        most = max(v.n for v in means.values())
        best = min(v.value for v in means.values() if v.n == most)
        line = [html.escape(task)]
        for m in methods:
            if m not in means:
                line.append(NONE)
                continue
            text = f"{100 * means[m].value:.1f}"
            if means[m].n > 1:
                text += f" ± {100 * means[m].error:.1f}"
            line.append(f"<b>{text}</b>" if means[m].value == best and means[m].n == most else text)
        lines.append(line)
    return _table(["task", *methods], lines)


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
    """Tasks that the default fit wins, ties and loses against each other method."""
    lines = []
    for other in methods:
        if other == OURS:
            continue
        won = tied = lost = 0
        for task, found in errors.items():
            a, b = pairs({task: found}, OURS, other)
            if not a:
                continue
            p = paired(a, b)
            sure = p.p_value < 0.05
            won += sure and p.difference.value < 0
            lost += sure and p.difference.value > 0
            tied += not sure
        a, b = pairs(errors, OURS, other)
        if not a:
            continue
        d = mean((100 * np.subtract(a, b)).tolist())
        interval = f"{d.value:+.2f} ± {2 * d.error:.2f}" if d.n > 1 else f"{d.value:+.2f}"
        lines.append([html.escape(other), str(won), str(tied), str(lost), interval])
    header = ["against", "wins", "ties", "losses", "mean difference, points ± two standard errors"]
    return "<h3>Wins, ties and losses of the default fit (Wilcoxon, 5 %)</h3>" + _table(
        header, lines
    )


def _times(rows: Sequence[Row], experiment: str, methods: Sequence[str]) -> str:
    lines = []
    for metric, label in (("fit_seconds", "fit"), ("predict_seconds", "predict")):
        table = values_of(rows, experiment, metric)
        line = [f"median processor seconds to {label}"]
        for m in methods:
            values = [v for found in table.values() for v in found.get(m, {}).values()]
            line.append(f"{np.median(values):.2g}" if values else NONE)
        lines.append(line)
    return _table(["", *methods], lines)
