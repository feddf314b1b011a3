"""Kinds of values that are more than a number: labels, records, seeds, functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kernalign.persistence.kinds import (
    ANY_NUMBER,
    FLAG,
    INTEGER,
    POSITIVE,
    TEXT,
    Array,
    Arrays,
    Either,
    FieldError,
    Kind,
    ListOf,
    Nothing,
    Number,
    Object,
    Text,
)

#: Maximum nesting depth of lists and records.
DEEPEST = 6
_LABEL = Either(FLAG, ANY_NUMBER, TEXT)
#: Letters of numpy's types of labels, and what their values are.
_LETTERS = {
    "b": FLAG,
    "i": INTEGER,
    "u": INTEGER,
    "f": Number(finite=False),
    "U": TEXT,
    "O": Either(Nothing(), _LABEL),
}


class Labels(Kind):
    """An array of labels: text, numbers, or true and false."""

    def __init__(self, *, different: bool = True):
        self.different = different
        self.wanted = f"an array of {'different ' if different else ''}labels"

    def write(self, value: Any, out: Arrays, where: str) -> Any:
        if not isinstance(value, np.ndarray) or value.ndim != 1 or value.dtype.kind not in _LETTERS:
            raise self.refuse(value, where)
        if value.dtype.kind == "U":
            out.pad(value.nbytes, where)
        items = ListOf(_LETTERS[value.dtype.kind]).write(value.tolist(), out, where)
        # The width of text follows from the text.
        name = value.dtype.kind if value.dtype.kind in "UO" else value.dtype.str[1:]
        return {"labels": name, "items": items}

    def read(self, node: Any, source: Arrays, where: str) -> Any:
        if not isinstance(node, dict) or set(node) != {"labels", "items"}:
            raise self.refuse(node, where)
        name = Text("U", "O", "b1", *(f"{k}{n}" for k in "iuf" for n in (1, 2, 4, 8))).read(
            node["labels"], source, f"{where}.labels"
        )
        items = ListOf(_LETTERS[name[0]], least=1).read(node["items"], source, f"{where}.items")
        if self.different and len(set(items)) != len(items):
            raise self.refuse(items, where)
        if name == "U":
            # Each label is padded to the longest, with four bytes for each character.
            source.pad(4 * max(map(len, items)) * len(items), where)
        try:
            return np.array(items, dtype=object if name == "O" else name)
        except (OverflowError, ValueError):
            raise self.refuse(items, where) from None


class ClassWeights(Kind):
    """None, "balanced", or a positive number for each class."""

    wanted = "null, 'balanced' or a positive number for each class"
    _pair = ListOf(Either(FLAG, ANY_NUMBER, TEXT), least=2, most=2)

    def write(self, value: Any, out: Arrays, where: str) -> Any:
        if not isinstance(value, dict):
            return Either(Nothing(), Text("balanced")).write(value, out, where)
        return [
            [_LABEL.write(label, out, where), POSITIVE.write(weight, out, where)]
            for label, weight in value.items()
        ]

    def read(self, node: Any, source: Arrays, where: str) -> Any:
        if not isinstance(node, list):
            return Either(Nothing(), Text("balanced")).read(node, source, where)
        pairs = ListOf(self._pair).read(node, source, where)
        return {label: POSITIVE.read(weight, source, where) for label, weight in pairs}


class ByColumn(Kind):
    """None, or text or a list of values for each of some columns, by name or position."""

    wanted = "null, or a kind for each of some columns"
    _pairs = ListOf(
        ListOf(Either(INTEGER, TEXT, ListOf(Either(FLAG, ANY_NUMBER, TEXT))), least=2, most=2)
    )

    def write(self, value: Any, out: Arrays, where: str) -> Any:
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self.refuse(value, where)
        return self._pairs.write([list(pair) for pair in value.items()], out, where)

    def read(self, node: Any, source: Arrays, where: str) -> Any:
        if node is None:
            return None
        pairs = self._pairs.read(node, source, where)
        if any(isinstance(key, list) for key, _ in pairs):
            raise self.refuse(node, where)
        return dict(pairs)


class Seed(Kind):
    """None, an integer, or the state of a `RandomState`."""

    wanted = "null, an integer or the state of a generator"
    _keys = Array("k", letter="i", low=0, high=2**32 - 1)
    _rest = ListOf(Number(), least=3, most=3)

    def write(self, value: Any, out: Arrays, where: str) -> Any:
        if not isinstance(value, np.random.RandomState):
            return Either(Nothing(), INTEGER).write(value, out, where)
        state = value.get_state(legacy=False)
        if state["bit_generator"] != "MT19937":
            raise FieldError(f"{where} cannot be saved: give an integer as random_state")
        rest = [state["state"]["pos"], state["has_gauss"], state["gauss"]]
        return {
            "keys": self._keys.write(state["state"]["key"], out, where),
            "rest": self._rest.write(rest, out, where),
        }

    def read(self, node: Any, source: Arrays, where: str) -> Any:
        if not isinstance(node, dict):
            return Either(Nothing(), INTEGER).read(node, source, where)
        if set(node) != {"keys", "rest"}:
            raise self.refuse(node, where)
        keys = self._keys.read(node["keys"], source, where)
        position, has_gauss, gauss = self._rest.read(node["rest"], source, where)
        whole = type(position) is int and type(has_gauss) is int
        if keys.shape != (624,) or not whole or not 0 <= position <= 624 or has_gauss not in (0, 1):
            raise self.refuse(node, where)
        generator = np.random.RandomState()
        generator.set_state(("MT19937", keys.astype(np.uint32), position, has_gauss, gauss))
        return generator


class Slice(Kind):
    """A slice of positions."""

    wanted = "a slice"
    _parts = ListOf(Either(Nothing(), INTEGER), least=3, most=3)

    def write(self, value: Any, out: Arrays, where: str) -> Any:
        if not isinstance(value, slice):
            raise self.refuse(value, where)
        return {"slice": self._parts.write([value.start, value.stop, value.step], out, where)}

    def read(self, node: Any, source: Arrays, where: str) -> Any:
        if not isinstance(node, dict) or set(node) != {"slice"}:
            raise self.refuse(node, where)
        start, stop, step = self._parts.read(node["slice"], source, where)
        if step == 0:
            raise self.refuse(node, where)
        return slice(start, stop, step)


class Mask(Kind):
    """An array of true and false."""

    wanted = "a list of true and false"
    _items = ListOf(FLAG)

    def write(self, value: Any, out: Arrays, where: str) -> Any:
        if not isinstance(value, np.ndarray) or value.dtype.kind != "b" or value.ndim != 1:
            raise self.refuse(value, where)
        return {"mask": self._items.write(value.tolist(), out, where)}

    def read(self, node: Any, source: Arrays, where: str) -> Any:
        if not isinstance(node, dict) or set(node) != {"mask"}:
            raise self.refuse(node, where)
        return np.array(self._items.read(node["mask"], source, where), dtype=bool)


class Function(Kind):
    """A function of the user's own, which a file only names: see `load(path, trusted=[...])`."""

    wanted = "a function"

    def write(self, value: Any, out: Arrays, where: str) -> Any:
        return {"function": out.function(value, where)}

    def read(self, node: Any, source: Arrays, where: str) -> Any:
        if not isinstance(node, dict) or set(node) != {"function"}:
            raise self.refuse(node, where)
        return source.function(node["function"], where)


class Plain(Kind):
    """Data of any form: numbers, text, arrays, lists and records of them, and some objects.

    It is for information, such as the steps of a search, never for data that predict.

    classes : of the objects.
    """

    wanted = "numbers, text, arrays, lists and records of them"

    def __init__(self, *classes: type):
        self.classes = classes
        self._simple = Either(Nothing(), FLAG, ANY_NUMBER, TEXT)
        self._array = Array("", "a", "a b", "a b c", finite=False, nan=True)

    def write(self, value: Any, out: Arrays, where: str) -> Any:
        return self._written(value, out, where, 0)

    def _written(self, value: Any, out: Arrays, where: str, depth: int) -> Any:
        if depth > DEEPEST:
            raise self.refuse(value, where)
        if isinstance(value, list | tuple):
            items = [
                self._written(item, out, f"{where}[{i}]", depth + 1) for i, item in enumerate(value)
            ]
            return items if isinstance(value, list) else {"tuple": items}
        if isinstance(value, dict):
            return {
                "record": {
                    TEXT.write(name, out, where): self._written(
                        item, out, f"{where}[{name!r}]", depth + 1
                    )
                    for name, item in value.items()
                }
            }
        if isinstance(value, np.ndarray):
            if value.dtype.kind == "b":
                return Mask().write(value, out, where)
            return self._array.write(value, out, where)
        if self.classes and isinstance(value, self.classes):
            return Object(*self.classes).write(value, out, where)
        return self._simple.write(value, out, where)

    def read(self, node: Any, source: Arrays, where: str) -> Any:
        if isinstance(node, list):
            return [self.read(item, source, f"{where}[{i}]") for i, item in enumerate(node)]
        if not isinstance(node, dict) or len(node) != 1 or "number" in node:
            return self._simple.read(node, source, where)
        (form, content) = next(iter(node.items()))
        if form == "tuple" and isinstance(content, list):
            return tuple(self.read(content, source, where))
        if form == "record" and isinstance(content, dict):
            return {
                TEXT.read(name, source, where): self.read(item, source, f"{where}[{name!r}]")
                for name, item in content.items()
            }
        if form == "mask":
            return Mask().read(node, source, where)
        if form == "array":
            return self._array.read(node, source, where)
        if form == "object" and self.classes:
            return Object(*self.classes).read(node, source, where)
        raise self.refuse(node, where)


NAMES = Labels(different=False)
