"""Everything that the page says, as plain data."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.pipeline import make_pipeline

from kernalign._progress import current
from kernalign.plots import RelevanceInfo, SpectrumInfo, relevance_info, spectrum_info
from kernalign.plots._model import View, some_rows, view
from kernalign.report.comparison import (
    Indicators,
    Score,
    cross_validated,
    difference,
    folds_for,
    tuned_svm,
)
from kernalign.report.influence import InfluenceInfo, influence_info

#: Steps of a page beside the fits: facts and pictures.
PAGE_STEPS = 2
#: Rows at most that are used to time predictions.
TIMED = 1000


@dataclass(frozen=True)
class Facts:
    """What is known of a model; None where data, or the model, do not tell.

    scores : this model and a tuned SVM, cross-validated; gap : the difference of their errors
        with its interval.
    chosen : position in the data of the row whose prediction is explained.
    """

    model: Any
    seen: View
    classification: bool
    notes: Mapping[str, Any]
    rows: int
    spectrum: SpectrumInfo
    relevance: RelevanceInfo | None
    X: Any = None
    y: Any = None
    scores: tuple[Score, Score] | None = None
    compared_rows: int = 0
    gap: tuple[float, float, float] | None = None
    influence: InfluenceInfo | None = None
    chosen: int | None = None
    table: Any = None
    seconds_per_thousand: float | None = None
    omitted: list[str] = field(default_factory=list)

    @property
    def target(self) -> str:
        return str(self.notes.get("target", "the target"))


def gather(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    row: int | None = None,
    notes: Mapping[str, Any] | None = None,
    compare: bool = True,
    max_rows: int = 1000,
) -> Facts:
    """Collect the facts; cross-validation happens here, where data are given."""
    seen = view(model)
    curve = getattr(getattr(seen.estimator, "response_", None), "curve", "")
    if isinstance(curve, tuple):
        raise ValueError(
            f"A report is about one response. This model predicts {len(curve)}: fit one of them."
        )
    if row is not None and X is not None and not 0 <= row < len(X):
        raise ValueError(f"The row to explain must be from 0 to {len(X) - 1}. Got {row}.")
    classification = is_classifier(seen.estimator)
    omitted: list[str] = []
    try:
        relevance = relevance_info(model)
    except ValueError as problem:
        relevance = None
        omitted.append(str(problem))
    scores, gap, used = None, None, 0
    if X is not None and y is not None and compare:
        scores, gap, used = _compared(
            model, seen, X, y, classification, max_rows, omitted, (notes or {}).get("fit_seconds")
        )
    else:
        current().plan(PAGE_STEPS)
    influence, chosen = None, None
    if X is not None and hasattr(seen.estimator, "predict"):
        chosen = _chosen(model, X, row)
        try:
            influence = influence_info(model, _row(X, chosen))
        except ValueError as problem:
            omitted.append(str(problem))
    n = int((notes or {}).get("rows", 0)) if seen.trained is None else seen.trained.n_rows
    # Only data of as many rows as were trained on can be the training data.
    same = X is not None and seen.trained is not None and len(X) == n
    return Facts(
        model=model,
        seen=seen,
        classification=classification,
        notes=notes or {},
        rows=n,
        spectrum=spectrum_info(model),
        relevance=relevance,
        X=X,
        y=y,
        scores=scores,
        compared_rows=used,
        gap=gap,
        influence=influence,
        chosen=chosen,
        table=X if same else None,
        seconds_per_thousand=None if X is None else _timed(model, X),
        omitted=omitted,
    )


def _compared(
    model: Any,
    seen: View,
    X: Any,
    y: Any,
    classification: bool,
    max_rows: int,
    omitted: list[str],
    fit_seconds: float | None,
) -> tuple[tuple[Score, Score] | None, tuple[float, float, float] | None, int]:
    labels = np.asarray(y)
    kept = some_rows(len(labels), max_rows, groups=labels)
    labels, rows = labels[kept], X.iloc[kept] if hasattr(X, "iloc") else np.asarray(X)[kept]
    try:
        folds = folds_for(labels, classification)
    except ValueError as problem:
        omitted.append(str(problem))
        current().plan(PAGE_STEPS)
        return None, None, 0
    seconds = None if fit_seconds is None else 2 * len(folds) * fit_seconds
    current().plan(2 * len(folds) + PAGE_STEPS, seconds=seconds)
    ours = cross_validated("this model", model, rows, labels, folds, classification)
    # The other machine sees the same columns, prepared in the same way.
    svm = tuned_svm(classification)
    before = [] if seen.before is None else [clone(seen.before)]
    if seen.table is not None:
        before.append(Indicators(seen.estimator.categorical_features, seen.estimator.kinds))
    svm = make_pipeline(*before, svm)
    theirs = cross_validated("tuned RBF SVM", svm, rows, labels, folds, classification)
    return (ours, theirs), difference(ours, theirs, classification), len(labels)


def _chosen(model: Any, X: Any, row: int | None) -> int:
    """The row asked for, or the one that the model is least sure of."""
    n = len(X)
    if row is not None:
        return row
    few = some_rows(n, TIMED)
    if not hasattr(model, "predict_proba"):
        return 0
    probabilities = np.sort(model.predict_proba(_row(X, few)), axis=1)
    return int(few[np.argmin(probabilities[:, -1] - probabilities[:, -2])])


def _row(X: Any, index: Any) -> Any:
    index = np.atleast_1d(index)
    return X.iloc[index] if hasattr(X, "iloc") else np.asarray(X)[index]


def _timed(model: Any, X: Any) -> float | None:
    rows = _row(X, some_rows(len(X), TIMED))
    if not hasattr(model, "predict"):
        return None
    began = time.perf_counter()
    model.predict(rows)
    return (time.perf_counter() - began) * TIMED / len(rows)
