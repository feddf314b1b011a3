"""Random samples of rows, stratified by class or by ranges of the response."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from kernalign._typing import Array, IntArray
from kernalign.gram import Target
from kernalign.rows import as_rows, loaded

#: Up to this number of rows, all are sorted by their labels to draw a stratified sample.
STRATIFIED_ROWS = 100_000


def split_in_proportion(
    target: Target, fraction: float, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """A stratified split into rows to keep and a fraction of held-out rows."""
    by_value, _ = _by_value(target, rng)
    n = len(by_value)
    held = np.zeros(n, dtype=bool)
    # Rows of a class are consecutive in this order, so equally spaced rows are stratified.
    held[by_value] = np.diff(np.floor(np.arange(n + 1) * fraction + 0.5)) > 0
    return np.flatnonzero(~held), np.flatnonzero(held)


def rows_in_proportion(target: Target, most: int, rng: np.random.Generator) -> IntArray:
    """A stratified sample of at most `most` rows; all of them if there are no more."""
    n = len(target.weight)
    if n <= most:
        return np.arange(n)
    pool = rows_to_stratify(n, most, rng)
    if pool is None:
        return split_in_proportion(target, most / n, rng)[1]
    return pool[split_in_proportion(target.rows(pool), most / len(pool), rng)[1]]


def rows_to_stratify(n: int, most: int, rng: np.random.Generator) -> IntArray | None:
    """The rows among n from which a stratified sample of `most` rows is drawn; None for all.

    Strata need sorted labels. Those of a random part of many rows are enough, and their memory and
    time do not grow with n.
    """
    size = max(STRATIFIED_ROWS, 2 * most)
    return None if n <= size else np.sort(rng.choice(n, size, replace=False, shuffle=False))


def rows_in_memory(
    X: Any, target: Target, most: int, rng: np.random.Generator
) -> tuple[Array, Target]:
    """All rows if they are in memory, otherwise a sample of at most `most` rows."""
    rows = as_rows(X)
    if rows.in_memory:
        return X, target
    index = rows_in_proportion(target, most, rng)
    return rows.take(index), target.rows(index)


def stratified_order(target: Target, rng: np.random.Generator, most: int | None = None) -> IntArray:
    """An order of the rows in which every initial part is stratified.

    A response is divided into strata of a few rows.

    most : number of rows that are needed; of many more rows, a random part is ordered.
    """
    n = len(target.weight)
    pool = rows_to_stratify(n, n if most is None else most, rng)
    if pool is not None:
        return pool[stratified_order(target.rows(pool), rng)]
    by_value, key = _by_value(target, rng)
    n = len(by_value)
    values = loaded(target.values)[by_value]
    fresh = np.r_[True, (values[1:] != values[:-1]).any(axis=1)]
    stratum = np.cumsum(fresh) - 1
    if stratum[-1] >= n // 20:
        return np.argsort(key)
    # The i-th of the m rows of a class is at (i + u) / m: evenly spread over the order.
    counts = np.bincount(stratum)
    within = np.arange(n) - np.repeat(np.cumsum(counts) - counts, counts)
    position = (within + rng.random(counts.size)[stratum]) / counts[stratum]
    order: IntArray = by_value[np.argsort(position, kind="stable")]
    return order


def _by_value(target: Target, rng: np.random.Generator) -> tuple[IntArray, Array]:
    """The rows sorted by their values, ties in random order, and the random numbers."""
    key = rng.random(len(target.weight))
    order: IntArray = np.lexsort([key, *loaded(target.values).T])
    return order, key


def order_by_content(X: Any, target: Target, codes: IntArray) -> IntArray:
    """An order that depends only on the content of the rows: by labels, then by numbers.

    Samples and sums in this order do not depend on the order of a table's rows. Rows that differ
    only in the codes of categories, which have no order, keep their order.
    """
    rows = as_rows(X)
    order: IntArray = np.lexsort([*target.values.T])
    tied = _same_as_before(target.values[order].T)
    # A column is only read while rows are tied, so that few are read of rows outside memory.
    for column in np.flatnonzero(codes == 0)[::-1].tolist():
        if not tied.any():
            break
        stratum = np.cumsum(~tied)
        values = rows.column(column)[order]
        within = np.lexsort([values, stratum])
        order = order[within]
        tied = _same_as_before([stratum, values[within]])
    return order


def _same_as_before(keys: Iterable[Array]) -> Any:
    """Whether each entry equals the one before it in all keys."""
    same = [np.r_[False, key[1:] == key[:-1]] for key in keys]
    return np.logical_and.reduce(same)
