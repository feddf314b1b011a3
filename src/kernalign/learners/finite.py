"""Shared code of the learners over a finite set of kernels: the dictionary and its Gram matrices.

A dictionary is a list of kernels (`Gaussian().at(1.0)`, `Gaussian().grid(1e-3, 1e3, 50)`) or of
Gram matrices. With Gram matrices, X is one column of row indices into them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign.kernels import Family, FamilyMember, GramMatrix
from kernalign.kernels.together import by_family
from kernalign.learners.base import Learner


class FiniteLearner(Learner):
    """Base of learners that compute weights for a given list of kernels."""

    kernels: Any

    def dictionary(
        self,
        X: Array,
        feature_names: Sequence[str] | None,
        weight: Array,
    ) -> list[FamilyMember]:
        """The kernels, validated and resolved on these rows; members of one family share it."""
        owner = type(self).__name__
        given = self.kernels
        if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str) or not len(given):
            raise ValueError(
                f"The 'kernels' parameter of {owner} must be a non-empty list of kernels or Gram "
                f"matrices, such as Gaussian().grid(0.1, 10, 20). Got {given!r} instead."
            )
        for position, kernel in enumerate(given):
            if isinstance(kernel, Family | str) or callable(kernel) != isinstance(
                kernel, FamilyMember
            ):
                raise ValueError(
                    f"The 'kernels' parameter of {owner} must contain kernels, such as "
                    f"Gaussian().at(1.0), or Gram matrices. Got {kernel!r} at position {position}."
                )
        kernels = [
            kernel
            if isinstance(kernel, FamilyMember)
            else GramMatrix(kernel, name=f"kernels[{position}] of {owner}").at()
            for position, kernel in enumerate(given)
        ]
        resolved = list(kernels)
        for group in by_family(kernels):
            family = kernels[group[0]].family.resolve(X, feature_names, weight)
            for i in group:
                resolved[i] = kernels[i].resolved(family)
        _check_sizes(owner, [k.family for k in resolved if isinstance(k.family, GramMatrix)])
        return resolved


def _check_sizes(owner: str, matrices: Sequence[GramMatrix]) -> None:
    sizes = {len(m.matrix) for m in matrices}
    if len(sizes) > 1:
        raise ValueError(
            f"The Gram matrices in the 'kernels' parameter of {owner} must all have the same size. "
            f"Got sizes {sorted(sizes)}."
        )
