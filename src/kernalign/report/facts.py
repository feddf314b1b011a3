"""Everything that the page says, as plain data."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.pipeline import make_pipeline

from kernalign._progress import current, one_step
from kernalign.machines.model import RowsModel
from kernalign.plots import (
    EffectInfo,
    ImportanceInfo,
    RelevanceInfo,
    SpectrumInfo,
    effect_info,
    importance_info,
    relevance_info,
    spectrum_info,
)
from kernalign.plots._held_out import held_out_probabilities
from kernalign.plots._model import View, check_lengths, some_rows, view
from kernalign.plots._rows import rows_at
from kernalign.plots.coverage import CoverageInfo
from kernalign.report.comparison import (
    OTHERS,
    Indicators,
    Score,
    cross_validated,
    folds_of,
    guess_score,
    own_score,
)
from kernalign.report.influence import InfluenceInfo, influence_info
from kernalign.report.quality import Quality, coverage, quality

#: Steps of a page beside the fits: facts and pictures.
PAGE_STEPS = 2
#: Rows at most that are used to time predictions.
TIMED = 1000
#: Columns whose effects are drawn.
EFFECTS = 3
#: Rows by which the training data are recognised.
FEW = 20
NOT_TRAINING = (
    "The data given are not the rows that the model was fitted to: its training rows cannot be "
    "shown."
)


@dataclass(frozen=True)
class Facts:
    """What is known of a model; None where data, or the model, do not tell.

    trained_on : whether the data are those that the model was fitted to.
    scores : this model, then others, on the same held-out rows; compared_rows : of so many rows.
    new_error : the error on data that are not the training data.
    chosen : position in the data of the row whose prediction is explained.
    no_importance, no_influence : why these are not known.
    """

    model: Any
    seen: View
    classification: bool
    notes: Mapping[str, Any]
    rows: int
    spectrum: SpectrumInfo
    X: Any = None
    y: Any = None
    trained_on: bool = False
    quality: Quality | None = None
    unknown: str = ""
    scores: list[Score] = field(default_factory=list)
    compared_rows: int = 0
    new_error: float | None = None
    importance: ImportanceInfo | None = None
    effects: list[EffectInfo] = field(default_factory=list)
    relevance: RelevanceInfo | None = None
    coverage: CoverageInfo | None = None
    influence: InfluenceInfo | None = None
    chosen: int | None = None
    seconds_per_thousand: float | None = None
    no_importance: str = ""
    no_influence: str = ""

    @property
    def target(self) -> str:
        return str(self.notes.get("target", "the target"))

    @property
    def several(self) -> bool:
        """Whether the model predicts several numbers."""
        response = getattr(self.seen.estimator, "response_", None)
        return isinstance(getattr(response, "curve", ""), tuple)


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
    """Collect the facts; other machines are trained here, where data are given."""
    seen = view(model)
    if not hasattr(seen.estimator, "held_out_"):
        raise ValueError(
            "A report is about a fitted KernelClassifier or KernelRegressor, or a pipeline that "
            f"ends in one. Got {type(seen.estimator or model).__name__}."
        )
    if X is not None and y is not None:
        check_lengths(X, y)
    if row is not None and X is not None and not 0 <= row < len(X):
        raise ValueError(f"The row to explain must be from 0 to {len(X) - 1}. Got {row}.")
    facts = _of_model(model, seen, dict(notes or {}))
    trained_on = X is not None and y is not None and is_training_data(seen, X, y)
    compared = trained_on and compare and facts.quality is not None and not _several(y)
    others = len(OTHERS) + (len(y) > max_rows) if compared else 0
    current().plan(PAGE_STEPS + others + trained_on)
    if X is None:
        return facts
    found: dict[str, Any] = {"X": X, "y": y, "seconds_per_thousand": _timed(model, X)}
    if trained_on:
        found |= {"trained_on": True} | _with_training_data(facts, X, y, compared, max_rows)
    elif y is not None:
        found["new_error"] = _error_on(model, X, y, facts.classification)
    if y is not None:
        found |= _explained(facts, X, y, row, found.get("trained_on", False))
    return Facts(**{**vars(facts), **found})


def _of_model(model: Any, seen: View, notes: dict[str, Any]) -> Facts:
    """What the model alone tells."""
    found, unknown, relevance = None, "", None
    try:
        found = quality(seen.estimator)
    except ValueError as problem:
        unknown = str(problem)
    try:
        relevance = relevance_info(model)
    except ValueError:
        # The section says that the kernel does not tell.
        relevance = None
    return Facts(
        model=model,
        seen=seen,
        classification=is_classifier(seen.estimator),
        notes=notes,
        rows=seen.trained.n_rows if seen.trained is not None else 0,
        spectrum=spectrum_info(model),
        quality=found,
        unknown=unknown,
        relevance=relevance,
        coverage=None if found is None else coverage(model),
    )


def is_training_data(seen: View, X: Any, y: Any) -> bool:
    """Whether data are those that the model was fitted to, as far as it remembers them."""
    trained, labels = seen.trained, np.asarray(y)
    if trained is None or len(labels) < trained.n_rows:
        return False
    return _same_labels(seen, labels) and _same_rows(seen, X, len(labels))


def _same_labels(seen: View, labels: Any) -> bool:
    """Whether the rows that folds held out have these labels."""
    held_out = seen.estimator.held_out_
    if not len(held_out):
        return True
    if held_out.index[-1] >= len(labels):
        return False
    known = held_out.y
    if is_classifier(seen.estimator):
        known = seen.estimator.classes_[held_out.y.astype(np.intp)]
    return bool(np.array_equal(labels[held_out.index].reshape(known.shape), known))


def _same_rows(seen: View, X: Any, n: int) -> bool:
    """Whether some of the rows that the model keeps are at their positions in X."""
    trained = seen.trained
    if not isinstance(trained, RowsModel) or trained.index is None or not len(trained.index):
        return True
    if trained.index[-1] >= n:
        return False
    few = some_rows(len(trained.index), FEW)
    rows = seen.seen(rows_at(X, trained.index[few]))
    return bool(np.array_equal(rows, trained.rows[few]))


def _with_training_data(
    facts: Facts, X: Any, y: Any, compared: bool, max_rows: int
) -> dict[str, Any]:
    """The model beside others, and what drives it."""
    found: dict[str, Any] = {}
    if compared:
        found["scores"], found["compared_rows"] = _compared(facts, X, y, max_rows)
    with one_step("importance of columns"):
        try:
            importance = importance_info(facts.model, X, y)
        except ValueError as problem:
            found["no_importance"] = str(problem)
    if "no_importance" in found:
        return found
    top = importance.order()[:EFFECTS].tolist()
    top = [k for k in top if importance.low[k] > 0] or top[:1]
    effects = (
        []
        if _several(y)
        else [effect_info(facts.model, X, int(importance.columns[k])) for k in top]
    )
    return {**found, "importance": importance, "effects": effects}


def _compared(facts: Facts, X: Any, y: Any, max_rows: int) -> tuple[list[Score], int]:
    labels, model, estimator = np.asarray(y), facts.model, facts.seen.estimator
    classification = facts.classification
    seconds = float(facts.notes.get("fit_seconds", float("nan")))
    if len(labels) > max_rows:
        kept = some_rows(len(labels), max_rows, groups=labels)
        X, labels = rows_at(X, kept), labels[kept]
        with one_step("this model"):
            began = time.perf_counter()
            model = clone(model).fit(X, labels)
            seconds, estimator = time.perf_counter() - began, view(model).estimator
    folds = folds_of(estimator.held_out_, len(labels))
    scores = [
        own_score("this model", estimator, seconds),
        guess_score(labels, estimator.held_out_.index, classification),
    ]
    for name, make in OTHERS.items():
        other = make_pipeline(*_prepared(facts.seen), make(classification))
        with one_step(name):
            scores.append(cross_validated(name, other, X, labels, folds, classification))
    return scores, len(labels)


def _prepared(seen: View) -> list[Any]:
    """Other machines see the same columns, prepared in the same way."""
    before = [] if seen.before is None else [clone(seen.before)]
    if seen.table is not None:
        before.append(Indicators(seen.estimator.categorical_features, seen.estimator.kinds))
    return before


def _several(y: Any) -> bool:
    return np.ndim(y) > 1 and np.shape(y)[1] > 1


def _error_on(model: Any, X: Any, y: Any, classification: bool) -> float:
    predicted, truth = model.predict(X), np.asarray(y)
    if classification:
        return float(np.mean(predicted != truth))
    return float(np.sqrt(np.mean((predicted - truth) ** 2)))


def _explained(facts: Facts, X: Any, y: Any, row: int | None, same: bool) -> dict[str, Any]:
    if not same:
        return {"no_influence": NOT_TRAINING}
    chosen = _chosen(facts) if row is None else row
    try:
        info = influence_info(facts.model, rows_at(X, [chosen]), X, y, row=chosen)
    except ValueError as problem:
        return {"no_influence": str(problem)}
    return {"chosen": chosen, "influence": info}


def _chosen(facts: Facts) -> int:
    """The training row that a model which had not seen it was least sure of; else the first."""
    if not facts.classification or facts.quality is None:
        return 0
    probabilities, _ = held_out_probabilities(facts.model)
    ordered = np.sort(probabilities, axis=1)
    place = int(np.argmin(ordered[:, -1] - ordered[:, -2]))
    return int(facts.seen.estimator.held_out_.index[place])


def _timed(model: Any, X: Any) -> float:
    rows = rows_at(X, some_rows(len(X), TIMED))
    began = time.perf_counter()
    model.predict(rows)
    return (time.perf_counter() - began) * TIMED / len(rows)
