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
#: Parts of the rows of a single split.
PARTS = 5

Split = tuple[Any, Any]
Loss = Callable[[Array, Array], Array]


@dataclass
class Held:
    """What folds said of one candidate, fold by fold.

    outputs : (values, rows, ...) for the rows that a fold held out; losses : (values, rows).
    alignments : of the kernel, between rows held out and rows learned from.
    """

    outputs: list[Array] = field(default_factory=list)
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
    held = {candidate: Held() for candidate in stages.candidates}
    tests, weights = [], []
    for train, test in folds:
        part = problem.fetched(test)
        tests.append(test)
        weights.append(part.target.weight)
        for out in stages.path(problem.rows(train), part, values):
            record = held[out.candidate]
            record.outputs.append(out.values)
            record.losses.append(_losses(loss, part.y, out.values))
            record.alignments.append(out.alignment)
    if not tests:
        raise ValueError("The 'cv' parameter must yield at least one split. Got none.")
    candidate, best = _choose(held, weights, range(len(tests)))
    outputs = held[candidate].outputs
    held_out = np.full((len(problem.X), *outputs[0].shape[2:]), np.nan)
    for test, values_of_test in zip(tests, outputs, strict=True):
        held_out[test] = values_of_test[best]
    return Selection(
        candidate=candidate,
        C=float(values[best]),
        values=values,
        losses={c: _mean_losses(held[c], weights, range(len(tests))) for c in held},
        alignments={c: _mean_and_deviation(held[c].alignments) for c in held},
        held_out=held_out,
        honest=_honest(held, weights),
    )


def _losses(loss: Loss, y: Array, outputs: Array) -> Array:
    """(values, rows); infinite at a C that was not tried, whose outputs are NaN."""
    losses = loss(y, outputs)
    losses[np.isnan(outputs.reshape(len(outputs), -1)).all(axis=1)] = np.inf
    return losses


def _mean_losses(held: Held, weights: Sequence[Array], folds: Iterable[int]) -> Array:
    """Mean loss at each C over some folds."""
    total = sum(held.losses[f] @ weights[f] for f in folds)
    mean: Array = total / sum(weights[f].sum() for f in folds)
    return mean


def _mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    known = [value for value in values if np.isfinite(value)]
    return (float(np.mean(known)), float(np.std(known))) if known else (np.nan, np.nan)


def _choose(
    held: dict[Candidate, Held], weights: Sequence[Array], folds: Sequence[int]
) -> tuple[Candidate, int]:
    """The first candidate no worse than the best by more than a standard error of the difference.

    At each candidate's own best C; ties between C go to the stronger regularisation.

    folds : which folds have a say.
    """
    losses = {c: _mean_losses(held[c], weights, folds) for c in held}
    place = {c: int(np.argmin(losses[c])) for c in held}
    best = min(held, key=lambda c: losses[c][place[c]])

    def of_rows(c: Candidate) -> Array:
        return np.concatenate([held[c].losses[f][place[c]] for f in folds])

    weight = np.concatenate([weights[f] for f in folds])
    for c in held:
        if _within_a_standard_error(of_rows(c) - of_rows(best), weight):
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


def _honest(held: dict[Candidate, Held], weights: Sequence[Array]) -> tuple[float, float]:
    """Mean loss of each fold under the choice of the others, and the standard error of the mean.

    The rows of a single split are cut into parts that judge each other's choice in the same way.
    """
    if len(weights) == 1:
        held, weights = _in_parts(held, weights[0])
    number = len(weights)
    if number < 2:
        return float("nan"), float("nan")
    means = []
    for f in range(number):
        candidate, place = _choose(held, weights, [g for g in range(number) if g != f])
        means.append(_mean_losses(held[candidate], weights, [f])[place])
    sizes = np.array([weight.sum() for weight in weights])
    share = sizes / sizes.sum()
    mean = float(share @ means)
    spread = float(share @ (np.array(means) - mean) ** 2)
    return mean, float(np.sqrt(spread / (number - 1)))


def _in_parts(
    held: dict[Candidate, Held], weight: Array
) -> tuple[dict[Candidate, Held], list[Array]]:
    """The losses of one split as those of several, of random rows."""
    order = np.random.default_rng(0).permutation(len(weight))
    parts = np.array_split(order, min(PARTS, len(weight)))
    losses = {c: Held(losses=[held[c].losses[0][:, part] for part in parts]) for c in held}
    return losses, [weight[part] for part in parts]


def splits_of_used_rows(splits: Iterable[Split], used: Any) -> list[Split]:
    """Splits of all rows as splits of the rows with positive weight."""
    position = np.cumsum(used) - 1
    kept = []
    for train, test in splits:
        train, test = np.asarray(train), np.asarray(test)
        kept.append((position[train[used[train]]], position[test[used[test]]]))
    return kept
