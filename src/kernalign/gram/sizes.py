"""Sizes and alignment of a finite set of kernels on given rows, and their combination.

No n x n matrix is stored; `GramStack` is for methods that need one.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from kernalign._typing import Array
from kernalign._warnings import AlignmentWarning, find_stack_level
from kernalign.gram.centring import VANISHING
from kernalign.gram.dictionary import dictionary_products
from kernalign.gram.stack import warn_if_scales_differ
from kernalign.gram.target import Target
from kernalign.kernels import FamilyMember, LearnedKernel


class Sizes:
    """Inner products and sizes of M kernels on given rows.

    Computed in one pass over the pairs of rows.

    normalize : {"none", "trace", "variance"}, the divisor of each kernel.
    scale_free : whether the result does not depend on the scale of the kernels.

    products : inner products of the centred Gram matrices.
    diagonals : (M,) tr K / n;  variances : (M,) tr K_c / n.
    scales : (M,) the divisors s_m of the normalisation.
    vanishing : (M,) whether a kernel is constant on the rows, up to rounding.
    """

    def __init__(
        self,
        kernels: Sequence[FamilyMember],
        X: Array,
        target: Target,
        normalize: str,
        scale_free: bool = False,
    ):
        self.kernels, self.target = kernels, target
        # An overflow is reported below.
        with np.errstate(over="ignore", invalid="ignore"):
            self.products = dictionary_products(kernels, X, target)
        finite = (self.products.between, self.products.with_target)
        if not all(np.isfinite(part).all() for part in finite):
            raise ValueError(
                "The inner products of the kernels overflow: divide the kernels by their largest "
                "value first."
            )
        sums = np.array([target.weight @ kernel.diag(X) for kernel in kernels])
        self.diagonals = sums / target.total
        if normalize == "none" and not scale_free:
            warn_if_scales_differ(kernels, self.diagonals)
        self.variances = np.maximum(self.products.trace / target.total, 0.0)
        self.vanishing = ~(self.variances > VANISHING * self.diagonals)
        self.scales = np.ones(len(kernels))
        if normalize == "trace":
            np.copyto(self.scales, self.diagonals, where=self.diagonals > 0)
        elif normalize == "variance":
            np.copyto(self.scales, self.variances, where=~self.vanishing)

    def learned(self, weights: Array) -> LearnedKernel:
        """sum_m weights_m kappa_m / s_m, scaled to mean centred diagonal one.

        If all kernels are constant, the mean diagonal without centring is one instead.
        """
        given = weights / self.scales
        size = float(given @ self.variances)
        if size <= VANISHING * float(given @ self.diagonals):
            size = float(given @ self.diagonals) or 1.0
        used = np.flatnonzero(given)
        return LearnedKernel([self.kernels[int(m)] for m in used], given[used] / size)

    def alignment(self, weights: Array) -> float:
        """Centred alignment of sum_m weights_m kappa_m / s_m; 0 if it is undefined."""
        # Rounding errors of a constant kernel are ignored.
        w = np.where(self.vanishing, 0.0, weights / self.scales)
        return self.products.alignment(w, self.target)

    def warn_if_constant(self) -> None:
        """Warn if all kernels are constant on the rows."""
        if self.vanishing.all():
            warnings.warn(
                "Every kernel is constant on the training rows: no combination is aligned with the "
                "labels, and all kernels get equal weights. The parameters of the kernels may be "
                "far from the scale of the data.",
                AlignmentWarning,
                stacklevel=find_stack_level(),
            )
