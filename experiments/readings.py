"""Readings of the paper: what it leaves open, and every defensible choice.

A reading makes one choice on each axis. A row names only the choices that it depends on, so rows
are shared by all readings that agree with it, and nothing is run twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from experiments.cells import Row

#: Axis -> choice.
Reading = dict[str, str]

AXES: dict[str, tuple[str, ...]] = {
    "scale": ("raw", "standardised"),
    "lambda": ("alignment", "error"),
    "labels": ("balanced", "drawn"),
}
#: What each axis is about, and why either choice can be defended.
REASONS = {
    "scale": "features as they are generated or distributed, or standardised on the training rows. "
    "The paper does not say; the first is what its formulas describe, the second is common "
    "practice. MNIST and the frequencies of Dirichlet kernels have one reading: the paper's ranges "
    "of parameters are in the units of the raw features.",
    "lambda": "lambda of CA-nD by the alignment of its kernel with the validation labels, as the "
    "paper has it, or by the error of the machine on the validation rows, as C is chosen.",
    "labels": "labels of the 50 training rows of the Gaussian problem: exactly 25 of either class, "
    "or drawn one by one. Equal priors can mean either.",
}


def readings(axes: Iterable[str] = AXES) -> list[Reading]:
    """Every combination of choices on some axes."""
    names = list(axes)
    return [dict(zip(names, some, strict=True)) for some in product(*(AXES[a] for a in names))]


def name_of(reading: Reading) -> str:
    """A reading in words."""
    words = {"scale": "{} rows", "lambda": "lambda by {}", "labels": "{} labels"}
    return ", ".join(words[axis].format(reading[axis]) for axis in AXES if axis in reading)


def agrees(row: Row, reading: Reading) -> bool:
    """Whether a row belongs to a reading: they agree on every axis that both name."""
    own: Reading = row.get("reading", {})
    return all(reading.get(axis, choice) == choice for axis, choice in own.items())


def select(rows: Sequence[Row], reading: Reading) -> list[Row]:
    """The rows of one reading."""
    return [row for row in rows if agrees(row, reading)]
