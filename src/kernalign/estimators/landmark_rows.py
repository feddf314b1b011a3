"""Rows that are landmarks: outside the hold-out set, and no two of them equal."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernalign._typing import Array, IntArray
from kernalign.estimators.landmark_task import Task
from kernalign.gram import Target
from kernalign.gram.sampling import rows_in_proportion, stratified_order
from kernalign.learners.base import generator
from kernalign.rows import as_rows

#: Twice as many rows are drawn as landmarks if fewer than this share of them are different, and
#: again up to this many times the number of landmarks.
ENOUGH_DISTINCT, MAX_DRAWN = 0.9, 8


def first_landmarks(task: Task, number: int) -> tuple[IntArray, Array]:
    """Positions of rows outside the hold-out set, no two of them equal, and these rows.

    If many rows are equal, more of them are drawn.
    """
    rows, n, drawn = as_rows(task.X), len(task.X), number
    while True:
        places = _landmark_rows(task.target, task.held, drawn)
        found = rows.take(places)
        distinct = _distinct(found)
        if len(distinct) >= ENOUGH_DISTINCT * number or drawn >= min(n, MAX_DRAWN * number):
            break
        drawn *= 2
    distinct = distinct[
        rows_in_proportion(task.target.rows(places[distinct]), number, generator(5))
    ]
    return places[distinct], found[distinct]


def _landmark_rows(target: Target, held: IntArray, number: int) -> IntArray:
    """Rows outside the hold-out set.

    A landmark without a label of its own helps to fit the rows around it, so that the machine is
    worse there than at new rows: the error of the hold-out set would be too large.
    """
    rng = generator(1)
    drawn = np.setdiff1d(rows_in_proportion(target, number + len(held), rng), held)
    if not len(drawn):
        # All rows are held out, which happens only if there are a few.
        return rows_in_proportion(target, number, rng)
    rows: IntArray = drawn[rows_in_proportion(target.rows(drawn), number, rng)]
    return rows


def in_order(X: Any, places: IntArray) -> Array:
    """Rows of X, which may be outside memory, in any order."""
    order = np.argsort(places)
    found: Array = as_rows(X).take(places[order])[np.argsort(order)]
    return found


def _distinct(rows: Array) -> IntArray:
    """Positions of one of each set of equal rows, in their order."""
    _, first = np.unique(rows, axis=0, return_index=True)
    found: IntArray = np.sort(first)
    return found


def further_landmarks(task: Task, landmarks: IntArray, most: int, size: int) -> list[IntArray]:
    """Blocks of rows, for rows in memory, that are neither held out nor equal to each other or to a
    landmark.

    landmarks : positions of the present ones; most : of them and new ones; size : of a block.
    """
    free = np.setdiff1d(np.arange(len(task.X)), np.union1d(task.held, landmarks))
    free = free[stratified_order(task.target.rows(free), generator(4))]
    known = len(landmarks)
    # To find equal rows among all would take as long as a block.
    free = free[: 2 * max(most - known, 0)]
    new = _distinct(task.X[np.concatenate([landmarks, free])])[known:] - known
    free = free[new[: max(most - known, 0)]]
    return [free[i : i + size] for i in range(0, len(free), size)]
