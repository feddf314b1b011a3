"""The classes that a model file may contain, and their fields.

A schema defines the fields of a class and their kinds in one place. A file is a list of objects,
each with the name of its class and its fields; an object may refer to earlier ones in the list.
Shared objects are therefore written once, and there are no cycles.

A file cannot cause a call: an object of the library is allocated, and its attributes are set to
checked values. A field that is not in a schema raises an error that names it.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from kernalign.kernels import Family, FamilyMember, LearnedKernel
from kernalign.learners import Learner
from kernalign.persistence.kinds import Array, Either, FieldError, Kind, Maybe
from kernalign.persistence.limits import Limits, Parts, check_number
from kernalign.persistence.values import Plain

#: Types of the numbers of arrays.
DTYPES = {name: np.dtype(f"<{name}") for name in ("f4", "f8", "i4", "i8", "u4", "u8")}
#: Parameters that are only used in the fit and are not saved.
LEFT_OUT = frozenset({"callback"})
#: Attributes of classes of the user's.
_OWN = Plain(Family, FamilyMember, LearnedKernel, Learner)
#: Classes with a schema, by the name that a file gives them.
SCHEMAS: dict[str, Schema] = {}


@dataclass(frozen=True)
class Schema:
    """The fields of a class.

    fields : kind of each field. A parameter must be there, or has the default of the class. Of
        fitted attributes (which end in "_") all are there or none; those of kind `Maybe` may be
        absent.
    check : refuses an object whose fields do not fit each other, by FieldError.
    work : of making and checking an object of some fields: see `limits`.
    state, make : what is written of an object, and the object made of it, where these are not the
        attributes.
    """

    cls: type
    fields: Mapping[str, Kind]
    check: Callable[[Any], None] | None = None
    state: Callable[[Any], dict[str, Any]] | None = None
    make: Callable[[dict[str, Any]], Any] | None = None
    work: Callable[[dict[str, Any]], int] | None = None

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """Values of fields that a file may leave out, read once: files may hold many objects."""
        if is_dataclass(self.cls):
            return {f.name: f.default for f in fields(self.cls) if f.default is not MISSING}
        if self.make is not None:
            return {}
        parameters = inspect.signature(self.cls).parameters.values()
        return {p.name: p.default for p in parameters if p.default is not p.empty}


def schema(cls: type, fields: Mapping[str, Kind], **options: Any) -> None:
    """Say what a file holds of a class: the one place to add a field to."""
    SCHEMAS[cls.__name__] = Schema(cls, fields, **options)


def know_all() -> None:
    """Import the schemas of all classes.

    Not before the first file: the parts of scikit-learn that they describe would take a fifth of
    the time of `import kernalign`.
    """
    import_module("kernalign.persistence.schemas")


def schema_of(cls: type) -> Schema | None:
    """The schema of a class itself, not of its bases."""
    found = SCHEMAS.get(cls.__name__)
    return found if found is not None and found.cls is cls else None


def _own_schema(cls: type) -> Schema:
    """For a class of the user's: the fields of its bases, and plain data beside them."""
    known: dict[str, Kind] = {}
    for base in reversed(cls.__mro__):
        found = schema_of(base)
        known |= {} if found is None else dict(found.fields)
    return Schema(cls, known)


def full_name(thing: Any) -> str:
    """How a class or a function of the user's is named in a file."""
    return f"{thing.__module__}.{thing.__qualname__}"


class Writer:
    """Turns an object and all that it refers to into plain data; `arrays` fills up on the way."""

    def __init__(self) -> None:
        know_all()
        self.arrays: list[np.ndarray[Any, Any]] = []
        self.objects: list[Any] = []
        # Written objects are kept alive, so that no id is reused.
        self._array_numbers: dict[int, tuple[int, Any]] = {}
        self._object_numbers: dict[int, tuple[int, Any]] = {}
        # What could not be loaded is not saved.
        self._limits = Limits(0)

    def document(self, value: Any, where: str) -> dict[str, Any]:
        """The model as JSON; its last object is the model itself."""
        self.object(value, where)
        check_number(len(self.objects))
        described = [[a.dtype.str[1:], list(a.shape), _order(a)] for a in self.arrays]
        return {"objects": self.objects, "arrays": described}

    def buffers(self) -> list[bytes]:
        """The numbers of each array, little-endian, by row or by column as they are in memory."""
        return [a.astype(a.dtype.newbyteorder("<")).tobytes(_order(a)) for a in self.arrays]

    def array(self, value: Any) -> int:
        if id(value) not in self._array_numbers:
            if value.dtype.str[1:] not in DTYPES:
                raise FieldError(f"an array of {value.dtype} cannot be saved")
            self._array_numbers[id(value)] = len(self.arrays), value
            self.arrays.append(value)
        return self._array_numbers[id(value)][0]

    def object(self, value: Any, where: str) -> int:
        if id(value) in self._object_numbers:
            return self._object_numbers[id(value)][0]
        node = self._written(value, where)
        number = len(self.objects)
        self.objects.append(node)
        self._object_numbers[id(value)] = number, value
        return number

    def pad(self, size: int, where: str) -> None:
        self._limits.pad(size, where)

    def function(self, value: Any, where: str) -> str:
        if not inspect.isfunction(value) or "<" in value.__qualname__:
            shown = getattr(value, "__qualname__", type(value).__name__)
            raise ValueError(
                f"{where} cannot be saved: it is {shown}, and only a function of a module has a "
                "name to find it by."
            )
        return full_name(value)

    def _written(self, value: Any, where: str) -> list[Any]:
        cls = type(value)
        found = schema_of(cls)
        named, known = cls.__name__, found
        if known is None:
            if not _may_be_trusted(cls):
                raise ValueError(
                    f"{where} cannot be saved: it is of type {cls.__module__}.{cls.__qualname__}, "
                    "which model files do not know. They hold the classes of kernalign, pipelines "
                    "of scikit-learn's usual transformers, and machines that are known."
                )
            named, known = full_name(cls), _own_schema(cls)
        state = vars(value) if known.state is None else known.state(value)
        node = {}
        for name, item in state.items():
            if name in LEFT_OUT:
                continue
            kind = known.fields.get(name, _OWN if found is None else None)
            if kind is None:
                raise ValueError(
                    f"{where}.{name} cannot be saved: model files know no field {name!r} of "
                    f"{cls.__name__}."
                )
            try:
                node[name] = kind.write(item, self, f"{where}.{name}")
            except FieldError as problem:
                raise ValueError(f"The model cannot be saved: {problem}.") from None
        if known.work is not None:
            try:
                self._limits.work(known.work(state))
            except FieldError as problem:
                raise ValueError(f"The model cannot be saved: {problem}.") from None
        return [named, node]


def _order(array: np.ndarray[Any, Any]) -> Any:
    """The memory layout, which affects rounding: a loaded model predicts exactly the same."""
    return "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"


def _may_be_trusted(cls: type) -> bool:
    """Whether a class is a user's own, of a kind that has a schema."""
    return issubclass(cls, Family | Learner | FamilyMember)


class Reader:
    """Builds the objects of a file, in their order.

    trusted : the user's own classes and functions.
    """

    def __init__(
        self, document: Any, numbers: memoryview, trusted: Iterable[Callable[..., Any]] = ()
    ):
        know_all()
        self._trusted = {full_name(thing): thing for thing in trusted}
        if not isinstance(document, dict) or set(document) != {"objects", "arrays"}:
            raise FieldError("the model must be a list of objects and a list of arrays")
        self._nodes, described = document["objects"], document["arrays"]
        if not isinstance(self._nodes, list) or not isinstance(described, list):
            raise FieldError("the model must be a list of objects and a list of arrays")
        check_number(len(self._nodes))
        self._arrays = _arrays(described, numbers)
        self._objects: list[Any] = []
        self._limits = Limits(len(numbers))
        # Of each object, and of the one that is being made.
        self._parts: list[Parts] = []
        self._own = Parts()

    def model(self) -> Any:
        """The last object, for which all others are made."""
        if not self._nodes:
            raise FieldError("the model holds no object")
        for number, node in enumerate(self._nodes):
            self._own = Parts()
            self._objects.append(self._made(node, number))
            self._parts.append(self._own)
        return self._objects[-1]

    def array(self, value: Any) -> Any:
        if type(value) is not int or not 0 <= value < len(self._arrays):
            return None
        self._limits.work(self._arrays[value].nbytes)
        return self._arrays[value]

    def pad(self, size: int, where: str) -> None:
        self._limits.pad(size, where)

    def object(self, value: Any, where: str) -> Any:
        if type(value) is not int or not 0 <= value < len(self._objects):
            raise FieldError(f"{where} must be the number of an object before it")
        self._own.add(self._parts[value], where)
        return self._objects[value]

    def function(self, value: Any, where: str) -> Any:
        if not isinstance(value, str) or len(value) > 500:
            raise FieldError(f"{where} must be the name of a function")
        return self._user_thing(value, "function")

    def _user_thing(self, name: str, kind: str) -> Any:
        if name not in self._trusted:
            last = name.rpartition(".")[2]
            raise FieldError(
                f"it uses the {kind} {name}, which is not part of kernalign. If you trust it, "
                f"import it and pass it: load(path, trusted=[{last}])"
            )
        return self._trusted[name]

    def _made(self, node: Any, number: int) -> Any:
        if not isinstance(node, list) or len(node) != 2 or not isinstance(node[1], dict):
            raise FieldError(f"object {number} must be the name of a class and its fields")
        name, state = node
        if not isinstance(name, str) or len(name) > 500:
            raise FieldError(f"object {number} must name its class")
        known = SCHEMAS.get(name)
        own = known is None
        if known is None:
            cls = self._user_thing(name, "class")
            if not isinstance(cls, type):
                raise FieldError(f"{name} must be a class")
            known = _own_schema(cls)
        values: dict[str, Any] = {}
        sizes: dict[str, int] = {}
        for field, item in state.items():
            kind = known.fields.get(field, _OWN if own else None)
            if kind is None:
                raise FieldError(f"{known.cls.__name__} has no field {field[:60]!r}")
            where = f"{known.cls.__name__}.{field}"
            values[field] = kind.read(item, self, where)
            for letter, size in _sizes(kind, values[field]):
                if sizes.setdefault(letter, size) != size:
                    raise FieldError(
                        f"{where} has {size} for {letter!r} where others have {sizes[letter]}"
                    )
        _complete(known, values, own)
        if known.work is not None:
            self._limits.work(known.work(values))
        made = _object(known, values)
        if known.check is not None:
            known.check(made)
        return made


def _object(known: Schema, values: dict[str, Any]) -> Any:
    if known.make is not None:
        return known.make(values)
    made: Any = object.__new__(known.cls)
    # Frozen dataclasses refuse setattr, and no setter may run.
    made.__dict__.update(values)
    return made


def _sizes(kind: Kind, value: Any) -> list[tuple[str, int]]:
    """Letters and sizes of the shape of a field, if it is an array."""
    if isinstance(kind, Maybe):
        kind = kind.kind
    options = kind.kinds if isinstance(kind, Either) else (kind,)
    if isinstance(value, np.ndarray):
        for option in options:
            if isinstance(option, Array) and value.ndim in option.shapes:
                return option.sizes(value)
    return []


def _complete(known: Schema, values: dict[str, Any], own: bool) -> None:
    """Fill in defaults; refuse an object of which something is missing."""
    for name, default in known.defaults.items():
        if name in known.fields or name in LEFT_OUT or own:
            values.setdefault(name, default)
    fitted = any(_is_fitted(name) for name in values)
    for name, kind in known.fields.items():
        if name in values or isinstance(kind, Maybe) or own:
            continue
        if fitted or not _is_fitted(name):
            raise FieldError(f"{known.cls.__name__} lacks the field {name!r}")


def _is_fitted(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")


def _arrays(described: list[Any], numbers: memoryview) -> list[np.ndarray[Any, Any]]:
    """The arrays, one after the other; together they are all the numbers that there are."""
    arrays, position = [], 0
    for number, description in enumerate(described):
        valid = isinstance(description, list) and len(description) == 3
        name, shape, order = description if valid else (None, [], None)
        named = isinstance(name, str) and isinstance(order, str) and isinstance(shape, list)
        if not named or name not in DTYPES or order not in ("C", "F"):
            raise FieldError(f"array {number} must be of a known type, shape and order")
        # Of an empty array the other axes are bounded too: numpy multiplies them.
        if len(shape) > 3 or not all(type(n) is int and 0 <= n < 2**20 for n in shape[1:]):
            raise FieldError(f"array {number} must have at most three axes of usual length")
        if shape and not (type(shape[0]) is int and 0 <= shape[0] < 2**31):
            raise FieldError(f"array {number} must have at most three axes of usual length")
        dtype = DTYPES[str(name)]
        end = position + math.prod(shape) * dtype.itemsize
        if end > len(numbers):
            raise FieldError(f"array {number} must have the size that it states")
        found = np.frombuffer(numbers[position:end], dtype).copy().reshape(shape, order=order)
        arrays.append(found.astype(dtype.newbyteorder("="), copy=False))
        position = end
    if position != len(numbers):
        raise FieldError("the arrays must hold all numbers of the file")
    return arrays
