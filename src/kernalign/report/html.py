"""Pieces of the page: paragraphs, tables, pictures. What comes from data is escaped here."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from kernalign.plots._axes import axes

#: Small enough that the letters can be read on a telephone.
WIDTH = 4.8


def number(value: float) -> str:
    """Three significant digits, and no exponent for usual sizes."""
    if not np.isfinite(value):
        return "unknown"
    if 1000 <= abs(value) < 1e7:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def percent(value: float) -> str:
    """A share; the number and its unit stay on one line."""
    if not np.isfinite(value):
        return "unknown"
    return f"{100 * value:.{1 if 0 < value < 0.0995 else 0}f}\u00a0%"


def points(value: float, sign: bool = True) -> str:
    """A difference of shares, in percentage points; a small one keeps its sign."""
    shown, mark = 100 * value, "+" if sign else ""
    if abs(shown) < 1e-3:
        return "0.0"
    return f"{shown:{mark}.1f}" if abs(shown) >= 0.05 else f"{shown:{mark}.1g}"


def count(number_of: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number_of:,} {noun}{'' if number_of == 1 else 's'}"


def paragraphs(sentences: Iterable[str]) -> str:
    return "".join(f"<p>{_escaped(sentence)}</p>" for sentence in sentences if sentence)


def _escaped(text: str) -> str:
    """Text whose numbers stay on one line with their unit."""
    return escape(text).replace(" %", "\u00a0%")


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """A table of cells that are HTML; columns `numbers` are set to the right."""

    right = ' class="n"'

    def cells(row: Sequence[str], tag: str) -> str:
        return "".join(
            f"<{tag}{right if place in numbers else ''}>{cell}</{tag}>"
            for place, cell in enumerate(row)
        )

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return (
        f'<div class="scroll"><table><thead><tr>{cells(head, "th")}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def bar(share: float) -> str:
    return f'<span class="bar" style="width:{max(0.0, 5 * min(share, 1.0)):.2f}rem"></span>'


def beside(left: str, right: str) -> str:
    return f'<div class="beside"><div>{left}</div><div>{right}</div></div>'


def figures(pictures: Iterable[str]) -> str:
    inside = "".join(pictures)
    return f'<div class="pictures">{inside}</div>' if inside else ""


def picture(
    name: str, draw: Callable[[Any], Any], alt: str, caption: str, height: float = 3.3
) -> str:
    """A picture as SVG inside the page, with a text that replaces it and one that explains it."""
    import matplotlib

    ax = axes(None, (WIDTH, height))
    with matplotlib.rc_context({"svg.hashsalt": name, "font.size": 9.5, "axes.titlesize": 10.5}):
        draw(ax)
        buffer = io.BytesIO()
        ax.figure.savefig(buffer, format="svg", metadata={"Date": None}, dpi=150)
    encoded = base64.b64encode(buffer.getvalue()).decode()
    return (
        f'<figure><img src="data:image/svg+xml;base64,{encoded}" alt="{escape(alt)}">'
        f"<figcaption>{_escaped(caption)}</figcaption></figure>"
    )
