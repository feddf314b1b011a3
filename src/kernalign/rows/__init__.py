"""Rows of data, in memory or elsewhere, and the operations on them."""

from kernalign.rows.base import Rows, RowSums, Source
from kernalign.rows.memory import ArrayRows, as_rows, columns_of

__all__ = ["ArrayRows", "RowSums", "Rows", "Source", "as_rows", "columns_of"]
