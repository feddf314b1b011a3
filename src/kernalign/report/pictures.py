"""The pictures of the page, as SVG inside the page, each with a text that replaces it."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kernalign import plots
from kernalign.machines.model import RowsModel
from kernalign.plots._axes import axes
from kernalign.report.facts import Facts

#: Small enough that the letters can be read on a telephone.
WIDTH = 4.8


@dataclass(frozen=True)
class Picture:
    """An image, what it shows (for those who do not see it), and how to read it."""

    name: str
    source: str
    alt: str
    caption: str


def pictures(facts: Facts) -> list[Picture]:
    """All pictures that the model and the data allow."""
    terms = facts.spectrum.terms
    made = [
        _picture(
            "spectrum",
            lambda ax: plots.plot_spectrum(facts.model, ax=ax),
            f"Weights of the {len(terms)} kernels; the largest is {terms[0].label}",
            "Each stem is one kernel: to the right the wider ones, upwards the heavier ones.",
        )
    ]
    made += _of_path(facts)
    if facts.relevance is not None and not facts.relevance.even:
        top = facts.relevance.largest(3)
        shown = min(12, len(facts.relevance.names))
        made.append(
            _picture(
                "relevance",
                lambda ax: plots.plot_relevance(facts.model, ax=ax, most=12),
                "Relevance of features: " + ", ".join(f"{n} {100 * s:.0f} %" for n, s in top),
                "The longer the bar, the more a change of the feature changes the similarity.",
                height=max(2.4, 1.0 + 0.24 * shown),
            )
        )
    made += _of_data(facts)
    return made


def _of_path(facts: Facts) -> list[Picture]:
    try:
        path = plots.path_info(facts.model)
    except ValueError:
        return []
    return [
        _picture(
            "path",
            lambda ax: plots.plot_path(facts.model, ax=ax),
            f"{path.label} by iteration, from {path.value[0]:.3g} to {path.value[-1]:.3g}",
            "One kernel was added at a time; the learner stopped when another would not help.",
        )
    ]


def _of_data(facts: Facts) -> list[Picture]:
    made = []
    if facts.X is not None or isinstance(facts.seen.trained, RowsModel):
        made.append(
            _picture(
                "embedding",
                lambda ax: plots.plot_embedding(facts.model, facts.X, facts.y, ax=ax),
                "Map of the rows by the learned similarity",
                "A map of the rows: alike ones lie close together.",
                height=3.8,
            )
        )
    if facts.y is None:
        return made
    made.append(
        _picture(
            "gram",
            lambda ax: plots.plot_gram(facts.model, facts.X, facts.y, ax=ax, max_rows=200),
            "Similarity of all pairs of rows, beside the ideal one",
            "Left, the learned similarity of every pair of rows; right, the ideal: like only with "
            "like. The more the left one resembles the right, the better.",
            height=2.9,
        )
    )
    try:
        plots.landscape_info(facts.model, facts.X, facts.y, number=2, max_steps=1, max_rows=50)
    except ValueError:
        # Other learners have no landscape.
        return made
    made.append(
        _picture(
            "landscape",
            lambda ax: plots.plot_landscape(facts.model, facts.X, facts.y, ax=ax, max_rows=500),
            "What each step of the search saw over the bandwidth, with a dot at its pick",
            "How promising each bandwidth looked at each step; the dot is the one taken.",
        )
    )
    return made


def _picture(
    name: str,
    draw: Callable[[Any], Any],
    alt: str,
    caption: str,
    height: float = 3.3,
) -> Picture:
    ax = axes(None, (WIDTH, height))
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": name, "font.size": 9.5, "axes.titlesize": 10.5}):
        draw(ax)
        buffer = io.BytesIO()
        ax.figure.savefig(buffer, format="svg", metadata={"Date": None}, dpi=150)
    encoded = base64.b64encode(buffer.getvalue()).decode()
    return Picture(name, f"data:image/svg+xml;base64,{encoded}", alt, caption)
