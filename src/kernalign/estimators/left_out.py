"""Outputs for rows by machines that were trained without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernalign._typing import Array, IntArray


@dataclass(frozen=True)
class LeftOut:
    """Outputs (m,) or (m, c) for the rows at ascending positions `index` (m,)."""

    index: IntArray
    outputs: Array

    @classmethod
    def of(cls, index: Sequence[IntArray], outputs: Sequence[Array]) -> LeftOut:
        """From the rows of several folds; a row that was left out twice has its last outputs."""
        rows, last = np.unique(np.concatenate(index)[::-1], return_index=True)
        return cls(rows, np.concatenate(outputs)[::-1][last])

    @property
    def known(self) -> LeftOut:
        """The rows whose outputs are finite."""
        finite = np.isfinite(self.outputs.reshape(len(self.index), -1)).all(axis=1)
        return LeftOut(self.index[finite], self.outputs[finite])

    def __len__(self) -> int:
        return len(self.index)


#: Of no rows.
NONE = LeftOut(np.empty(0, dtype=np.intp), np.empty(0))
