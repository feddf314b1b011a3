"""How good the model is: its error, beside simple guesses and other machines."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from kernalign import plots
from kernalign.plots._axes import shortened
from kernalign.report.comparison import BOOSTING, GUESS, SVM, Score, difference
from kernalign.report.facts import Facts
from kernalign.report.html import (
    beside,
    count,
    figures,
    number,
    paragraphs,
    percent,
    picture,
    points,
    table,
)

#: Classes of a whole confusion table; of more classes the most frequent mistakes are listed.
MOST_CLASSES, MOST_MISTAKES = 10, 10
#: Classes of a table that has room beside a picture.
MOST_BESIDE = 4
NAMES = {
    SVM: "a tuned support vector machine",
    BOOSTING: "scikit-learn's gradient boosting",
}


def goodness(facts: Facts) -> str:
    found = facts.quality
    if found is None:
        return paragraphs(
            [f"The error on rows that the model has not seen is not known: {facts.unknown}."]
        ) + paragraphs(_new_data(facts))
    said = [*_error(facts), _measured(facts), *_new_data(facts)]
    verdicts = [_verdict(facts, score) for score in facts.scores if score.name in NAMES]
    html = paragraphs(said) + _scores(facts) + paragraphs(verdicts)
    if not facts.scores and not facts.several:
        html += paragraphs([_what_data_add(facts)])
    if found.of_responses is not None:
        return html + _responses(facts)
    if facts.classification:
        counted, drawn = _confusion(facts), figures([_calibration(facts)])
        narrow = len(facts.seen.estimator.classes_) <= MOST_BESIDE
        return html + (beside(counted, drawn) if narrow else counted + drawn)
    return html + figures([_residuals(facts)])


def _error(facts: Facts) -> list[str]:
    found = facts.quality
    assert found is not None
    show = percent if facts.classification else number
    known = np.isfinite(found.low) and np.isfinite(found.high)
    between = f" (95 % interval {show(found.low)} to {show(found.high)})" if known else ""
    better = (
        "The model is clearly better than that."
        if found.high < found.guess
        else "The model is better than that, but the difference is within the margin of error."
        if found.error < found.guess
        else "The model is no better than that: the columns tell it nothing that helps."
    )
    if facts.classification:
        return [
            f"On rows that it has not seen, the model is wrong in {percent(found.error)} of "
            f"cases{between}.",
            f"Always answering {found.answer!s}, the most frequent class, is wrong in "
            f"{percent(found.guess)} of cases. {better}",
        ]
    first = (
        f"On rows that it has not seen, the predictions are off by {number(found.error)}{between}. "
        "This is the root mean squared error."
    )
    if facts.several:
        return [f"{first} It is the mean over all responses, in which large numbers dominate."]
    return [
        f"{first} Half of the predictions are off by less than {number(found.typical)}.",
        f"Always predicting the mean, {number(found.answer)}, is off by {number(found.guess)}. "
        f"{better} It explains {percent(max(found.explained, 0.0))} of the variance.",
    ]


def _measured(facts: Facts) -> str:
    found = facts.quality
    assert found is not None
    held = count(found.rows, "row")
    if found.folds == 1:
        return f"Measured on {held} that were held out while the model was trained on the others."
    if found.rows < facts.rows:
        held = f"{found.rows:,} of the {facts.rows:,} training rows"
    return (
        f"Measured by cross-validation on {held}: each row was predicted by a model that "
        "had not seen it, with a kernel learned without it."
    )


def _new_data(facts: Facts) -> list[str]:
    if facts.new_error is None:
        return []
    show = percent if facts.classification else number
    what = "is wrong in" if facts.classification else "is off by"
    of_cases = " of cases" if facts.classification else " (root mean squared error)"
    return [
        f"On the {count(len(facts.X), 'row')} of the data given, which are not the rows that it "
        f"was fitted to, the model {what} {show(facts.new_error)}{of_cases}."
    ]


def _what_data_add(facts: Facts) -> str:
    if facts.X is not None:
        return ""
    return (
        "With the training data (--data on the command line), this page also shows other machines "
        "on the same rows, which columns matter, and which training rows speak for a prediction."
    )


def _verdict(facts: Facts, other: Score) -> str:
    """The model beside another machine, in a sentence."""
    ours, name = facts.scores[0], NAMES[other.name]
    gap, low, high = difference(ours, other, facts.classification)
    side = "better" if gap > 0 else "worse"
    if gap < 0:
        # The interval is that of the number beside it.
        gap, low, high = -gap, -high, -low
    if facts.classification:
        size = f"{points(gap, sign=False)} percentage points"
        interval = f"95 % interval {points(low)} to {points(high)}"
    else:
        size, interval = number(gap), f"95 % interval {low:+.3g} to {high:+.3g}"
    if low <= 0 <= high:
        if gap == 0:
            return f"The model is as good as {name} ({interval} of the difference)."
        return (
            f"The model is {side} than {name} by {size}, which is within chance ({interval}, and a "
            f"number below zero would mean {'worse' if side == 'better' else 'better'})."
        )
    return f"The model is {side} than {name} by {size} ({interval})."


def _scores(facts: Facts) -> str:
    if not facts.scores:
        return ""
    show = percent if facts.classification else number
    answer = "the most frequent class" if facts.classification else "the mean"
    rows = [
        (
            escape(f"always {answer}" if score.name == GUESS else score.name),
            show(score.error),
            f"{show(score.low)} to {show(score.high)}",
        )
        for score in facts.scores
    ]
    measure = "error" if facts.classification else "rms error"
    few = ""
    if facts.compared_rows < facts.rows:
        few = (
            "For this comparison all machines, this model included, used only "
            f"{facts.compared_rows:,} of the {facts.rows:,} rows."
        )
    html = table(["on the same held-out rows", measure, "95 % interval"], rows, numbers=[1, 2])
    return html + paragraphs([few])


def _confusion(facts: Facts) -> str:
    found = facts.quality
    assert found is not None
    assert found.confusion is not None
    names = [str(label) for label in facts.seen.estimator.classes_]
    counts = found.confusion
    caption = "Rows of the table: the true class. Columns: what the model said."
    if len(names) > MOST_CLASSES:
        html = _mistakes(names, counts)
        caption = "The most frequent mistakes on held-out rows."
    else:
        short = [escape(shortened(name, 12)) for name in names]
        rows = [
            (f"<b>{name}</b>", *(str(n) for n in line), percent(_wrong(line, place)))
            for place, (name, line) in enumerate(zip(short, counts.tolist(), strict=True))
        ]
        numbers = list(range(1, len(names) + 2))
        html = table(["true class", *(f"said {name}" for name in short), "wrong"], rows, numbers)
    note = ""
    if abs(found.counted_error - found.error) > 5e-4:
        note = (
            f"The table counts {percent(found.counted_error)} mistakes, at the kernel and C that "
            "all rows selected together. The error above is that of choices in which the judged "
            "row had no part, or counts rows by their weights."
        )
    return paragraphs([caption]) + html + paragraphs([note])


def _wrong(line: list[int], place: int) -> float:
    return 1 - line[place] / sum(line) if sum(line) else float("nan")


def _mistakes(names: list[str], counts: Any) -> str:
    off = counts - np.diag(np.diagonal(counts))
    order = np.argsort(-off, axis=None, kind="stable")[:MOST_MISTAKES]
    rows = []
    for place in order.tolist():
        true, said = divmod(place, len(names))
        if off[true, said]:
            cells = (escape(names[true]), escape(names[said]), str(off[true, said]))
            rows.append(cells)
    return table(["true class", "said", "rows"], rows, numbers=[2])


def _calibration(facts: Facts) -> str:
    info = plots.calibration_info(facts.model)
    return picture(
        "calibration",
        lambda ax: plots.plot_calibration(facts.model, ax=ax),
        "Share of right predictions over the stated probability: "
        + ", ".join(
            f"{100 * r:.0f} % right where {100 * s:.0f} % was stated"
            for s, r in zip(info.stated, info.right, strict=True)
        ),
        "Held-out rows in groups of similar probability. On the dashed line, predictions are right "
        "as often as the model states. On average the two differ by "
        f"{points(info.gap, sign=False)} percentage points.",
        height=3.8,
    )


def _residuals(facts: Facts) -> str:
    return picture(
        "residuals",
        lambda ax: plots.plot_residuals(facts.model, ax=ax),
        "Predicted over true numbers of held-out rows",
        "Each dot is a held-out row. On the dashed line, predictions are exact.",
        height=3.8,
    )


def _responses(facts: Facts) -> str:
    """The error of each of several responses."""
    found = facts.quality
    assert found is not None
    assert found.of_responses is not None
    own = facts.seen.estimator.response_.names
    names = own or [f"response {k + 1}" for k in range(len(found.of_responses))]
    rows = [
        (escape(str(name)), number(error), number(guess), percent(1 - (error / guess) ** 2))
        for name, (error, guess) in zip(names, found.of_responses.tolist(), strict=True)
    ]
    head = ["response", "rms error", "always the mean", "variance explained"]
    return table(head, rows, numbers=[1, 2, 3])
