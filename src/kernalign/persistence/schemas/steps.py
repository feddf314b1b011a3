"""Steps of pipelines: transformers and linear models, by their public attributes.

Each is written as parameters and public fitted attributes, and rebuilt by its own constructor. A
file contains no private attributes of scikit-learn, and no parameter that names a folder, a job or
a function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from kernalign.persistence.kinds import (
    ANY_NUMBER,
    COUNT,
    FLAG,
    INTEGER,
    POSITIVE,
    SIZE,
    TEXT,
    Array,
    Either,
    FieldError,
    Kind,
    ListOf,
    Maybe,
    Number,
    Text,
    optional,
)
from kernalign.persistence.limits import ENCODED_COLUMN, FITTED_COLUMN, FITTED_STEP
from kernalign.persistence.schema import schema
from kernalign.persistence.values import NAMES, Labels

SEEN: dict[str, Kind] = {"n_features_in_": Maybe(COUNT), "feature_names_in_": Maybe(NAMES)}
ROW = Array("d")


def _step(cls: type, parameters: dict[str, Kind], fitted: dict[str, Kind]) -> None:
    """A step that is defined by its parameters and public attributes."""
    fields = {**parameters, **fitted, **SEEN}

    def state(value: Any) -> dict[str, Any]:
        return {name: vars(value)[name] for name in fields if name in vars(value)}

    def make(values: dict[str, Any]) -> Any:
        made = cls(**{name: values.pop(name) for name in parameters if name in values})
        made.__dict__.update(values)
        return made

    schema(cls, fields, state=state, make=make)


_step(
    StandardScaler,
    {"with_mean": FLAG, "with_std": FLAG},
    {"mean_": optional(ROW), "scale_": optional(Array("d", low=np.nextafter(0, 1)))},
)
_step(RobustScaler, {"with_centering": FLAG, "with_scaling": FLAG}, {"center_": ROW, "scale_": ROW})
_step(
    MinMaxScaler,
    {"feature_range": ListOf(Number(), as_tuple=True, least=2, most=2), "clip": FLAG},
    {"min_": ROW, "scale_": ROW, "data_min_": ROW, "data_max_": ROW, "data_range_": ROW},
)
_step(MaxAbsScaler, {}, {"scale_": ROW, "max_abs_": ROW})
_step(
    PCA,
    {"n_components": optional(Either(COUNT, Number(0, 1), Text("mle"))), "whiten": FLAG},
    {
        "mean_": ROW,
        "components_": Array("k d"),
        "explained_variance_": Array("k", low=0),
        "n_components_": SIZE,
    },
)
LINEAR: dict[str, Kind] = {"coef_": Array("d", "c d"), "intercept_": Either(Number(), Array("c"))}
_step(LogisticRegression, {"C": POSITIVE}, {**LINEAR, "classes_": Labels()})
_step(Ridge, {"alpha": Number(0)}, LINEAR)
_step(LinearRegression, {}, LINEAR)

CELL = Either(FLAG, ANY_NUMBER, TEXT)


def _by_refit(
    cls: type, fields: dict[str, Kind], state: Callable[[Any], dict[str, Any]], make: Any
) -> None:
    """A step that is rebuilt by its own `fit` from the learned values."""

    def checked(values: dict[str, Any]) -> Any:
        names = values.pop("feature_names_in_", None)
        try:
            made = make(values)
        except (ValueError, TypeError) as problem:
            raise FieldError(f"{cls.__name__} is not complete: {problem}") from None
        if names is not None:
            made.feature_names_in_ = names
        return made

    def seen(value: Any) -> dict[str, Any]:
        found = state(value)
        if hasattr(value, "feature_names_in_"):
            found["feature_names_in_"] = value.feature_names_in_
        return found

    def work(values: dict[str, Any]) -> int:
        if "categories" in fields:
            return FITTED_STEP + ENCODED_COLUMN * len(values["categories"])
        return FITTED_STEP + FITTED_COLUMN * len(values["statistics"])

    named = {**fields, "feature_names_in_": Maybe(NAMES)}
    schema(cls, named, state=seen, make=checked, work=work)


def _imputer_state(imputer: SimpleImputer) -> dict[str, Any]:
    missing = imputer.missing_values
    if imputer.add_indicator or not isinstance(missing, float) or not np.isnan(missing):
        raise ValueError("A SimpleImputer can be saved without add_indicator, for NaN only.")
    return {
        "strategy": imputer.strategy,
        "fill_value": imputer.fill_value,
        "statistics": imputer.statistics_.tolist(),
    }


def _imputer(values: dict[str, Any]) -> SimpleImputer:
    made = SimpleImputer(strategy=values["strategy"], fill_value=values["fill_value"])
    # The median, mean or most frequent value of a single row is the row.
    row = values["statistics"]
    kind = object if any(isinstance(value, str) for value in row) else float
    return made.fit(np.array([row], dtype=kind))


_by_refit(
    SimpleImputer,
    {
        "strategy": Text("mean", "median", "most_frequent", "constant"),
        "fill_value": optional(CELL),
        "statistics": ListOf(Either(Number(), TEXT), least=1),
    },
    _imputer_state,
    _imputer,
)
CATEGORIES: dict[str, Kind] = {"categories": ListOf(Labels(), least=1)}


def _encoder_state(encoder: Any) -> dict[str, Any]:
    if getattr(encoder, "max_categories", None) or getattr(encoder, "min_frequency", None):
        raise ValueError("An encoder can be saved without max_categories and min_frequency.")
    if getattr(encoder, "drop", None) not in (None, "first", "if_binary"):
        raise ValueError("A OneHotEncoder can be saved with drop=None, 'first' or 'if_binary'.")
    return {**_encoder_parameters(encoder), "categories": list(encoder.categories_)}


def _encoder_parameters(encoder: Any) -> dict[str, Any]:
    names = ("drop", "handle_unknown", "sparse_output", "unknown_value")
    return {name: vars(encoder)[name] for name in names if name in vars(encoder)}


def _encoder(cls: type) -> Callable[[dict[str, Any]], Any]:
    def make(values: dict[str, Any]) -> Any:
        categories = values.pop("categories")
        made = cls(categories=categories, **values)
        text = any(isinstance(item, str) for items in categories for item in items)
        first = [[items[0] for items in categories]]
        made.fit(np.array(first, dtype=object if text else float))
        # A later refit must learn the categories from its own data.
        return made.set_params(categories="auto")

    return make


_by_refit(
    OneHotEncoder,
    {
        **CATEGORIES,
        "drop": optional(Text("first", "if_binary")),
        "handle_unknown": Text("error", "ignore", "infrequent_if_exist", "warn"),
        "sparse_output": FLAG,
    },
    _encoder_state,
    _encoder(OneHotEncoder),
)
_by_refit(
    OrdinalEncoder,
    {
        **CATEGORIES,
        "handle_unknown": Text("error", "use_encoded_value"),
        "unknown_value": optional(Either(INTEGER, ANY_NUMBER)),
    },
    _encoder_state,
    _encoder(OrdinalEncoder),
)
