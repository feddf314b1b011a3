"""Where the model is unsure: probabilities, sets of classes, and intervals of numbers."""

from __future__ import annotations

import numpy as np

from kernalign import plots
from kernalign.report.facts import Facts
from kernalign.report.html import figures, number, paragraphs, percent, picture
from kernalign.report.quality import SURE, UNSURE, confident


def doubt(facts: Facts) -> str:
    if facts.quality is None or facts.several:
        return ""
    said = _of_probabilities(facts) if facts.classification else []
    if facts.coverage is None:
        return paragraphs(said)
    said += _of_sets(facts) if facts.coverage.sets else _of_intervals(facts)
    return paragraphs(said) + figures([_drawn(facts)])


def _of_probabilities(facts: Facts) -> list[str]:
    sure, unsure = confident(facts.model)
    out = []
    if sure.rows:
        out.append(
            f"For {percent(sure.share)} of the held-out rows the model states a probability of "
            f"{percent(SURE)} or more; it is wrong in {percent(sure.error)} of them."
        )
    else:
        out.append(f"The model states a probability of {percent(SURE)} or more for no row.")
    if unsure.rows:
        out.append(
            f"For {percent(unsure.share)} of the rows the stated probability is below "
            f"{percent(UNSURE)}; it is wrong in {percent(unsure.error)} of them."
        )
    return out


def _of_sets(facts: Facts) -> list[str]:
    info = facts.coverage
    assert info is not None
    at = int(np.argmin(np.abs(info.asked - 0.9)))
    one = float((info.size == 1).mean())
    return [
        "For each row the model can name a set of classes that should hold the true one in 90 % of "
        f"cases (predict_set). On held-out rows these sets held it in {percent(info.held[at])} of "
        f"cases. The set has a single class for {percent(one)} of the rows"
        + (f", and {info.size.mean():.2f} classes on average." if one < 1 else ".")
    ]


def _of_intervals(facts: Facts) -> list[str]:
    info = facts.coverage
    assert info is not None
    at = int(np.argmin(np.abs(info.asked - 0.9)))
    low, middle, high = np.quantile(info.size, [0.1, 0.5, 0.9])
    held = (
        "For each row the model can give an interval that should hold the true value in 90 % of "
        f"cases (predict_interval). On held-out rows these intervals held it in "
        f"{percent(info.held[at])} of cases."
    )
    if not np.isfinite(high):
        return [f"{held} There are too few rows for finite intervals."]
    if np.ptp(info.size) <= 1e-9 * abs(middle):
        return [f"{held} They are {number(middle)} wide, the same for all rows."]
    return [
        f"{held} Half of them are narrower than {number(middle)}. Where the model is most sure, "
        f"they are {number(low)} wide or less (a tenth of the rows); where it is least sure, "
        f"{number(high)} or more."
    ]


def _drawn(facts: Facts) -> str:
    info = facts.coverage
    assert info is not None
    what = "sets of classes" if info.sets else "intervals"
    return picture(
        "coverage",
        lambda ax: plots.plot_coverage(facts.model, ax=ax),
        f"How often {what} held the truth: "
        + ", ".join(
            f"{100 * h:.0f} % where {100 * a:.0f} % was asked for"
            for a, h in zip(info.asked, info.held, strict=True)
        ),
        f"Held-out rows, each judged by {what} whose size other folds decided. On the dashed line "
        "they hold the truth as often as asked; above it, more often."
        + (
            " Every set holds the predicted class, and is right at least as often as that."
            if info.sets
            else ""
        ),
        height=3.6,
    )
