"""A fitted estimator as plain data and arrays.

JSON's own values stand for themselves; everything else is a dictionary with the key "is":

    array, objects, scalar, float, tuple, dict, slice, dtype, type, random, function, object, seen

An object is its class's name and its attributes; one that occurs twice is written once.
"""

from __future__ import annotations

import math
import types
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from kernalign.kernels import FamilyMember
from kernalign.persistence.registry import is_known, name_of

#: Parameters that concern the fit only, and mean nothing on another machine.
LEFT_OUT = frozenset({"callback"})


class Encoder:
    """Turns objects into plain data; `arrays` fills up on the way, `names` with what was named."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray[Any, Any]] = []
        self.classes: set[str] = set()
        # What is written by number is kept alive, so that no number is given twice.
        self._numbers: dict[int, tuple[int, Any]] = {}
        self._array_numbers: dict[int, tuple[int, Any]] = {}

    def __call__(self, value: Any, where: str) -> Any:
        """The plain form of a value; `where` names it in error messages."""
        if value is None or (isinstance(value, bool | str) and type(value) in (bool, str)):
            return value
        if type(value) is int:
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"is": "float", "value": repr(value)}
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, np.generic):
            return {"is": "scalar", "array": self._number_of(np.asarray(value), where)}
        if type(value) is list:
            return [self(item, f"{where}[{i}]") for i, item in enumerate(value)]
        if type(value) is tuple:
            items = [self(item, f"{where}[{i}]") for i, item in enumerate(value)]
            return {"is": "tuple", "items": items}
        if isinstance(value, dict):
            items = [[self(k, where), self(v, f"{where}[{k!r}]")] for k, v in value.items()]
            return {"is": "dict", "items": items}
        return self._other(value, where)

    def _other(self, value: Any, where: str) -> Any:
        if isinstance(value, slice):
            parts = [self(part, where) for part in (value.start, value.stop, value.step)]
            return {"is": "slice", "parts": parts}
        if isinstance(value, range):
            return {"is": "range", "parts": [value.start, value.stop, value.step]}
        if isinstance(value, np.dtype):
            return {"is": "dtype", "name": value.str}
        if isinstance(value, type) and issubclass(value, np.generic):
            return {"is": "type", "name": value.__name__}
        if isinstance(value, np.random.RandomState):
            return {"is": "random", "state": self(value.get_state(legacy=True), where)}
        if isinstance(value, types.FunctionType) and "<" not in value.__qualname__:
            return {"is": "function", "name": name_of(value)}
        if is_known(name_of(type(value))) or isinstance(value, BaseEstimator | FamilyMember):
            return self._object(value, where)
        raise ValueError(
            f"{where} cannot be saved: it is {_kind(value)}. A model file holds numbers, text, "
            "arrays, the classes of kernalign and the usual ones of scikit-learn."
        )

    def _object(self, value: Any, where: str) -> Any:
        if id(value) in self._numbers:
            return {"is": "seen", "number": self._numbers[id(value)][0]}
        number = len(self._numbers)
        self._numbers[id(value)] = number, value
        name = name_of(type(value))
        self.classes.add(name)
        state = {
            attribute: None if attribute in LEFT_OUT else self(item, f"{where}.{attribute}")
            for attribute, item in vars(value).items()
        }
        return {"is": "object", "class": name, "number": number, "state": state}

    def _array(self, value: np.ndarray[Any, Any], where: str) -> Any:
        if type(value) is not np.ndarray:
            raise ValueError(f"{where} cannot be saved: it is {_kind(value)}, not a plain array.")
        if value.dtype.kind == "O":
            items = [self(item, f"{where}[{i}]") for i, item in enumerate(value.ravel().tolist())]
            return {"is": "objects", "shape": list(value.shape), "items": items}
        return {"is": "array", "array": self._number_of(value, where)}

    def _number_of(self, value: np.ndarray[Any, Any], where: str) -> int:
        if value.dtype.kind not in "biufcUSM":
            raise ValueError(f"{where} cannot be saved: it is an array of {value.dtype}.")
        if id(value) not in self._array_numbers:
            self._array_numbers[id(value)] = len(self.arrays), value
            self.arrays.append(value)
        return self._array_numbers[id(value)][0]


def _kind(value: Any) -> str:
    if isinstance(value, types.FunctionType):
        return f"the function {value.__qualname__}, which has no name to find it by"
    if callable(value) and not isinstance(value, BaseEstimator):
        return f"{value!r}, which is code"
    return f"of type {type(value).__module__}.{type(value).__qualname__}"
