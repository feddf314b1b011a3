"""Families on given rows, and their one-parameter forms with tied parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernalign._typing import Array
from kernalign.kernels import Family, SearchSpace


@dataclass(frozen=True)
class Ground:
    """The search spaces of families, and of their tied forms, on given rows.

    tied : the one-parameter family in which all parameters are equal, or the family itself.
    """

    families: list[Family]
    spaces: list[SearchSpace]
    tied: list[Family]
    tied_spaces: list[SearchSpace]

    @classmethod
    def of(cls, families: list[Family], X: Array, rng: np.random.Generator) -> Ground:
        tied = [family.tied() or family for family in families]
        spaces = [family.search_space(family.select(X), rng) for family in families]
        tied_spaces = [
            space if bound is family else bound.search_space(bound.select(X), rng)
            for family, space, bound in zip(families, spaces, tied, strict=True)
        ]
        return cls(families, spaces, tied, tied_spaces)

    @property
    def all_tied(self) -> bool:
        """Whether no family has several parameters to tie."""
        return all(a is b for a, b in zip(self.families, self.tied, strict=True))

    def only(self, chosen: Sequence[int]) -> Ground:
        """Some of the families, in the given order; a family may occur twice."""
        return Ground(
            [self.families[f] for f in chosen],
            [self.spaces[f] for f in chosen],
            [self.tied[f] for f in chosen],
            [self.tied_spaces[f] for f in chosen],
        )

    def untied(self, f: int, z: Array) -> Array:
        """Search coordinates in family f of a kernel given in its tied form."""
        family, tied = self.families[f], self.tied[f]
        if tied is family:
            return z
        return family.to_search(family.untie(tied.from_search(z), self.spaces[f].p))
