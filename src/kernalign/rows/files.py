"""Rows in files, which every pass reads in batches: memory does not grow with their number.

Only labels and weights, one number per row, and samples of the rows are in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from kernalign._memory import too_small, working_memory
from kernalign._threads import blocks_in_threads
from kernalign._typing import Array, IntArray
from kernalign.rows.arrow import BATCH_ROWS, DataSet
from kernalign.rows.base import Rows, RowSums, Source
from kernalign.rows.memory import moments, spread_of
from kernalign.rows.pairs import Pass, Passed, pass_in_threads
from kernalign.rows.sample import representative_rows
from kernalign.rows.table import columns_for_fit, refuse_overflow, set_names
from kernalign.tables import Columns
from kernalign.tables.reading import read_column


class FileSource(Source):
    """Files, and the columns of them that are features.

    apart : names of columns that are not features, such as the labels.
    """

    #: Known after `check_columns`.
    columns: Columns

    def __init__(self, files: Any, apart: Sequence[str] = ()):
        self.data = DataSet(files)
        self.names = [name for name in self.data.names if name not in set(apart)]
        self.n_features = len(self.names)
        self.head = None

    def table(self, names: Sequence[str]) -> Any:
        """Some columns of all rows, in memory."""
        return self.data.table(names)

    def numbers(self, name: str) -> Array:
        """A column of numbers of all rows; NaN for missing cells."""
        cells = read_column(name, self.table([name]).column(0))
        if cells.type != "number":
            raise ValueError(f"Column {name!r} of the files must hold numbers. Got {cells.type}.")
        return cells.values

    def opened(self, labels: Sequence[Any]) -> tuple[Rows, list[Any]]:
        return FileRows(self.data, self.columns), list(labels)

    def map(self, function: Callable[[Array], Array], width: int | None, dtype: Any) -> Any:
        rows = FileRows(self.data, self.columns)
        nothing = np.empty((0,) if width is None else (0, width), dtype=dtype)
        return np.concatenate([nothing, *map(function, rows.blocks(BATCH_ROWS))])

    def check_columns(self, estimator: BaseEstimator, *, reset: bool) -> None:
        """Other columns of the files than those of the fit are not read."""
        if not reset:
            if not hasattr(estimator, "columns_"):
                raise ValueError(
                    f"{type(estimator).__name__} was fitted to an array, which has no column "
                    "names: read the files, and predict for their rows as an array."
                )
            self.columns = estimator.columns_
            return
        if not self.names:
            raise ValueError("The files have no columns besides those of the labels.")
        some = representative_rows(self.data, self.names)
        columns = columns_for_fit(estimator, some.table)
        assert columns is not None, "a table has columns"
        self.columns = columns
        some.check_categories(self.columns)
        refuse_overflow(self.columns.encode(some.table))
        self.columns.rows = self.data.n_rows
        estimator.columns_ = self.columns
        set_names(estimator, self.columns)


class FileRows(Rows):
    """Encoded rows of files.

    columns : of the fit, which encode the rows.
    used : ascending positions of the rows in the files; None for all.
    features : which features; None for all.
    """

    def __init__(
        self, data: DataSet, columns: Columns, used: IntArray | None = None, features: Any = None
    ):
        self.data, self.columns, self.used, self.features = data, columns, used, features
        self.names = [column.name for column in columns if column.used]
        data.check_names(self.names)
        width = np.arange(len(columns.features))
        rows = data.n_rows if used is None else len(used)
        self.shape = rows, len(width if features is None else width[features])

    def take(self, index: Any) -> Array:
        wanted, place = np.unique(self._positions(index), return_inverse=True)
        found = np.empty((len(wanted), self.shape[1]))
        start = 0
        for rows in self._read(wanted):
            found[start : start + len(rows)] = rows
            start += len(rows)
        return found if len(place) == len(wanted) and (np.diff(place) > 0).all() else found[place]

    def subset(self, index: Any) -> FileRows:
        used = self._positions(index)
        if len(used) == self.data.n_rows:
            return self
        return FileRows(self.data, self.columns, used, self.features)

    def select(self, columns: Any) -> FileRows:
        features = np.arange(len(self.columns.features))
        features = features if self.features is None else features[self.features]
        return FileRows(self.data, self.columns, self.used, features[columns])

    def spread(self, weight: Array) -> Array:
        parts, start = [], 0
        for rows in self.blocks(BATCH_ROWS):
            parts.append(moments(rows, weight[start : start + len(rows)]))
            start += len(rows)
        return spread_of(parts)

    def pass_over_pairs(self, this: Pass, factor: Array) -> Passed:
        """In memory: reading files for each pair of blocks would take too long."""
        if 8 * self.shape[0] * self.shape[1] > working_memory():
            raise too_small(
                f"sums over all pairs of {len(self)} rows of files",
                8 * self.shape[0] * self.shape[1],
            )
        return pass_in_threads(this, self.take(slice(None)), factor)

    def total(self, sums: RowSums, columns: Sequence[Array], index: Any = None) -> Any:
        """Blocks are those of rows in memory, so that sums have the same rounding errors."""
        total = sums.zero()
        chosen = None if index is None else np.arange(len(self))[index]
        start = 0
        with blocks_in_threads():
            for rows in self.blocks(sums.block, chosen):
                here: Any = slice(start, start + len(rows))
                here = here if chosen is None else chosen[here]
                sums.include(total, rows, *(column[here] for column in columns))
                start += len(rows)
        return total

    def blocks(self, size: int, index: IntArray | None = None) -> Iterator[Array]:
        """All rows, or those of an ascending index, in blocks of `size` rows; the last may have
        fewer."""
        waiting: list[Array] = []
        missing = size
        for rows in self._read(self.used if index is None else self._positions(index)):
            while len(rows):
                some, rows = rows[:missing], rows[missing:]
                waiting.append(some)
                missing -= len(some)
                if not missing:
                    yield waiting[0] if len(waiting) == 1 else np.concatenate(waiting)
                    waiting, missing = [], size
        if waiting:
            yield np.concatenate(waiting)

    def _positions(self, index: Any) -> IntArray:
        """Positions in the files of the rows of an index, a mask or a slice."""
        if isinstance(index, slice) or np.asarray(index).dtype == bool:
            index = np.arange(len(self))[index]
        return np.asarray(index) if self.used is None else self.used[index]

    def _read(self, wanted: IntArray | None) -> Iterator[Array]:
        """Encoded rows at ascending positions in the files, or all, batch by batch."""
        start = 0
        for table in self.data.batches(self.names):
            stop = start + len(table)
            if wanted is not None:
                first, last = np.searchsorted(wanted, [start, stop])
                if first == len(wanted):
                    return
                table = table.take(wanted[first:last] - start)
            if len(table):
                yield self._encoded(table, start, stop)
            start = stop

    def _encoded(self, table: Any, start: int, stop: int) -> Array:
        try:
            rows = self.columns.encode(table)
        except ValueError as problem:
            raise ValueError(f"Rows {start} to {stop - 1} of the files: {problem}") from None
        return rows if self.features is None else np.ascontiguousarray(rows[:, self.features])
