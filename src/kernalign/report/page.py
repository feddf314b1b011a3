"""The page: facts turned into sections of HTML; everything that comes from data is escaped."""

from __future__ import annotations

import os
from collections.abc import Mapping
from html import escape
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from kernalign._progress import Progress, current, watched
from kernalign.persistence import replacing
from kernalign.report.comparison import BOOSTING, GUESS, SVM
from kernalign.report.facts import Facts, gather
from kernalign.report.html import count, number, percent
from kernalign.report.sections import SECTIONS

#: Classes that the headline names.
MOST_NAMED = 6


def write_report(model: Any, path: str | os.PathLike[str], X: Any = None, **options: Any) -> Path:
    """Write the page of `report_html`, complete or not at all."""
    page = report_html(model, X, **options)
    with replacing(Path(path)) as stream:
        stream.write(page.encode())
    return Path(path)


def report_html(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    row: int | None = None,
    notes: Mapping[str, Any] | None = None,
    model_path: str | None = None,
    compare: bool = True,
    max_rows: int = 1000,
    verbose: int = 0,
) -> str:
    """One self-contained page about a fitted model.

    It says how good the model is, what drives it, where it is unsure, which training rows speak for
    a prediction, how it was found and how to use it.

    Parameters
    ----------
    model : fitted KernelClassifier or KernelRegressor, or a pipeline that ends in one
    X, y : the data it was fitted to, optional
        Without them the page has what the model keeps: its error on held-out rows, and its kernel.
    row : position in X of the prediction to explain, default one that the model is unsure of
    notes : what `kernalign fit` keeps with a model: target, fit_seconds, ...
    model_path : the file that the page says how to load
    compare : bool
        Train a tuned RBF SVM and gradient boosting on the same folds.
    max_rows : rows at most for this comparison
    verbose : int
        1 shows on standard error how many of the steps are done, and the time left.
    """
    with watched(Progress("report", shown=verbose > 0)):
        progress = current()
        notes = {**(notes or {}), "row_given": row is not None, "model_path": model_path}
        facts = gather(model, X, y, row=row, notes=notes, compare=compare, max_rows=max_rows)
        progress.tick("facts")
        sections = [(title, section(facts)) for title, section in SECTIONS]
        progress.tick("pictures")
        return _page(facts, sections)


def _page(facts: Facts, sections: list[tuple[str, str]]) -> str:
    title = f"A model of {facts.target}"
    body = "".join(f"<h2>{escape(name)}</h2>{html}" for name, html in sections if html)
    style = files("kernalign.report").joinpath("style.css").read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)}</title><link rel="icon" href="data:,">'
        f"<style>{style}</style></head><body><main>"
        f'<h1>{escape(title)}</h1><p class="lead">{escape(_headline(facts))}</p>'
        f"{_cards(facts)}{body}</main><footer>{_footer(facts)}</footer></body></html>\n"
    )


def _headline(facts: Facts) -> str:
    table = facts.seen.table
    size = count(facts.seen.columns(), "feature") if table is None else table.in_words
    what = "A classifier" if facts.classification else "A regression model"
    classes = ""
    if facts.classification:
        names = [str(label) for label in facts.seen.estimator.classes_]
        left = len(names) - MOST_NAMED
        shown = ", ".join(names[:MOST_NAMED]) + (f" and {left} more" if left > 0 else "")
        classes = f" It tells {len(names)} classes apart: {shown}."
    return (
        f"{what} of {facts.target}, learned from {count(facts.rows, 'row')} with {size}.{classes}"
    )


def _cards(facts: Facts) -> str:
    """The figures that a reader in a hurry needs."""
    show = percent if facts.classification else number
    cards = []
    if facts.quality is not None:
        cards.append((show(facts.quality.error), "error on unseen rows"))
        answer = "most frequent class" if facts.classification else "mean"
        if not facts.several:
            cards.append((show(facts.quality.guess), f"error of always the {answer}"))
    others = {score.name: score for score in facts.scores if score.name != GUESS}
    same = facts.compared_rows == facts.rows
    for name, label in ((SVM, "error of a tuned SVM"), (BOOSTING, "error of gradient boosting")):
        if name in others and same:
            cards.append((show(others[name].error), label))
    cards.append((f"{facts.rows:,}", "training rows"))
    inside = "".join(
        f'<div class="card"><b>{escape(big)}</b><span>{escape(small)}</span></div>'
        for big, small in cards
    )
    return f'<div class="cards">{inside}</div>'


def _footer(facts: Facts) -> str:
    parts = [f"kernalign {version('kernalign')}", f"scikit-learn {version('scikit-learn')}"]
    if "written" in facts.notes:
        parts.append(f"model written {facts.notes['written']}")
    parts.append(f"kernel: {facts.seen.kernel!r}"[:400])
    return " · ".join(escape(part) for part in parts)
