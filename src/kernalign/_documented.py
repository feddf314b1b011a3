"""Parts of the documentation that several classes share: links, and texts of parameters."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar

from sklearn.base import BaseEstimator

Described = TypeVar("Described", bound=Callable[..., Any])

#: Descriptions of parameters that several docstrings include by "{name}" on a line of its own.
PARAMETERS = {
    "categorical_features": """\
categorical_features : {"from_dtype"}, list of names or positions, boolean mask or None
    Which columns of a table are categorical. With "from_dtype", these are the columns of a
    categorical dtype, and text columns in which at least half of the cells hold a value that
    occurs in another row too. With a list or a mask, exactly the listed columns; with None, no
    column.""",
    "kinds": """\
kinds : dict from names or positions to kinds, optional
    The kind of single columns; it overrides all other rules. A kind is "numeric",
    "categorical", "ordered" (in the order of the dtype), "datetime", "drop", or the list of the
    levels of an ordered column from the lowest to the highest.""",
    "verbose": """\
verbose : int
    If 1, show the progress of the fit on standard error: the number of steps and the time left.
    The default fit estimates this time before it starts.""",
}


def includes_parameters(described: Described) -> Described:
    """Replace "{name}" lines in a docstring by the shared description of that parameter."""
    if described.__doc__ is not None:
        described.__doc__ = re.sub(
            r"(?m)^( *)\{(\w+)\}$",
            lambda found: textwrap.indent(PARAMETERS[found[2]], found[1]),
            described.__doc__,
        )
    return described


class Documented(BaseEstimator):
    """An estimator with a page in the documentation of kernalign."""

    _doc_link_module = "kernalign"
    _doc_link_template = (
        "https://kernalign.readthedocs.io/en/stable/generated/kernalign.{estimator_name}.html"
    )
