"""Choose the regularisation by cross-validation.

The kernel is learned again inside each fold: chosen on a kernel that has seen the held-out labels,
the regularisation would be too weak and its error a lie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign.estimators.stages import Problem, Stages

Split = tuple[Any, Any]


@dataclass(frozen=True)
class Selection:
    """What cross-validation found.

    value : the chosen C; values, losses : what was tried, and the mean loss of each.
    held_out : outputs at the chosen C for each row, from the fold that held it out; NaN where
        a row was never held out.
    """

    value: float
    values: Array
    losses: Array
    held_out: Array


def select(
    stages: Stages,
    problem: Problem,
    values: Array,
    folds: Iterable[Split],
    loss: Callable[[Array, Array], Array],
) -> Selection:
    """The C with the smallest loss; ties go to the stronger regularisation.

    loss : (y, outputs) -> loss of each row, for outputs (values, rows, ...).
    """
    values = np.sort(values)
    total, seen = np.zeros(values.size), 0.0
    parts = []
    for train, test in folds:
        outputs = stages.path(problem.rows(train), problem.X[test], values)
        weight = problem.target.weight[test]
        total += loss(problem.y[test], outputs) @ weight
        seen += float(weight.sum())
        parts.append((test, outputs))
    if not parts:
        raise ValueError("The 'cv' parameter must yield at least one split. Got none.")
    losses = total / seen
    best = int(np.argmin(losses))
    held_out = np.full((len(problem.X), *parts[0][1].shape[2:]), np.nan)
    for test, outputs in parts:
        held_out[test] = outputs[best]
    return Selection(float(values[best]), values, losses, held_out)


def splits_of_used_rows(splits: Iterable[Split], used: Any) -> list[Split]:
    """Splits of all rows as splits of the rows with positive weight."""
    position = np.cumsum(used) - 1
    kept = []
    for train, test in splits:
        train, test = np.asarray(train), np.asarray(test)
        kept.append((position[train[used[train]]], position[test[used[test]]]))
    return kept
