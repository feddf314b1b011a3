"""Tiles of the Gram matrices in a pass over pairs, which fit in a core's cache."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign.gram.target import Target
from kernalign.rows import as_rows, mapped
from kernalign.rows.pairs import Pass, Passed

#: Bytes of a line of a processor's cache.
CACHE_LINE = 64


def pass_over_pairs(this: Pass, X: Any, target: Target) -> Passed:
    """One pass over all pairs of rows, wherever they are: Gram matrices times (w, w Y_c)."""
    factor = mapped(_side_by_side, target.weight, target.weighted)
    return as_rows(X).pass_over_pairs(this, factor)


def _side_by_side(weight: Array, weighted: Array) -> Array:
    return np.column_stack([weight, weighted])


def tile_pairs(rows: int, columns: int | None, size: int) -> Iterator[tuple[slice, slice, bool]]:
    """Tiles of a block (columns None: of a block with itself, on and right of the diagonal), and
    whether a tile is on the diagonal."""
    for i in range(0, rows, size):
        for j in range(i if columns is None else 0, columns or rows, size):
            a, b = slice(i, min(i + size, rows)), slice(j, min(j + size, columns or rows))
            yield a, b, columns is None and i == j


def room_for(count: int) -> Array:
    """Memory for `count` numbers, aligned to a cache line.

    Squaring numbers in place takes almost twice as long if vectors cross cache lines.
    """
    spare = CACHE_LINE // 8
    room = np.empty(count + spare)
    skipped = -room.ctypes.data % CACHE_LINE // 8
    return room[skipped : skipped + count]


def cut(room: Array, shape: tuple[int, ...]) -> Array:
    """An array of this shape at the beginning of a longer one."""
    return room[: math.prod(shape)].reshape(shape)
