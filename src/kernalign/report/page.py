"""The page: facts, words and pictures put into HTML; everything that comes from data is escaped."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from kernalign._progress import Progress, current, watched
from kernalign.persistence import replacing
from kernalign.report import words
from kernalign.report.facts import Facts, gather
from kernalign.report.pictures import Picture, pictures

#: Terms, features and columns that a table shows at most.
MOST_TERMS, MOST_FEATURES, MOST_COLUMNS = 12, 15, 4


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

    Parameters
    ----------
    model : fitted KernelClassifier or KernelRegressor, or a pipeline that ends in one
    X, y : the data it was fitted to, for pictures, cross-validation and influence, optional
    row : position in X of the prediction to explain, default one that the model is unsure of
    notes : what `kernalign fit` keeps with a model: target, fit_seconds, ...
    model_path : the file that the page says how to load
    compare : bool
        Cross-validate the model and a tuned RBF SVM; takes about ten fits.
    max_rows : rows at most that are cross-validated
    verbose : int
        1 shows on standard error how many of the fits and pictures are done, and the time left.
    """
    with watched(Progress("report", shown=verbose > 0)):
        return _page(model, X, y, row, notes, model_path, compare, max_rows)


def _page(
    model: Any,
    X: Any,
    y: Any,
    row: int | None,
    notes: Mapping[str, Any] | None,
    model_path: str | None,
    compare: bool,
    max_rows: int,
) -> str:
    progress = current()
    notes = {**(notes or {}), "row_given": row is not None}
    facts = gather(model, X, y, row=row, notes=notes, compare=compare, max_rows=max_rows)
    title = f"What was learned about {facts.target}"
    progress.tick("facts")
    by_name = {picture.name: picture for picture in pictures(facts)}
    progress.tick("pictures")

    def shown(*names: str) -> str:
        return _figures([by_name[name] for name in names if name in by_name])

    sections = [
        (
            "What was learned",
            _paragraphs(words.learned(facts)) + _beside(_terms(facts), shown("spectrum")),
        ),
        ("How good it is", _paragraphs(words.accuracy(facts)) + _scores(facts)),
        (
            "Which features matter",
            _paragraphs(words.relevance(facts)) + _beside(_relevances(facts), shown("relevance")),
        ),
        ("What the model sees", shown("embedding", "gram")),
        ("Why it predicts what it predicts", _paragraphs(words.influence(facts)) + _rows(facts)),
        ("How it was found", shown("path", "landscape")),
        ("Time", _paragraphs(words.timing(facts))),
        ("Use the model", _loading(facts, model_path)),
    ]
    body = "".join(f"<h2>{escape(name)}</h2>{html}" for name, html in sections if html)
    style = files("kernalign.report").joinpath("style.css").read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)}</title><link rel="icon" href="data:,">'
        f"<style>{style}</style></head><body><main>"
        f'<h1>{escape(title)}</h1><p class="lead">{escape(words.headline(facts))}</p>'
        f"{_cards(facts)}{body}</main><footer>{_footer(facts)}</footer></body></html>\n"
    )


def _paragraphs(sentences: Iterable[str]) -> str:
    return "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)


def _cards(facts: Facts) -> str:
    cards = [(str(facts.rows), "rows to learn from"), (str(len(facts.spectrum.terms)), "kernels")]
    alignment = getattr(facts.seen.estimator, "alignment_", None)
    if alignment is not None:
        cards.append((f"{alignment:.2f}", "alignment, 0 to 1"))
    if facts.scores is not None:
        ours, theirs = facts.scores
        show = words.percent if facts.classification else words.number
        cards.append((show(ours.error), "error on unseen rows"))
        cards.append((show(theirs.error), "error of a tuned SVM"))
    inside = "".join(
        f'<div class="card"><b>{escape(big)}</b><span>{escape(small)}</span></div>'
        for big, small in cards
    )
    return f'<div class="cards">{inside}</div>'


def _figures(chosen: Sequence[Picture]) -> str:
    if not chosen:
        return ""
    inside = "".join(
        f'<figure id="{escape(p.name)}"><img src="{p.source}" alt="{escape(p.alt)}">'
        f"<figcaption>{escape(p.caption)}</figcaption></figure>"
        for p in chosen
    )
    return f'<div class="pictures">{inside}</div>'


def _beside(table: str, figures: str) -> str:
    """A table and its picture next to each other, where the screen is wide enough."""
    return f'<div class="beside"><div>{table}</div>{figures}</div>' if table or figures else ""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """Cells are HTML already; columns in `numbers` are set flush right."""

    flush = ' class="n"'

    def line(tag: str, cells: Sequence[str]) -> str:
        inside = "".join(
            f"<{tag}{flush if i in numbers else ''}>{cell}</{tag}>" for i, cell in enumerate(cells)
        )
        return f"<tr>{inside}</tr>"

    body = "".join(line("td", row) for row in rows)
    return f'<div class="scroll"><table>{line("th", head)}{body}</table></div>'


def _bar(share: float) -> str:
    return f'<span class="bar" style="width:{max(0.0, 5 * share):.2f}rem"></span>'


def _terms(facts: Facts) -> str:
    terms = facts.spectrum.terms[:MOST_TERMS]
    names = facts.seen.feature_names(facts.seen.columns())
    rows = [
        (
            words.percent(term.share),
            _bar(term.share),
            f"<code>{escape(term.label)}</code><br>{escape(words.term(term, names))}",
        )
        for term in terms
    ]
    left = len(facts.spectrum.terms) - len(terms)
    more = f"<p>{left} smaller ones are not shown.</p>" if left else ""
    return _table(["share", "", "kernel"], rows, numbers=[0]) + more


def _scores(facts: Facts) -> str:
    if facts.scores is None:
        return ""
    show = words.percent if facts.classification else words.number
    rows = [
        (
            escape(score.name),
            show(score.error),
            f"{show(score.low)} to {show(score.high)}",
            f"{score.seconds:.2f}",
        )
        for score in facts.scores
    ]
    measure = "error" if facts.classification else "rms error"
    return _table(["", measure, "95 % interval", "fit, s"], rows, numbers=[1, 2, 3])


def _relevances(facts: Facts) -> str:
    if facts.relevance is None or facts.relevance.even:
        return ""
    largest = facts.relevance.largest(MOST_FEATURES)
    rows = [(escape(name), words.percent(share), _bar(share)) for name, share in largest]
    left = len(facts.relevance.names) - len(largest)
    more = f"<p>{left} smaller ones are not shown.</p>" if left else ""
    return _table(["feature", "share", ""], rows, numbers=[1]) + more


def _rows(facts: Facts) -> str:
    """The rows behind a prediction, with their most relevant features."""
    info = facts.influence
    if info is None:
        return ""
    columns = _columns(facts)
    head = ["training row", "similarity", "push"]
    if facts.table is not None and facts.y is not None:
        head.append(facts.target)
    rows = []
    for item in info.rows:
        push = f"{item.push:+.3g}"
        cells = [str(item.row + 1), words.percent(max(0.0, item.similarity)), push]
        if facts.table is not None and facts.y is not None:
            cells.append(escape(_value(np.asarray(facts.y)[item.row])))
        cells += [escape(_value(facts.table[name].iloc[item.row])) for name in columns]
        rows.append(cells)
    return _table([escape(h) for h in [*head, *columns]], rows, numbers=[0, 1, 2])


def _columns(facts: Facts) -> list[str]:
    """Columns of the user's own table to show beside a training row, the relevant ones first."""
    if facts.table is None or not hasattr(facts.table, "columns"):
        return []
    own = [str(name) for name in facts.table.columns]
    ranked = [] if facts.relevance is None else [n for n, _ in facts.relevance.largest(len(own))]
    return ([name for name in ranked if name in own] or own)[:MOST_COLUMNS]


def _value(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    return str(value)


def _loading(facts: Facts, model_path: str | None) -> str:
    path = model_path or "model.kern"
    code = f"from kernalign import load\n\nmodel = load({path!r})\nmodel.predict(X)"
    saved = "" if model_path else "save(model, 'model.kern')  # from kernalign import save\n"
    lines = escape(f"{saved}{code}")
    names = facts.notes.get("columns")
    needs = ""
    if names:
        shown = ", ".join(map(str, names[:20])) + (", ..." if len(names) > 20 else "")
        needs = f"<p>X is a table with the columns {escape(shown)}.</p>"
    shell = (
        f"<pre><code>{escape(f'kernalign predict {path} new.csv -o predictions.csv')}</code></pre>"
        if names
        else ""
    )
    return f"<pre><code>{lines}</code></pre>{needs}{shell}"


def _footer(facts: Facts) -> str:
    parts = [f"kernalign {version('kernalign')}", f"scikit-learn {version('scikit-learn')}"]
    if "written" in facts.notes:
        parts.append(f"model written {facts.notes['written']}")
    parts.append(f"kernel: {facts.seen.kernel!r}"[:400])
    return " · ".join(escape(part) for part in parts)
