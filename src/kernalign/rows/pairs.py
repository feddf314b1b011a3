"""One pass over the pairs of rows, as a sum over pairs of blocks of rows.

The computation for one pair of blocks (`share`) does not depend on where the blocks are: threads of
one process and workers of a cluster run the same code. The row sums K w of every kernel K of the
pass are kept, n numbers each; only sums over rows of these leave a block (`Summary`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from kernalign._compiled import compiled
from kernalign._memory import too_small, working_memory
from kernalign._threads import active_threads, map_rows
from kernalign._typing import Array

#: Rows of a block and of a tile inside it, from the fastest to the one that needs least memory. A
#: tile fits in a core's second-level cache.
SIZES = ((1024, 256), (512, 256), (256, 256), (128, 128), (64, 64), (32, 32))


@dataclass(frozen=True)
class Share:
    """Contribution of one pair of blocks.

    left : (m, rows) K w of the first block's rows; right : of the second's, None on the diagonal.
    with_target : (m,) <K, Khat*_c>. products : (m, m) <K, L>; diagonal : (m,) tr K; None if not
    needed.
    """

    left: Array
    right: Array | None
    with_target: Array
    products: Array | None = None
    diagonal: Array | None = None


class Pass(ABC):
    """The kernels of one pass over the pairs."""

    #: Number of kernels, and number of the first ones whose cross sums are needed.
    width: int
    kept: int
    #: Seconds that compiled loops save in the whole pass.
    saved: float = 0.0

    def share(self, A: Array, B: Array | None, left: Array, right: Array, tile: int) -> Share:
        """The contribution of blocks A and B (None: A with itself) with factors (w, w Y_c)."""
        with compiled(self.saved):
            return self._share(A, B, left, right, tile)

    @abstractmethod
    def _share(self, A: Array, B: Array | None, left: Array, right: Array, tile: int) -> Share:
        pass

    @abstractmethod
    def tile_bytes(self, tile: int, columns: int) -> int:
        """Memory of one tile with this many rows and columns and factors of this many columns."""


@dataclass(frozen=True)
class Summary:
    """Sums over rows of the results of a pass; they add over blocks.

    total : (m,) w'K w;  cross : (kept, kept) r_K'(w r_L);  with_target : (kept,) <K, Khat*_c>.
    """

    total: Array
    cross: Array
    with_target: Array

    @classmethod
    def of(cls, sums: Array, w: Array, with_target: Array, kept: int) -> Summary:
        """From K w of some rows, their weights and their part of <K, Khat*_c>."""
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
    """Result of a whole pass."""

    summary: Summary
    products: Array | None
    diagonal: Array | None

    def __add__(self, other: Passed) -> Passed:
        return Passed(
            self.summary + other.summary,
            add(self.products, other.products),
            add(self.diagonal, other.diagonal),
        )


def pass_in_threads(this: Pass, X: Array, factor: Array) -> Passed:
    """One pass over all pairs of rows in memory."""
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


def add(total: Array | None, part: Array | None) -> Array | None:
    """total + part; either may be None."""
    if part is None:
        return total
    return part if total is None else total + part


def block_sizes(this: Pass, shape: tuple[int, ...], columns: int) -> tuple[int, int]:
    """Rows of a block and of a tile that fit in scikit-learn's `working_memory`."""
    n, d = shape
    budget = working_memory()
    threads = active_threads()
    # The sums of all rows, and twice as much while they are added.
    always = 3 * 8 * this.width * n
    least = 0
    for rows, tile in SIZES:
        waiting = (2 * threads + 1) * 2 * 8 * this.width * rows
        # Two blocks, scaled, and again as factors of their distances.
        prepared = 6 * 8 * rows * (d + 2)
        least = always + waiting + threads * (prepared + this.tile_bytes(tile, columns))
        if least <= budget:
            return rows, tile
    raise too_small(f"one pass over the pairs of {n} rows", least)
