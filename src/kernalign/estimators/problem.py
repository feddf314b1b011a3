"""The rows that an estimator learns from, with labels, weights and groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign.gram import Target
from kernalign.gram.sampling import rows_in_proportion
from kernalign.gram.target import meant_weights, relative_weights
from kernalign.machines.model import Seen
from kernalign.rows import as_rows, kept, mapped, taken


def positive(weight: Array) -> Any:
    """A mask of the rows that count."""
    return weight > 0


@dataclass(frozen=True)
class Problem:
    """Rows of positive weight with their labels (codes or numbers) and their target kernel.

    Labels and weights are arrays, or columns that are where the rows are.

    weight : (n,) sample weights; `target.weight` also includes the weight of the row's class.
    groups : (n,) codes of groups that no fold may divide, or None.
    index, whole : positions of the rows in the parent problem, and the number of its rows.
    """

    X: Any
    y: Array
    target: Target
    weight: Array
    feature_names: Any
    groups: Any = None
    index: Any = None
    whole: int = 0

    def __len__(self) -> int:
        return len(self.X)

    @property
    def remote(self) -> bool:
        """Whether the rows are not in memory."""
        return not as_rows(self.X).in_memory

    @cached_property
    def unweighted_classes(self) -> Target:
        """The target without class weights.

        A class weight is the cost of an error in that class. It must not be read as repeated rows,
        which would be evidence of little noise.
        """
        return replace(self.target, weight=self.weight)

    def relative(self, *, costs: bool) -> Problem:
        """The problem with `meant_weights`; with `costs`, class weights have mean one too."""
        weight, target = meant_weights(self.weight), self.target
        if costs:
            of_classes = relative_weights(mapped(np.divide, target.weight, self.weight))
            target = replace(target, weight=mapped(np.multiply, weight, of_classes))
        return replace(self, weight=weight, target=target)

    @cached_property
    def seen(self) -> Seen:
        return Seen.of(self.X, self.weight)

    def rows(self, index: Any) -> Problem:
        """Some of the rows, without moving them into memory."""
        part = self.target.subset(index)
        return self._part(as_rows(self.X).subset(index), part, kept, index)

    def fetched(self, index: Any) -> Problem:
        """Some of the rows, loaded into memory."""
        return self._part(as_rows(self.X).take(index), self.target.rows(index), taken, index)

    def near(self, most: int) -> Problem:
        """The problem itself if it is in memory, otherwise a sample of at most `most` rows."""
        if not self.remote:
            return self
        return self.fetched(rows_in_proportion(self.target, most, np.random.default_rng(0)))

    def _part(self, X: Any, target: Target, some: Callable[..., Any], index: Any) -> Problem:
        return Problem(
            X,
            some(self.y, index),
            target,
            some(self.weight, index),
            self.feature_names,
            None if self.groups is None else some(self.groups, index),
            index,
            len(self),
        )
