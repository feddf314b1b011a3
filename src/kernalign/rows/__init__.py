"""Rows of data, in memory or elsewhere, and the operations on them and on their labels."""

from kernalign.rows.base import AllBut, Column, Rows, RowSums, Source
from kernalign.rows.columns import (
    all_different,
    exactly_summed,
    has_all,
    kept,
    loaded,
    mapped,
    others,
    reduced,
    summed,
    taken,
    weighted_sums,
)
from kernalign.rows.memory import ArrayRows, as_rows, columns_of

__all__ = [
    "AllBut",
    "ArrayRows",
    "Column",
    "RowSums",
    "Rows",
    "Source",
    "all_different",
    "as_rows",
    "columns_of",
    "exactly_summed",
    "has_all",
    "kept",
    "loaded",
    "mapped",
    "others",
    "reduced",
    "summed",
    "taken",
    "weighted_sums",
]
