"""Folds whose training set lacks a class: a rare one, or one that occurs in the held-out group."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from kernalign._typing import Array, IntArray
from kernalign.estimators.problem import Problem
from kernalign.gram.labels import class_target

#: Output of a one-vs-rest machine for a class without training rows.
ABSENT_OUTPUT = -1.0


@dataclass(frozen=True)
class PresentClasses:
    """The classes that have training rows.

    codes : of these classes; empty in regression. number : of all classes.
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
        """The rows, with codes and a target for the present classes only."""
        if self.all_there:
            return train
        codes = np.searchsorted(self.codes, train.y)
        target = class_target(codes, len(self.codes), train.target.weight)
        return replace(train, y=cast(Array, codes), target=target)

    def outputs(self, found: Array) -> Array:
        """(values, rows, classes) from the outputs for the present classes."""
        if self.all_there:
            return found
        columns = np.stack([-found, found], axis=-1) if found.ndim == 2 else found
        lowest = np.minimum(columns.min(axis=-1, keepdims=True), ABSENT_OUTPUT)
        every = np.repeat(lowest, self.number, axis=-1)
        every[..., self.codes] = columns
        return every
