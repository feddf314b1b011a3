"""The page and the summary: results, figures and verdicts next to what the paper says."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments import results
from experiments.cells import Row
from experiments.configs import EXPERIMENTS
from experiments.figures import figures_of
from experiments.pages import (
    Judged,
    asked,
    claims_table,
    judge_all,
    margins_table,
    matrix_table,
    questions_table,
    readings_table,
)
from experiments.parting import parting_table
from experiments.readings import AXES, REASONS, name_of
from experiments.tables import Table, tables_of

TITLE = "Alignment Based Kernel Learning with a Continuous Set of Base Kernels, reproduced"
ABOUT = (
    "Each statement of the paper is judged in each reading of what the paper leaves open. A rule "
    "weighs evidence for and against: one-sided t-tests over repeats for orders, two one-sided "
    "tests within a margin for figures, t-tests of logarithms for ratios of times, binomial tests "
    "for runs. A statement is reproduced, or not, if its p-value is below 5 % after the correction "
    "of Benjamini and Hochberg for the number of tests, all readings together; else it is unclear. "
    "The correction was made for each reading separately until a first page had been seen. "
    "Quoted words are those of the paper's abstract; where a statement is paraphrased, or only a "
    "table or figure is named, its wording is ours."
)
STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:#222}
h1{font-size:1.6em} h2{margin-top:2.2em;border-bottom:1px solid #ccc}
h3{font-size:1em;margin:1.4em 0 .3em} nav a{margin-right:1em}
table{border-collapse:collapse;font-size:.86em} thead th{border-bottom:1px solid #888}
td,th{padding:.2em .6em;text-align:right;white-space:nowrap}
td:first-child,th:first-child{text-align:left} tr.sum td{background:#f4f4f4}
.scroll{overflow-x:auto} .note{color:#666;font-size:.85em}
table.prose td{text-align:left;white-space:normal;vertical-align:top;border-bottom:1px solid #eee}
table.prose th{text-align:left;white-space:normal;vertical-align:bottom}
table.prose td:nth-child(2){min-width:16em}
figure{margin:1.2em 0} figure svg{max-width:100%;height:auto}
figcaption{color:#666;font-size:.85em}
"""


@dataclass(frozen=True)
class Section:
    """Everything about one experiment."""

    name: str
    title: str
    repeats: str
    claims: Table | None
    tables: list[Table]
    figures: dict[str, str]


@dataclass(frozen=True)
class Report:
    """The whole page: what is about all experiments, and one section each."""

    overview: list[Table]
    sections: list[Section]


def collect(rows: Sequence[Row]) -> Report:
    """The parts of the report; experiments without rows have claims only."""
    judged = judge_all(rows)
    done = [row for row in rows if row["status"] == "done"]
    sections = []
    for name, make in EXPERIMENTS.items():
        own = [row for row in done if row["experiment"] == name]
        about = [one for one in judged if one.claim.experiment == name]
        title = make().title
        sections.append(
            Section(
                name,
                title,
                repeats_of(own),
                claims_table(about, f"What the paper says: {title.lower()}") if about else None,
                tables_of(done, name) if own else [],
                figures_of(done, name) if own else {},
            )
        )
    return Report(overview(rows, judged), sections)


def overview(rows: Sequence[Row], judged: Sequence[Judged]) -> list[Table]:
    return [
        readings_table(judged),
        matrix_table(judged),
        questions_table(rows),
        parting_table(asked(rows)),
        margins_table(),
    ]


def repeats_of(rows: Sequence[Row]) -> str:
    """How many repeats each reading of an experiment has, and how many have times."""
    if not rows:
        return "not run"
    by_reading: dict[str, list[Row]] = {}
    for row in rows:
        by_reading.setdefault(name_of(row.get("reading", {})), []).append(row)
    parts = []
    for name, own in by_reading.items():
        cells = Counter((row["task"], row["method"]) for row in own).values()
        least, most = min(cells), max(cells)
        timed = min(Counter((r["task"], r["method"]) for r in own if "seconds" in r).values(),
                    default=0)  # fmt: skip
        number = f"{least}" if least == most else f"{least} to {most}"
        parts.append(f"{name or 'one reading'}: {number} repeats, {timed} of them with times")
    return "; ".join(parts)


def write_report(rows: Sequence[Row], directory: Path) -> list[Path]:
    """Write report.html, summary.md and figures/*.svg; returns the first two."""
    report = collect(rows)
    (directory / "figures").mkdir(parents=True, exist_ok=True)
    for section in report.sections:
        for number, picture in enumerate(section.figures.values(), start=1):
            file = directory / "figures" / f"{section.name}-{number}.svg"
            file.write_text(picture, encoding="utf-8")
    page, summary = directory / "report.html", directory / "summary.md"
    page.write_text(to_html(report, rows), encoding="utf-8")
    summary.write_text(to_markdown(report, rows), encoding="utf-8")
    return [page, summary]


def conditions(rows: Sequence[Row]) -> list[str]:
    """Machines and versions behind the rows."""
    machines = sorted({row["machine"] for row in rows})
    versions = sorted({", ".join(f"{k} {v}" for k, v in row["versions"].items()) for row in rows})
    hours = sum(row["wall"] for row in rows) / 3600
    return [*machines, *versions, f"{len(rows)} cells, {hours:.2f} core hours"]


def failures(rows: Sequence[Row]) -> list[str]:
    return [
        f"{row['status']}: {'/'.join(map(str, results.key_of(row)))}: {row['error_message']}"
        for row in rows
        if row["status"] != "done"
    ]


# -- pages ----------------------------------------------------------------------------------------


def to_html(report: Report, rows: Sequence[Row]) -> str:
    links = "".join(f'<a href="#{s.name}">{s.name}</a>' for s in report.sections)
    about = "".join(f"<li>{html.escape(line)}</li>" for line in conditions(rows))
    axes = "".join(f"<li><b>{axis}</b>: {html.escape(REASONS[axis])}</li>" for axis in AXES)
    failed = failures(rows)
    listed = "".join(f"<li>{html.escape(line)}</li>" for line in failed)
    problems = f"<h2>Cells without a result</h2><ul>{listed}</ul>" if failed else ""
    body = "".join(_section_html(section) for section in report.sections)
    tables = "".join(table.to_html() for table in report.overview)
    return (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        '<meta name=viewport content="width=device-width">'
        f"<title>The paper, reproduced</title><style>{STYLE}</style>"
        f"<h1>{TITLE}</h1><p>{html.escape(ABOUT)}</p><p>Readings:</p><ul>{axes}</ul>"
        f"<nav>{links}</nav><ul class=note>{about}</ul>{problems}{tables}{body}</html>\n"
    )


def _section_html(section: Section) -> str:
    pictures = "".join(
        f"<figure>{picture}<figcaption>{html.escape(caption)}</figcaption></figure>"
        for caption, picture in section.figures.items()
    )
    tables = "".join(table.to_html() for table in section.tables)
    claims = section.claims.to_html() if section.claims is not None else ""
    return (
        f'<h2 id="{section.name}">{html.escape(section.title)} ({section.name})</h2>'
        f"<p class=note>{html.escape(section.repeats)}</p>{claims}{pictures}{tables}"
    )


def to_markdown(report: Report, rows: Sequence[Row]) -> str:
    lines = ["# The paper, reproduced", "", ABOUT, ""]
    lines += [f"- **{axis}**: {REASONS[axis]}" for axis in AXES]
    lines += ["", *(f"- {line}" for line in conditions(rows))]
    failed = failures(rows)
    if failed:
        lines += ["", "## Cells without a result", "", *(f"- {line}" for line in failed)]
    for table in report.overview:
        lines += ["", table.to_markdown()]
    for section in report.sections:
        lines += ["", f"## {section.title} (`{section.name}`)", "", section.repeats]
        if section.claims is not None:
            lines += ["", section.claims.to_markdown()]
        for number, caption in enumerate(section.figures, start=1):
            lines += ["", f"![{caption}](figures/{section.name}-{number}.svg)"]
        for table in section.tables:
            lines += ["", table.to_markdown()]
    return "\n".join(lines) + "\n"
