"""Trained models: what predicts."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernalign.estimators.response import CURVES, Response, Responses
from kernalign.features import ExplicitMap
from kernalign.kernels import LearnedKernel
from kernalign.kernels.structure import has_features
from kernalign.machines.calibration import TemperatureCalibration
from kernalign.machines.model import (
    DualModel,
    FeatureModel,
    KernelModel,
    KernelValues,
    PairwiseModel,
    RowsModel,
    Seen,
)
from kernalign.persistence.kinds import (
    NUMBER,
    POSITIVE,
    SIZE,
    TEXT,
    Array,
    Either,
    FieldError,
    Kind,
    ListOf,
    Number,
    Object,
    Text,
    optional,
)
from kernalign.persistence.limits import TERM
from kernalign.persistence.schema import schema
from kernalign.persistence.schemas.kernels import check_kernel, terms

schema(Seen, {"n_rows": SIZE, "spread": Array("d", low=0.0)})
schema(
    DualModel,
    {"coefficients": Array("n", "n c"), "intercept": Either(NUMBER, Array("", "c"))},
)

ON_KERNEL: dict[str, Kind] = {"kernel": Object(LearnedKernel), "seen": Object(Seen)}
ON_ROWS: dict[str, Kind] = {
    **ON_KERNEL,
    "rows": Array("m d"),
    "index": optional(Array("m", letter="i", low=0)),
}
#: One output without an axis, or several.
LINEAR: dict[str, Kind] = {"coefficients": Array("m", "m c"), "intercept": Array("", "c")}


def _work(values: dict[str, Any]) -> int:
    return TERM * terms(values["kernel"])


def _check_rows(model: RowsModel) -> None:
    """Rows, kernel and spreads are of the same columns."""
    d = model.rows.shape[1]
    if len(model.seen.spread) != d:
        raise FieldError(f"{type(model).__name__}.seen must be of {d} columns")
    if len(model.rows) > model.n_rows and model.index is not None:
        raise FieldError(f"{type(model).__name__} must have as many rows as were seen, or fewer")
    check_kernel(model.kernel, d)


def _check_pairs(model: PairwiseModel) -> None:
    _check_rows(model)
    k = model.n_classes
    if model.coefficients.shape[1] != k * (k - 1) // 2:
        raise FieldError(f"PairwiseModel.coefficients must be of every pair of {k} classes")


schema(KernelModel, {**ON_ROWS, **LINEAR}, check=_check_rows, work=_work)
schema(KernelValues, ON_ROWS, check=_check_rows, work=_work)
schema(
    PairwiseModel,
    {
        **ON_ROWS,
        "coefficients": Array("m q"),
        "intercept": Array("q"),
        "n_classes": Number(3, 10_000, whole=True),
    },
    check=_check_pairs,
    work=_work,
)


def _check_map(features: ExplicitMap) -> None:
    kernels = features.kernel.kernels
    if len(features.frequencies) != len(kernels):
        raise FieldError("ExplicitMap.frequencies must be as many as the kernels")
    for member, omega in zip(kernels, features.frequencies, strict=True):
        if (omega is None) != has_features(member.family):
            raise FieldError("ExplicitMap.frequencies must be of kernels without features")


schema(
    ExplicitMap,
    {
        "kernel": Object(LearnedKernel),
        "frequencies": ListOf(optional(Array("own waves"))),
        "_n_features": Number(1, 10**7, whole=True),
    },
    check=_check_map,
)


def _check_features(model: FeatureModel) -> None:
    d = len(model.seen.spread)
    check_kernel(model.kernel, d)
    check_kernel(model.features.kernel, d)
    features = model.features
    assert isinstance(features, ExplicitMap)
    if len(model.coefficients) != features.n_features:
        raise FieldError("FeatureModel.coefficients must be as many as its features")
    for member, omega in zip(features.kernel.kernels, features.frequencies, strict=True):
        own = member.family.select(np.zeros((1, d))).shape[1]
        if omega is not None and omega.shape[0] != own:
            raise FieldError(f"ExplicitMap.frequencies must be of {own} columns")
    if features.raw(np.zeros((1, d))).shape[1] != features.n_features:
        raise FieldError("ExplicitMap must have as many features as its parts together")


schema(
    FeatureModel,
    {**ON_KERNEL, "features": Object(ExplicitMap), **LINEAR},
    check=_check_features,
    work=lambda values: _work(values) + TERM * terms(values["features"].kernel),
)


def _check_calibration(calibration: TemperatureCalibration) -> None:
    if not hasattr(calibration, "slope_"):
        raise FieldError("TemperatureCalibration lacks the field 'slope_'")


schema(TemperatureCalibration, {"slope_": POSITIVE}, check=_check_calibration)


def _check_response(response: Response) -> None:
    if response.low > response.high:
        raise FieldError("Response.low must not be above Response.high")


schema(
    Response,
    {
        "curve": Text(*CURVES),
        "centre": NUMBER,
        "unit": POSITIVE,
        "offset": NUMBER,
        "spread": POSITIVE,
        "low": NUMBER,
        "high": NUMBER,
        "residuals": ListOf(NUMBER, as_tuple=True, least=1, most=10_000),
    },
    check=_check_response,
)


def _check_responses(responses: Responses) -> None:
    if len(responses.names) not in (0, len(responses.columns)):
        raise FieldError("Responses.names must be as many as its columns")


schema(
    Responses,
    {
        "columns": ListOf(Object(Response), as_tuple=True, least=1),
        "names": ListOf(TEXT, as_tuple=True),
    },
    check=_check_responses,
)
