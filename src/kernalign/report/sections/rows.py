"""Which training rows speak for a prediction, and which against it."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from kernalign.plots._axes import shortened
from kernalign.plots._rows import in_words
from kernalign.report.facts import Facts
from kernalign.report.html import number, paragraphs, percent, points, table

#: Columns of the user's table that are shown beside a row.
MOST_COLUMNS = 4


def rows(facts: Facts) -> str:
    if facts.influence is None:
        return paragraphs([facts.no_influence]) if facts.no_influence else ""
    return paragraphs(_said(facts)) + _table(facts)


def _said(facts: Facts) -> list[str]:
    info, chosen = facts.influence, facts.chosen
    assert info is not None
    assert chosen is not None
    why = "an example"
    if facts.notes.get("row_given"):
        why = "the row asked for"
    elif facts.classification:
        why = (
            "the row that the models of cross-validation, which had not seen it, were least sure of"
        )
    first = (
        f"Row {chosen} of the data (rows are counted from 0) is {why}. For it the model "
        f"{_prediction(facts, info.fitted_prediction, info.fitted_value)}."
    )
    if info.itself:
        first += (
            " This model has seen the row. A row should not explain itself: solved again without "
            "it, with the same kernel, the machine "
            f"{_prediction(facts, info.prediction, info.value)}. The effects below are on this."
        )
    if info.unknown:
        return [f"{first} The row itself is one of the training rows.", info.unknown]
    solved = "Each training row below was removed in turn and the machine solved again. The effect "
    told = f"is what the row adds to the prediction, in units of {facts.target}."
    if facts.classification:
        told = (
            "is what the row adds to that probability, in percentage points: above zero it speaks "
            "for the prediction, below zero against it."
        )
    return [f"{first} In the data it is {in_words(np.asarray(facts.y)[chosen])}.", solved + told]


def _prediction(facts: Facts, prediction: Any, value: float) -> str:
    if facts.classification:
        return f"says {prediction!s}, with a probability of {percent(value)}"
    return f"predicts {number(value)}"


def _table(facts: Facts) -> str:
    info = facts.influence
    assert info is not None
    effects = not info.unknown
    columns = _columns(facts)
    head = ["training row", "similarity", *(["effect"] if effects else []), facts.target]
    labels = np.asarray(facts.y)
    out = []
    for item in info.rows:
        cells = [str(item.row), percent(max(0.0, item.similarity))]
        if item.effect is not None:
            cells.append(points(item.effect) if facts.classification else f"{item.effect:+.3g}")
        cells.append(escape(in_words(labels[item.row])))
        cells += [escape(in_words(facts.X[name].iloc[item.row])) for name in columns]
        out.append(cells)
    names = [escape(shortened(str(name), 20)) for name in [*head, *columns]]
    return table(names, out, numbers=[0, 1, *([2] if effects else [])])


def _columns(facts: Facts) -> list[Any]:
    """Columns of the user's own table, the important ones first."""
    if not hasattr(facts.X, "columns") or not hasattr(facts.X, "iloc"):
        return []
    own = list(facts.X.columns)
    if facts.importance is None:
        return own[:MOST_COLUMNS]
    info = facts.importance
    return [own[info.columns[k]] for k in info.order()[:MOST_COLUMNS].tolist()]
