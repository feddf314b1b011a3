"""The features of a table: their names, the columns that they come from, and which are codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from kernalign._typing import IntArray
from kernalign.tables.encoders import Feature


class TableFeatures(Sequence[str]):
    """The names of the features of a table, with the information that kernels need.

    columns : the column of the table that each feature encodes.
    codes : (d,) the number of codes of each feature; 0 for numbers.
    table : all columns of the table, including dropped ones.
    """

    def __init__(self, features: Sequence[Feature], table: Sequence[str] | None = None):
        self.names = tuple(feature.name for feature in features)
        self.columns = tuple(feature.column for feature in features)
        self.table = tuple(dict.fromkeys(self.columns) if table is None else table)
        self.codes: IntArray = np.array([feature.codes for feature in features], dtype=np.intp)
        #: Whether some feature is not a plain number, so that units differ in kind.
        self.mixed = any(feature.state != "value" for feature in features)

    def of_column(self, column: str) -> list[int]:
        """The positions of the features of a column."""
        return [place for place, name in enumerate(self.columns) if name == column]

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, key: int) -> str: ...

    @overload
    def __getitem__(self, key: slice) -> tuple[str, ...]: ...

    def __getitem__(self, key: Any) -> Any:
        return self.names[key]
