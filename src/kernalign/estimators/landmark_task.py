"""What the machine of the default fit on many rows is trained from, and the machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kernalign._typing import Array, IntArray
from kernalign.estimators.logistic_solutions import Trial
from kernalign.estimators.searched import MACHINE
from kernalign.gram import Target
from kernalign.kernels import LearnedKernel
from kernalign.machines.landmark_values import precision_for
from kernalign.machines.model import DualModel


@dataclass(frozen=True)
class Task:
    """A learned kernel with its noise, the rows, and positions of the hold-out set.

    free : whether the noise and the loss may change, since the user has not given C.
    double : whether single precision failed.
    """

    kernel: LearnedKernel
    X: Any
    target: Target
    held: IntArray
    log_noise: float
    free: bool = False
    double: bool = False

    @property
    def logistic(self) -> bool:
        """Whether logistic regression is tried."""
        return self.free and self.target.classes

    @property
    def precision(self) -> Any:
        """The precision of kernel values."""
        return np.float64 if self.double else precision_for(self.log_noise, self.target.classes)

    @cached_property
    def without(self) -> Target:
        """The target with weight zero for the hold-out set; for rows in memory."""
        return self.without_held(np.arange(len(self.X)))

    def without_held(self, rows: IntArray) -> Target:
        """The target of some rows, in memory, with weight zero for the hold-out set."""
        some = self.target.rows(rows)
        return replace(some, weight=np.where(np.isin(rows, self.held), 0.0, some.weight))

    def error(self, outputs: Array) -> float:
        """Squared error of the outputs of the hold-out set. For classes, it has less variance than
        the error rate."""
        rows = self.target.rows(self.held)
        return float(rows.weight @ ((rows.values - outputs) ** 2).mean(axis=1))


@dataclass(frozen=True)
class Solution:
    """The machine without the hold-out set.

    landmarks : (m, d) in random order if there are more than 4000.
    outputs : (h, c) of the hold-out set; share : of the rows that this machine was trained on.
    on_all_rows : returns the machine trained on all rows.
    noise, constant : in units of the kernel.
    solver : "cg" if all rows are landmarks.
    trial : Newton steps of logistic regression from this machine.
    machine : its name; noise_factor : its noise, relative to that of the task; converged : whether
        its iterations have.
    """

    landmarks: Array
    outputs: Array
    share: float
    on_all_rows: Callable[[], DualModel]
    noise: float
    constant: float
    solver: str = "nystroem"
    trial: Trial | None = None
    machine: str = MACHINE
    noise_factor: float = 1.0
    converged: bool = True
