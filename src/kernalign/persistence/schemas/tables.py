"""Columns of tables, and what turns their cells into features."""

from __future__ import annotations

from itertools import combinations

from kernalign.persistence.kinds import (
    FLAG,
    INTEGER,
    NUMBER,
    POSITIVE,
    SIZE,
    TEXT,
    Either,
    FieldError,
    ListOf,
    Number,
    Object,
    Text,
    optional,
)
from kernalign.persistence.schema import schema
from kernalign.tables.columns import Columns
from kernalign.tables.dates import MARKS, ORDERS, PERIODS, DateStyle
from kernalign.tables.encoders import (
    CategoryEncoder,
    DateEncoder,
    Feature,
    NumberEncoder,
    TimeEncoder,
)
from kernalign.tables.recognise import Column

#: Different values of a column of categories.
VALUES = ListOf(Either(FLAG, INTEGER, NUMBER, TEXT), as_tuple=True)
SCALE = POSITIVE
#: Sets of separators of dates.
SEPARATORS = [
    "".join(marks) for size in range(len(MARKS) + 1) for marks in combinations(MARKS, size)
]


def _check_values(encoder: CategoryEncoder | NumberEncoder) -> None:
    name = "categories" if isinstance(encoder, CategoryEncoder) else "levels"
    values = getattr(encoder, name)
    if len(set(values)) != len(values):
        raise FieldError(f"{type(encoder).__name__}.{name} must be different")


schema(
    NumberEncoder,
    {
        "median": NUMBER,
        "scale": SCALE,
        "has_value": FLAG,
        "has_missing": FLAG,
        "decimal": optional(Text(".", ",")),
        "levels": VALUES,
    },
    check=_check_values,
)
schema(CategoryEncoder, {"categories": VALUES, "has_missing": FLAG}, check=_check_values)
schema(DateStyle, {"order": Text(*ORDERS), "marks": Text(*SEPARATORS)})
schema(
    DateEncoder,
    {
        "median": INTEGER,
        "scale": SCALE,
        "periods": ListOf(Text(*PERIODS), as_tuple=True, most=len(PERIODS)),
        "has_value": FLAG,
        "has_missing": FLAG,
        "style": Object(DateStyle),
    },
)
schema(TimeEncoder, {"has_missing": FLAG})
schema(
    Feature,
    {
        "name": TEXT,
        "column": TEXT,
        "state": TEXT,
        "codes": Number(0, 2**31, whole=True),
        "scale": SCALE,
    },
)
ENCODER = Object(NumberEncoder, CategoryEncoder, DateEncoder, TimeEncoder)
schema(
    Column,
    {
        "name": TEXT,
        "kind": TEXT,
        "why": TEXT,
        "missing": SIZE,
        "examples": ListOf(TEXT, as_tuple=True),
        "encoder": optional(ENCODER),
    },
)


def _check_columns(columns: Columns) -> None:
    if columns.features != columns.features_in_order():
        raise FieldError("Columns.features must be those of its columns")
    if not columns.features:
        raise FieldError("Columns must have a feature")


schema(
    Columns,
    {
        "columns": ListOf(Object(Column), as_tuple=True, least=1),
        "rows": SIZE,
        "named": FLAG,
        "features": ListOf(Object(Feature), as_tuple=True),
    },
    check=_check_columns,
)
