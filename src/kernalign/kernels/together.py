"""Evaluate several kernels on the same rows; shared distances are computed once.

Every kernel of a one-parameter family depends on a pair through one scalar, a distance or an inner
product. Kernels of equal families share it, even if the family objects differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign.kernels.base import Family, FamilyMember
from kernalign.kernels.structure import ScalarFamily, is_scalar


def by_family(kernels: Sequence[FamilyMember]) -> list[list[int]]:
    """Positions of the kernels, grouped by equal families."""
    groups: list[list[int]] = []
    of_object: dict[int, list[int]] = {}
    # Comparing each family with all others would be quadratic in their number.
    alike: dict[int, list[list[int]]] = {}
    for i, kernel in enumerate(kernels):
        family = kernel.family
        group = of_object.get(id(family))
        if group is None:
            # Only families with a shared statistic are compared: comparing Gram matrices is slow.
            options = alike.setdefault(_hash(family), []) if is_scalar(family) else []
            equal = (known for known in options if kernels[known[0]].family == family)
            group = of_object[id(family)] = next(equal, [])
            if not group:
                groups.append(group)
                options.append(group)
        group.append(i)
    return groups


def _hash(value: Any) -> int:
    """A hash of an object and its attributes, arrays included: equal objects of a fit share it."""
    if isinstance(value, np.ndarray):
        return hash(value.tobytes())
    if hasattr(value, "__dict__"):
        attributes = ((name, _hash(part)) for name, part in sorted(vars(value).items()))
        return hash((type(value), *attributes))
    return hash(repr(value))


def seconds_saved(kernels: Sequence[FamilyMember], pairs: float) -> float:
    """Seconds that compiled loops save if all kernels are evaluated on this number of pairs."""
    return pairs * sum(kernel.family.saved_per_value for kernel in kernels)


class KernelsOnRows:
    """kappa_t(x_i, z_j) of kernels t = 1..m on rows of X and of Z (of X itself if Z is None)."""

    def __init__(self, kernels: Sequence[FamilyMember], X: Array, Z: Array | None = None):
        self.shape = len(X), len(X if Z is None else Z)
        self._groups = [_Group(kernels, group, X, Z) for group in by_family(kernels)]

    def fill(self, stack: Array, rows: slice, columns: slice, room: Array | None = None) -> None:
        """Write the Gram blocks of all kernels on one tile to `stack`, (m, rows, columns).

        room : a work array of the tile's shape; it is overwritten.
        """
        for group in self._groups:
            statistic = group.statistic(rows, columns, room)
            for i, sigma in group.members:
                out = stack[i]
                block = group.evaluate(sigma, rows, columns, statistic, out)
                if block is not out:
                    out[...] = block

    def combine(self, weights: Array) -> Array:
        """sum_t weights_t kappa_t of all rows and columns."""
        total: Array | None = None
        room: Array | None = None
        everything = slice(0, self.shape[0]), slice(0, self.shape[1])
        for group in self._groups:
            used = [(i, sigma) for i, sigma in group.members if weights[i] != 0]
            # A single kernel computes its statistic in its own units.
            statistic = group.statistic(*everything) if len(used) > 1 else None
            for i, sigma in used:
                block = group.evaluate(sigma, *everything, statistic, room)
                block *= weights[i]
                if total is None:
                    total = block
                else:
                    total += block
                    room = block
        return np.zeros(self.shape) if total is None else total


class Combination:
    """sum_t weights_t kappa_t(x_i, z_j) of any rows x and given rows z.

    What depends on z only is computed once, not for each block of rows.
    precision : of the computation in families that support it, and of the result.
    """

    def __init__(
        self,
        kernels: Sequence[FamilyMember],
        weights: Array,
        Z: Array,
        precision: Any = np.float64,
    ):
        self._columns, self._precision = len(Z), precision
        self._groups: list[tuple[Family, list[float], _Functions]] = []
        used = [i for i in range(len(kernels)) if weights[i] != 0]
        for group in by_family([kernels[i] for i in used]):
            members = [used[i] for i in group]
            family, sigmas = kernels[members[0]].family, [kernels[i].sigma for i in members]
            functions = _functions(family, sigmas, family.select(Z).astype(precision, copy=False))
            # As Python numbers: numpy would compute single precision times a scalar of its own in
            # double precision, seven times as slowly.
            self._groups.append((family, [float(weights[i]) for i in members], functions))

    def __call__(self, X: Array, out: Array | None = None) -> Array:
        """The sum for these rows, in `out` if it is given."""
        total = np.empty((len(X), self._columns), self._precision) if out is None else out
        if not self._groups:
            total[...] = 0.0
        # One work array for all kernels but the first, whose values are written to the sum.
        room = total
        for place, (weight, values) in enumerate(self._terms(X)):
            if place == 0:
                np.multiply(values(total), weight, out=total)
                continue
            room = np.empty_like(total) if place == 1 else room
            block = values(room)
            block *= weight
            total += block
        return total

    def _terms(self, X: Array) -> Iterator[tuple[float, _Values]]:
        for family, weights, functions in self._groups:
            own = family.select(X).astype(self._precision, copy=False)
            yield from zip(weights, functions(own), strict=True)


#: out -> kernel values, in `out` if that is possible, otherwise in a new array.
_Values = Callable[[Array], Array]
#: X -> such a function for each kernel of a family.
_Functions = Callable[[Array], Iterable[_Values]]


def _functions(family: Family, sigmas: Sequence[Array], Z: Array) -> _Functions:
    """Functions for the values of kernels of one family, which share their statistic."""
    # A single kernel computes its statistic in its own units.
    if not is_scalar(family) or len(sigmas) == 1:
        to = [family.values_to(sigma, Z) for sigma in sigmas]
        return lambda X: [partial(values, X) for values in to]
    scalar, statistic_to = family, family.statistic_to(Z)

    def of_rows(X: Array) -> list[_Values]:
        statistic = statistic_to(X, np.empty((len(X), len(Z)), dtype=X.dtype))
        return [partial(_from_statistic, scalar, statistic, sigma) for sigma in sigmas]

    return of_rows


def _from_statistic(family: ScalarFamily, statistic: Array, sigma: Array, out: Array) -> Array:
    family.from_statistic_into(out, statistic, sigma)
    return out


class _Group:
    """Kernels of one family, and the family's columns of the rows."""

    def __init__(
        self,
        kernels: Sequence[FamilyMember],
        positions: list[int],
        X: Array,
        Z: Array | None,
    ):
        self.members = [(i, kernels[i].sigma) for i in positions]
        self.family = family = kernels[positions[0]].family
        self.X = family.select(X).astype(float, copy=False)
        self.Z = None if Z is None else family.select(Z).astype(float, copy=False)
        self._tiles = family.statistic_tiles(self.X, self.Z) if is_scalar(family) else None

    def statistic(self, rows: slice, columns: slice, room: Array | None = None) -> Array | None:
        """The statistic that all members share for these pairs; None if there is none."""
        if self._tiles is None:
            return None
        if room is None:
            shape = rows.stop - rows.start, columns.stop - columns.start
            room = np.empty(shape, dtype=self.X.dtype)
        return self._tiles(rows, columns, room)

    def evaluate(
        self,
        sigma: Array,
        rows: slice,
        columns: slice,
        statistic: Array | None,
        room: Array | None,
    ) -> Array:
        """kappa_sigma on one tile, in `room` if that is possible, otherwise in a new array."""
        if statistic is not None and is_scalar(self.family):
            out = np.empty_like(statistic) if room is None else room
            self.family.from_statistic_into(out, statistic, sigma)
            return out
        same = self.Z is None and rows == columns
        other = self.X if self.Z is None else self.Z
        return self.family.gram(sigma, self.X[rows], None if same else other[columns])
