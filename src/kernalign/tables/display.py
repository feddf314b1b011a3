"""The columns of a table as text, and as HTML for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from kernalign.tables.problems import counted
from kernalign.tables.recognise import Column

HEADER = ("column", "kind", "missing", "features", "why", "examples")
WIDEST = {"column": 24, "why": 60, "examples": 40}


def rows_of_display(columns: Sequence[Column]) -> list[tuple[str, ...]]:
    """One row per column: the cells under HEADER."""
    return [
        (
            column.name,
            column.kind,
            str(column.missing) if column.missing else "",
            str(len(column.features)) if column.used else "left out",
            column.why,
            ", ".join(column.examples),
        )
        for column in columns
    ]


def headline(columns: Sequence[Column], rows: int, features: int) -> str:
    used = sum(column.used for column in columns)
    out = len(columns) - used
    left_out = f", {out} left out" if out else ""
    return (
        f"{counted(len(columns), 'column')} of {counted(rows, 'row')}: {used} used as "
        f"{counted(features, 'feature')}{left_out}"
    )


def as_text(columns: Sequence[Column], rows: int, features: int) -> str:
    """A table in plain text, one line per column."""
    lines = [HEADER, *rows_of_display(columns)]
    cut = [
        tuple(_cut(cell, WIDEST.get(title)) for title, cell in zip(HEADER, line, strict=True))
        for line in lines
    ]
    widths = [max(len(line[place]) for line in cut) for place in range(len(HEADER))]
    text = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in cut
    ]
    return "\n".join([headline(columns, rows, features), *text])


def _cut(cell: str, widest: int | None) -> str:
    return cell if widest is None or len(cell) <= widest else cell[: widest - 3] + "..."


def as_html(columns: Sequence[Column], rows: int, features: int) -> str:
    """The same table in HTML."""
    head = "".join(f"<th>{escape(title)}</th>" for title in HEADER)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
        for row in rows_of_display(columns)
    )
    return (
        f"<p>{escape(headline(columns, rows, features))}</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
