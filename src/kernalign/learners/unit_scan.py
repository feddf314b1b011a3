"""Units of the columns, and the best kernel of each family with one bandwidth.

Columns are in units of their own spreads, damped if they have heavy tails, or in units of their
ranges: the evidence of kernels with one bandwidth selects one of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernalign._threads import map_tasks
from kernalign._typing import Array, IntArray
from kernalign.gram import Target
from kernalign.gram.crossed import CrossedRows
from kernalign.gram.packed import PackedRows
from kernalign.gram.sampling import rows_in_proportion
from kernalign.kernels import Family
from kernalign.kernels.units import Units
from kernalign.machines.tuned_ridge import ridge_at
from kernalign.solvers.family_search import (
    SISTERS,
    Effort,
    Found,
    best_of,
    tied_kernel,
    tied_kernels,
)

#: Units of equal ranges are tried if the ranges of the columns, in their own units, differ by more
#: than this factor. A range depends on the two extreme rows, so it must gain this many nats
#: more than other units, on the rows that select the kernel.
UNEQUAL_RANGES, RANGE_GAIN = 3.0, 15.0
#: A larger sample is used only if it has at least this many times the rows of the smaller one.
MORE = 1.2


class Sample:
    """Stratified samples of the rows."""

    def __init__(
        self, X: Array, target: Target, rng: np.random.Generator, codes: IntArray | None = None
    ):
        self.X, self.target, self.rng, self.codes = X, target, rng, codes

    def units(self) -> Units:
        return Units.of(self.X, self.target.weight, codes=self.codes)

    def other_units(self, plain: Units) -> list[Units]:
        """Those of heavy tails, and, if they differ from plain ones, those of equal ranges."""
        X, weight = self.X, self.target.weight
        found = [Units.of(X, weight, squashed=True, codes=self.codes)]
        if plain.unequal_ranges > UNEQUAL_RANGES:
            found.append(Units.by_range(X, weight, codes=self.codes))
        return found

    def rows(self, most: int) -> IntArray:
        return rows_in_proportion(self.target, most, self.rng)

    def among(self, rows: IntArray, most: int) -> IntArray:
        return rows[rows_in_proportion(self.target.rows(rows), most, self.rng)]

    def packed(self, units: Units, rows: IntArray) -> PackedRows:
        return PackedRows(units(self.X[rows]), self.target.rows(rows), codes=units.codes)

    def crossed(self, units: Units, rows: IntArray, m: int, precision: Any) -> CrossedRows:
        """m stratified landmarks that differ, then the other rows in random order."""
        rows = self.rng.permutation(rows)
        _, distinct = np.unique(self.X[rows], axis=0, return_index=True)
        landmarks = distinct[rows_in_proportion(self.target.rows(rows[distinct]), m, self.rng)]
        others = np.setdiff1d(np.arange(len(rows)), landmarks)
        rows = rows[np.concatenate([landmarks, others])]
        U, target = units(self.X[rows]), self.target.rows(rows)
        return CrossedRows(U, target, len(landmarks), precision, units.codes)


@dataclass(frozen=True)
class Scan:
    """The best kernels with one bandwidth in some units, by family."""

    units: Units
    rows: PackedRows
    tied: dict[Family, Found]

    @property
    def best(self) -> Found:
        return best_of(self.tied)

    def in_units(self, sample: Sample, units: Units, few: IntArray, effort: Effort) -> Scan:
        """The two best families in other units, from the same kernels."""
        rows = sample.packed(units, few)
        judges = sorted(self.tied, key=lambda f: -self.tied[f].evidence)[:2]
        return Scan(units, rows, _near(rows, judges, self.tied, effort))

    def with_families(self, tied: Mapping[Family, Found], effort: Effort) -> Scan:
        """All families, from their kernels in other units."""
        rest = _near(self.rows, [f for f in tied if f not in self.tied], tied, effort)
        return replace(self, tied={f: (self.tied | rest)[f] for f in tied})


def scanned(
    sample: Sample,
    few: IntArray,
    judge: IntArray,
    groups: Sequence[Sequence[Family]],
    effort: Effort,
) -> Scan:
    """Units of the columns, by evidence, and the best kernels with one bandwidth in them."""
    units = sample.units()
    rows = sample.packed(units, few)
    scanned = [f for group in groups for f in group if f not in SISTERS or len(group) == 1]
    plain = best = Scan(units, rows, tied_kernels(rows, scanned, effort))
    squashed, *by_range = (
        plain.in_units(sample, other, few, effort) for other in sample.other_units(units)
    )
    if squashed.best.evidence > plain.best.evidence + effort.gain:
        best = squashed
    for other in by_range:
        gained = other.best.evidence - best.best.evidence
        if gained > 0 and len(judge) > MORE * len(few):
            on, target = sample.X[judge], sample.target.rows(judge)
            scores = [_evidence(scan.best, scan.units, on, target) for scan in (best, other)]
            gained = scores[1] - scores[0]
        if gained > RANGE_GAIN:
            best = other
    return best.with_families(plain.tied, effort)


def _evidence(found: Found, units: Units, X: Array, target: Target) -> float:
    """Of a kernel on some rows."""
    K = found.kernel.in_units(units)(X)
    return ridge_at(K, target, found.kernel.log_noise).evidence


def _near(
    rows: PackedRows, families: Sequence[Family], tied: Mapping[Family, Found], effort: Effort
) -> dict[Family, Found]:
    """The best kernels of these families near those in other units."""
    found = map_tasks(lambda f: tied_kernel(rows, f, effort, tied[f].kernel), families)
    return dict(zip(families, found, strict=True))
