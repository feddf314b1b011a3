"""DU: equal weights, the baseline of every method that learns weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign._validation import check_choice
from kernalign.gram import Target
from kernalign.gram.sizes import Sizes
from kernalign.gram.stack import NORMALISATIONS
from kernalign.learners.base import Learned
from kernalign.learners.finite import FiniteLearner


class UniformWeights(FiniteLearner):
    """k = (1/M) sum_m kappa_m / s_m: equal weights, nothing is learned.

    No n x n matrix is stored.

    Parameters
    ----------
    kernels : list of kernels or Gram matrices
        Such as `Gaussian().grid(0.1, 10, 20)`. With Gram matrices, X is one column of row indices.
    normalize : {"none", "trace", "variance"}
        Divide each kernel by s_m = 1, its mean diagonal, or its mean diagonal after centring.
        Kernels that are constant on the rows are not divided.

    Attributes
    ----------
    kernel_ : LearnedKernel
        Normalised like every learned kernel, so that its weights need not be 1/M.
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
        sizes = Sizes(kernels, X, target, self.normalize)
        sizes.warn_if_constant()
        weights = np.full(len(kernels), 1 / len(kernels))
        value = sizes.alignment(weights)
        return Learned(
            kernel=sizes.learned(weights),
            alignment=value,
            history=[{"iteration": 1, "objective": value}],
            weights=weights,
            extra={"scales_": sizes.scales},
        )
