"""What the learners over a finite set of kernels share: the dictionary and its Gram matrices.

A dictionary is a list of kernels (`Gaussian().at(1.0)`, `Gaussian().grid(50, 1e-3, 1e3)`), or of
Gram matrices. With Gram matrices X holds row numbers: one column, the row of each object in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernalign._typing import Array
from kernalign.kernels import BaseKernel, GramMatrix
from kernalign.learners.base import Learner


class FiniteLearner(Learner):
    """Base of learners that weight the kernels of a given list."""

    kernels: Any

    def dictionary(self, X: Array, feature_names: Sequence[str] | None) -> list[BaseKernel]:
        """The kernels, checked and resolved on these rows."""
        owner = type(self).__name__
        given = self.kernels
        if given is None or isinstance(given, BaseKernel | str) or not len(given):
            raise ValueError(
                f"The 'kernels' parameter of {owner} must be a non-empty list of kernels or Gram "
                f"matrices, such as Gaussian().grid(20, 0.1, 10). Got {given!r} instead."
            )
        found = []
        for position, kernel in enumerate(given):
            if not isinstance(kernel, BaseKernel):
                kernel = GramMatrix(kernel, name=f"kernels[{position}] of {owner}").at()
            found.append(BaseKernel(kernel.family.resolve(X, feature_names), kernel.sigma))
        return found
