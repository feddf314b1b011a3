"""The page and the summary: results, figures and verdicts next to what the paper says."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments import results
from experiments.cells import Row
from experiments.claims import CLAIMS, Claim
from experiments.configs import EXPERIMENTS
from experiments.figures import figures_of
from experiments.rules import NO_DATA, NOT, REPRODUCED, UNCLEAR, Verdict
from experiments.tables import Table, tables_of

#: Disagreements first.
ORDER = (NOT, UNCLEAR, REPRODUCED, NO_DATA)
MANY = "Each test has its own 5 %: of so many claims a few verdicts will be chance."
STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:#222}
h1{font-size:1.6em} h2{margin-top:2.2em;border-bottom:1px solid #ccc}
h3{font-size:1em;margin:1.4em 0 .3em} nav a{margin-right:1em}
table{border-collapse:collapse;font-size:.86em} thead th{border-bottom:1px solid #888}
td,th{padding:.2em .6em;text-align:right;white-space:nowrap}
td:first-child,th:first-child{text-align:left} tr.sum td{background:#f4f4f4}
.scroll{overflow-x:auto} .note{color:#666;font-size:.85em}
table.claims td{text-align:left;white-space:normal;vertical-align:top;border-bottom:1px solid #eee}
table.claims th{text-align:left} table.claims .verdict{font-weight:600;white-space:nowrap}
.v0{color:#b3261e} .v1{color:#8a6100} .v2{color:#146c2e} .v3{color:#777}
figure{margin:1.2em 0} figure svg{max-width:100%;height:auto}
figcaption{color:#666;font-size:.85em}
"""


@dataclass(frozen=True)
class Section:
    """Everything about one experiment."""

    name: str
    title: str
    cells: dict[str, int]
    repeats: int
    verdicts: list[tuple[Claim, Verdict]]
    tables: list[Table]
    figures: dict[str, str]


def collect(rows: Sequence[Row]) -> list[Section]:
    """The sections of the report; experiments without rows have claims only."""
    sections = []
    for name, make in EXPERIMENTS.items():
        own = [row for row in rows if row["experiment"] == name]
        done = [row for row in own if row["status"] == "done"]
        judged = [(claim, claim.judge(rows)) for claim in CLAIMS if claim.experiment == name]
        judged.sort(key=lambda pair: ORDER.index(pair[1].verdict))
        sections.append(
            Section(
                name,
                make().title,
                dict(Counter(row["status"] for row in own)),
                len({row["repeat"] for row in done}),
                judged,
                tables_of(done, name) if done else [],
                figures_of(done, name) if done else {},
            )
        )
    return sections


def write_report(path: Path, directory: Path) -> list[Path]:
    """Write report.html, summary.md and figures/*.svg; returns the first two."""
    rows = results.read(path)
    if not rows:
        raise SystemExit(f"{path} has no rows: python -m experiments run NAME makes some.")
    sections = collect(rows)
    (directory / "figures").mkdir(parents=True, exist_ok=True)
    for section in sections:
        for number, picture in enumerate(section.figures.values(), start=1):
            file = directory / "figures" / f"{section.name}-{number}.svg"
            file.write_text(picture, encoding="utf-8")
    page, summary = directory / "report.html", directory / "summary.md"
    page.write_text(to_html(sections, rows), encoding="utf-8")
    summary.write_text(to_markdown(sections, rows), encoding="utf-8")
    return [page, summary]


def counts(sections: Sequence[Section]) -> str:
    found = Counter(verdict.verdict for section in sections for _, verdict in section.verdicts)
    return ", ".join(f"{found[name]} {name}" for name in ORDER if found[name])


def conditions(rows: Sequence[Row]) -> list[str]:
    """Machines and versions behind the rows."""
    machines = sorted({row["machine"] for row in rows})
    versions = sorted({", ".join(f"{k} {v}" for k, v in row["versions"].items()) for row in rows})
    hours = sum(row["wall"] for row in rows) / 3600
    return [*machines, *versions, f"{len(rows)} cells, {hours:.2f} core hours"]


def failures(rows: Sequence[Row]) -> list[str]:
    return [
        f"{row['status']}: {'/'.join(str(row[k]) for k in results.KEY)}: {row['error_message']}"
        for row in rows
        if row["status"] != "done"
    ]


# -- pages ----------------------------------------------------------------------------------------


def to_html(sections: Sequence[Section], rows: Sequence[Row]) -> str:
    links = "".join(f'<a href="#{s.name}">{s.name}</a>' for s in sections)
    about = "".join(f"<li>{html.escape(line)}</li>" for line in conditions(rows))
    failed = failures(rows)
    listed = "".join(f"<li>{html.escape(line)}</li>" for line in failed)
    problems = f"<h2>Cells without a result</h2><ul>{listed}</ul>" if failed else ""
    body = "".join(_section_html(section) for section in sections)
    return (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        '<meta name=viewport content="width=device-width">'
        f"<title>The paper, reproduced</title><style>{STYLE}</style>"
        "<h1>Alignment Based Kernel Learning with a Continuous Set of Base Kernels, reproduced</h1>"
        f"<p>Claims: {html.escape(counts(sections))}. The rules, and what had been seen when they "
        "were written, are in experiments/claims.py; within each experiment disagreements come "
        f"first. {MANY}</p>"
        f"<nav>{links}</nav><ul class=note>{about}</ul>{problems}{body}</html>\n"
    )


def _section_html(section: Section) -> str:
    cells = ", ".join(f"{number} {status}" for status, number in section.cells.items())
    state = f"{cells or 'not run'}; {section.repeats} repeats" if section.cells else "not run"
    lines = []
    for claim, verdict in section.verdicts:
        place = ORDER.index(verdict.verdict)
        note = f"<br><span class=note>{html.escape(claim.note)}</span>" if claim.note else ""
        lines.append(
            f'<tr><td>{html.escape(claim.text)}{note}</td><td class="verdict v{place}">'
            f"{verdict.verdict}</td><td>{html.escape(verdict.evidence)}</td>"
            f"<td class=note>{html.escape(claim.rule.describe())}</td></tr>"
        )
    claims = (
        "<table class=claims><thead><tr><th>claim</th><th>verdict</th><th>here</th><th>rule</th>"
        f"</tr></thead><tbody>{''.join(lines)}</tbody></table>"
        if lines
        else ""
    )
    pictures = "".join(
        f"<figure>{picture}<figcaption>{html.escape(caption)}</figcaption></figure>"
        for caption, picture in section.figures.items()
    )
    tables = "".join(table.to_html() for table in section.tables)
    return (
        f'<h2 id="{section.name}">{html.escape(section.title)} ({section.name})</h2>'
        f"<p class=note>{html.escape(state)}</p>{claims}{pictures}{tables}"
    )


def to_markdown(sections: Sequence[Section], rows: Sequence[Row]) -> str:
    lines = ["# The paper, reproduced", "", f"Claims: {counts(sections)}. {MANY}", ""]
    lines += [f"- {line}" for line in conditions(rows)]
    failed = failures(rows)
    if failed:
        lines += ["", "## Cells without a result", "", *(f"- {line}" for line in failed)]
    for section in sections:
        lines += ["", f"## {section.title} (`{section.name}`)", ""]
        if section.verdicts:
            lines += ["| claim | verdict | here |", "|---|---|---|"]
            lines += [
                f"| {_cell(claim.text)} | {verdict.verdict} | {_cell(verdict.evidence)} |"
                for claim, verdict in section.verdicts
            ]
        for number, caption in enumerate(section.figures, start=1):
            lines += ["", f"![{caption}](figures/{section.name}-{number}.svg)"]
        for table in section.tables:
            lines += ["", table.to_markdown()]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")
