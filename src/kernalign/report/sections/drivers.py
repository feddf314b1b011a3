"""What drives the predictions: importance of columns, their effects, relevances of the kernel."""

from __future__ import annotations

from html import escape

from kernalign.learners import KernelSearch
from kernalign.plots import EffectInfo
from kernalign.plots._axes import shortened
from kernalign.plots.effects import draw_effect
from kernalign.plots.importance import draw_importance
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
    points,
    table,
)

#: Columns that a table and a picture show.
MOST = 12


def drivers(facts: Facts) -> str:
    html = ""
    if facts.importance is not None:
        html += paragraphs(_said(facts)) + beside(_importance(facts), figures([_drawn(facts)]))
        if facts.effects:
            html += paragraphs([_effects_said(facts)])
            html += figures(_effect(facts, place) for place in range(len(facts.effects)))
    elif facts.X is not None:
        html += paragraphs([facts.no_importance])
    return html + paragraphs(_relevance_said(facts)) + _relevances(facts)


def _said(facts: Facts) -> list[str]:
    info = facts.importance
    assert info is not None
    order = info.order()
    show = percent if facts.classification else number
    first = int(order[0])
    out = [
        "The model was fitted again without some rows. On these rows each column was shuffled in "
        "turn, and the error measured again. A column that matters raises the error."
    ]
    if info.low[first] > 0:
        growth = (
            f"{points(info.increase[first], sign=False)} percentage points"
            if facts.classification
            else number(info.increase[first])
        )
        out.append(
            f"{info.names[first]} matters most: when it is shuffled, the error grows from "
            f"{show(info.error)} by {growth}."
        )
    chance = int((info.low <= 0).sum())
    if chance == len(info.names):
        out.append("No column by itself makes a difference that can be told from chance.")
    elif chance:
        out.append(
            f"The growth for {chance} of the {count(len(info.names), 'column')} cannot be told "
            "from chance. Columns that tell the same can stand in for each other."
        )
    return out


def _importance(facts: Facts) -> str:
    info = facts.importance
    assert info is not None
    order = info.order()[:MOST]
    show = points if facts.classification else number
    rows = [
        (
            escape(shortened(info.names[k], 28)),
            show(info.increase[k]),
            f"{show(info.low[k])} to {show(info.high[k])}",
        )
        for k in order.tolist()
    ]
    left = len(info.names) - len(order)
    more = f"{count(left, 'smaller one')} not shown." if left else ""
    unit = ", points" if facts.classification else ""
    head = ["column shuffled", f"growth{unit}", "95 % interval"]
    return table(head, rows, numbers=[1, 2]) + paragraphs([more])


def _drawn(facts: Facts) -> str:
    info = facts.importance
    assert info is not None
    top = [info.names[k] for k in info.order()[:3]]
    shown = min(MOST, len(info.names))
    return picture(
        "importance",
        lambda ax: draw_importance(info, ax, MOST),
        f"Growth of the error when a column is shuffled; the largest: {', '.join(top)}",
        f"Bars: growth of the error on {count(info.rows, 'row')}. Lines: 95 % intervals.",
        height=max(2.4, 1.2 + 0.24 * shown),
    )


def _effects_said(facts: Facts) -> str:
    what = "probability" if facts.classification else "prediction"
    return (
        f"How the mean {what} changes along the columns that matter most, with all other columns "
        "as they are in the data:"
    )


def _effect(facts: Facts, place: int) -> str:
    info = facts.effects[place]
    return picture(
        f"effect{place}",
        lambda ax: draw_effect(info, ax, facts.target),
        f"Mean prediction along {info.name}: {_in_words(info)}",
        f"{info.name}: {_in_words(info)}.",
        height=3.0,
    )


def _in_words(info: EffectInfo) -> str:
    first = info.mean[:, 0]
    show = percent if info.lines else number
    low, high = int(first.argmin()), int(first.argmax())
    what = f"the probability of {info.lines[0]}" if info.lines else "the mean prediction"
    if show(first[low]) == show(first[high]):
        return f"{what} hardly changes on average"

    def at(place: int) -> str:
        value = info.values[place]
        return f"{value:.4g}" if info.numeric else str(value)

    return (
        f"{what} is from {show(first[low])} (at {at(low)}) to {show(first[high])} (at {at(high)})"
    )


def _relevance_said(facts: Facts) -> list[str]:
    info = facts.relevance
    noun = "feature" if facts.seen.table is None else "column"
    if info is None:
        return [f"The parameters of the kernel do not tell how much each {noun} matters to it."]
    if len(info.names) == 1:
        return []
    if info.even:
        return [
            f"The kernel itself does not rank the {noun}s: it has one bandwidth for all of them. "
            + _instead(facts)
            if info.tied
            else f"All {noun}s matter the same to the kernel."
        ]
    top = [f"{name} ({percent(part)})" for name, part in info.largest(3) if part > 0]
    out = [
        f"Inside the kernel, similarity depends most on {', '.join(top)}. Shares compare how fast "
        f"similarity falls along each {noun}, in units of its own spread. They say what the kernel "
        "looks at, which is not the same as what the predictions need."
    ]
    zero = int((info.share < 1e-6).sum())
    if zero:
        out.append(f"The kernel does not use {zero} of the {len(info.names)} {noun}s.")
    return out


def _instead(facts: Facts) -> str:
    if isinstance(facts.seen.learner, KernelSearch):
        return "The search tried one bandwidth per feature, which was not better."
    return "A learner with one bandwidth per feature (--learner auto or ca-nd) can."


def _relevances(facts: Facts) -> str:
    info = facts.relevance
    if info is None or info.even:
        return ""
    largest = info.largest(MOST)
    rows = [(escape(shortened(name, 28)), percent(share), bar(share)) for name, share in largest]
    left = len(info.names) - len(largest)
    more = f"{count(left, 'smaller one')} not shown." if left else ""
    noun = "feature" if facts.seen.table is None else "column"
    html = table([noun, "share of the relevance", ""], rows, numbers=[1]) + paragraphs([more])
    return f"<details><summary>Relevances inside the kernel</summary>{html}</details>"
