"""`kernalign compare`: learners and other machines on the same folds.

A learner is fitted once: its error is the `cv_error_` that `kernalign fit` prints. Other machines
are trained and tested on the same folds.
"""

from __future__ import annotations

import time
import warnings
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline

from kernalign._progress import one_step
from kernalign.cli import models, tables
from kernalign.cli.console import Console
from kernalign.cli.errors import OutputError, UserError
from kernalign.cli.fit import check_folder
from kernalign.persistence import replacing
from kernalign.plots._axes import COLOURS, axes, plain
from kernalign.report.comparison import (
    GUESS,
    OTHERS,
    Indicators,
    Score,
    cross_validated,
    folds_for,
    guess_score,
    own_score,
)


def run(options: Namespace, console: Console) -> None:
    check_folder(options.output)
    names = wanted(options.learners)
    table = tables.read_table(options.data)
    if len(table) > options.max_rows:
        console.say(
            f"Comparing on {options.max_rows} of {len(table)} rows drawn at random (--max-rows)."
        )
        table = table.sample(options.max_rows, random_state=0).reset_index(drop=True)
    data = tables.labelled(table, options.target, options.task, options.drop)
    X = data.X
    tables.check_columns(X)
    try:
        folds = folds_for(data.y, data.classification, options.folds)
    except ValueError as problem:
        raise UserError(str(problem)) from None
    console.say(
        f"{options.data}: {len(X)} rows, {X.shape[1]} features, {data.task}, {len(folds)} folds."
    )
    scores, skipped = compared(names, X, data, folds, options, console)
    for line in lines(scores, skipped, data.classification):
        console.say(line)
    if options.output is not None:
        picture(scores, data.classification, options.output)
        console.say(f"Picture: {options.output}")
    console.result(
        task=data.task,
        rows=len(X),
        folds=len(folds),
        measure=measure(data.classification),
        scores=[
            {"name": s.name, "error": s.error, "interval": [s.low, s.high], "seconds": s.seconds}
            for s in scores
        ],
        skipped=skipped,
        picture=options.output,
    )


def wanted(given: str | None) -> list[str]:
    names = list(models.QUICK) if given is None else [n.strip() for n in given.split(",")]
    if names == ["all"]:
        return list(models.LEARNERS)
    unknown = [name for name in names if name not in models.LEARNERS]
    if unknown:
        raise UserError(
            f"There is no learner {unknown[0]!r}. Known are {', '.join(models.LEARNERS)}, and "
            "'all' for all of them."
        )
    return names


def compared(
    names: list[str], X: Any, data: Any, folds: Any, options: Namespace, console: Console
) -> tuple[list[Score], dict[str, str]]:
    """Scores, the smallest error first, and the reasons why some learners have none."""
    scores: list[Score] = []
    skipped: dict[str, str] = {}
    with console.progress("comparing") as progress:
        progress.plan(len(names) + len(OTHERS) * len(folds))
        for name in names:
            try:
                with one_step(name):
                    scores.append(_learned(name, X, data, folds, options))
            except ValueError as problem:
                skipped[name] = str(problem)
                progress.tick(name)
        everything = np.concatenate([test for _, test in folds])
        scores.append(guess_score(data.y, np.sort(everything), data.classification))
        for name, make in OTHERS.items():
            done = progress.done
            other = make(data.classification)
            other = other if tables.numbers_only(X) else make_pipeline(Indicators(), other)
            try:
                scores.append(cross_validated(name, other, X, data.y, folds, data.classification))
            except ValueError as problem:
                skipped[name] = str(problem)
            progress.reach(done + len(folds))
    return sorted(scores, key=lambda score: score.error), skipped


def _learned(name: str, X: Any, data: Any, folds: Any, options: Namespace) -> Score:
    """The error that a fitted learner reports of itself, on these folds."""
    scale = not options.no_scale
    model = models.model(X, data.classification, name, scale=scale, cv=folds)
    began = time.perf_counter()
    with warnings.catch_warnings():
        # `kernalign fit` gives these warnings.
        warnings.simplefilter("ignore")
        model.fit(X, data.y)
    last = model[-1] if hasattr(model, "steps") else model
    return own_score(name, last, time.perf_counter() - began)


def measure(classification: bool) -> str:
    return "error" if classification else "root mean squared error"


def named(score: Score, classification: bool) -> str:
    """The name of a score as a person reads it."""
    if score.name != GUESS:
        return score.name
    return f"always the {'most frequent class' if classification else 'mean'}"


def lines(scores: list[Score], skipped: dict[str, str], classification: bool) -> list[str]:
    """The table, with 95 % intervals."""
    unit, factor = (" %", 100.0) if classification else ("", 1.0)
    out = [f"\n{'':30} {measure(classification) + unit:>24}  {'95 % interval':>18} {'fit, s':>8}"]
    for s in scores:
        name = named(s, classification)
        low, high = f"{factor * s.low:.3g}", f"{factor * s.high:.3g}"
        error = f"{factor * s.error:.3g}"
        out.append(f"{name:30} {error:>24}  {f'{low} to {high}':>18} {s.seconds:8.2f}")
    for name, reason in skipped.items():
        out.append(f"{name:30} not for these data: {reason}")
    return out


def picture(scores: list[Score], classification: bool, path: str) -> None:
    """One line per model: its error and interval."""
    ax = axes(None, (6.4, 1.2 + 0.34 * len(scores)))
    factor = 100.0 if classification else 1.0
    for row, s in enumerate(scores):
        colour = COLOURS[1] if s.name in (*OTHERS, GUESS) else COLOURS[0]
        ax.plot([factor * s.low, factor * s.high], [row, row], color=colour, lw=2)
        ax.plot(factor * s.error, row, "o", color=colour)
    ax.margins(y=0.12)
    ax.set_xlim(0)
    ax.set_yticks(range(len(scores)), [named(s, classification) for s in scores])
    ax.invert_yaxis()
    label = measure(classification) + (", %" if classification else "")
    ax.set(xlabel=f"{label}, with 95 % interval", title="Cross-validated on the same folds")
    ax.grid(axis="x", alpha=0.3)
    plain(ax)
    try:
        with replacing(Path(path)) as stream:
            ax.figure.savefig(stream, format=Path(path).suffix.lstrip(".") or "png", dpi=150)
    except OSError as problem:
        raise OutputError(f"{path} cannot be written: {problem.strerror}.") from None
    except ValueError as problem:
        raise UserError(f"{path} cannot be drawn: {problem}.") from None
