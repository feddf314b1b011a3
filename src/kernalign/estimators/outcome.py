"""What a fit found, as the attributes that a user reads."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign._warnings import AlignmentWarning, find_stack_level
from kernalign.estimators.error import NOT_HELD_OUT, NOT_NESTED, RowErrors
from kernalign.estimators.preselection import Preselection
from kernalign.estimators.selection import Selection, path_records
from kernalign.estimators.stages import Stages
from kernalign.learners import Learner

#: Alignments part when the one in training exceeds the one held out by this factor, by this much,
#: and by this many standard deviations over folds.
PARTED, MUCH, SURE = 2.0, 0.2, 2.0


def kernel_attributes(learner: Learner) -> dict[str, Any]:
    """`learner_`, `kernel_`, `alignment_` and `history_` of a fitted learner."""
    return {
        "learner_": learner,
        "kernel_": learner.kernel_,
        "alignment_": learner.alignment_,
        "history_": learner.history_,
    }


def choice_attributes(
    stages: Stages, chosen: Selection, sample: Preselection | None, unit: float, *, nested: bool
) -> dict[str, Any]:
    """`C_`, `cv_results_`, `path_`, and `cv_error_` with what is known of it.

    sample : how a sample of many rows decided between several kernels, if it did.
    unit : of the error, in which it is reported.
    """
    honest = chosen.honest
    if sample is not None and not sample.apart:
        # Rows that judge had a say in the choice between kernels.
        honest = sample.selection.honest
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
        **(honest if nested else RowErrors.none(NOT_NESTED)).estimate(unit).attributes(),
    }


def warn_if_parted(train: float, held: float, deviation: float) -> None:
    """Say that the alignment with the training labels does not carry over to others."""
    if train > PARTED * held and train - max(held, 0.0) > max(MUCH, SURE * deviation):
        warnings.warn(
            f"The learned kernel aligns {train:.2f} with the labels it was learned from and "
            f"{held:.2f} with held-out ones: it fits their noise, or there is little else in them. "
            "Fewer parameters (one bandwidth, ard=False), a penalty, early_stopping=True or more "
            "rows may help.",
            AlignmentWarning,
            stacklevel=find_stack_level(),
        )


def without_choice(stages: Stages, values: Array) -> Selection:
    """The first candidate at the C nearest to 1, where no rows can be held out."""
    candidate = stages.candidates[0]
    C = float(values[np.argmin(np.abs(np.log(values)))])
    unknown = {candidate: np.array([np.nan])}
    nan = (float("nan"), float("nan"))
    alignments, honest = {candidate: nan}, RowErrors.none(NOT_HELD_OUT)
    return Selection(
        candidate, C, np.array([C]), {}, unknown, unknown, alignments, np.empty(0), honest
    )
