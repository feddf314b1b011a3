"""Values of each row (labels, weights), in memory as arrays or where the rows are as a `Column`.

The functions here are the same for both. A function of columns gets blocks of the same rows of all
of them; for arrays there is one block. Of columns that are not in memory only reductions and the
values of some rows are computed here, so that no array of all rows is.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from kernalign._typing import Array, IntArray
from kernalign.rows.base import AllBut, Column

#: Length of an array that is turned into a list of numbers at a time.
LISTED = 1 << 16


def mapped(function: Callable[..., Any], *columns: Any) -> Any:
    """function(columns) of the same rows, again a column."""
    if isinstance(columns[0], Column):
        return columns[0].map(function, *columns[1:])
    return function(*columns)


def reduced(function: Callable[..., Any], join: Callable[[Any, Any], Any], *columns: Any) -> Any:
    """function(columns) of blocks of rows, joined in pairs."""
    if isinstance(columns[0], Column):
        return columns[0].reduce(function, join, *columns[1:])
    return function(*columns)


def summed(function: Callable[..., Any], *columns: Any) -> Any:
    """The sum of function(columns) over blocks of rows."""
    return reduced(function, operator.add, *columns)


def exactly_summed(function: Callable[..., Array], *columns: Any) -> float:
    """The sum over rows of function(columns), (n,), rounded once: it does not depend on blocks."""
    if not isinstance(columns[0], Column):
        return _exact_sum(function(*columns))
    return math.fsum(reduced(partial(_exact_parts, function), operator.add, *columns))


def _exact_parts(function: Callable[..., Array], *columns: Array) -> tuple[float, ...]:
    """Numbers of decreasing size whose sum is that of a block, far beyond double precision."""
    numbers = function(*columns)
    found: tuple[float, ...] = ()
    for _ in range(3):
        found = *found, _exact_sum(numbers, *(-part for part in found))
    return found


def _exact_sum(numbers: Array, *more: float) -> float:
    parts = (numbers[i : i + LISTED].tolist() for i in range(0, len(numbers), LISTED))
    return math.fsum(chain(chain.from_iterable(parts), more))


def taken(column: Any, index: Any) -> Any:
    """Values of some rows, in memory, in the order of the index."""
    if isinstance(column, Column):
        return column.take(index)
    return column[np.asarray(index) if isinstance(index, AllBut) else index]


def kept(column: Any, index: Any) -> Any:
    """Values of the rows of a mask, or of an ascending index or slice, where they are."""
    return column.subset(index) if isinstance(column, Column) else taken(column, index)


def loaded(column: Any) -> Any:
    """Values of all rows, in memory."""
    return taken(column, slice(None)) if isinstance(column, Column) else column


def others(index: Any, n: int) -> IntArray:
    """The rows among n that an index leaves out, ascending."""
    if isinstance(index, AllBut):
        return index.excluded
    free = np.ones(n, dtype=bool)
    free[index] = False
    return np.flatnonzero(free)


def has_all(index: Any, rows: IntArray) -> bool:
    """Whether an index contains all of some rows."""
    if isinstance(index, AllBut):
        return not np.isin(rows, index.excluded).any()
    return bool(np.isin(rows, index).all())


def all_different(index: Any) -> bool:
    """Whether an index has no row twice."""
    return isinstance(index, AllBut) or len(np.unique(index)) == len(index)


def weighted_sums(weight: Any, values: Any) -> Array:
    """sum_i w_i y_i, (c,) of values (n, c)."""
    found: Array = summed(np.matmul, weight, values)
    return found
