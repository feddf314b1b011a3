"""Chunks of consecutive rows on a Dask cluster, and columns of labels in the same chunks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from kernalign._typing import Array, IntArray
from kernalign.rows.base import AllBut, Column
from kernalign.rows.cluster import computed, joined, persisted, require


class Chunks:
    """Delayed arrays of consecutive rows.

    chunks : none of them is empty; lengths : number of rows of each; starts : the first row of
    each, and the number of all rows.
    """

    def __init__(self, chunks: Sequence[Any], lengths: IntArray):
        used = np.flatnonzero(lengths)
        self.chunks = [chunks[i] for i in used.tolist()]
        self.lengths = np.asarray(lengths, dtype=np.intp)[used]
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.intp)

    def rows_of(self, index: Any) -> Any:
        """Rows of an index, in memory and in its order."""
        dask = require()
        n = int(self.starts[-1])
        index = self._listed(index)
        index = np.flatnonzero(index) if index.dtype == bool else index.astype(np.intp)
        index = np.where(index < 0, index + n, index)
        owner = np.searchsorted(self.starts, index, side="right") - 1
        order = np.argsort(owner, kind="stable")
        # An empty index takes no rows of the first chunk, and so has its shape and type.
        owners, first = np.unique(owner[order], return_index=True) if len(index) else ([0], [0])
        places = np.split(order, first[1:])
        parts = [
            dask.delayed(_taken)(self.chunks[chunk], index[here] - self.starts[chunk])
            for chunk, here in zip(owners, places, strict=True)
        ]
        found = np.concatenate(computed(dask, *parts))
        out = np.empty_like(found)
        out[order] = found
        return out

    def part(self, index: Any) -> tuple[list[Any], IntArray] | None:
        """Chunks of the rows of a mask, an ascending index or slice or `AllBut`, and their lengths;
        None if these are all rows."""
        dask = require()
        if isinstance(index, DaskColumn):
            lengths = index.counts
            chosen: Sequence[Any] = index.chunks
            keep = dask.delayed(_taken)
        elif isinstance(index, AllBut):
            chosen = self._local(index.excluded)
            lengths = self.lengths - np.array([len(local) for local in chosen])
            keep = dask.delayed(_dropped)
        else:
            index = self._listed(index)
            chosen = self._local(np.flatnonzero(index) if index.dtype == bool else index)
            lengths = np.array([len(local) for local in chosen])
            keep = dask.delayed(_taken)
        if (lengths == self.lengths).all():
            return None
        pairs = zip(self.chunks, chosen, strict=True)
        return [keep(chunk, some) for chunk, some in pairs], lengths

    def _listed(self, index: Any) -> Array:
        """An index or a mask as an array."""
        if isinstance(index, slice):
            index = np.arange(*index.indices(int(self.starts[-1])))
        return np.asarray(index)

    def _local(self, rows: IntArray) -> list[IntArray]:
        """Ascending rows, by chunk and counted from its first row."""
        parts = np.split(rows, np.searchsorted(rows, self.starts[1:-1]))
        return [part - start for part, start in zip(parts, self.starts, strict=False)]


class DaskColumn(Chunks, Column):
    """A column with the chunks of its rows."""

    def __init__(self, chunks: Sequence[Any], lengths: IntArray):
        super().__init__(chunks, lengths)
        self.n_rows = int(self.starts[-1])

    @classmethod
    def aligned(cls, chunks: Sequence[Any], lengths: IntArray, rows: Chunks) -> DaskColumn:
        """A column in the chunks of its rows, from other chunks; unchanged if rows are missing."""
        given = cls(chunks, lengths)
        same = np.array_equal(given.lengths, rows.lengths)
        if same or given.starts[-1] != rows.starts[-1]:
            return given
        dask = require()
        cut = []
        for start, stop in zip(rows.starts, rows.starts[1:], strict=False):
            first, last = np.searchsorted(given.starts, [start, stop - 1], side="right") - 1
            begin = int(given.starts[first])
            parts = given.chunks[first : last + 1]
            cut.append(dask.delayed(_cut)(parts, int(start) - begin, int(stop) - begin))
        return cls(persisted(dask, *cut), rows.lengths)

    @classmethod
    def of(cls, values: Any, rows: Chunks) -> DaskColumn:
        """An array in this process as a column of rows."""
        dask = require()
        if len(values) != rows.starts[-1]:
            return cls([dask.delayed(values)], np.array([len(values)]))
        parts = [dask.delayed(part) for part in np.split(values, rows.starts[1:-1])]
        return cls(persisted(dask, *parts), rows.lengths)

    @cached_property
    def counts(self) -> IntArray:
        """For a mask: the number of rows of each chunk that it holds."""
        dask = require()
        counted = [dask.delayed(np.count_nonzero)(chunk) for chunk in self.chunks]
        return np.array(computed(dask, *counted), dtype=np.intp)

    def take(self, index: Any) -> Any:
        return self.rows_of(index)

    def subset(self, index: Any) -> DaskColumn:
        found = self.part(index)
        return self if found is None else DaskColumn(persisted(require(), *found[0]), found[1])

    def map(self, function: Callable[..., Any], *others: Any) -> DaskColumn:
        """Computed at once: the result is used in several passes."""
        return DaskColumn(persisted(require(), *self._each(function, others)), self.lengths)

    def reduce(
        self, function: Callable[..., Any], join: Callable[[Any, Any], Any], *others: Any
    ) -> Any:
        return joined(require(), self._each(function, others), join)

    def _each(self, function: Callable[..., Any], others: Sequence[Any]) -> list[Any]:
        call = require().delayed(function)
        groups = zip(self.chunks, *(other.chunks for other in others), strict=True)
        return [call(*group) for group in groups]


def _taken(chunk: Any, index: Any) -> Any:
    return chunk[index]


def _dropped(chunk: Any, index: IntArray) -> Any:
    return np.delete(chunk, index, axis=0)


def _cut(parts: list[Any], start: int, stop: int) -> Any:
    return np.concatenate(parts)[start:stop]
