"""Rows converted to the units of a kernel once, for kernel values that are computed many times."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from kernalign._threads import map_rows
from kernalign._typing import Array
from kernalign.kernels.base import Family, FamilyMember
from kernalign.kernels.learned import LearnedKernel
from kernalign.kernels.units import AppliedUnits, Units

#: Number of rows that one thread converts at a time.
ROWS = 1024


def converted(kernel: LearnedKernel, X: Array, precision: Any) -> tuple[LearnedKernel, Array]:
    """k' and X' with k'(x', z') = k(x, z): X' are the rows in the kernel's units.

    They are k and X if its members have no units, or different ones.
    """
    units = kernel.kernels[0].family.units if len(kernel.kernels) else None
    if units is None or not all(member.family.units == units for member in kernel.kernels):
        return kernel, X
    rows = np.empty(X.shape, dtype=precision)
    for some, values in map_rows(lambda some: units(X[some]), len(X), ROWS):
        rows[some] = values
    applied = AppliedUnits(**vars(units))
    members = [FamilyMember(_with(m.family, applied), m.sigma) for m in kernel.kernels]
    return LearnedKernel(members, kernel.weights), rows


def _with(family: Family, units: Units) -> Family:
    """The family with other units and the same constants."""
    found = copy.copy(family)
    found._units = units
    return found
