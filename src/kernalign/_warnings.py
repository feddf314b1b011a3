"""Warning categories of the library, so that users can filter them."""

from __future__ import annotations

import inspect
from pathlib import Path


class AlignmentWarning(UserWarning):
    """The kernel does not align with the labels, or only with those it was learned from."""


class SelectionWarning(UserWarning):
    """A regularisation parameter could not be chosen by cross-validation."""


class ScaleWarning(UserWarning):
    """The kernels of a dictionary differ too much in scale for the smaller ones to be used."""


class SampleWarning(UserWarning):
    """The largest allowed sample leaves the kernel, or its alignment, uncertain."""


class ColumnWarning(UserWarning):
    """A column is dropped, is read in another way than written, or has missing cells that were
    not present in `fit`."""


def find_stack_level() -> int:
    """Number of frames up to the first one outside the library: the line of the user's code."""
    package = str(Path(__file__).parent)
    frame = inspect.currentframe()
    level = 0
    while frame is not None and frame.f_code.co_filename.startswith(package):
        frame = frame.f_back
        level += 1
    return level
