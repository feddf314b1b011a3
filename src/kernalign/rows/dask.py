"""Rows on a Dask cluster. No other module depends on Dask.

Chunks of rows stay where they are. A pass over the pairs of rows is a graph of tasks over pairs of
blocks; sums over rows are one task per chunk. Results are small. Labels and weights, one number per
row, are gathered; of the rows themselves only samples are, of a size that does not grow with n.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations_with_replacement, pairwise
from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite, check_array

from kernalign._typing import Array, IntArray
from kernalign._validation import refuse_text
from kernalign.rows.base import Rows, RowSums, Source
from kernalign.rows.cluster import computed
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


def require() -> Any:
    """The package dask, or an error that says how to install it."""
    try:
        import dask
        import dask.array
    except ImportError as error:
        raise ImportError(
            'Dask arrays need the extra "dask": pip install "kernalign[dask]".'
        ) from error
    return dask


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
        if _client() is not None:
            chunks, *given = dask.persist(chunks, *given)
        checks = [dask.delayed(_examined)(chunk) for chunk in chunks]
        # Labels often come from the same files as the rows: a single computation reads both.
        lengths, *found = computed(dask, checks, *given)
        arrays = [
            None if y is None else _flat(np.concatenate(y) if is_dask(whole) else np.asarray(y))
            for whole, y in zip(labels, found, strict=True)
        ]
        return DaskRows(chunks, np.array(lengths, dtype=np.intp), self.n_features), arrays

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


class DaskRows(Rows):
    """Chunks of rows.

    chunks : delayed blocks of rows; lengths : number of rows of each.
    """

    def __init__(self, chunks: Sequence[Any], lengths: IntArray, n_columns: int):
        kept = np.flatnonzero(lengths)
        self.chunks = [chunks[i] for i in kept.tolist()]
        self.lengths = np.asarray(lengths)[kept]
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)])
        self.shape = (int(self.starts[-1]), n_columns)

    def take(self, index: Any) -> Array:
        dask = require()
        index = np.arange(len(self))[index]
        owner = np.searchsorted(self.starts, index, side="right") - 1
        parts, places = [], []
        for chunk in np.unique(owner):
            here = np.flatnonzero(owner == chunk)
            parts.append(dask.delayed(_take)(self.chunks[chunk], index[here] - self.starts[chunk]))
            places.append(here)
        out = np.empty((len(index), self.shape[1]))
        for here, rows in zip(places, computed(dask, *parts), strict=True):
            out[here] = rows
        return out

    def subset(self, index: Any) -> DaskRows:
        dask = require()
        used = self._mask(index)
        if used.all():
            return self
        masks = np.split(used, self.starts[1:-1])
        chunks = [
            dask.delayed(_take)(chunk, np.flatnonzero(mask))
            for chunk, mask in zip(self.chunks, masks, strict=True)
        ]
        lengths = np.array([mask.sum() for mask in masks], dtype=np.intp)
        return DaskRows(chunks, lengths, self.shape[1])

    def select(self, columns: Any) -> DaskRows:
        dask = require()
        chunks = [dask.delayed(_columns)(chunk, columns) for chunk in self.chunks]
        return DaskRows(chunks, self.lengths, len(np.arange(self.shape[1])[columns]))

    def spread(self, weight: Array) -> Array:
        dask = require()
        weights = np.split(weight, self.starts[1:-1])
        pairs = zip(self.chunks, weights, strict=True)
        return spread_of(computed(dask, *[dask.delayed(moments)(c, w) for c, w in pairs]))

    def pass_over_pairs(self, this: Pass, factor: Array) -> Passed:
        """Sums over all pairs, as a graph of tasks over pairs of blocks."""
        dask = require()
        blocks, spans = self._blocks()
        sent = dask.delayed(this)
        factors = [dask.delayed(factor[a:b]) for a, b in spans]
        lefts: list[list[Any]] = [[] for _ in blocks]
        rights: list[list[Any]] = [[] for _ in blocks]
        sums: list[Any] = [None] * len(blocks)
        most = max(b - a for a, b in spans)
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
        first, *others = computed(dask, *finished)
        for part in others:
            first = first + part
        return first

    def total(self, sums: RowSums, columns: Sequence[Array], index: Any = None) -> Any:
        """One task per block, added in a tree."""
        dask = require()
        used = np.ones(len(self), dtype=bool) if index is None else self._mask(index)
        sent = dask.delayed(sums)
        parts = []
        for chunk, start, stop in zip(self.chunks, self.starts, self.starts[1:], strict=False):
            for a in range(start, stop, sums.block):
                rows = a + np.flatnonzero(used[a : min(a + sums.block, stop)])
                if rows.size:
                    known = [column[rows] for column in columns]
                    parts.append(dask.delayed(_summed)(sent, chunk, rows - start, known))
        while len(parts) > 1:
            pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
            parts = [dask.delayed(_both)(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
        return computed(dask, *parts)[0] if parts else sums.zero()

    def _mask(self, index: Any) -> Any:
        """A mask of the rows of an index."""
        used = np.zeros(len(self), dtype=bool)
        used[index] = True
        return used

    def _blocks(self) -> tuple[list[Any], list[tuple[int, int]]]:
        """Chunks divided into blocks of equal size, and the rows of each."""
        dask = require()
        # The number of tasks is the number of pairs of blocks.
        number = np.ceil(np.sqrt(2 * TASKS * _threads()))
        size = int(np.clip(np.ceil(len(self) / number), MIN_BLOCK_ROWS, MAX_BLOCK_ROWS))
        blocks, spans = [], []
        for chunk, start, length in zip(self.chunks, self.starts, self.lengths, strict=False):
            pieces = max(1, round(length / size))
            edges = np.linspace(0, length, pieces + 1).astype(int)
            for a, b in pairwise(edges):
                blocks.append(chunk if pieces == 1 else dask.delayed(_take)(chunk, slice(a, b)))
                spans.append((int(start + a), int(start + b)))
        return blocks, spans


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array, data frame or series; this does not import Dask."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def _client() -> Any:
    """The client of the active cluster; None if Dask computes in this process."""
    from dask.base import get_scheduler

    owner = getattr(get_scheduler(), "__self__", None)
    return owner if hasattr(owner, "nthreads") else None


def _threads() -> int:
    """Number of threads that run tasks: those of the cluster, or of this machine."""
    client = _client()
    known = 0 if client is None else sum(client.nthreads().values())
    return known or os.cpu_count() or 1


def _as_array(X: Any) -> Any:
    """A Dask array from an array, a data frame or a series."""
    return X.to_dask_array() if hasattr(X, "to_dask_array") else X


def _parts(array: Any) -> list[Any]:
    """Blocks of rows under the names of their source tasks, so that arrays with common sources
    share the work."""
    return list(array.to_delayed(optimize_graph=False).ravel())


def _flat(values: Any) -> Any:
    """A single column as a one-dimensional array."""
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


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


def _take(chunk: Array, index: Any) -> Array:
    return chunk[index]


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


def _summed(sums: RowSums, chunk: Array, rows: IntArray, columns: list[Array]) -> Any:
    total = sums.zero()
    sums.include(total, chunk[rows], *columns)
    return total


def _both(first: Any, second: Any) -> Any:
    return first + second
