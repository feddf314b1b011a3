"""Pipelines and column transformers: names, steps, and which columns go where."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from kernalign.estimators import KernelClassifier, KernelFeatures, KernelRegressor
from kernalign.persistence.kinds import (
    FLAG,
    INTEGER,
    SIZE,
    TEXT,
    Either,
    FieldError,
    ListOf,
    Maybe,
    Number,
    Object,
    Text,
)
from kernalign.persistence.limits import FITTED_COLUMN, FITTED_STEP
from kernalign.persistence.schema import schema
from kernalign.persistence.schemas.kernels import COLUMNS
from kernalign.persistence.values import NAMES

TRANSFORMERS = (
    StandardScaler,
    RobustScaler,
    MinMaxScaler,
    MaxAbsScaler,
    PCA,
    SimpleImputer,
    OneHotEncoder,
    OrdinalEncoder,
    ColumnTransformer,
    Pipeline,
    KernelFeatures,
)
ENDS = (KernelClassifier, KernelRegressor, LogisticRegression, Ridge, LinearRegression)
NAMED_STEP = Either(Text("passthrough"), Object(*TRANSFORMERS, *ENDS))


#: Columns that a ColumnTransformer may take, and give.
MOST_COLUMNS = 100_000
#: Input and output columns of steps that were read.
_KNOWN: WeakKeyDictionary[Any, tuple[int | None, int | None]] = WeakKeyDictionary()


def _widths(step: Any) -> tuple[int | None, int | None]:
    """Number of input and output columns of a fitted step; None if unknown."""
    # Counted once: many pipelines of a file may hold the same step.
    if step not in _KNOWN:
        _KNOWN[step] = _counted(step)
    return _KNOWN[step]


def _counted(step: Any) -> tuple[int | None, int | None]:
    if isinstance(step, Pipeline):
        known = [_widths(s) for _, s in step.steps if s != "passthrough"]
        return (known[0][0], known[-1][1]) if known else (None, None)
    taken = getattr(step, "n_features_in_", None)
    if isinstance(step, PCA):
        return taken, len(step.components_)
    if isinstance(step, OneHotEncoder):
        return taken, len(step.get_feature_names_out())
    if isinstance(step, ColumnTransformer):
        return taken, max((part.stop for part in step.output_indices_.values()), default=0)
    if isinstance(step, KernelFeatures):
        return taken, len(step.model_.rows) if hasattr(step, "model_") else None
    return taken, taken


def _check_chain(steps: list[Any]) -> None:
    """Check that each step accepts the columns of the previous one."""
    given = None
    for step in steps:
        if isinstance(step, str):
            continue
        taken, gives = _widths(step)
        if given is not None and taken is not None and given != taken:
            raise FieldError(f"{type(step).__name__} must take the {given} columns before it")
        given = gives


def _named(items: Any) -> tuple[list[str], list[Any]]:
    names = [name for name, *_ in items]
    return names, [item[1] for item in items]


def _pipeline_state(pipeline: Pipeline) -> dict[str, Any]:
    names, steps = _named(pipeline.steps)
    return {"names": names, "steps": ["passthrough" if s is None else s for s in steps]}


def _pipeline(values: dict[str, Any]) -> Pipeline:
    steps = list(zip(values["names"], values["steps"], strict=False))
    if len(values["names"]) != len(values["steps"]) or len(set(values["names"])) != len(steps):
        raise FieldError("Pipeline.names must be as many, and different")
    _check_chain(values["steps"])
    return Pipeline(steps)


schema(
    Pipeline,
    {"names": ListOf(TEXT, least=1, most=100), "steps": ListOf(NAMED_STEP, least=1, most=100)},
    state=_pipeline_state,
    make=_pipeline,
)


class _Stand(TransformerMixin, BaseEstimator):
    """Placeholder for a transformer while a ColumnTransformer assigns its columns."""

    def __init__(self, width: int = 0):
        self.width = width

    def fit(self, X: Any, y: Any = None) -> _Stand:
        return self

    def transform(self, X: Any) -> Any:
        return np.zeros((len(X), self.width))

    def get_feature_names_out(self, names: Any = None) -> Any:
        return np.array([f"x{k}" for k in range(self.width)], dtype=object)


def _columns_state(value: ColumnTransformer) -> dict[str, Any]:
    if value.remainder not in ("drop", "passthrough"):
        raise ValueError("A ColumnTransformer can be saved with remainder 'drop' or 'passthrough'.")
    wide = value.output_indices_
    given = [entry for entry in value.transformers_ if entry[0] != "remainder"]
    names, fitted = _named(given)
    asked = {name: step for name, step, _ in value.transformers if isinstance(step, str)}
    found = {
        "names": names,
        "steps": [asked.get(n, s) for n, s in zip(names, fitted, strict=True)],
        "columns": [entry[2] for entry in given],
        "widths": [wide[name].stop - wide[name].start for name in names],
        "remainder": value.remainder,
        "verbose_feature_names_out": bool(value.verbose_feature_names_out),
        "n_features": value.n_features_in_,
    }
    if hasattr(value, "feature_names_in_"):
        found["feature_names_in_"] = value.feature_names_in_
    return found


def _column_transformer(values: dict[str, Any]) -> ColumnTransformer:
    entries, names = _entries(values), values.get("feature_names_in_")
    try:
        _check_columns(entries, values["n_features"], names)
        stands = [(n, s if isinstance(s, str) else _Stand(w), c) for n, s, c, w in entries]
        made = ColumnTransformer(
            stands, remainder=values["remainder"], verbose_feature_names_out=False
        )
        made.fit(_empty_rows(values["n_features"], names))
    except FieldError:
        raise
    except (ValueError, TypeError, KeyError, IndexError) as problem:
        raise FieldError(f"ColumnTransformer is not complete: {problem}") from None
    steps = {n: s for n, s, _, _ in entries if not isinstance(s, str)}
    made.transformers_ = [(n, steps.get(n, s), c) for n, s, c in made.transformers_]
    made.transformers = [(n, s, c) for n, s, c, _ in entries]
    made.verbose_feature_names_out = values["verbose_feature_names_out"]
    return made


def _entries(values: dict[str, Any]) -> list[tuple[str, Any, Any, int]]:
    """Name, step, columns and width of each part."""
    parts = [values[name] for name in ("names", "steps", "columns", "widths")]
    if len({len(part) for part in parts}) != 1 or len(set(values["names"])) != len(values["names"]):
        raise FieldError("ColumnTransformer must have a name and columns for each step")
    return list(zip(*parts, strict=True))


def _check_columns(entries: list[tuple[str, Any, Any, int]], number: int, names: Any) -> None:
    """Check that each part takes its columns and gives as many as it says, together not too many.

    Before the fit: the width of a part is what its placeholder allocates.
    """
    total = number
    for name, step, columns, width in entries:
        own = len(np.arange(number)[_positions(columns, names)])
        if not isinstance(step, str) and _widths(step) != (own, width):
            raise FieldError(f"ColumnTransformer.{name} must take {own} columns")
        total += max(own, width)
    if total > MOST_COLUMNS:
        raise FieldError(f"ColumnTransformer must have at most {MOST_COLUMNS} columns")


def _work(values: dict[str, Any]) -> int:
    parts = len(values["names"])
    return FITTED_STEP * (20 + parts) + FITTED_COLUMN * values["n_features"] * (1 + parts // 10)


def _positions(columns: Any, names: Any) -> Any:
    """Columns as an index of an array."""
    if isinstance(columns, str):
        columns = [columns]
    if isinstance(columns, list) and columns and isinstance(columns[0], str):
        return [list(names).index(column) for column in columns]
    return np.atleast_1d(columns) if not isinstance(columns, slice) else columns


def _empty_rows(number: int, names: Any) -> Any:
    rows = np.zeros((2, number))
    if names is None:
        return rows
    import pandas

    return pandas.DataFrame(rows, columns=names)


schema(
    ColumnTransformer,
    {
        "names": ListOf(TEXT, least=1, most=1000),
        "steps": ListOf(Either(Text("drop", "passthrough"), Object(*TRANSFORMERS))),
        "columns": ListOf(Either(COLUMNS, TEXT, INTEGER)),
        "widths": ListOf(SIZE),
        "remainder": Text("drop", "passthrough"),
        "verbose_feature_names_out": FLAG,
        "n_features": Number(1, MOST_COLUMNS, whole=True),
        "feature_names_in_": Maybe(NAMES),
    },
    state=_columns_state,
    make=_column_transformer,
    work=_work,
)
