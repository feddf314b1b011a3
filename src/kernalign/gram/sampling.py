"""Random rows in which each class, or each range of the response, has its share."""

from __future__ import annotations

import numpy as np

from kernalign._typing import IntArray
from kernalign.gram import Target


def split_in_proportion(
    target: Target, fraction: float, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Rows to keep and a fraction of rows held out, each class in proportion."""
    n = len(target.weight)
    key = rng.random(n)
    # Rows of a class are neighbours in this order, so a regular comb cuts each in proportion.
    order = np.lexsort([key, *target.values.T])
    held = np.zeros(n, dtype=bool)
    held[order] = np.diff(np.floor(np.arange(n + 1) * fraction + 0.5)) > 0
    return np.flatnonzero(~held), np.flatnonzero(held)


def rows_in_proportion(target: Target, most: int, rng: np.random.Generator) -> IntArray:
    """At most so many rows, each class in proportion; all of them where there are no more."""
    n = len(target.weight)
    return np.arange(n) if n <= most else split_in_proportion(target, most / n, rng)[1]
