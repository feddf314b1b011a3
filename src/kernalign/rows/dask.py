"""Rows on a Dask cluster.

Chunks of rows stay where they are, and so do their labels and weights (`rows.chunks`). A pass over
the pairs of rows is a graph of tasks over pairs of blocks; in sums over rows, a task has several
blocks. Only sums, and samples of a size that does not grow with n, are sent to this process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations_with_replacement, pairwise
from operator import add as plus
from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite, check_array

from kernalign._typing import Array, IntArray
from kernalign._validation import refuse_text
from kernalign.rows.base import Rows, RowSums, Source
from kernalign.rows.chunks import Chunks, DaskColumn
from kernalign.rows.cluster import client, computed, joined, persisted, require, threads, workers
from kernalign.rows.memory import moments, spread_of
from kernalign.rows.pairs import Pass, Passed, Share, Summary, add

#: Number of tasks of a pass per thread of the cluster: with fewer, threads would idle at the end;
#: each further task costs a few milliseconds.
TASKS = 16
#: Minimum and maximum number of rows of a block.
MIN_BLOCK_ROWS, MAX_BLOCK_ROWS = 256, 8192
#: Number of shares added at a time, and the maximum bytes of shares that wait to be added.
SHARES_PER_TASK, MAX_WAITING_BYTES = 8, 1 << 28
#: Rows and columns of a tile.
TILE = 256


class DaskSource(Source):
    """A Dask array or data frame."""

    def __init__(self, X: Any):
        require()
        self.array = _as_array(X)
        if self.array.ndim != 2:
            raise ValueError(
                f"X must have two dimensions, rows and features. Got {self.array.ndim}."
            )
        parts = self.array.chunks[1]
        if len(parts) > 1:
            raise ValueError(
                "X must be chunked along rows only. Got chunks along features: "
                f"{len(parts)} of {tuple(parts)} columns; use X.rechunk({{1: -1}})."
            )
        self.n_features = int(self.array.shape[1])
        self.head = X._meta if hasattr(X, "columns") else np.empty((0, self.n_features))

    def opened(self, labels: Sequence[Any]) -> tuple[Rows, list[Any]]:
        """On a cluster, chunks are kept in its memory and read once. Otherwise each pass reads
        them; only the first pass checks them."""
        dask = require()
        chunks = [dask.delayed(_numbers)(part) for part in _parts(self.array)]
        given = [_parts(_as_array(y)) if is_dask(y) else y for y in labels]
        there = client() is not None
        if there:
            chunks, *given = persisted(dask, chunks, *given)
        checks = [dask.delayed(_examined)(chunk) for chunk in chunks]
        # Labels often come from the same files as the rows: a single computation reads both.
        wanted = [
            None if not is_dask(y) else [dask.delayed(len)(p) for p in parts] if there else parts
            for y, parts in zip(labels, given, strict=True)
        ]
        lengths, *found = computed(dask, checks, *wanted)
        rows = DaskRows(chunks, np.array(lengths, dtype=np.intp), self.n_features)
        columns: list[Any] = []
        for whole, parts, known in zip(labels, given, found, strict=True):
            if whole is None:
                columns.append(None)
            elif not is_dask(whole):
                columns.append(DaskColumn.of(_flat(np.asarray(whole)), rows))
            elif there:
                flat = [dask.delayed(_flat)(part) for part in parts]
                columns.append(DaskColumn.aligned(flat, np.array(known), rows))
            else:
                columns.append(DaskColumn.of(_flat(np.concatenate(known)), rows))
        return rows, columns

    def map(self, function: Callable[[Array], Array], width: int | None, dtype: Any) -> Any:
        wanted = () if width is None else (width,)
        of_chunk = partial(_of_chunk, function, wanted, dtype)
        if width is None:
            nothing = np.empty(0, dtype=dtype)
            return self.array.map_blocks(of_chunk, dtype=dtype, drop_axis=1, meta=nothing)
        return self.array.map_blocks(
            of_chunk,
            dtype=dtype,
            chunks=(self.array.chunks[0], (width,)),
            meta=np.empty((0, 0), dtype=dtype),
        )


class DaskRows(Chunks, Rows):
    """Chunks of rows.

    chunks : delayed blocks of rows; lengths : number of rows of each.
    """

    def __init__(self, chunks: Sequence[Any], lengths: IntArray, n_columns: int):
        super().__init__(chunks, lengths)
        self.shape = (int(self.starts[-1]), n_columns)

    def take(self, index: Any) -> Array:
        rows: Array = self.rows_of(index)
        return rows

    def subset(self, index: Any) -> DaskRows:
        found = self.part(index)
        return self if found is None else DaskRows(*found, self.shape[1])

    @property
    def processes(self) -> int:
        return workers()

    def map(self, function: Callable[[Array], Array]) -> DaskColumn:
        return DaskColumn(self.chunks, self.lengths).map(function)

    def positions(self) -> DaskColumn:
        dask = require()
        ends = zip(self.starts, self.starts[1:], strict=False)
        return DaskColumn([dask.delayed(np.arange)(a, b) for a, b in ends], self.lengths)

    def select(self, columns: Any) -> DaskRows:
        dask = require()
        chunks = [dask.delayed(_columns)(chunk, columns) for chunk in self.chunks]
        return DaskRows(chunks, self.lengths, len(np.arange(self.shape[1])[columns]))

    def spread(self, weight: Any) -> Array:
        dask = require()
        pairs = zip(self.chunks, self._column(weight).chunks, strict=True)
        return spread_of(computed(dask, *[dask.delayed(moments)(c, w) for c, w in pairs]))

    def pass_over_pairs(self, this: Pass, factor: Any) -> Passed:
        """Sums over all pairs, as a graph of tasks over pairs of blocks."""
        dask = require()
        spans = self._blocks()
        blocks = _cut(self.chunks, spans)
        factors = _cut(self._column(factor).chunks, spans)
        sent = dask.delayed(this)
        lefts: list[list[Any]] = [[] for _ in blocks]
        rights: list[list[Any]] = [[] for _ in blocks]
        sums: list[Any] = [None] * len(blocks)
        most = max(b - a for _, a, b in spans)
        together = MAX_WAITING_BYTES // (len(blocks) * 2 * 8 * this.width * most)
        together = int(np.clip(together, 1, SHARES_PER_TASK))
        for i, j in combinations_with_replacement(range(len(blocks)), 2):
            other = None if i == j else blocks[j]
            share = dask.delayed(_share)(sent, blocks[i], other, factors[i], factors[j])
            lefts[i].append(share)
            if i != j:
                rights[j].append(share)
            # Adding in chains frees shares early, so that few are in memory at a time.
            for k in {i, j}:
                if len(lefts[k]) + len(rights[k]) == together:
                    sums[k] = dask.delayed(_add)(sums[k], lefts[k], rights[k])
                    lefts[k], rights[k] = [], []
        finished = [
            dask.delayed(_finish)(*parts, this.kept)
            for parts in zip(sums, lefts, rights, factors, strict=True)
        ]
        passed: Passed = joined(dask, finished, plus)
        return passed

    def total(self, sums: RowSums, columns: Sequence[Any], index: Any = None) -> Any:
        """Tasks of a few blocks each, added in a tree."""
        dask = require()
        found = None if index is None else self.part(index)
        if found is not None:
            some = [self._column(column).subset(index) for column in columns]
            return DaskRows(*found, self.shape[1]).total(sums, some)
        if not len(self):
            return sums.zero()
        blocks = int(np.ceil(self.lengths / sums.block).sum())
        size = sums.block * max(1, blocks // (TASKS * threads()))
        spans = [
            (k, a, min(a + size, length))
            for k, length in enumerate(self.lengths.tolist())
            for a in range(0, length, size)
        ]
        sent = dask.delayed(sums)
        parts = zip(
            _cut(self.chunks, spans),
            *(_cut(self._column(column).chunks, spans) for column in columns),
            strict=True,
        )
        return joined(dask, [dask.delayed(_summed)(sent, *part) for part in parts], plus)

    def _column(self, values: Any) -> DaskColumn:
        return values if isinstance(values, DaskColumn) else DaskColumn.of(values, self)

    def _blocks(self) -> list[tuple[int, int, int]]:
        """Chunks divided into blocks of equal size: (chunk, first row in it, end)."""
        # The number of tasks is the number of pairs of blocks.
        number = np.ceil(np.sqrt(2 * TASKS * threads()))
        size = int(np.clip(np.ceil(len(self) / number), MIN_BLOCK_ROWS, MAX_BLOCK_ROWS))
        spans = []
        for k, length in enumerate(self.lengths.tolist()):
            edges = np.linspace(0, length, max(1, round(length / size)) + 1).astype(int)
            spans += [(k, int(a), int(b)) for a, b in pairwise(edges)]
        return spans


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array, data frame or series; this does not import Dask."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def _as_array(X: Any) -> Any:
    """A Dask array from an array, a data frame or a series."""
    return X.to_dask_array() if hasattr(X, "to_dask_array") else X


def _parts(array: Any) -> list[Any]:
    """Blocks of rows under the names of their source tasks, so that arrays with common sources
    share the work."""
    return list(array.to_delayed(optimize_graph=False).ravel())


def _flat(values: Any) -> Any:
    """A single column as a one-dimensional array."""
    values = np.asarray(values)
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def _cut(chunks: Sequence[Any], spans: Sequence[tuple[int, int, int]]) -> list[Any]:
    """Parts of chunks: (chunk, first row in it, end)."""
    part = require().delayed(_part)
    several = {k for k, a, _ in spans if a}
    return [part(chunks[k], a, b) if k in several else chunks[k] for k, a, b in spans]


# -- what workers run -----------------------------------------------------------------------------


def _numbers(chunk: Any) -> Array:
    refuse_text(chunk)
    rows: Array = check_array(
        chunk, dtype=np.float64, ensure_min_samples=0, ensure_all_finite=False, input_name="X"
    )
    return rows


def _examined(chunk: Array) -> int:
    """Check that a chunk is finite and return its number of rows."""
    assert_all_finite(chunk, input_name="X")
    return len(chunk)


def _of_chunk(
    function: Callable[[Array], Array], width: tuple[int, ...], dtype: Any, chunk: Any
) -> Array:
    rows = _numbers(chunk)
    if not _examined(rows):
        return np.empty((0, *width), dtype=dtype)
    return function(rows)


def _part(chunk: Array, start: int, stop: int) -> Array:
    return chunk[start:stop]


def _columns(chunk: Array, columns: Any) -> Array:
    return np.ascontiguousarray(chunk[:, columns])


def _share(this: Pass, A: Array, B: Array | None, left: Array, right: Array) -> Share:
    return this.share(A, B, left, right, TILE)


def _add(total: Share | None, lefts: list[Share], rights: list[Share]) -> Share:
    """Sums for one block's rows: over pairs in which it is first, including the values of the
    pair, and over pairs in which it is second."""
    parts = [Share(share.left, None, *_of_pair(share)) for share in lefts]
    for share in rights:
        assert share.right is not None
        parts.append(Share(share.right, None, np.zeros_like(share.with_target)))
    first, *others = parts if total is None else [total, *parts]
    sums = first.left.copy()
    with_target, products, diagonal = _of_pair(first)
    for part in others:
        sums += part.left
        with_target = with_target + part.with_target
        products, diagonal = add(products, part.products), add(diagonal, part.diagonal)
    return Share(sums, None, with_target, products, diagonal)


def _of_pair(share: Share) -> tuple[Array, Array | None, Array | None]:
    return share.with_target, share.products, share.diagonal


def _finish(
    total: Share | None, lefts: list[Share], rights: list[Share], factor: Array, kept: int
) -> Passed:
    whole = _add(total, lefts, rights)
    summary = Summary.of(whole.left, factor[:, 0], whole.with_target, kept)
    return Passed(summary, whole.products, whole.diagonal)


def _summed(sums: RowSums, chunk: Array, *columns: Array) -> Any:
    """The sums over a part of a chunk, block by block."""
    total = sums.zero()
    for start in range(0, len(chunk), sums.block):
        rows = slice(start, start + sums.block)
        sums.include(total, chunk[rows], *(column[rows] for column in columns))
    return total
