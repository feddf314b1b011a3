"""What a fitted estimator knows of its own errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernalign.estimators.held_out import HeldOutRows
from kernalign.estimators.intervals import Certainty
from kernalign.estimators.scores import Scores
from kernalign.estimators.stability import Stability
from kernalign.machines.model import KernelModel
from kernalign.machines.posterior import Posterior
from kernalign.persistence.kinds import (
    AT_LEAST_ZERO,
    FLAG,
    TEXT,
    Array,
    FieldError,
    ListOf,
    Object,
    optional,
)
from kernalign.persistence.schema import schema


def _check_scores(scores: Scores) -> None:
    if len(scores.values) and len(scores.weight) not in (1, len(scores.values)):
        raise FieldError("Scores.weight must be one number, or one for each score")
    if (np.diff(scores.values) < 0).any():
        raise FieldError("Scores.values must be sorted")
    if not len(scores.values) and not scores.unknown:
        raise FieldError("Scores must hold values, or say why there are none")


schema(
    Scores,
    {"values": Array("*"), "weight": Array("*", low=0.0), "unknown": TEXT},
    check=_check_scores,
)


def _check_held_out(rows: HeldOutRows) -> None:
    if not len(rows) and not rows.unknown:
        raise FieldError("HeldOutRows must hold rows, or say why there are none")
    if (np.diff(rows.index) <= 0).any():
        raise FieldError("HeldOutRows.index must ascend")


schema(
    HeldOutRows,
    {
        "index": Array("m", letter="i", low=0),
        "fold": Array("m", letter="i", low=0),
        "outputs": Array("m", "m c"),
        "deviations": optional(Array("m", low=0.0)),
        "y": Array("m", "m c"),
        "errors": Array("m", low=0.0, finite=False),
        "weight": Array("m", low=0.0),
        "unknown": TEXT,
    },
    check=_check_held_out,
)
schema(
    Posterior,
    {
        "scale": AT_LEAST_ZERO,
        "noise": AT_LEAST_ZERO,
        "constant": AT_LEAST_ZERO,
        "weight": Array("*", low=0.0),
    },
)
schema(
    Certainty,
    {"posterior": optional(Object(Posterior)), "scores": Object(Scores), "scaled": FLAG},
)


def _check_stability(stability: Stability) -> None:
    if stability.weights.shape != (1 + stability.folds, len(stability.families)):
        raise FieldError("Stability.weights must be those of all rows and of each fold")
    if len(stability.importances) not in (0, stability.folds):
        raise FieldError("Stability.importances must be those of each fold, or of none")
    if not stability.folds and not stability.unknown:
        raise FieldError("Stability must hold folds, or say why there are none")


schema(
    Stability,
    {
        "families": ListOf(TEXT, as_tuple=True),
        "weights": Array("* *", low=0.0),
        "alignment": Array("*"),
        "importances": Array("* *", low=0.0),
        "inflation": AT_LEAST_ZERO,
        "unknown": TEXT,
    },
    check=_check_stability,
)


def check_certainty(estimator: Any) -> None:
    """The process is one of the rows that the model keeps."""
    posterior, model = estimator.certainty_.posterior, estimator.model_
    if posterior is None:
        if estimator.certainty_.scaled:
            raise FieldError("Certainty.posterior must be there where scores are scaled by it")
    elif not isinstance(model, KernelModel) or len(posterior.weight) not in (1, len(model.rows)):
        raise FieldError("Posterior.weight must be one number, or one for each row of the model")
