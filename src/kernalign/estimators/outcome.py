"""Fitted attributes of an estimator."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign._warnings import AlignmentWarning, find_stack_level
from kernalign.estimators.error import NOT_HELD_OUT, NOT_NESTED, RowErrors
from kernalign.estimators.held_out import selected_rows
from kernalign.estimators.left_out import NONE
from kernalign.estimators.preselection import Preselection
from kernalign.estimators.problem import Problem
from kernalign.estimators.selection import Selection, path_records
from kernalign.estimators.stages import Stages
from kernalign.learners import Learner

#: A warning is given if the training alignment exceeds the held-out one by this factor, by this
#: difference, and by this many standard deviations over folds.
MAX_ALIGNMENT_RATIO, MIN_ALIGNMENT_GAP, MIN_Z_SCORE = 2.0, 0.2, 2.0


def kernel_attributes(learner: Learner) -> dict[str, Any]:
    """`learner_`, `kernel_`, `alignment_` and `history_` of a fitted learner."""
    return {
        "learner_": learner,
        "kernel_": learner.kernel_,
        "alignment_": learner.alignment_,
        "history_": learner.history_,
    }


def choice_attributes(
    stages: Stages,
    chosen: Selection,
    sample: Preselection | None,
    problem: Problem,
    unit: float,
    *,
    nested: bool,
) -> dict[str, Any]:
    """`C_`, `cv_results_`, `path_`, `held_out_`, and `cv_error_` with its interval.

    sample : the selection of the kernel on a sample of the rows, if there was one.
    unit : in which the error is reported.
    """
    honest = chosen.honest
    if sample is not None and not sample.apart:
        # The rows held out for C also selected the kernel.
        honest = replace(sample.selection.honest, rows=None)
    if not nested:
        honest = RowErrors.none(NOT_NESTED)
    with np.errstate(over="ignore"):
        scale = np.float64(unit)
        errors = chosen.errors[chosen.candidate] * scale
    before = [] if sample is None else path_records(sample.stages, sample.selection, unit)
    return {
        "C_": chosen.C,
        "cv_results_": {
            "C": chosen.values,
            "error": errors,
            "loss": chosen.losses[chosen.candidate],
        },
        "path_": before + path_records(stages, chosen, unit),
        **honest.estimate(unit).attributes(),
        "held_out_": selected_rows(chosen, honest, unit, problem),
    }


def warn_if_overfitted(train: float, held: float, deviation: float) -> None:
    """Warn if the alignment with the training labels is much larger than with held-out labels."""
    if train > MAX_ALIGNMENT_RATIO * held and train - max(held, 0.0) > max(
        MIN_ALIGNMENT_GAP, MIN_Z_SCORE * deviation
    ):
        warnings.warn(
            f"The alignment of the learned kernel is {train:.2f} with the training labels and "
            f"{held:.2f} with held-out labels: the kernel overfits, or the labels are mostly "
            "noise. Fewer parameters (one bandwidth, ard=False), a penalty, early_stopping=True "
            "or more rows may help.",
            AlignmentWarning,
            stacklevel=find_stack_level(),
        )


def without_choice(stages: Stages, values: Array) -> Selection:
    """The first candidate at the C nearest to 1, if no rows can be held out."""
    candidate = stages.candidates[0]
    C = float(values[np.argmin(np.abs(np.log(values)))])
    unknown = {candidate: np.array([np.nan])}
    nan = (float("nan"), float("nan"))
    return Selection(
        candidate,
        C,
        np.array([C]),
        places={},
        losses=unknown,
        errors=unknown,
        alignments={candidate: nan},
        held_out=NONE,
        folds=np.empty(0, dtype=np.intp),
        n_rows=0,
        honest=RowErrors.none(NOT_HELD_OUT),
    )
