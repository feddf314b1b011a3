"""Sentences that a person reads who has never heard of kernels."""

from __future__ import annotations

import numpy as np

from kernalign.plots import Term
from kernalign.report.facts import Facts


def number(value: float) -> str:
    return f"{value:.3g}"


def percent(value: float) -> str:
    # A number and its unit stay on one line.
    return f"{100 * value:.{1 if 0 < value < 0.0995 else 0}f}\u00a0%"


def headline(facts: Facts) -> str:
    table = facts.seen.table
    d = facts.seen.columns() if table is None else sum(column.used for column in table)
    what = "A classifier" if facts.classification else "A regression"
    classes = ""
    if facts.classification and hasattr(facts.seen.estimator, "classes_"):
        names = [str(label) for label in facts.seen.estimator.classes_]
        shown = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
        classes = f" It tells {len(names)} classes apart: {shown}."
    noun = "feature" if table is None else "column"
    plural = noun if d == 1 else f"{noun}s"
    return f"{what} for {facts.target}, learned from {facts.rows} rows with {d} {plural}.{classes}"


def learned(facts: Facts) -> list[str]:
    """What the kernel is, in a few sentences."""
    n = len(facts.spectrum.terms)
    parts = "one simple measure" if n == 1 else f"{n} simpler ones"
    out = [
        "The model predicts by comparing a new row with the rows it was trained on. What was "
        "learned is the measure of similarity (the kernel) that it compares with: it was put "
        f"together from {parts}, chosen so that rows with like {facts.target} come out alike."
    ]
    alignment = getattr(facts.seen.estimator, "alignment_", None)
    if alignment is not None:
        strength = next(
            word
            for bound, word in (
                (0.6, "strongly"),
                (0.3, "clearly"),
                (0.1, "weakly"),
                (-2, "hardly at all"),
            )
            if alignment >= bound
        )
        out.append(
            f"On the training rows similarity and {facts.target} go together {strength}: their "
            f"alignment is {alignment:.2f}, on a scale from 0 (nothing in common) to 1 (rows are "
            "alike exactly where their targets are)."
        )
    return out


def term(item: Term, names: list[str]) -> str:
    """One kernel of the combination, in words; `names` are those of all features."""
    family = item.kernel.family
    own = family.own_columns(np.array(names)[None])
    return family.words(item.kernel.sigma, own[0].tolist())


def accuracy(facts: Facts) -> list[str]:
    """Error on rows not seen, and how it compares."""
    if facts.scores is None or facts.gap is None:
        return [
            "Give the labelled data (in the command line: --data) to see here how often the model "
            "is wrong on rows it has not seen, beside a support vector machine."
        ]
    ours = facts.scores[0]
    gap, low, high = facts.gap
    if facts.classification:
        first = (
            f"On rows that it had not seen the model was wrong in {percent(ours.error)} of cases "
            f"(95 % interval {percent(ours.low)} to {percent(ours.high)})."
        )
        size = f"{abs(100 * gap):.1f} percentage points"
        between = f"{100 * low:+.1f} to {100 * high:+.1f} points"
    else:
        first = (
            "On rows that it had not seen the model was off by "
            f"{number(ours.error)} in the root mean square "
            f"(95 % interval {number(ours.low)} to {number(ours.high)})."
        )
        size = number(abs(gap))
        between = f"{low:+.3g} to {high:+.3g}"
    if low <= 0 <= high:
        verdict = (
            f"The difference from a tuned RBF support vector machine, {size}, is within chance "
            f"(95 % interval {between})."
        )
    else:
        side = "better" if gap < 0 else "worse"
        verdict = (
            f"It is {side} than a tuned RBF support vector machine by {size} "
            f"(95 % interval {between})."
        )
    how = (
        f"Measured on {facts.compared_rows} rows, each predicted by a model trained without it; "
        "every choice, kernel and C included, was made anew inside the training folds."
    )
    return [first, verdict, how]


def relevance(facts: Facts) -> list[str]:
    info = facts.relevance
    if info is None:
        return ["The parameters of this kernel do not tell how much each feature matters."]
    share = info.share
    if share.size == 1:
        return ["There is one feature only."]
    if info.even:
        return [
            "All features count the same: this kernel has one bandwidth for all of them. A learner "
            "with one bandwidth per feature (--learner ca-nd) finds out which ones matter."
        ]
    top = [f"{name} ({percent(part)})" for name, part in info.largest(3) if part > 0]
    zero = int((share < 1e-6).sum())
    out = [f"The similarity depends most on {', '.join(top)}."]
    if zero:
        out.append(f"{zero} of {share.size} features are not used at all.")
    if share.size > 1:
        out.append(
            "Shares compare how fast similarity falls along each feature, in units of the "
            "feature's own spread."
        )
    return out


def influence(facts: Facts) -> list[str]:
    info = facts.influence
    if info is None or facts.chosen is None:
        return []
    why = "the row asked for" if facts.notes.get("row_given") else "a row it is least sure of"
    if not facts.classification:
        why = "an example"
    shown = number(info.prediction) if not facts.classification else str(info.prediction)
    first = f"For row {facts.chosen + 1} of the data ({why}) the model predicts {shown}."
    return [
        first,
        "These training rows weigh most: each is taken away in turn, and the change of the "
        f"model's score for {info.toward} is shown.",
    ]


def timing(facts: Facts) -> list[str]:
    out = []
    if "fit_seconds" in facts.notes:
        out.append(f"Learning took {number(float(facts.notes['fit_seconds']))} seconds.")
    if facts.scores is not None:
        ours, theirs = facts.scores
        out.append(
            f"In the cross-validation a fit took {number(ours.seconds)} seconds, a tuned support "
            f"vector machine {number(theirs.seconds)}."
        )
    if facts.seconds_per_thousand is not None:
        out.append(f"A thousand predictions take {number(facts.seconds_per_thousand)} seconds.")
    return out
