"""One pass over the pairs of rows, as a sum over pairs of blocks of rows.

What a pass adds up for a pair of blocks (`share`) knows nothing of where the blocks live: threads
of one process and workers of a cluster run the same code. Kept are the row sums K w of every
kernel K of the pass, n numbers each, and of these only sums over rows leave a block (`Summary`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from sklearn import get_config

from kernalign._threads import active_threads, map_rows
from kernalign._typing import Array
from kernalign.gram.target import Target

#: Rows of a block and of a tile inside it, from the fastest to what needs least memory: a tile
#: stays in a core's second-level cache.
SIZES = ((1024, 256), (512, 256), (256, 256), (128, 128), (64, 64), (32, 32))

#: Bytes of a line of a processor's cache.
CACHE_LINE = 64


@dataclass(frozen=True)
class Share:
    """What one pair of blocks adds.

    left : (m, rows) K w of the first block's rows; right : of the second's, None on the diagonal.
    with_target : (m,) <K, Khat*_c>. products : (m, m) <K, L>; diagonal : (m,) tr K; None where not
    needed.
    """

    left: Array
    right: Array | None
    with_target: Array
    products: Array | None = None
    diagonal: Array | None = None


class Pass(ABC):
    """The kernels of one pass over the pairs."""

    #: Number of kernels, and of those whose cross sums are wanted (the first ones).
    width: int
    kept: int

    @abstractmethod
    def share(self, A: Array, B: Array | None, left: Array, right: Array, tile: int) -> Share:
        """The share of blocks A and B (None: A with itself) with factors (w, w Y_c)."""

    @abstractmethod
    def tile_bytes(self, tile: int, columns: int) -> int:
        """Memory of one tile of so many rows and columns, and factors of so many columns."""


@dataclass(frozen=True)
class Summary:
    """Sums over rows of what a pass found: they add over blocks.

    total : (m,) w'K w;  cross : (kept, kept) r_K'(w r_L);  with_target : (kept,) <K, Khat*_c>.
    """

    total: Array
    cross: Array
    with_target: Array

    @classmethod
    def of(cls, sums: Array, w: Array, with_target: Array, kept: int) -> Summary:
        """From K w of some rows, their weights and what they add to <K, Khat*_c>."""
        r = sums[:kept]
        return cls(sums @ w, (r * w) @ r.T, with_target[:kept])

    def __add__(self, other: Summary) -> Summary:
        return Summary(
            self.total + other.total,
            self.cross + other.cross,
            self.with_target + other.with_target,
        )


@dataclass(frozen=True)
class Passed:
    """What a whole pass found."""

    summary: Summary
    products: Array | None
    diagonal: Array | None

    def __add__(self, other: Passed) -> Passed:
        return Passed(
            self.summary + other.summary,
            add(self.products, other.products),
            add(self.diagonal, other.diagonal),
        )


class RemoteRows(ABC):
    """Rows that live elsewhere, in blocks: on the workers of a cluster.

    They can be counted, a few can be fetched (`rows[index]`), and a pass can be sent to them.
    """

    shape: tuple[int, int]
    ndim = 2

    def __len__(self) -> int:
        return self.shape[0]

    @abstractmethod
    def __getitem__(self, index: Any) -> Array:
        """Some rows, in memory."""

    @abstractmethod
    def subset(self, used: Any) -> RemoteRows:
        """The rows of a boolean mask, still where they are."""

    @abstractmethod
    def normal_equations(self, features: Any, Y: Array, weight: Array, rows: Any) -> Any:
        """Sums over rows of explicit features, as `features.normal_equations`."""

    @abstractmethod
    def spread(self, weight: Array) -> Array:
        """Weighted standard deviation of each column, as `kernels._scale.spread`."""

    @abstractmethod
    def passed(self, this: Pass, factor: Array) -> Passed:
        """One pass over the pairs."""


def rows_of(X: Any, used: Any) -> Any:
    """The rows of a boolean mask, wherever they are."""
    return X.subset(used) if isinstance(X, RemoteRows) else X[used]


def factor_of(target: Target) -> Array:
    """(w, w Y_c): what the Gram matrices of a pass are multiplied with."""
    return np.column_stack([target.weight, target.weighted])


def pass_over_pairs(this: Pass, X: Array | RemoteRows, target: Target) -> Passed:
    """One pass over all pairs of rows, in threads or wherever the rows are."""
    factor = factor_of(target)
    if isinstance(X, RemoteRows):
        return X.passed(this, factor)
    n = len(X)
    rows, tile = block_sizes(this, X.shape, factor.shape[1])
    blocks = [slice(start, min(start + rows, n)) for start in range(0, n, rows)]
    pairs = list(combinations_with_replacement(blocks, 2))

    def share(number: slice) -> Share:
        a, b = pairs[number.start]
        B = None if a == b else X[b]
        return this.share(X[a], B, factor[a], factor[b], tile)

    sums = np.zeros((this.width, n))
    with_target = np.zeros(this.width)
    products: Array | None = None
    diagonal: Array | None = None
    for number, part in map_rows(share, len(pairs), 1):
        a, b = pairs[number.start]
        sums[:, a] += part.left
        if part.right is not None:
            sums[:, b] += part.right
        with_target += part.with_target
        products = add(products, part.products)
        diagonal = add(diagonal, part.diagonal)
    summary = Summary.of(sums, factor[:, 0], with_target, this.kept)
    return Passed(summary, products, diagonal)


def tile_pairs(rows: int, columns: int | None, size: int) -> Iterator[tuple[slice, slice, bool]]:
    """Tiles of a block (columns None: of a block with itself, on and right of the diagonal), and
    whether a tile is on the diagonal."""
    for i in range(0, rows, size):
        for j in range(i if columns is None else 0, columns or rows, size):
            a, b = slice(i, min(i + size, rows)), slice(j, min(j + size, columns or rows))
            yield a, b, columns is None and i == j


def room_for(count: int) -> Array:
    """Space for so many numbers, from the beginning of a cache line on.

    Squaring numbers in place takes almost twice as long where vectors of them straddle lines.
    """
    spare = CACHE_LINE // 8
    room = np.empty(count + spare)
    skipped = -room.ctypes.data % CACHE_LINE // 8
    return room[skipped : skipped + count]


def cut(room: Array, shape: tuple[int, ...]) -> Array:
    """An array of this shape at the beginning of a longer one."""
    return room[: math.prod(shape)].reshape(shape)


def add(total: Array | None, part: Array | None) -> Array | None:
    """total + part, of which either may be missing."""
    if part is None:
        return total
    return part if total is None else total + part


def block_sizes(this: Pass, shape: tuple[int, ...], columns: int) -> tuple[int, int]:
    """Rows of a block and of a tile that scikit-learn's `working_memory` allows."""
    n, d = shape
    budget = get_config()["working_memory"] * 2**20
    threads = active_threads()
    # The sums of all rows, and twice more while they are summed up.
    always = 3 * 8 * this.width * n
    least = 0
    for rows, tile in SIZES:
        waiting = (2 * threads + 1) * 2 * 8 * this.width * rows
        # Two blocks, scaled, and once more as factors of their distances.
        prepared = 6 * 8 * rows * (d + 2)
        least = always + waiting + threads * (prepared + this.tile_bytes(tile, columns))
        if least <= budget:
            return rows, tile
    raise ValueError(
        f"working_memory={get_config()['working_memory']:g} MiB is too small for one pass over the "
        f"pairs of {n} rows. At least {np.ceil(least / 2**20):.0f} MiB work: "
        "sklearn.set_config(working_memory=...)."
    )
