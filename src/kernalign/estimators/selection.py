"""Choose kernel, machine and regularisation by cross-validation.

Kernels are learned again inside each fold: chosen on a kernel that has seen the held-out labels,
the regularisation would be too weak and its error a lie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign.estimators.stages import Candidate, Problem, Stages

#: Relative rounding that a comparison with a standard error forgives.
ROUNDING = 1e-9

Split = tuple[Any, Any]
Loss = Callable[[Array, Array], Array]


@dataclass
class Held:
    """What folds said of one candidate.

    outputs : (values, rows, ...) from the fold that held a row out, the mean over folds where
        several did; NaN where none did.
    losses : (folds, values) mean loss; alignments : (folds,) of the kernel on held-out rows.
    row_losses : (values, rows) loss of each row, NaN where it was never held out.
    """

    outputs: Array
    row_losses: Array
    losses: list[Array] = field(default_factory=list)
    alignments: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Selection:
    """What cross-validation found.

    candidate, C : the choice.
    values : the C that were tried.
    losses : mean loss of each candidate at each C, by candidate.
    alignments : mean and standard deviation over folds of the alignment on held-out rows of each
        candidate's kernel.
    held_out : outputs of the choice for each row, from the fold that held it out; NaN where a row
        was never held out.
    honest : mean loss, and its standard error, of folds under the choice that the other folds
        would have made: no row has a say in the choice that it judges.
    """

    candidate: Candidate
    C: float
    values: Array
    losses: dict[Candidate, Array]
    alignments: dict[Candidate, tuple[float, float]]
    held_out: Array
    honest: tuple[float, float]


def select(
    stages: Stages, problem: Problem, values: Array, folds: Iterable[Split], loss: Loss
) -> Selection:
    """The simplest candidate that is as good as the best, and its C of smallest loss.

    loss : (y, outputs) -> loss of each row, for outputs (values, rows, ...).
    """
    values = np.sort(values)
    weight = problem.target.weight
    held: dict[Candidate, Held] = {}
    parts = []
    for train, test in folds:
        part = problem.rows(test)
        parts.append(test)
        for out in stages.path(problem.rows(train), part, values):
            if out.candidate not in held:
                shape = (values.size, len(problem.X))
                held[out.candidate] = Held(
                    np.full((*shape, *out.values.shape[2:]), np.nan), np.full(shape, np.nan)
                )
            record = held[out.candidate]
            rows = loss(part.y, out.values)
            record.outputs[:, test] = out.values
            record.row_losses[:, test] = rows
            record.losses.append(rows @ weight[test])
            record.alignments.append(out.alignment)
    if not parts:
        raise ValueError("The 'cv' parameter must yield at least one split. Got none.")
    sizes = np.array([weight[test].sum() for test in parts])
    every = np.ones(len(parts), dtype=bool)
    candidate, best = _choose(stages.candidates, held, weight, sizes, every)
    chosen = held[candidate]
    return Selection(
        candidate=candidate,
        C=float(values[best]),
        values=values,
        losses={c: np.sum(held[c].losses, axis=0) / sizes.sum() for c in stages.candidates},
        alignments={c: _mean_and_deviation(held[c].alignments) for c in stages.candidates},
        held_out=chosen.outputs[best],
        honest=_honest(stages.candidates, held, weight, sizes, parts),
    )


def _mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    known = [value for value in values if np.isfinite(value)]
    return (float(np.mean(known)), float(np.std(known))) if known else (np.nan, np.nan)


def _choose(
    candidates: Sequence[Candidate],
    held: dict[Candidate, Held],
    weight: Array,
    sizes: Array,
    folds: Array,
    rows: Any = slice(None),
) -> tuple[Candidate, int]:
    """The first candidate no worse than the best by more than a standard error of the difference.

    At each candidate's own best C; ties between C go to the stronger regularisation.

    folds : which folds have a say; rows : the rows that these held out.
    """
    total = sizes[folds].sum()
    losses = {c: np.array(held[c].losses)[folds].sum(axis=0) / total for c in candidates}
    place = {c: int(np.argmin(losses[c])) for c in candidates}
    best = min(candidates, key=lambda c: losses[c][place[c]])
    w = weight[rows]
    for c in candidates:
        d = held[c].row_losses[place[c]][rows] - held[best].row_losses[place[best]][rows]
        known = np.isfinite(d)
        if _within_a_standard_error(d[known], w[known]):
            return c, place[c]
    return best, place[best]


def _within_a_standard_error(d: Array, weight: Array) -> bool:
    """Whether the mean of the differences is no more than its own standard error.

    A single row that differs is not evidence: its difference equals the standard error.
    """
    share = weight / weight.sum()
    mean = float(share @ d)
    freedom = max(1 - float(share @ share), np.finfo(float).tiny)
    error = np.sqrt(float(share**2 @ (d - mean) ** 2) / freedom)
    return mean <= error * (1 + ROUNDING)


def _honest(
    candidates: Sequence[Candidate],
    held: dict[Candidate, Held],
    weight: Array,
    sizes: Array,
    parts: Sequence[Any],
) -> tuple[float, float]:
    """Mean loss of each fold under the choice of the others, and the standard error of the mean."""
    if len(parts) < 2:
        return float("nan"), float("nan")
    means = []
    for f in range(len(parts)):
        others = np.arange(len(parts)) != f
        rows = np.unique(np.concatenate([part for g, part in enumerate(parts) if g != f]))
        candidate, place = _choose(candidates, held, weight, sizes, others, rows)
        means.append(held[candidate].losses[f][place] / sizes[f])
    share = sizes / sizes.sum()
    mean = float(share @ means)
    spread = float(share @ (np.array(means) - mean) ** 2)
    return mean, float(np.sqrt(spread / (len(parts) - 1)))


def splits_of_used_rows(splits: Iterable[Split], used: Any) -> list[Split]:
    """Splits of all rows as splits of the rows with positive weight."""
    position = np.cumsum(used) - 1
    kept = []
    for train, test in splits:
        train, test = np.asarray(train), np.asarray(test)
        kept.append((position[train[used[train]]], position[test[used[test]]]))
    return kept
