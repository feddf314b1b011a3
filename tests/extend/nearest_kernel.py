"""A learner of a page: the single kernel of a list that is best aligned with the labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernalign.gram.sizes import Sizes
from kernalign.learners import FiniteLearner, Learned


class NearestKernel(FiniteLearner):
    """argmax_m F(K_m), F the centred alignment with the labels.

    Parameters
    ----------
    kernels : list of kernels or Gram matrices
    """

    def __init__(self, kernels: Any = None):
        self.kernels = kernels

    def learn(self, X, target, feature_names=None) -> Learned:
        kernels = self.dictionary(X, feature_names, target.weight)
        sizes = Sizes(kernels, X, target, "none", scale_free=True)
        sizes.warn_if_constant()
        single = np.eye(len(kernels))
        alignments = [sizes.alignment(weights) for weights in single]
        best = int(np.argmax(alignments))
        return Learned(
            kernel=sizes.learned(single[best]),
            alignment=alignments[best],
            history=[{"iteration": 1, "objective": alignments[best]}],
            weights=single[best],
        )
