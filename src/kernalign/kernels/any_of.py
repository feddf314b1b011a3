"""A union of families: the search chooses among them at every step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from kernalign._typing import Array
from kernalign.kernels.base import Family, SearchSpace


class AnyOf(Family):
    """The union of several families, or of one family on several groups of columns (views).

    Examples
    --------
    >>> from kernalign import AnyOf, Gaussian, Laplacian
    >>> AnyOf(Gaussian(columns=[0, 1]), Laplacian(columns=[2]))
    AnyOf(Gaussian(columns=[0, 1]), Laplacian(columns=[2]))
    """

    def __init__(self, *families: Family):
        self.families = families

    columns = None

    def members(self) -> list[Family]:
        if not self.families:
            raise ValueError("AnyOf needs at least one family. Got none.")
        for family in self.families:
            if not isinstance(family, Family):
                raise ValueError(f"AnyOf needs kernel families. Got {family!r} instead.")
        return [member for family in self.families for member in family.members()]

    def resolve(
        self,
        X: Array,
        feature_names: Sequence[str] | None = None,
        weight: Array | None = None,
    ) -> Self:
        return type(self)(*(m.resolve(X, feature_names, weight) for m in self.members()))

    # scikit-learn reads parameter names from the signature, which has none here.

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        params: dict[str, Any] = {}
        for i, family in enumerate(self.families):
            params[f"family_{i}"] = family
            if deep:
                inner = family.get_params(deep=True)
                params.update({f"family_{i}__{name}": value for name, value in inner.items()})
        return params

    def set_params(self, **params: Any) -> Self:
        families = list(self.families)
        for name, value in params.items():
            head, _, rest = name.partition("__")
            position = int(head.removeprefix("family_")) if head[7:].isdigit() else len(families)
            if not head.startswith("family_") or position >= len(families):
                raise ValueError(f"Invalid parameter {name!r} for AnyOf of {len(families)}.")
            if rest:
                families[position].set_params(**{rest: value})
            else:
                families[position] = value
        self.families = tuple(families)
        return self

    def __sklearn_clone__(self) -> Self:
        return type(self)(*(clone(family, safe=False) for family in self.families))

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"AnyOf({', '.join(map(repr, self.families))})"

    # A union has no formula: learners use its members.

    def gram(self, sigma: Array, X: Array, Z: Array | None = None) -> Array:
        raise TypeError(_NO_FORMULA)

    def diag(self, sigma: Array, X: Array) -> Array:
        raise TypeError(_NO_FORMULA)

    def gradient(self, sigma: Array, X: Array, Z: Array | None, W: Array, K: Array) -> Array:
        raise TypeError(_NO_FORMULA)

    def search_space(self, X: Array, rng: np.random.Generator) -> SearchSpace:
        raise TypeError(_NO_FORMULA)


_NO_FORMULA = "AnyOf is a union of families and has no formula: use its members()."
