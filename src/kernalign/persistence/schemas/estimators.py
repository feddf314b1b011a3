"""Estimators of the library, and the machines and splitters that their parameters may be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
)
from sklearn.svm import SVC, SVR, NuSVC, NuSVR

from kernalign.estimators import KernelClassifier, KernelFeatures, KernelRegressor
from kernalign.estimators.held_out import HeldOutRows
from kernalign.estimators.intervals import Certainty
from kernalign.estimators.response import Response, Responses
from kernalign.estimators.scores import Scores
from kernalign.estimators.stability import Stability
from kernalign.kernels import LearnedKernel
from kernalign.learners import Learner
from kernalign.machines.calibration import TemperatureCalibration
from kernalign.machines.model import KernelModel, Model, PairwiseModel, RowsModel
from kernalign.persistence.kinds import (
    ANY_NUMBER,
    COUNT,
    FLAG,
    INTEGER,
    NUMBER,
    POSITIVE,
    SHARE,
    SIZE,
    TEXT,
    Array,
    Arrays,
    Either,
    FieldError,
    Kind,
    ListOf,
    Maybe,
    Number,
    Object,
    Text,
    optional,
)
from kernalign.persistence.limits import PREDICTED_TERM, PREDICTION
from kernalign.persistence.schema import schema
from kernalign.persistence.schemas.certainty import check_certainty
from kernalign.persistence.schemas.kernels import COLUMNS, terms
from kernalign.persistence.schemas.learners import RECORDS
from kernalign.persistence.values import NAMES, ByColumn, ClassWeights, Labels, Plain, Seed
from kernalign.tables.columns import Columns

#: Numbers of the rows on which a model is checked, for all its kernels together.
LARGEST_CHECK = 2**20


def _parameters_only(cls: type, fields: dict[str, Kind], **fixed: Any) -> None:
    """The schema of a scikit-learn object as a parameter: what its constructor takes.

    fixed : parameters that always have one value.
    """

    def state(value: Any) -> dict[str, Any]:
        params = value.get_params() if hasattr(value, "get_params") else vars(value)
        return {name: params[name] for name in fields if name in params}

    schema(cls, fields, state=state, make=lambda values: cls(**values, **fixed))


LIBSVM: dict[str, Kind] = {"tol": POSITIVE, "max_iter": INTEGER, "shrinking": FLAG}
CLASSES: dict[str, Kind] = {**LIBSVM, "class_weight": ClassWeights(), "random_state": Seed()}
_parameters_only(SVC, {"C": POSITIVE, **CLASSES}, kernel="precomputed")
_parameters_only(NuSVC, {"nu": SHARE, **CLASSES}, kernel="precomputed")
_parameters_only(SVR, {"C": POSITIVE, "epsilon": NUMBER, **LIBSVM}, kernel="precomputed")
_parameters_only(NuSVR, {"C": POSITIVE, "nu": SHARE, **LIBSVM}, kernel="precomputed")
_parameters_only(KernelRidge, {"alpha": Either(NUMBER, Array("*"))}, kernel="precomputed")
MACHINES = (SVC, NuSVC, SVR, NuSVR, KernelRidge)


class GivenMachine(Object):
    """A machine of the user's whose dual coefficients are known."""

    def write(self, value: Any, out: Arrays, where: str) -> Any:
        if isinstance(value, BaseEstimator) and type(value) not in self.classes:
            raise ValueError(
                f"A model with the machine {type(value).__name__} cannot be saved: a file holds "
                "numbers, and how this machine predicts is not known as such. Known are "
                f"{', '.join(cls.__name__ for cls in self.classes)} and the machines of kernalign."
            )
        return super().write(value, out, where)


FOLDS: dict[str, Kind] = {"n_splits": COUNT}
SHUFFLED: dict[str, Kind] = {**FOLDS, "shuffle": FLAG, "random_state": Seed()}
SHARES: dict[str, Kind] = {
    **FOLDS,
    "test_size": optional(NUMBER),
    "train_size": optional(NUMBER),
    "random_state": Seed(),
}
_parameters_only(KFold, SHUFFLED)
_parameters_only(StratifiedKFold, SHUFFLED)
_parameters_only(StratifiedGroupKFold, SHUFFLED)
_parameters_only(GroupKFold, FOLDS)
_parameters_only(ShuffleSplit, SHARES)
_parameters_only(StratifiedShuffleSplit, SHARES)
_parameters_only(LeaveOneOut, {})
_parameters_only(
    TimeSeriesSplit,
    {**FOLDS, "max_train_size": optional(COUNT), "test_size": optional(COUNT), "gap": SIZE},
)
SPLITTERS = (
    KFold,
    StratifiedKFold,
    StratifiedGroupKFold,
    GroupKFold,
    ShuffleSplit,
    StratifiedShuffleSplit,
    LeaveOneOut,
    TimeSeriesSplit,
)

#: Of every estimator.
SHARED: dict[str, Kind] = {
    "categorical_features": Either(Text("from_dtype"), COLUMNS),
    "kinds": ByColumn(),
    "n_features_in_": COUNT,
    "feature_names_in_": Maybe(NAMES),
    "columns_": Maybe(Object(Columns)),
    "learner_": Object(Learner),
    "kernel_": Object(LearnedKernel),
    "alignment_": ANY_NUMBER,
    "history_": RECORDS,
}
#: Of the classifier and the regressor.
PREDICTOR: dict[str, Kind] = {
    "learner": optional(Either(Object(Learner), ListOf(Object(Learner)))),
    "C": Either(POSITIVE, Text("cv"), Array("*", low=0), ListOf(POSITIVE)),
    "cv": Either(COUNT, Object(*SPLITTERS), Plain()),
    "nested": FLAG,
    "solver": TEXT,
    "n_components": optional(COUNT),
    "verbose": Either(FLAG, INTEGER),
    **SHARED,
    "model_": Object(Model),
    "C_": Number(0, finite=False),
    "cv_results_": Plain(),
    "path_": RECORDS,
    "cv_error_": ANY_NUMBER,
    "cv_error_std_": ANY_NUMBER,
    "cv_error_interval_": ListOf(ANY_NUMBER, as_tuple=True, least=2, most=2),
    "cv_error_unknown_": TEXT,
    "held_out_": Object(HeldOutRows),
    "stability_": Object(Stability),
    "solver_": TEXT,
}


def _check_rows(estimator: Any) -> None:
    """Estimator, model and kernel are of the same columns."""
    if not hasattr(estimator, "model_"):
        return
    name, d = type(estimator).__name__, estimator.n_features_in_
    columns = getattr(estimator, "columns_", None)
    features = d if columns is None else len(columns.features)
    if len(estimator.model_.seen.spread) != features:
        raise FieldError(f"{name}.model_ must be of {features} columns")
    if estimator.model_.kernel is not estimator.kernel_:
        raise FieldError(f"{name}.kernel_ must be the kernel of its model")
    stability = getattr(estimator, "stability_", None)
    if stability is not None and len(stability.importances) and stability.importances.shape[1] != d:
        raise FieldError(f"{name}.stability_ must be of {d} columns")
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and len(names) != d:
        raise FieldError(f"{name}.feature_names_in_ must be the names of {d} columns")


def _outputs(estimator: Any) -> Any:
    """What the model says of a row of zeros, which must be a finite number."""
    model, name = _thinned(estimator.model_), type(estimator).__name__
    try:
        with np.errstate(all="ignore"):
            found = model.outputs(np.zeros((1, len(model.seen.spread))))
    except Exception as problem:
        # Functions of the user's may raise anything.
        raise FieldError(f"{name}.model_ must predict a row of zeros. Got: {problem}") from None
    if not np.isfinite(found).all():
        raise FieldError(f"{name}.model_ must give a finite number for a row of zeros")
    return found


def _thinned(model: Model) -> Model:
    """The model on its first rows only: a large one would take long, and much memory."""
    if not isinstance(model, RowsModel):
        return model
    number = max(1, LARGEST_CHECK // (terms(model.kernel) + 1) // (model.rows.shape[1] + 2))
    index = None if model.index is None else model.index[:number]
    kept: dict[str, Any] = {"rows": model.rows[:number], "index": index}
    if isinstance(model, KernelModel | PairwiseModel):
        kept["coefficients"] = model.coefficients[:number]
    return replace(model, **kept)


def _work(values: dict[str, Any]) -> int:
    if "model_" not in values:
        return 0
    return PREDICTION + PREDICTED_TERM * terms(values["kernel_"])


def _check_classifier(estimator: KernelClassifier) -> None:
    _check_rows(estimator)
    if not hasattr(estimator, "model_"):
        return
    classes, codes = len(estimator.classes_), estimator.held_out_.y
    wanted = (1, classes) if classes > 2 else (1,)
    if classes < 2 or _outputs(estimator).shape != wanted:
        raise FieldError("KernelClassifier.model_ must have as many outputs as there are classes")
    if not ((codes >= 0) & (codes < classes) & (codes % 1 == 0)).all():
        raise FieldError("HeldOutRows.y must be codes of the classes")


def _check_regressor(estimator: KernelRegressor) -> None:
    _check_rows(estimator)
    if not hasattr(estimator, "model_"):
        return
    check_certainty(estimator)
    found = _outputs(estimator)
    several = isinstance(estimator.response_, Responses)
    if found.shape != ((1, len(estimator.response_)) if several else (1,)):
        raise FieldError("KernelRegressor.model_ must have an output for each response")
    with np.errstate(all="ignore"):
        if not np.isfinite(estimator.response_.back(found)).all():
            raise FieldError("KernelRegressor.response_ must lead to a finite number")


def _check_features(estimator: KernelFeatures) -> None:
    _check_rows(estimator)
    if hasattr(estimator, "model_"):
        _outputs(estimator)


schema(
    KernelClassifier,
    {
        **PREDICTOR,
        "machine": optional(GivenMachine(*MACHINES)),
        "class_weight": ClassWeights(),
        "classes_": Labels(),
        "calibration_": Object(TemperatureCalibration),
        "scores_": Object(Scores),
    },
    check=_check_classifier,
    work=_work,
)
schema(
    KernelRegressor,
    {
        **PREDICTOR,
        "machine": optional(Either(Text("ridge", "svr"), GivenMachine(*MACHINES))),
        "response_": Object(Response, Responses),
        "certainty_": Object(Certainty),
    },
    check=_check_regressor,
    work=_work,
)
schema(
    KernelFeatures,
    {
        "learner": optional(Object(Learner)),
        "n_components": optional(COUNT),
        "output": Text("features", "gram"),
        "random_state": Seed(),
        **SHARED,
        "model_": Object(RowsModel),
    },
    check=_check_features,
    work=_work,
)
