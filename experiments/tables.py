"""Rows of results as tables of text, each with the paper's figures beside ours."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from experiments.cells import Row
from experiments.claims.real import RANKS, SECONDS
from experiments.configs import EXPERIMENTS, GAMMAS
from experiments.margins import SVM_ERRORS
from experiments.readings import Reading, name_of, select
from experiments.statistics import Mean, compare, mean, values_of

Values = dict[str, dict[str, dict[int, float]]]
NONE = "-"
#: What the paper says of the sine problem where it gives no figure.
SINE_PAPER = {
    **{name: f"{100 * error:g}" for name, error in SVM_ERRORS.items()},
    **dict.fromkeys(("CA", "CR"), "near 2.3"),
    **dict.fromkeys(("DA", "D1", "D2", "DU"), "far (figure)"),
}


@dataclass(frozen=True)
class Table:
    """A title, a header and cells of text; `strong` rows are summaries; `prose` has sentences."""

    title: str
    header: list[str]
    rows: list[list[str]]
    note: str = ""
    strong: int = 0
    prose: bool = False

    def to_html(self) -> str:
        head = "".join(f"<th>{html.escape(cell)}</th>" for cell in self.header)
        first_strong = len(self.rows) - self.strong
        body = []
        for number, row in enumerate(self.rows):
            cells = "".join(f"<td>{html.escape(cell)}</td>" for cell in row)
            body.append(f"<tr{' class=sum' if number >= first_strong else ''}>{cells}</tr>")
        note = f"<p class=note>{html.escape(self.note)}</p>" if self.note else ""
        return (
            f"<h3>{html.escape(self.title)}</h3><div class=scroll>"
            f"<table{' class=prose' if self.prose else ''}><thead><tr>{head}</tr>"
            f"</thead><tbody>{''.join(body)}</tbody></table></div>{note}"
        )

    def to_markdown(self) -> str:
        def line(cells: Sequence[str]) -> str:
            return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

        lines = [f"**{self.title}**", "", line(self.header), line(["---"] * len(self.header))]
        lines += [line(row) for row in self.rows]
        return "\n".join([*lines, *(["", self.note] if self.note else [])])


def number(found: Mean, factor: float = 1.0, digits: int = 1) -> str:
    """A mean with its standard error."""
    if not found.n:
        return NONE
    text = f"{factor * found.value:.{digits}f}"
    return text if found.n < 2 else f"{text} ± {factor * found.error:.{digits}f}"


def seconds(values: Sequence[float]) -> str:
    return f"{np.median(values):.2g}" if len(values) else NONE


def _all(table: Values, method: str) -> list[float]:
    return [v for methods in table.values() for v in methods.get(method, {}).values()]


#: What is added to the name of CA-nD where lambda is chosen by validation error.
BY_ERROR = " by error"


def in_reading(rows: Sequence[Row], experiment: str, choice: Reading) -> list[Row]:
    """An experiment's rows of one choice, in which either rule for lambda is a method."""
    own = [row for row in select(rows, choice) if row["experiment"] == experiment]
    return [
        {**row, "method": row["method"] + BY_ERROR}
        if row.get("reading", {}).get("lambda") == "error"
        else row
        for row in own
    ]


def methods_of(rows: Sequence[Row], experiment: str) -> list[str]:
    """Methods that have rows, in the order of the configuration."""
    present = {row["method"] for row in rows if row["experiment"] == experiment}
    names = [n for m in EXPERIMENTS[experiment]().methods for n in (m, m + BY_ERROR)]
    return [name for name in names if name in present]


def tables_of(rows: Sequence[Row], experiment: str) -> list[Table]:
    """The tables of every reading of an experiment that has rows."""
    make = {
        "dirichlet": sine_tables,
        "dirichlet-gaussian": sine_tables,
        "gaussians50": gaussians_tables,
        "landscape": landscape_tables,
    }.get(experiment, tasks_tables)
    found = []
    for choice in EXPERIMENTS[experiment]().choices:
        own = in_reading(rows, experiment, choice)
        if own:
            where = f"{name_of(choice)}: " if choice else ""
            found += [replace(t, title=f"{where}{t.title}") for t in make(own, experiment)]
    return found


def sine_tables(rows: Sequence[Row], experiment: str) -> list[Table]:
    metrics = {
        name: values_of(rows, experiment, name)
        for name in ("error", "alignment", "n_kernels", "n_clusters", "seconds", "learning")
    }
    body = []
    for method in methods_of(rows, experiment):
        found = {name: _all(table, method) for name, table in metrics.items()}
        paper = SINE_PAPER.get(method, NONE) if experiment == "dirichlet" else "nearly identical"
        body.append(
            [
                method,
                number(mean(found["error"]), 100),
                paper,
                number(mean(found["alignment"]), digits=3),
                number(mean(found["n_kernels"])),
                number(mean(found["n_clusters"])),
                seconds(found["learning"]),
                seconds(found["seconds"]),
            ]
        )
    header = ["method", "test error %", "paper %", "test alignment", "kernels", "clusters"]
    note = (
        "Seconds are medians on one core: learning the kernel (one-stage methods: all 21 values "
        "of C), and all of fitting, the choice of C included."
    )
    title = "Errors, means ± standard errors"
    return [Table(title, [*header, "s learning", "s fitting"], body, note)]


def gaussians_tables(rows: Sequence[Row], experiment: str) -> list[Table]:
    tasks = [f"gamma={g}" for g in GAMMAS]
    found = []
    for metric, label, factor, digits, note in (
        ("error", "test error %", 100.0, 1, "Bayes error 4.0 %."),
        ("alignment", "test alignment", 1.0, 3, ""),
        ("seconds", "seconds of fitting", 1.0, 2, ""),
    ):
        table = values_of(rows, experiment, metric, tasks)
        body = [
            [method]
            + [
                number(mean(list(table.get(t, {}).get(method, {}).values())), factor, digits)
                for t in tasks
            ]
            for method in methods_of(rows, experiment)
        ]
        if table:
            found.append(Table(label, ["method", *tasks], body, note))
    return found


def landscape_tables(rows: Sequence[Row], experiment: str) -> list[Table]:
    body = []
    for task in EXPERIMENTS[experiment]().tasks:
        runs = [
            row
            for row in rows
            if (row["experiment"], row["task"], row["status"]) == (experiment, task, "done")
        ]
        if runs:
            counts = [n for row in runs for n in row["minima"]]
            shares = [f"{np.mean(np.array(counts) == k):.0%}" for k in (0, 1, 2)]
            more = f"{np.mean(np.array(counts) > 2):.0%}"
            body.append([task, str(len(runs)), str(len(counts)), *shares, more])
    header = ["task", "runs", "iterations", "no minimum", "one", "two", "more"]
    note = "Minima inside the range, deeper than 1e-4 of the curve's range. Paper: at most two."
    return [Table("Local minima of h(sigma)", header, body, note)]


def tasks_tables(rows: Sequence[Row], experiment: str) -> list[Table]:
    """Errors by task with ranks and times, alignments, and errors of methods beyond the paper."""
    every = methods_of(rows, experiment)
    ours = [method for method in every if method.startswith("CA ")]
    methods = [method for method in every if method not in ours]
    errors = values_of(rows, experiment, "error")
    order = [task for task in EXPERIMENTS[experiment]().tasks if task in errors]
    summary = _summary(rows, experiment, errors, methods)
    found = [
        Table(
            "test error %, means ± standard errors",
            ["task", *methods],
            _by_task(errors, order, methods, 100.0, 1) + summary,
            _note(errors, [m for m in methods if m in RANKS.get(experiment, methods)]),
            strong=len(summary),
        )
    ]
    alignment = values_of(rows, experiment, "alignment")
    body = _by_task(alignment, order, methods, 1.0, 3)
    found.append(Table("test alignment", ["task", *methods], body))
    if ours:
        body = _by_task(errors, order, ["CA-1D", *ours], 100.0, 1)
        title = "test error % with other weights on the kernels of CA, and other ways to grow"
        found.append(Table(title, ["task", "CA-1D", *ours], body))
    return found


def _by_task(
    table: Values, order: Sequence[str], methods: Sequence[str], factor: float, digits: int
) -> list[list[str]]:
    return [
        [task]
        + [number(mean(list(table[task].get(m, {}).values())), factor, digits) for m in methods]
        for task in order
        if task in table
    ]


def _summary(
    rows: Sequence[Row], experiment: str, errors: Values, methods: Sequence[str]
) -> list[list[str]]:
    """Ranks among the methods that the paper ranks, times, kernels."""
    ranked = [m for m in methods if m in RANKS.get(experiment, dict.fromkeys(methods))]
    found = compare(errors, ranked) if len(ranked) > 1 else None
    lines: list[list[str]] = []
    if found is not None:
        median = dict(zip(found.methods, found.median_ranks, strict=True))
        average = dict(zip(found.methods, found.mean_ranks, strict=True))
        lines.append(["median rank", *(f"{median[m]:g}" if m in median else NONE for m in methods)])
        if experiment in RANKS:
            paper = RANKS[experiment]
            shown = [f"{paper[m]:g}" if m in paper else NONE for m in methods]
            lines.append(["paper's median rank", *shown])
        lines.append(
            ["mean rank", *(f"{average[m]:.1f}" if m in average else NONE for m in methods)]
        )
    for metric, label in (("learning", "s learning"), ("seconds", "s fitting")):
        table = values_of(rows, experiment, metric)
        lines.append([f"median {label}", *(seconds(_all(table, m)) for m in methods)])
    if experiment in SECONDS:
        times = SECONDS[experiment]
        lines.append(["paper's s", *(f"{times[m]:g}" if m in times else NONE for m in methods)])
    kernels = values_of(rows, experiment, "n_kernels")
    lines.append(["mean kernels", *(number(mean(_all(kernels, m))).split()[0] for m in methods)])
    return lines


def _note(errors: Values, methods: Sequence[str]) -> str:
    found = compare(errors, methods) if len(methods) > 2 else None
    if found is None:
        return ""
    return (
        f"Friedman's test over {len(found.tasks)} tasks: p = {found.p_value:.2g}; critical "
        f"difference of mean ranks {found.critical_difference:.2f} (Nemenyi, 5 %)."
    )
