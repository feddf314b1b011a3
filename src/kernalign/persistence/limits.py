"""Limits of the time and memory that a file may cause beyond its own size.

Objects and arrays are written once and referred to by number, so a small file could refer to a
large array, or to an object that refers to others, thousands of times.
"""

from __future__ import annotations

from kernalign.persistence.kinds import FieldError

#: Work of a file, in units of about a nanosecond, beside that of so many passes over its arrays.
MOST_WORK, PASSES = 10**9, 16
#: Bytes of labels, which numpy pads to the longest.
MOST_PADDED = 2**24
#: Objects of a file: a sum of the most kernels, each of its own family, and what stands around it.
MOST_OBJECTS = 25_000
#: Objects below an object, each counted as often as it is referred to, and how deep they stand.
MOST_PARTS, DEEPEST = 10**6, 32
#: Work of a step that scikit-learn fits, of a column that it is given, and of one that it encodes.
FITTED_STEP, FITTED_COLUMN, ENCODED_COLUMN = 500_000, 500, 200_000
#: Work of a term of a kernel, of a prediction of one row, and of each term of it.
TERM, PREDICTION, PREDICTED_TERM = 10_000, 10**7, 60_000


def check_number(objects: int) -> None:
    """Check the number of objects of a file."""
    if objects > MOST_OBJECTS:
        raise FieldError(f"the model must have at most {MOST_OBJECTS} objects, and has {objects}")


class Limits:
    """What is left of the limits of a file.

    size : bytes of its arrays.
    """

    def __init__(self, size: int):
        self._work = MOST_WORK + PASSES * size
        self._padded = MOST_PADDED

    def work(self, amount: int) -> None:
        """Count work that is about to be done."""
        self._work -= amount
        if self._work < 0:
            raise FieldError("its objects refer to its arrays and to each other too often")

    def pad(self, size: int, where: str) -> None:
        """Count bytes of labels."""
        self._padded -= size
        if self._padded < 0:
            raise FieldError(f"{where} has labels that are too long for their number")


class Parts:
    """How many objects an object consists of, and how deep they stand."""

    def __init__(self) -> None:
        self.number, self.depth = 1, 1

    def add(self, other: Parts, where: str) -> None:
        self.number += other.number
        self.depth = max(self.depth, 1 + other.depth)
        if self.number > MOST_PARTS or self.depth > DEEPEST:
            raise FieldError(f"{where} refers to too many objects, or they are nested too deep")
