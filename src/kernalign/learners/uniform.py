"""DU: equal weights, the yardstick of every method that learns them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign._validation import check_choice
from kernalign._warnings import AlignmentWarning, find_stack_level
from kernalign.gram import Target
from kernalign.gram.centring import VANISHING
from kernalign.gram.dictionary import CentredProducts, dictionary_products
from kernalign.gram.stack import NORMALISATIONS, warn_if_wild
from kernalign.kernels import FamilyMember, LearnedKernel
from kernalign.learners.base import Learned
from kernalign.learners.finite import FiniteLearner


class UniformWeights(FiniteLearner):
    """k = (1/M) sum_m kappa_m / s_m: equal weights, nothing is learned.

    No n x n matrix is stored.

    Parameters
    ----------
    kernels : list of kernels or Gram matrices
        Such as `Gaussian().grid(0.1, 10, 20)`. With Gram matrices X is one column of row numbers.
    normalize : {"none", "trace", "variance"}
        Divide each kernel by s_m = 1, its mean diagonal, or its mean diagonal after centring.
        Kernels that are constant on the rows stay as they are.

    Attributes
    ----------
    kernel_ : LearnedKernel
        Normalised as every learned kernel is, so that its weights need not be 1/M.
    weights_ : (M,) array
        1/M for each kernel, divided by its `scales_`.
    objective_ : float
        `alignment_`.
    alignment_ : float
        Centred alignment of `kernel_` with the target kernel on the training rows.
    history_ : list of dict
        One record: the alignment (objective).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernalign.kernels import Gaussian
    >>> from kernalign.learners.uniform import UniformWeights
    >>> X, y = load_iris(return_X_y=True)
    >>> len(UniformWeights(Gaussian().grid(0.1, 10, 5)).fit(X, y).kernel_.kernels)
    5
    """

    def __init__(self, kernels: Any = None, *, normalize: str = "none"):
        self.kernels = kernels
        self.normalize = normalize

    def learn(
        self, X: Array, target: Target, feature_names: Sequence[str] | None = None
    ) -> Learned:
        check_choice(self, "normalize", NORMALISATIONS)
        kernels = self.dictionary(X, feature_names, target.weight)
        sizes = Sizes.of(kernels, X, target, self.normalize)
        weights = np.full(len(kernels), 1 / len(kernels))
        if sizes.vanishing.all():
            warn_constant()
        value = combined_alignment(weights, sizes, target)
        return Learned(
            kernel=combination(kernels, weights, sizes),
            alignment=value,
            history=[{"iteration": 1, "objective": value}],
            weights=weights,
            extra={"scales_": sizes.scales},
        )


class Sizes:
    """Inner products of a dictionary on given rows, and how large its kernels are there.

    products : inner products of the centred Gram matrices.
    diagonals : (M,) tr K / n;  variances : (M,) tr K_c / n.
    scales : (M,) the divisors s_m of a normalisation.
    vanishing : (M,) whether a kernel is constant on the rows, up to rounding.
    """

    def __init__(
        self, products: CentredProducts, diagonals: Array, total: float, normalize: str
    ) -> None:
        self.products = products
        self.diagonals = diagonals
        self.variances = np.maximum(products.trace / total, 0.0)
        self.vanishing = ~(self.variances > VANISHING * diagonals)
        self.scales = np.ones(len(diagonals))
        if normalize == "trace":
            np.copyto(self.scales, diagonals, where=diagonals > 0)
        elif normalize == "variance":
            np.copyto(self.scales, self.variances, where=~self.vanishing)

    @classmethod
    def of(
        cls,
        kernels: Sequence[FamilyMember],
        X: Array,
        target: Target,
        normalize: str,
        scale_free: bool = False,
    ) -> Sizes:
        """Measured in one pass over the pairs of rows.

        scale_free : whether the method weights kernels of any scale alike.
        """
        # Products that overflow are reported below, in one sentence.
        with np.errstate(over="ignore", invalid="ignore"):
            products = dictionary_products(kernels, X, target)
        if not (np.isfinite(products.between).all() and np.isfinite(products.with_target).all()):
            raise ValueError(
                "The inner products of the kernels overflow: divide the kernels by their largest "
                "value first."
            )
        diagonals = np.array([target.weight @ kernel.diag(X) for kernel in kernels]) / target.total
        if normalize == "none" and not scale_free:
            warn_if_wild(kernels, diagonals)
        return cls(products, diagonals, target.total, normalize)


def combination(kernels: Sequence[FamilyMember], weights: Array, sizes: Sizes) -> LearnedKernel:
    """sum_m weights_m kappa_m / s_m, scaled to mean centred diagonal one.

    Where that vanishes (all kernels are constant) its mean diagonal is one instead.
    """
    given = weights / sizes.scales
    size = float(given @ sizes.variances)
    if size <= VANISHING * float(given @ sizes.diagonals):
        size = float(given @ sizes.diagonals) or 1.0
    used = np.flatnonzero(given)
    return LearnedKernel([kernels[int(m)] for m in used], given[used] / size)


def combined_alignment(weights: Array, sizes: Sizes, target: Target) -> float:
    """Centred alignment of sum_m weights_m kappa_m / s_m; 0 where that is 0/0."""
    # What rounding left of a constant kernel has no part in it.
    w = np.where(sizes.vanishing, 0.0, weights / sizes.scales)
    return sizes.products.alignment(w, target)


def warn_constant() -> None:
    """Say that the kernels cannot tell the rows apart."""
    warnings.warn(
        "Every kernel is constant on the training rows: no weights can align their combination "
        "with the labels, and all of them are given the same. The parameters of the kernels may be "
        "far from the scale of the data.",
        AlignmentWarning,
        stacklevel=find_stack_level(),
    )
