"""Folds whose training rows lack a class: a rare one, or one of a group that is held out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from kernalign._typing import Array, IntArray
from kernalign.estimators.problem import Problem
from kernalign.gram.labels import class_target

#: What a machine of one class against the rest says of a class without rows.
ABSENT = -1.0


@dataclass(frozen=True)
class PresentClasses:
    """The classes that a machine can be trained to tell apart.

    codes : of the classes that have rows; number : of all classes. No codes for responses.
    """

    codes: IntArray
    number: int

    @classmethod
    def of(cls, problem: Problem) -> PresentClasses:
        if not problem.target.classes:
            return cls(np.empty(0, dtype=np.intp), 0)
        return cls(np.unique(problem.y), max(2, problem.target.values.shape[1]))

    @property
    def all_there(self) -> bool:
        return len(self.codes) == self.number

    def problem(self, train: Problem) -> Problem:
        """The rows with codes and a target of the classes that are there."""
        if self.all_there:
            return train
        codes = np.searchsorted(self.codes, train.y)
        target = class_target(codes, len(self.codes), train.target.weight)
        return replace(train, y=cast(Array, codes), target=target)

    def outputs(self, found: Array) -> Array:
        """(values, rows, classes) from outputs for the classes that are there."""
        if self.all_there:
            return found
        columns = np.stack([-found, found], axis=-1) if found.ndim == 2 else found
        lowest = np.minimum(columns.min(axis=-1, keepdims=True), ABSENT)
        every = np.repeat(lowest, self.number, axis=-1)
        every[..., self.codes] = columns
        return every
