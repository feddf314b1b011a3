"""The learned kernel: a non-negative combination of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from kernalign._compiled import compiled
from kernalign._memory import too_small, working_memory
from kernalign._threads import active_threads, map_rows
from kernalign._typing import Array
from kernalign.kernels.base import FamilyMember
from kernalign.kernels.together import Combination, KernelsOnRows, seconds_saved


class LearnedKernel(Kernel):
    """k = sum_t weights_t kernels_t, callable as ``k(X)`` or ``k(X, Z)``.

    It is normalised so that the centred Gram matrix of the training rows has mean diagonal one.
    (Alignment does not depend on the scale, but the machine trained on the kernel does.)

    It is a scikit-learn Gaussian-process kernel without free hyper-parameters and can be used in
    ``GaussianProcessRegressor(kernel=k)``, ``k + WhiteKernel()`` or ``SVC(kernel=k)``.

    Parameters
    ----------
    kernels : sequence of FamilyMember
    weights : array of shape (len(kernels),), non-negative
    """

    def __init__(self, kernels: Sequence[FamilyMember], weights: Array):
        self.kernels = kernels
        self.weights = weights

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Gram matrix (n, m); the second argument is called Y as in scikit-learn's kernels."""
        X = _as_rows(X)
        Z = None if Y is None else _as_rows(Y)
        K = self._gram(X, Z)
        if Z is None:
            # Blocks round the two halves differently, but a Gram matrix must be exactly symmetric.
            K += K.T
            K *= 0.5
        if eval_gradient:
            return K, np.empty((*K.shape, 0))
        return K

    def _gram(self, X: Array, Z: Array | None) -> Array:
        """k(X, Z), in blocks of rows that fit in scikit-learn's `working_memory`, in threads."""
        columns = X if Z is None else Z
        most = rows_within_budget(len(columns))
        if len(X) <= most and len(X) * len(columns) <= BLOCK:
            return KernelsOnRows(self.kernels, X, Z).combine(self.weights)
        values = Combination(self.kernels, self.weights, columns)
        K = np.empty((len(X), len(columns)))

        saved = seconds_saved(self.kernels, len(X) * len(columns))

        def block(rows: slice) -> None:
            with compiled(saved):
                values(X[rows], out=K[rows])

        size = max(1, min(most // active_threads(), BLOCK // max(len(columns), 1)))
        for _ in map_rows(block, len(X), size):
            pass
        if Z is None:
            # In a block, rounding parts a row from itself.
            np.fill_diagonal(K, self.diag(X))
        return K

    def diag(self, X: Any) -> Array:
        """k(x_i, x_i) for each row of X."""
        X = _as_rows(X)
        total = np.zeros(len(X))
        for kernel, weight in zip(self.kernels, self.weights, strict=True):
            total += weight * kernel.diag(X)
        return total

    def is_stationary(self) -> bool:
        return False

    @property
    def requires_vector_input(self) -> bool:
        return True

    def __repr__(self) -> str:
        terms = [f"{w:.3g} * {k!r}" for w, k in zip(self.weights, self.kernels, strict=True)]
        return " + ".join(terms) if terms else "0"

    def _repr_html_(self) -> str:
        """The weights as a small table, for notebooks; the largest first."""
        weights = np.asarray(self.weights, dtype=float)
        order = np.argsort(-weights, kind="stable")
        total = float(weights.sum()) or 1.0
        rows = "".join(
            f'<tr><td style="text-align:right">{weights[t]:.3g}</td>'
            f'<td style="text-align:right">{100 * weights[t] / total:.0f} %</td>'
            f'<td style="text-align:left"><code>{escape(repr(self.kernels[t]))}</code></td></tr>'
            for t in order[:_SHOWN]
        )
        left = len(order) - _SHOWN
        more = f'<tr><td colspan="3">and {left} of smaller weight</td></tr>' if left > 0 else ""
        head = '<tr><th>weight</th><th>share</th><th style="text-align:left">kernel</th></tr>'
        return f"<table><thead>{head}</thead><tbody>{rows}{more}</tbody></table>"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, LearnedKernel)
            and list(self.kernels) == list(other.kernels)
            and np.array_equal(self.weights, other.weights)
        )

    def __hash__(self) -> int:
        return hash((tuple(self.kernels), np.asarray(self.weights).tobytes()))


#: Kernel values that one thread computes at a time.
BLOCK = 2**19
#: Maximum number of kernels shown in a notebook.
_SHOWN = 12
#: Number of block-sized arrays in memory at once: the Gram matrix, the block, the sum, and the
#: intermediate results of the longest formula (Matern's).
_ALIVE = 8


def rows_within_budget(n_columns: int) -> int:
    """Number of rows of a block with `n_columns` columns that fit in `working_memory`."""
    budget = working_memory()
    row = 8 * _ALIVE * max(1, n_columns)
    if budget < row:
        raise too_small(f"one row of {n_columns} kernel values", row)
    return int(budget // row)


def _as_rows(X: Any) -> Array:
    rows: Array = np.asarray(X, dtype=float)
    if rows.ndim != 2:
        raise ValueError(f"A kernel needs a two-dimensional array of rows. Got {rows.ndim}-D.")
    return rows
