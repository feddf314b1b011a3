"""Functions of a Gram matrix and their gradients: alignment is maximised, the others minimised."""

from kernalign.criteria.alignment import (
    CenteredAlignment,
    SlopeObjective,
    StepObjective,
    alignment,
    best_weights,
    centered_alignment,
)

__all__ = [
    "CenteredAlignment",
    "SlopeObjective",
    "StepObjective",
    "alignment",
    "best_weights",
    "centered_alignment",
]
