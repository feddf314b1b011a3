"""Held-out rows of the folds, with the outputs of the folds' machines.

All statements about the quality of a fitted model are based on these rows: no row is predicted by a
machine that has seen it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernalign._typing import Array, IntArray
from kernalign.estimators.error import RowErrors
from kernalign.estimators.problem import Problem
from kernalign.estimators.selection import Selection
from kernalign.rows import taken

#: Reason why outputs of held-out rows are not available.
NOT_BY_ROW = "the kernel was selected on a sample of the rows, and the error is that of the sample"


@dataclass(frozen=True)
class HeldOutRows:
    """Rows that were held out once or more; each row counts once.

    index : (m,) positions among the rows of the fit, ascending.
    fold : (m,) the fold that held out the row; the last one if there are several.
    outputs : (m,) or (m, c) outputs of the machine of that fold.
    deviations : (m,) standard deviations that it predicts for the outputs; None if it has none.
    y : (m,) codes of classes, or (m,) or (m, c) responses.
    errors : (m,) 0 or 1 for classes, otherwise squared errors, under choices that the row took no
        part in. Their weighted mean is `cv_error_`.
    weight : (m,) sample weights.
    unknown : why there are none; empty if there are.
    """

    index: IntArray
    fold: IntArray
    outputs: Array
    deviations: Array | None
    y: Array
    errors: Array
    weight: Array
    unknown: str = ""

    @classmethod
    def none(cls, reason: str) -> HeldOutRows:
        no_rows, no_numbers = np.empty(0, dtype=np.intp), np.empty(0)
        return cls(no_rows, no_rows, no_numbers, None, no_numbers, no_numbers, no_numbers, reason)

    def __len__(self) -> int:
        return len(self.index)

    def renumbered(self, positions: Any) -> HeldOutRows:
        """The same rows at other positions, a column."""
        return replace(self, index=taken(positions, self.index))


def selected_rows(
    chosen: Selection, errors: RowErrors, unit: float, problem: Problem
) -> HeldOutRows:
    """For fits that select C on held-out rows: outputs of the selected candidate, and errors.

    errors : in units of `unit`.
    """
    if errors.unknown or errors.rows is None:
        return HeldOutRows.none(errors.unknown or NOT_BY_ROW)
    rows, place = np.unique(errors.rows, return_inverse=True)
    with np.errstate(over="ignore"):
        totals = np.bincount(place, errors.values * np.float64(unit))
    means = totals / np.bincount(place)
    held = chosen.held_out
    known = np.isin(held.index, np.intersect1d(rows, held.known.index))
    index = held.index[known]
    return HeldOutRows(
        index,
        chosen.folds[known],
        held.outputs[known],
        None,
        taken(problem.y, index),
        means[np.searchsorted(rows, index)],
        taken(problem.weight, index),
    )
