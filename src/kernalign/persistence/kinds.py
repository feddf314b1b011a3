"""Kinds of values of the fields of a model file, each with its type, shape and range.

A kind writes a value as plain data and reads it back. Reading trusts nothing: a value that is not
of the kind raises an error that names the field.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

#: Text and lists are no longer than this; whole numbers need no more than 64 bits.
LONGEST_TEXT, LONGEST_LIST, LARGEST_INT = 10_000, 200_000, 2**63 - 1


class FieldError(ValueError):
    """A value that is not what its field holds."""


class Arrays(Protocol):
    """Where arrays and objects are put, or found, by number."""

    def array(self, value: Any) -> Any: ...

    def object(self, value: Any, where: str) -> Any: ...

    def function(self, value: Any, where: str) -> Any: ...

    def pad(self, size: int, where: str) -> None: ...


class Kind(ABC):
    """What a field holds."""

    #: Description for error messages.
    wanted: str
    #: Types of its plain data; empty if they are not known.
    types: tuple[type, ...] = ()

    @abstractmethod
    def write(self, value: Any, out: Arrays, where: str) -> Any:
        """Plain data for a value; FieldError if it is not of the kind."""

    @abstractmethod
    def read(self, node: Any, source: Arrays, where: str) -> Any:
        """The value for plain data; FieldError if it is not of the kind."""

    def refuse(self, value: Any, where: str) -> FieldError:
        shown = repr(value)
        if len(shown) > 60:
            shown = f"{shown[:57]}..."
        return FieldError(f"{where} must be {self.wanted}. Got {shown} instead")


def numbered(node: Any, what: str) -> Any:
    """The number of an array or an object that plain data refer to, None if they do not."""
    return node[what] if isinstance(node, dict) and set(node) == {what} else None


class Flag(Kind):
    """True or False."""

    wanted = "true or false"
    types = (bool,)

    def write(self, value: Any, out: Arrays, where: str) -> Any:
        if not isinstance(value, bool | np.bool_):
            raise self.refuse(value, where)
        return bool(value)

    def read(self, node: Any, source: Arrays, where: str) -> bool:
        if not isinstance(node, bool):
            raise self.refuse(node, where)
        return node


#: Numbers that JSON does not have.
_WORDS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class Number(Kind):
    """A number in [low, high], or in (low, high] where `above`; NaN only where `nan`."""

    types = (int, float, dict)

    def __init__(
        self,
        low: float = -math.inf,
        high: float = math.inf,
        *,
        above: bool = False,
        whole: bool = False,
        finite: bool = True,
        nan: bool = False,
    ):
        self.low, self.high, self.above, self.nan = low, high, above, nan
        self.whole, self.finite = whole, finite and not nan
        bracket = "(" if above else "["
        self.wanted = f"{'an int' if whole else 'a number'} in {bracket}{low:g}, {high:g}]"

    def _fits(self, value: float) -> bool:
        if math.isnan(value):
            return self.nan
        if self.finite and math.isinf(value):
            return False
        return (self.low < value if self.above else self.low <= value) and value <= self.high

    def write(self, value: Any, out: Arrays, where: str) -> Any:
        if isinstance(value, np.generic):
            value = value.item()
        if not self._is_number(value) or not self._fits(float(value)):
            raise self.refuse(value, where)
        return value if math.isfinite(value) else {"number": repr(value)}

    def _is_number(self, value: Any) -> bool:
        if type(value) is int:
            return abs(value) <= LARGEST_INT
        return type(value) is float and not self.whole

    def read(self, node: Any, source: Arrays, where: str) -> Any:
        value = node
        if isinstance(node, dict):
            word = node.get("number")
            value = _WORDS.get(word) if isinstance(word, str) and len(node) == 1 else None
        if not self._is_number(value) or not self._fits(float(value)):
            raise self.refuse(node, where)
        return value


class Text(Kind):
    """Text, or one of a few words."""

    types = (str,)

    def __init__(self, *words: str):
        self.words = words
        self.wanted = f"one of {', '.join(map(repr, words))}" if words else "text"

    def write(self, value: Any, out: Arrays, where: str) -> Any:
        if isinstance(value, np.str_):
            value = str(value)
        return self.read(value, out, where)

    def read(self, node: Any, source: Arrays, where: str) -> str:
        if type(node) is not str or (self.words and node not in self.words):
            raise self.refuse(node, where)
        if len(node) > LONGEST_TEXT:
            raise FieldError(f"{where} must be text of at most {LONGEST_TEXT} characters")
        return node


class Nothing(Kind):
    """None."""

    wanted = "null"
    types = (type(None),)

    def write(self, value: Any, out: Arrays, where: str) -> Any:
        if value is not None:
            raise self.refuse(value, where)

    def read(self, node: Any, source: Arrays, where: str) -> Any:
        if node is not None:
            raise self.refuse(node, where)


class Either(Kind):
    """The first of several kinds that a value is of."""

    def __init__(self, *kinds: Kind):
        self.kinds = kinds
        self.wanted = ", or ".join(kind.wanted for kind in kinds)
        if all(kind.types for kind in kinds):
            self.types = tuple({known for kind in kinds for known in kind.types})

    def write(self, value: Any, out: Arrays, where: str) -> Any:
        problems = []
        for kind in self.kinds:
            try:
                return kind.write(value, out, where)
            except FieldError as problem:
                problems.append(problem)
        raise self._refused(problems, value, where)

    def read(self, node: Any, source: Arrays, where: str) -> Any:
        problems = []
        for kind in self.kinds:
            # An error would take several times as long as the value: lists of labels are long.
            if kind.types and type(node) not in kind.types:
                continue
            try:
                return kind.read(node, source, where)
            except FieldError as problem:
                problems.append(problem)
        raise self._refused(problems, node, where)

    def _refused(self, problems: list[FieldError], value: Any, where: str) -> FieldError:
        # An error in a nested value is more informative than the list of all kinds.
        inside = [p for p in problems if not str(p).startswith(f"{where} must be")]
        return inside[0] if inside else self.refuse(value, where)


class ListOf(Kind):
    """A list of values of one kind, or a tuple of them."""

    def __init__(self, kind: Kind, *, as_tuple: bool = False, least: int = 0, most: int = 10**9):
        self.kind, self.as_tuple, self.least, self.most = kind, as_tuple, least, most
        self.wanted = f"a list of {kind.wanted}"

    def write(self, value: Any, out: Arrays, where: str) -> Any:
        if not isinstance(value, tuple if self.as_tuple else list | tuple):
            raise self.refuse(value, where)
        self._check_length(value, where)
        return [self.kind.write(item, out, f"{where}[{i}]") for i, item in enumerate(value)]

    def read(self, node: Any, source: Arrays, where: str) -> Any:
        if not isinstance(node, list):
            raise self.refuse(node, where)
        self._check_length(node, where)
        items = [self.kind.read(item, source, f"{where}[{i}]") for i, item in enumerate(node)]
        return tuple(items) if self.as_tuple else items

    def _check_length(self, value: Sequence[Any], where: str) -> None:
        if not self.least <= len(value) <= min(self.most, LONGEST_LIST):
            raise FieldError(f"{where} holds {len(value)} values, which is too few or too many")


class Array(Kind):
    """An array of numbers. Its shape is in letters, equal letters of one object being equal sizes.

    shapes : such as "m d"; several where the number of axes may differ, "" for a single number,
        and "*" for a size that is compared with nothing.
    letter : f for floats, i for integers.
    low, high : the range of its numbers; infinite ones only where `finite` is False.
    """

    def __init__(
        self,
        *shapes: str,
        letter: str = "f",
        low: float = -math.inf,
        high: float = math.inf,
        finite: bool = True,
        nan: bool = False,
    ):
        self.shapes = {len(shape.split()): shape.split() for shape in shapes}
        self.letter, self.low, self.high = letter, low, high
        self.finite, self.nan = finite and not nan, nan
        named = " or ".join(f"({', '.join(shape.split())})" for shape in shapes)
        what = "finite numbers" if self.finite else "numbers"
        self.wanted = f"an array {named} of {'integers' if letter == 'i' else what}"
        if low > -math.inf or high < math.inf:
            self.wanted += f" in [{low:g}, {high:g}]"

    def write(self, value: Any, out: Arrays, where: str) -> Any:
        if not isinstance(value, np.ndarray | np.generic | int | float) or type(value) is bool:
            raise self.refuse(value, where)
        found = np.asarray(value)
        if found.dtype.kind not in ("iu" if self.letter == "i" else "fiu"):
            raise self.refuse(value, where)
        wanted = np.int64 if self.letter == "i" else found.dtype
        found = found if found.dtype == wanted else found.astype(wanted)
        self._check(found, where)
        return {"array": out.array(found)}

    def read(self, node: Any, source: Arrays, where: str) -> Any:
        found = source.array(numbered(node, "array"))
        if found is None or found.dtype.kind not in ("iu" if self.letter == "i" else "fiu"):
            raise self.refuse(node, where)
        self._check(found, where)
        return found

    def _check(self, found: np.ndarray[Any, Any], where: str) -> None:
        if found.ndim not in self.shapes:
            raise FieldError(f"{where} must be {self.wanted}. It has the shape {found.shape}")
        if not found.size:
            return
        bounded = found[~np.isnan(found)] if self.nan else found
        outside = (np.isinf(found) if self.finite else False) | (np.isnan(found) & (not self.nan))
        if outside.any() or (bounded < self.low).any() or (bounded > self.high).any():
            raise FieldError(f"{where} must be {self.wanted}. It holds others")

    def sizes(self, found: np.ndarray[Any, Any]) -> list[tuple[str, int]]:
        """The letters of its shape and their sizes."""
        named = zip(self.shapes[found.ndim], found.shape, strict=True)
        return [(letter, size) for letter, size in named if letter != "*"]


class Object(Kind):
    """An object of one of some classes."""

    def __init__(self, *classes: type):
        self.classes = classes
        self.wanted = " or ".join(cls.__name__ for cls in classes)

    def write(self, value: Any, out: Arrays, where: str) -> Any:
        if not isinstance(value, self.classes):
            raise self.refuse(type(value), where)
        return {"object": out.object(value, where)}

    def read(self, node: Any, source: Arrays, where: str) -> Any:
        number = numbered(node, "object")
        if number is None:
            raise self.refuse(node, where)
        found = source.object(number, where)
        if not isinstance(found, self.classes):
            raise self.refuse(type(found), where)
        return found


def optional(kind: Kind) -> Kind:
    """The kind, or None."""
    return Either(Nothing(), kind)


class Maybe(Kind):
    """A kind whose attribute need not be there at all."""

    def __init__(self, kind: Kind):
        self.kind = kind
        self.wanted = kind.wanted

    def write(self, value: Any, out: Arrays, where: str) -> Any:
        return self.kind.write(value, out, where)

    def read(self, node: Any, source: Arrays, where: str) -> Any:
        return self.kind.read(node, source, where)


FLAG = Flag()
NUMBER = Number()
POSITIVE = Number(0.0, above=True)
AT_LEAST_ZERO = Number(0.0)
SHARE = Number(0.0, 1.0)
ANY_NUMBER = Number(finite=False, nan=True)
COUNT = Number(1, 2**40, whole=True)
INTEGER = Number(-LARGEST_INT, LARGEST_INT, whole=True)
SIZE = Number(0, 2**40, whole=True)
TEXT = Text()
