"""The parameters `categorical_features` and `kinds`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kernalign.tables.problems import listed
from kernalign.tables.recognise import ASKED


def asked_kinds(
    names: Sequence[str], categorical_features: Any, kinds: Mapping[Any, Any] | None
) -> list[Any]:
    """The requested kind of each column; None if none is requested."""
    asked: list[Any] = [None] * len(names)
    for place in _categorical_places(names, categorical_features):
        asked[place] = "categorical"
    if kinds is not None and not isinstance(kinds, Mapping):
        raise TypeError(
            f"'kinds' must be a dictionary of column names. Got {type(kinds).__name__} instead."
        )
    for key, kind in (kinds or {}).items():
        asked[_place(names, key, "kinds")] = _checked(key, kind)
    return asked


def _checked(key: Any, kind: Any) -> Any:
    levels = isinstance(kind, Sequence) and not isinstance(kind, str)
    if levels and len(kind) > 1 and len(set(kind)) == len(kind):
        return kind
    if isinstance(kind, str) and kind in ASKED:
        return kind
    raise ValueError(
        f"kinds[{key!r}] must be one of {', '.join(map(repr, ASKED))}, or the list of two or more "
        f"different levels from the lowest to the highest. Got {kind!r} instead."
    )


def _categorical_places(names: Sequence[str], asked: Any) -> list[int]:
    if asked is None or (isinstance(asked, str) and asked == "from_dtype"):
        return []
    if isinstance(asked, str) or not hasattr(asked, "__len__"):
        raise ValueError(
            "'categorical_features' must be 'from_dtype', None, or a list of names, positions or "
            f"booleans. Got {asked!r} instead."
        )
    items = list(asked)
    if items and all(isinstance(item, bool | np.bool_) for item in items):
        if len(items) != len(names):
            raise ValueError(
                f"'categorical_features' as a mask must have one entry per column, {len(names)}. "
                f"Got {len(items)}."
            )
        return [place for place, item in enumerate(items) if item]
    return [_place(names, item, "categorical_features") for item in items]


def _place(names: Sequence[str], key: Any, parameter: str) -> int:
    """The position of a column that is given by name or by position."""
    if isinstance(key, int | np.integer) and not isinstance(key, bool):
        if -len(names) <= key < len(names):
            return int(key) % len(names)
        raise ValueError(
            f"'{parameter}' names column {key}, but the table has {len(names)} columns."
        )
    if str(key) in names:
        return list(names).index(str(key))
    raise ValueError(
        f"'{parameter}' names the column {key!r}, which the table does not have. Its columns are "
        f"{listed([repr(name) for name in names], most=12)}."
    )
