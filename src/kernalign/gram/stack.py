"""The Gram matrices of a finite dictionary as one array, and operations on it.

K_theta = sum_m theta_m K_m / s_m,   q_m = sum_c beta_c' (K_m / s_m) beta_c

with the scales s_m of a normalisation. The M matrices are stored once, scaled in place, and never
copied: all operations use blocks of one of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kernalign._threads import map_rows
from kernalign._typing import Array, IntArray
from kernalign._warnings import ScaleWarning, find_stack_level
from kernalign.gram.centring import VANISHING
from kernalign.kernels import FamilyMember, LearnedKernel
from kernalign.kernels.together import KernelsOnRows

#: The choices of `normalize`: s_m = 1, tr K_m / n, tr (K_m)_c / n.
NORMALISATIONS = ("none", "trace", "variance")
#: Ratio of the mean diagonals of two kernels above which a warning is given.
MAX_SCALE_RATIO = 1e3
#: Side of the square tiles by which the array is filled.
TILE = 256
#: Share of nonzero rows below which selecting them is cheaper than multiplying all.
MAX_GATHERED_SHARE = 0.5


class GramStack:
    """The Gram matrices K_m / s_m of M kernels on n rows, as one (M, n, n) array.

    Parameters
    ----------
    kernels : sequence of FamilyMember, resolved; duplicates are allowed
    X : (n, d) rows
    normalize : {"none", "trace", "variance"}
        Divide K_m by s_m = 1, tr K_m / n or tr (K_m)_c / n. Kernels for which this is zero are not
        divided.
    float32 : bool
        Store in single precision; sums are accumulated in double precision.
    weight : (n,) row weights, default ones
        Traces and means count a row this many times.

    Attributes
    ----------
    values : (M, n, n) array, K_m / s_m
    scales : (M,) s_m
    diagonals : (M,) mean diagonal of K_m / s_m;  variances : (M,) that of its centred matrix.
    """

    def __init__(
        self,
        kernels: Sequence[FamilyMember],
        X: Array,
        normalize: str = "none",
        float32: bool = False,
        weight: Array | None = None,
    ):
        if not len(kernels):
            raise ValueError("A GramStack needs at least one kernel. Got an empty list instead.")
        if normalize not in NORMALISATIONS:
            raise ValueError(
                "The 'normalize' parameter of GramStack must be one of "
                f"{', '.join(map(repr, NORMALISATIONS))}. Got {normalize!r} instead."
            )
        self.kernels = list(kernels)
        self.weight = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=float)
        self.values: npt.NDArray[np.floating] = _filled(
            self.kernels, X, np.float32 if float32 else np.float64
        )
        self.diagonals, self.variances = self._traces()
        if normalize == "none":
            warn_if_scales_differ(self.kernels, self.diagonals)
        chosen = {"none": None, "trace": self.diagonals, "variance": self.variances}[normalize]
        self.scales = np.ones(len(self.kernels))
        if chosen is not None:
            usable = chosen > VANISHING * self.diagonals
            self.scales[usable] = chosen[usable]
        for matrix, scale in zip(self.values, self.scales, strict=True):
            if scale != 1:
                matrix /= scale
        self.diagonals = self.diagonals / self.scales
        self.variances = self.variances / self.scales

    def __len__(self) -> int:
        return len(self.kernels)

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.values.shape[1])

    def _traces(self) -> tuple[Array, Array]:
        """Mean diagonals of the Gram matrices and of the centred ones."""
        share = self.weight / self.weight.sum()
        diagonals = np.einsum("mii,i->m", self.values, share)
        means = np.array([share @ (matrix @ share) for matrix in self.values])
        # Rounding gives a small number of either sign for a constant matrix.
        return diagonals, np.maximum(diagonals - means, 0.0)

    # -- sums ---------------------------------------------------------------------------------

    def combine(self, weights: Array) -> Array:
        """K = sum_m weights_m K_m / s_m in double precision; zero weights are skipped."""
        used = np.flatnonzero(weights)
        if used.size == len(self) and self.values.dtype == np.float64:
            K: Array = np.tensordot(weights, self.values, 1)
            return K
        K = np.zeros(self.values.shape[1:])
        block = np.empty_like(K)
        for m in used:
            # With an explicit dtype, because numpy would otherwise stay in single precision.
            K += np.multiply(self.values[m], float(weights[m]), out=block, dtype=np.float64)
        return K

    def products(self, B: Array, rows: IntArray) -> Array:
        """(M, len(rows), c): the given rows of (K_m / s_m) B in double precision, for B (n, c)."""
        out = np.empty((len(self), rows.size, B.shape[1]))
        few = rows.size <= MAX_GATHERED_SHARE * len(B)
        for m, matrix in enumerate(self.values):
            # Selecting columns as well would cost more than it saves.
            out[m] = matrix.take(rows, axis=0) @ B if few else (matrix @ B)[rows]
        return out

    def quadratic_forms(self, B: Array) -> Array:
        """q_m = sum_c b_c' (K_m / s_m) b_c for the columns of B, (n,) or (n, c); q_m >= 0."""
        B = B[:, None] if B.ndim == 1 else B
        support = np.flatnonzero(B.any(axis=1))
        return forms(self.products(B, support), B[support])

    # -- the learned kernel -------------------------------------------------------------------

    def factor(self, weights: Array) -> float:
        """The factor f for which f sum_m weights_m K_m / s_m has centred mean diagonal one.

        `learned(weights)` is the combination times f, so the dual coefficients of a machine trained
        on `combine(weights)` are divided by f. If the combination is constant, its mean diagonal
        without centring is used instead.
        """
        centred, whole = float(weights @ self.variances), float(weights @ self.diagonals)
        return 1.0 / (centred if centred > VANISHING * whole else whole or 1.0)

    def learned(self, weights: Array) -> LearnedKernel:
        """sum_m weights_m K_m / s_m, normalised, as a combination of the given kernels."""
        used = np.flatnonzero(weights)
        original = self.factor(weights) * weights[used] / self.scales[used]
        return LearnedKernel([self.kernels[m] for m in used], original)


def forms(products: Array, B: Array) -> Array:
    """q_m = sum_c b_c' (K_m b_c) from the products (M, rows, c) with B (rows, c)."""
    # Rounding may give a tiny negative number if the form vanishes.
    return np.maximum(np.einsum("mrc,rc->m", products, B), 0.0)


def _filled(
    kernels: Sequence[FamilyMember], X: Array, dtype: type[np.floating]
) -> npt.NDArray[np.floating]:
    """(M, n, n) Gram matrices, by tiles on and right of the diagonal and their mirror images.

    Only half of the kernel values are computed, and no further array larger than a tile is used.
    """
    n, m = len(X), len(kernels)
    values = np.empty((m, n, n), dtype=dtype)
    on_rows = KernelsOnRows(kernels, X)

    def block(rows: slice) -> None:
        for start in range(rows.start, n, TILE):
            columns = slice(start, min(start + TILE, n))
            on_rows.fill(values[:, rows, columns], rows, columns)
            if columns != rows:
                for matrix in values:
                    matrix[columns, rows] = matrix[rows, columns].T

    for _ in map_rows(block, n, TILE):
        pass
    return values


def warn_if_scales_differ(kernels: Sequence[FamilyMember], diagonals: Array) -> None:
    """Warn if the diagonals of two kernels differ by orders of magnitude."""
    present = np.flatnonzero(diagonals > 0)
    if not present.size:
        return
    low = present[diagonals[present].argmin()]
    high = present[diagonals[present].argmax()]
    if diagonals[high] > MAX_SCALE_RATIO * diagonals[low]:
        warnings.warn(
            f"The kernels differ in scale: the mean diagonal of {kernels[high]!r} is "
            f"{diagonals[high]:.3g}, that of {kernels[low]!r} is {diagonals[low]:.3g}. The smaller "
            "kernel will hardly be used. normalize='trace' (or 'variance', which also ignores "
            "constants) scales them.",
            ScaleWarning,
            stacklevel=find_stack_level(),
        )
