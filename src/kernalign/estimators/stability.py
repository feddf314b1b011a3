"""Stability of the kernel: how similar it is when learned again without some of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign.gram.centring import centred_cosine
from kernalign.kernels import LearnedKernel
from kernalign.rows import as_rows

#: Number of rows on which kernels are compared.
COMPARED = 200
NOT_LEARNED = "no fold has learned its own kernel"


@dataclass(frozen=True)
class FoldKernel:
    """The kernel of a fold.

    looked_at : the number of rows that it was learned from.
    importances : (columns,) of the columns in the machine of the fold, if known.
    """

    kernel: LearnedKernel
    looked_at: int
    importances: Array | None = None


@dataclass(frozen=True)
class Stability:
    """Comparison of the kernels of the folds with the kernel of all rows.

    families : of the kernels, those of all rows first.
    weights : (1 + folds, families) shares of the weights, of all rows and of each fold.
    alignment : (folds,) centred alignment of a fold's kernel with that of all rows, on some of the
        rows. It is 1 if they are the same kernel.
    importances : (folds, columns) of the columns in the machines of the folds; without rows if they
        are unknown.
    inflation : factor from the variance over folds to the variance over samples.
    unknown : why there are no folds; empty if there are.
    """

    families: tuple[str, ...]
    weights: Array
    alignment: Array
    importances: Array
    inflation: float
    unknown: str = ""

    @property
    def folds(self) -> int:
        return len(self.alignment)

    @property
    def came_back(self) -> dict[str, int]:
        """The number of folds whose kernel contains each family."""
        counts = (self.weights[1:] > 0).sum(axis=0).tolist()
        return dict(zip(self.families, counts, strict=True))

    def __str__(self) -> str:
        if self.unknown:
            return f"not known: {self.unknown}"
        lines = [
            f"{family}: in {count} of {self.folds} folds, {100 * share:.0f} % of the weights on "
            "all rows"
            for (family, count), share in zip(
                self.came_back.items(), self.weights[0].tolist(), strict=True
            )
        ]
        low, high = self.alignment.min(), self.alignment.max()
        return "\n".join(
            [*lines, f"alignment with the kernel of all rows: {low:.2f} to {high:.2f}"]
        )


def stability(
    kernel: LearnedKernel, looked_at: int, folds: Sequence[FoldKernel], X: Any
) -> Stability:
    """Stability of a kernel that was learned from `looked_at` of all rows X."""
    every = [_shares(one) for one in (kernel, *(fold.kernel for fold in folds))]
    families = tuple(dict.fromkeys(name for shares in every for name in shares))
    weights = np.array([[shares.get(name, 0.0) for name in families] for shares in every])
    known = [fold.importances for fold in folds if fold.importances is not None]
    return Stability(
        families,
        weights.reshape(len(every), len(families)),
        _alignments(kernel, folds, X),
        np.array(known).reshape(len(known), -1 if known else 0),
        _inflation(len(X), looked_at, [fold.looked_at for fold in folds]),
        "" if folds else NOT_LEARNED,
    )


def _inflation(n: int, looked_at: int, of_folds: Sequence[int]) -> float:
    """Ratio of the variance over samples to the variance over folds.

    A statistic of m of n rows has a variance proportional to 1/m - 1/n over subsets, and to
    1/looked_at over samples. For k folds of all rows the ratio is k - 1.
    """
    m = float(np.mean(of_folds)) if of_folds else 0.0
    return (1 / looked_at) / (1 / m - 1 / n) if 0 < m < n else 0.0


def _shares(kernel: LearnedKernel) -> dict[str, float]:
    """The share of each family in the weights."""
    total = float(np.sum(kernel.weights)) or 1.0
    shares: dict[str, float] = {}
    for weight, one in zip(kernel.weights, kernel.kernels, strict=True):
        name = _name(one.family)
        shares[name] = shares.get(name, 0.0) + float(weight) / total
    return shares


def _name(family: Any) -> str:
    own = getattr(family, "family", family)
    constants = ", ".join(f"{name}={value:g}" for name, value in own.constants().items())
    return type(own).__name__ + (f"({constants})" if constants else "")


def _alignments(kernel: LearnedKernel, folds: Sequence[FoldKernel], X: Any) -> Array:
    if not folds:
        return np.empty(0)
    rows = as_rows(X).take(np.linspace(0, len(X) - 1, min(COMPARED, len(X))).astype(int))
    K, weight = kernel(rows), np.ones(len(rows))
    return np.array([centred_cosine(K.copy(), fold.kernel(rows), weight) for fold in folds])
