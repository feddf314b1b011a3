"""Warnings of the library, so that users can filter them by name."""

from __future__ import annotations

import inspect
from pathlib import Path


class AlignmentWarning(UserWarning):
    """No kernel of the family raises the alignment with the labels."""


class SelectionWarning(UserWarning):
    """A regularisation parameter could not be chosen by cross-validation."""


class ScaleWarning(UserWarning):
    """The kernels of a dictionary differ so much in scale that the smaller ones cannot be used."""


class SampleWarning(UserWarning):
    """The largest sample allowed leaves the kernel, or its alignment, uncertain."""


class ColumnWarning(UserWarning):
    """A column is left out, is read otherwise than it is written, or has missing cells that the
    fit did not see."""


def find_stack_level() -> int:
    """Frames up to the first one outside the library, so that a warning names the user's line."""
    package = str(Path(__file__).parent)
    frame = inspect.currentframe()
    level = 0
    while frame is not None and frame.f_code.co_filename.startswith(package):
        frame = frame.f_back
        level += 1
    return level
