"""Objects from plain data and arrays: the inverse of `encode`.

Nothing here calls what a file names: an object is allocated and its attributes are set.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from kernalign.persistence.registry import Lookup

#: The numpy types that parameters of scikit-learn's transformers may be.
_TYPES = {t.__name__: t for t in (np.float64, np.float32, np.int64, np.int32, np.bool_, np.object_)}


def _defaults(cls: type) -> dict[str, Any]:
    """Parameters of an estimator's constructor that have a default."""
    if not issubclass(cls, BaseEstimator):
        return {}
    parameters = inspect.signature(cls).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}


class Decoder:
    """Turns plain data into objects."""

    def __init__(self, arrays: Sequence[np.ndarray[Any, Any]], lookup: Lookup):
        self._arrays = arrays
        self._lookup = lookup
        self._made: dict[int, Any] = {}

    def __call__(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self(item) for item in node]
        if not isinstance(node, dict):
            return node
        kind = node["is"]
        if kind not in _READERS:
            raise ValueError(f"it holds a value of the unknown kind {kind!r}")
        return _READERS[kind](self, node)

    def _array(self, node: Any) -> Any:
        return self._arrays[node["array"]]

    def _scalar(self, node: Any) -> Any:
        return self._arrays[node["array"]][()]

    def _mixed(self, node: Any) -> Any:
        flat = np.empty(len(node["items"]), dtype=object)
        flat[:] = [self(item) for item in node["items"]]
        return flat.reshape(node["shape"])

    def _float(self, node: Any) -> float:
        return float(node["value"])

    def _tuple(self, node: Any) -> tuple[Any, ...]:
        return tuple(self(item) for item in node["items"])

    def _dict(self, node: Any) -> dict[Any, Any]:
        return {self(key): self(value) for key, value in node["items"]}

    def _slice(self, node: Any) -> slice:
        return slice(*(self(part) for part in node["parts"]))

    def _range(self, node: Any) -> range:
        return range(*(int(part) for part in node["parts"]))

    def _dtype(self, node: Any) -> Any:
        return np.dtype(str(node["name"]))

    def _type(self, node: Any) -> Any:
        return _TYPES[node["name"]]

    def _random(self, node: Any) -> Any:
        random = np.random.RandomState()
        random.set_state(self(node["state"]))
        return random

    def _function(self, node: Any) -> Any:
        return self._lookup(str(node["name"]), "function")

    def _seen(self, node: Any) -> Any:
        return self._made[node["number"]]

    def _object(self, node: Any) -> Any:
        cls = self._lookup(str(node["class"]), "class")
        made = object.__new__(cls)
        self._made[node["number"]] = made
        state = {str(name): self(value) for name, value in node["state"].items()}
        # Frozen dataclasses refuse setattr, and no setter of a class shall run.
        made.__dict__.update(state)
        # Parameters that the class has got since the file was written.
        for name, default in _defaults(cls).items():
            made.__dict__.setdefault(name, default)
        return made


_READERS = {
    "array": Decoder._array,
    "dict": Decoder._dict,
    "dtype": Decoder._dtype,
    "float": Decoder._float,
    "function": Decoder._function,
    "object": Decoder._object,
    "objects": Decoder._mixed,
    "random": Decoder._random,
    "range": Decoder._range,
    "scalar": Decoder._scalar,
    "seen": Decoder._seen,
    "slice": Decoder._slice,
    "tuple": Decoder._tuple,
    "type": Decoder._type,
}
