"""Rows on a Dask cluster: the only file that knows Dask.

Chunks of rows stay where they are. A pass over the pairs of rows is a graph of tasks over pairs of
blocks, sums over rows are a task for each chunk, and what comes back is small. Labels and weights,
one number a row, are gathered; of the rows only samples are, of a size that does not grow with n.
"""

from __future__ import annotations

import os
from itertools import combinations_with_replacement, pairwise
from typing import Any

import numpy as np
from sklearn.utils import check_array

from kernalign._typing import Array, IntArray
from kernalign.features import FeatureMap
from kernalign.gram.pairs import Pass, Passed, RemoteRows, Share, Summary, add
from kernalign.machines import NormalEquations, normal_equations

#: A pass is about this many tasks for each thread of the cluster: with fewer some threads would
#: wait for others at its end, more cost a few milliseconds each.
TASKS = 16
#: Rows of a block, and of a block of features.
FEWEST, MOST, MOST_FEATURES = 256, 8192, 4096
#: Shares are added up this many at a time, fewer where those that wait could take more bytes.
TOGETHER, WAITING = 8, 1 << 28
#: Rows and columns of a tile.
TILE = 256


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array or data frame; Dask is not imported to find out."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def require() -> Any:
    """The package dask, or how to get it."""
    try:
        import dask
        import dask.array
    except ImportError as error:
        raise ImportError(
            'Dask arrays need the extra "dask": pip install "kernalign[dask]".'
        ) from error
    return dask


class DaskRows(RemoteRows):
    """The chunks of a Dask array or data frame.

    chunks : delayed blocks of rows; lengths : rows of each.
    """

    def __init__(self, chunks: list[Any], lengths: IntArray, n_columns: int):
        kept = np.flatnonzero(lengths)
        self.chunks = [chunks[i] for i in kept]
        self.lengths = np.asarray(lengths)[kept]
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)])
        self.shape = (int(self.starts[-1]), n_columns)

    @classmethod
    def of(cls, X: Any) -> DaskRows:
        """Rows of X, finite numbers; lengths that are not known are asked for."""
        dask = require()
        array = _as_array(X)
        if array.ndim != 2:
            raise ValueError(f"X must have two dimensions, rows and features. Got {array.ndim}.")
        if len(array.chunks[1]) > 1:
            raise ValueError(
                "X must be chunked along rows only. Got chunks along features: "
                f"{len(array.chunks[1])} of {tuple(array.chunks[1])} columns; use "
                "X.rechunk({1: -1})."
            )
        chunks = [dask.delayed(_checked)(part) for part in array.to_delayed().ravel()]
        lengths = np.asarray(array.chunks[0], dtype=float)
        if np.isnan(lengths).any():
            lengths = np.asarray(dask.compute(*[dask.delayed(len)(part) for part in chunks]))
        return cls(chunks, lengths.astype(np.intp), int(array.shape[1]))

    def __getitem__(self, index: Any) -> Array:
        """Some rows, in memory; in the order of the index."""
        dask = require()
        index = np.asarray(index)
        if index.dtype == bool:
            index = np.flatnonzero(index)
        owner = np.searchsorted(self.starts, index, side="right") - 1
        parts, places = [], []
        for chunk in np.unique(owner):
            here = np.flatnonzero(owner == chunk)
            parts.append(dask.delayed(_take)(self.chunks[chunk], index[here] - self.starts[chunk]))
            places.append(here)
        out = np.empty((len(index), self.shape[1]))
        for here, rows in zip(places, dask.compute(*parts), strict=True):
            out[here] = rows
        return out

    def subset(self, used: Any) -> DaskRows:
        """The rows of a boolean mask, still where they are."""
        dask = require()
        if used.all():
            return self
        masks = [used[a:b] for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)]
        chunks = [
            dask.delayed(_take)(chunk, np.flatnonzero(mask))
            for chunk, mask in zip(self.chunks, masks, strict=True)
        ]
        lengths = np.array([mask.sum() for mask in masks], dtype=np.intp)
        return DaskRows(chunks, lengths, self.shape[1])

    def spread(self, weight: Array) -> Array:
        dask = require()
        weights = np.split(weight, self.starts[1:-1])
        largest = np.max(dask.compute(*[dask.delayed(_largest)(c) for c in self.chunks]), axis=0)
        largest[largest == 0] = 1.0
        pairs = list(zip(self.chunks, weights, strict=True))
        total = weight.sum()
        mean = sum(dask.compute(*[dask.delayed(_mean)(c, w, largest) for c, w in pairs])) / total
        parts = [dask.delayed(_square)(c, w, largest, mean) for c, w in pairs]
        deviation = np.sqrt(sum(dask.compute(*parts)) / total)
        # As for rows in memory: what rounding leaves of a constant column is not a scale.
        scale = np.where(deviation > 1e-12, deviation * largest, 0.0)
        return np.where(scale > 0, scale, scale.max() or largest)

    def passed(self, this: Pass, factor: Array) -> Passed:
        """One pass over the pairs, as a graph of tasks over pairs of blocks."""
        dask = require()
        blocks, spans = self._blocks()
        sent = dask.delayed(this)
        factors = [dask.delayed(factor[a:b]) for a, b in spans]
        lefts: list[list[Any]] = [[] for _ in blocks]
        rights: list[list[Any]] = [[] for _ in blocks]
        sums: list[Any] = [None] * len(blocks)
        most = max(b - a for a, b in spans)
        together = WAITING // (len(blocks) * 2 * 8 * this.width * most)
        together = int(np.clip(together, 1, TOGETHER))
        for i, j in combinations_with_replacement(range(len(blocks)), 2):
            other = None if i == j else blocks[j]
            share = dask.delayed(_share)(sent, blocks[i], other, factors[i], factors[j])
            lefts[i].append(share)
            if i != j:
                rights[j].append(share)
            # Chains free shares as soon as they are added, so that few are alive at a time.
            for k in {i, j}:
                if len(lefts[k]) + len(rights[k]) == together:
                    sums[k] = dask.delayed(_add)(sums[k], lefts[k], rights[k])
                    lefts[k], rights[k] = [], []
        finished = [
            dask.delayed(_finish)(*parts, this.kept)
            for parts in zip(sums, lefts, rights, factors, strict=True)
        ]
        first, *others = dask.compute(*finished)
        for part in others:
            first = first + part
        return first

    def normal_equations(
        self, features: FeatureMap, Y: Array, weight: Array, rows: Any = None
    ) -> NormalEquations:
        """Sums over rows, one task a chunk, added up in a tree."""
        dask = require()
        used = np.ones(len(self), dtype=bool)
        if rows is not None:
            used[:] = False
            used[rows] = True
        sent = dask.delayed(features)
        parts = []
        for chunk, a, b in zip(self.chunks, self.starts[:-1], self.starts[1:], strict=True):
            for start in range(a, b, MOST_FEATURES):
                span = slice(start, min(start + MOST_FEATURES, b))
                if used[span].any():
                    local = slice(span.start - a, span.stop - a)
                    parts.append(
                        dask.delayed(_normal)(
                            sent, chunk, local, Y[span], weight[span], np.flatnonzero(used[span])
                        )
                    )
        while len(parts) > 1:
            parts = [
                dask.delayed(sum_of)(*parts[i : i + 2]) if parts[i + 1 : i + 2] else parts[i]
                for i in range(0, len(parts), 2)
            ]
        total: NormalEquations = dask.compute(parts[0])[0]
        return total

    def _blocks(self) -> tuple[list[Any], list[tuple[int, int]]]:
        """Chunks cut into blocks of even size, and the rows of each."""
        dask = require()
        # As many tasks as there are pairs of blocks.
        number = np.ceil(np.sqrt(2 * TASKS * _threads()))
        size = int(np.clip(np.ceil(len(self) / number), FEWEST, MOST))
        blocks, spans = [], []
        for chunk, start, length in zip(self.chunks, self.starts, self.lengths, strict=False):
            pieces = max(1, round(length / size))
            edges = np.linspace(0, length, pieces + 1).astype(int)
            for a, b in pairwise(edges):
                blocks.append(chunk if pieces == 1 else dask.delayed(_slice)(chunk, a, b))
                spans.append((int(start + a), int(start + b)))
        return blocks, spans


def _threads() -> int:
    """Threads that tasks will run on: those of the cluster, or of this machine."""
    try:
        from distributed import default_client

        return max(1, sum(default_client().nthreads().values()))
    except (ImportError, ValueError):
        return os.cpu_count() or 1


def gathered(y: Any, what: str, n: int) -> Any:
    """Labels or weights, one number a row, in memory."""
    dask = require()
    values = np.asarray(dask.compute(_as_array(y) if is_dask(y) else y)[0])
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if len(values) != n:
        raise ValueError(f"X and {what} must have as many rows. Got {n} and {len(values)}.")
    return values


def map_rows_of(X: Any, function: Any, width: int | None, dtype: Any) -> Any:
    """function(rows) of every chunk, as a Dask array of (n,) or (n, width)."""
    require()
    array = _as_array(X)
    if array.ndim == 2 and len(array.chunks[1]) > 1:
        DaskRows.of(X)
    if width is None:
        return array.map_blocks(function, dtype=dtype, drop_axis=1, meta=np.empty(0, dtype=dtype))
    return array.map_blocks(
        function,
        dtype=dtype,
        chunks=(array.chunks[0], (width,)),
        meta=np.empty((0, 0), dtype=dtype),
    )


def column_names(X: Any) -> Any:
    """Names of the columns of a Dask data frame, None for an array."""
    columns = getattr(X, "columns", None)
    return None if columns is None else np.asarray(columns, dtype=object)


def _as_array(X: Any) -> Any:
    """A Dask array of what may be a data frame or a series."""
    return X.to_dask_array() if hasattr(X, "to_dask_array") else X


# -- what workers run -----------------------------------------------------------------------------


def _checked(chunk: Any) -> Array:
    rows: Array = check_array(chunk, dtype=np.float64, ensure_min_samples=0, input_name="X")
    return rows


def _take(chunk: Array, index: Any) -> Array:
    return chunk[index]


def _slice(chunk: Array, start: int, stop: int) -> Array:
    return chunk[start:stop]


def _largest(chunk: Array) -> Array:
    largest: Array = np.abs(chunk).max(axis=0)
    return largest


def _mean(chunk: Array, weight: Array, largest: Array) -> Array:
    return weight @ (chunk / largest)


def _square(chunk: Array, weight: Array, largest: Array, mean: Array) -> Array:
    return weight @ (chunk / largest - mean) ** 2


def _share(this: Pass, A: Array, B: Array | None, left: Array, right: Array) -> Share:
    return this.share(A, B, left, right, TILE)


def _add(total: Share | None, lefts: list[Share], rights: list[Share]) -> Share:
    """Sums of one block's rows: of pairs in which it is first, with what belongs to the pair, and
    of pairs in which it is second."""
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


def _normal(
    features: FeatureMap, chunk: Array, local: slice, Y: Array, weight: Array, rows: Any
) -> NormalEquations:
    return normal_equations(features, chunk[local], Y, weight, rows)


def sum_of(first: NormalEquations, second: NormalEquations) -> NormalEquations:
    return first + second
