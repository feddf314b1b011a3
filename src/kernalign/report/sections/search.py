"""How the model was found: its kernel, what was tried, and how the kernel sees the rows."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from kernalign import plots
from kernalign.learners import KernelSearch
from kernalign.learners.kernel_search import MANY_ROWS
from kernalign.plots import Term
from kernalign.plots._axes import shortened
from kernalign.report.facts import Facts
from kernalign.report.html import (
    bar,
    beside,
    count,
    figures,
    number,
    paragraphs,
    percent,
    picture,
    table,
)

#: What the search does above this number of rows.
OPTIMISED = (
    " It was then optimised by the errors of held-out rows, on up to 12,000 rows, where kernels of "
    "other families may have been added."
)
#: Kernels of a combination, and kernels that were tried, in a table.
MOST_TERMS, MOST_TRIED = 12, 10
STAGES = {
    "tied": "one bandwidth",
    "relevant": "one bandwidth per feature",
    "sum": "sum of kernels",
    "chosen": "chosen, refined",
}
#: From an alignment on, how strongly similarity and target go together.
STRENGTHS = ((0.6, "strongly"), (0.3, "clearly"), (0.1, "weakly"), (-2.0, "hardly at all"))


def search(facts: Facts) -> str:
    pictures = [_spectrum(facts), _path(facts), _landscape(facts), _embedding(facts), _gram(facts)]
    return (
        paragraphs(_said(facts))
        + beside(_terms(facts), _tried(facts))
        + figures(drawn for drawn in pictures if drawn)
    )


def _said(facts: Facts) -> list[str]:
    terms = len(facts.spectrum.terms)
    parts = "one kernel" if terms == 1 else f"a weighted sum of {terms} kernels"
    out = [
        "The model predicts by comparing a new row with training rows. The measure of similarity "
        f"that it compares with, the kernel, was learned from the data: it is {parts}."
    ]
    alignment = getattr(facts.seen.estimator, "alignment_", float("nan"))
    if np.isfinite(alignment):
        strength = next(word for bound, word in STRENGTHS if alignment >= bound)
        same = "the same class" if facts.classification else "similar values"
        out.append(
            f"On the training rows, similarity and {facts.target} go together {strength}: the "
            f"alignment of the kernel is {alignment:.2f}, on a scale from 0 (similarity tells "
            f"nothing) to 1 (rows are similar exactly where they have {same})."
        )
    kept = getattr(facts.seen.trained, "kept", "")
    number_kept = len(getattr(facts.seen.trained, "rows", ()))
    if kept and number_kept != facts.rows:
        out.append(f"It was trained on {facts.rows:,} rows and keeps {number_kept:,} {kept}.")
    return out


def _terms(facts: Facts) -> str:
    terms = facts.spectrum.terms[:MOST_TERMS]
    rows = [
        (
            percent(term.share),
            bar(term.share),
            f"<code>{escape(shortened(term.label, 60))}</code><br>{escape(in_words(facts, term))}",
        )
        for term in terms
    ]
    left = len(facts.spectrum.terms) - len(terms)
    more = f"{count(left, 'smaller one')} not shown." if left else ""
    return table(["weight", "", "kernel"], rows, numbers=[0]) + paragraphs([more])


def in_words(facts: Facts, term: Term) -> str:
    """One kernel of the combination, in words."""
    names = facts.seen.feature_names(facts.seen.columns())
    family = term.kernel.family
    own = family.own_columns(np.array(names, dtype=object)[None])[0].tolist()
    scale = _scale_of_preparation(facts)
    if scale is None:
        return family.words(term.kernel.sigma, own)
    places = family.own_columns(np.arange(float(len(names)))[None])[0].astype(int)
    return family.words(term.kernel.sigma, own, scale[places])


def _scale_of_preparation(facts: Facts) -> Any:
    """Units of the user's columns in one of what the kernel sees, behind a StandardScaler."""
    before = facts.seen.before
    last = before.steps[-1][1] if hasattr(before, "steps") else None
    scale = getattr(last, "scale_", None)
    one_step = before is not None and len(before.steps) == 1
    return scale if one_step and hasattr(last, "mean_") else None


def _tried(facts: Facts) -> str:
    """What was compared on the way."""
    estimator = facts.seen.estimator
    if isinstance(facts.seen.learner, KernelSearch):
        records = [r for r in estimator.history_ if r["stage"] != "chosen"]
        records = sorted(records, key=lambda record: -record["objective"])[:MOST_TRIED]
        rows = [
            (
                escape(STAGES.get(record["stage"], record["stage"])),
                escape(_families(record["kernel"])),
                f"{record['objective']:,.1f}",
                f"{record['score']:,.1f}" if "score" in record else "",
            )
            for record in records
        ]
        html = table(["tried", "kernel", "evidence", "score"], rows, numbers=[2, 3])
        by = "evidence on a larger sample, if there are more rows"
        if facts.classification:
            by = "leave-one-out predictions, and by evidence where that can be trusted for classes"
        many = estimator.model_.n_rows > MANY_ROWS and facts.seen.learner.effort == "full"
        return html + paragraphs(
            [
                "Evidence, in nats, measures how well a kernel explains a sample of the rows. The "
                f"score compares the best ones by {by}. The simplest kernel within a few nats of "
                "the best score was chosen." + (OPTIMISED if many else "")
            ]
        )
    show = percent if facts.classification else number
    compared = [
        (
            escape(type(record["learner"]).__name__),
            escape(str(record["machine"])),
            show(record["error"] if facts.classification else float(np.sqrt(record["error"]))),
            "chosen" if record["chosen"] else "",
        )
        for record in estimator.path_
    ]
    return table(["learner", "machine", "error", ""], compared, numbers=[2]) if compared else ""


def _families(kernel: Any) -> str:
    return " + ".join(type(member.family).__name__ for member in kernel.kernels) or "constant"


def _spectrum(facts: Facts) -> str:
    terms = facts.spectrum.terms
    if len(terms) < 2:
        return ""
    return picture(
        "spectrum",
        lambda ax: plots.plot_spectrum(facts.model, ax=ax),
        f"Weights of the {len(terms)} kernels; the largest is {terms[0].label}",
        "The kernels of the sum and their weights."
        + (" To the right the wider ones." if facts.spectrum.on_one_axis else ""),
    )


def _path(facts: Facts) -> str:
    try:
        path = plots.path_info(facts.model)
    except ValueError:
        return ""
    if isinstance(facts.seen.learner, KernelSearch) or len(path.value) < 2:
        return ""
    return picture(
        "path",
        lambda ax: plots.plot_path(facts.model, ax=ax),
        f"{path.label} by iteration, from {path.value[0]:.3g} to {path.value[-1]:.3g}",
        f"The {path.label} after each step of the learner.",
    )


def _landscape(facts: Facts) -> str:
    X, y = (facts.X, facts.y) if facts.trained_on else (None, None)
    try:
        info = plots.landscape_info(facts.model, X, y, number=2, max_steps=1, max_rows=50)
    except ValueError:
        # Other learners have no landscape, and some models keep no rows.
        return ""
    caption = "How promising each bandwidth looked at each step; the dot is the one taken."
    if info.objective == "evidence":
        caption = (
            "How the evidence falls if all bandwidths of a kernel are narrower or wider than those "
            "that were found, on a sample of the rows."
        )
    return picture(
        "landscape",
        lambda ax: plots.plot_landscape(facts.model, X, y, ax=ax, max_rows=500),
        "What the search saw along the bandwidth, with a dot at its pick",
        caption,
    )


def _embedding(facts: Facts) -> str:
    X, y = (facts.X, facts.y) if facts.X is not None else (None, None)
    if facts.several:
        return ""
    try:
        plots.embedding_info(facts.model, X, y, max_rows=2)
    except ValueError:
        return ""
    return picture(
        "embedding",
        lambda ax: plots.plot_embedding(facts.model, X, y, ax=ax),
        "Map of the rows by the learned similarity",
        "A map of the rows: similar ones lie close together.",
        height=3.8,
    )


def _gram(facts: Facts) -> str:
    X, y = (facts.X, facts.y) if facts.y is not None else (None, None)
    try:
        plots.gram_info(facts.model, X, y, max_rows=2)
    except ValueError:
        return ""
    like = "rows of one class are similar" if facts.classification else "close values are similar"
    return picture(
        "gram",
        lambda ax: plots.plot_gram(facts.model, X, y, ax=ax, max_rows=200),
        "Similarity of all pairs of rows, beside the ideal one",
        f"Left, the learned similarity of every pair of rows, in the order of {facts.target}; "
        f"right, the ideal, where only {like}.",
        height=2.9,
    )
