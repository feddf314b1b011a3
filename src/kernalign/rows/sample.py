"""A sample of the rows of files from which the kinds of all columns can be determined.

Besides random rows it has a row of each category, and for each column rows with the smallest and
the largest value and one with a missing cell, so that no kind depends on chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernalign.rows.arrow import DataSet, ends_of, first_rows, joined
from kernalign.tables import Columns
from kernalign.tables.encoders import CategoryEncoder

#: Number of cells of the sample, and minimum number of its rows.
SAMPLE_CELLS, SAMPLE_ROWS = 4_000_000, 20_000
#: Maximum number of values of a categorical column.
MAX_CATEGORIES = 100_000


@dataclass(frozen=True)
class Representative:
    """The sample.

    table : its rows, in the order of the files.
    crowded : names of columns with more than MAX_CATEGORIES values, of which some may be absent.
    """

    table: Any
    crowded: Sequence[str] = ()

    def check_categories(self, columns: Columns) -> None:
        """Check that the codes of all categorical columns are known."""
        for column in columns:
            if column.name in self.crowded and isinstance(column.encoder, CategoryEncoder):
                raise ValueError(
                    f"Column {column.name!r} must have at most {MAX_CATEGORIES} categories. Got "
                    f"more: drop it (kinds={{{column.name!r}: 'drop'}}), or join categories."
                )


def representative_rows(data: DataSet, names: Sequence[str]) -> Representative:
    """The sample of some columns: all rows, if there are few."""
    most = max(SAMPLE_ROWS, SAMPLE_CELLS // len(names))
    if data.n_rows <= most:
        return Representative(data.table(names))
    drawn = np.sort(np.random.default_rng(0).choice(data.n_rows, most, replace=False))
    notes = {name: _Notes() for name in names}
    parts, start = [], 0
    for table in data.batches(names):
        stop = start + len(table)
        of_batch = drawn[slice(*np.searchsorted(drawn, [start, stop]))] - start
        noted = [row for name in names for row in notes[name].new_rows(name, table[name], start)]
        parts.append(table.take(np.union1d(of_batch, noted).astype(np.intp)))
        start = stop
    crowded = [name for name, note in notes.items() if len(note.values) > MAX_CATEGORIES]
    return Representative(joined(parts), crowded)


@dataclass
class _Notes:
    """What has been seen of a column."""

    values: set[Any] = field(default_factory=set)
    ends: list[Any] = field(default_factory=list)
    missing: bool = False

    def new_rows(self, name: str, column: Any, start: int) -> list[int]:
        """Rows of a batch that hold something new: a category, an extreme, a missing cell.

        start : position of the batch in the files.
        """
        if len(self.values) > MAX_CATEGORIES:
            return []
        found = first_rows(column)
        if found is not None:
            fresh = {value: place for value, place in found.items() if value not in self.values}
            self.values.update(fresh)
            return list(fresh.values())
        low, high, empty = ends_of(column)
        new = [] if self.missing or empty is None else [empty]
        self.missing = self.missing or empty is not None
        if low is None or high is None:
            return new
        for value, row in (low, high):
            if isinstance(value, float) and np.isinf(value):
                raise ValueError(
                    f"Column {name!r} is infinite in row {start + row} of the files (counted from "
                    "0): replace infinities by numbers, or make them missing."
                )
        if not self.ends or low[0] < self.ends[0]:
            new.append(low[1])
        if not self.ends or high[0] > self.ends[1]:
            new.append(high[1])
        known = self.ends or [low[0], high[0]]
        self.ends = [min(known[0], low[0]), max(known[1], high[0])]
        return new
