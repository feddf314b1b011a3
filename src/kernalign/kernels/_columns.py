"""Positions of the columns of X that a family uses."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from kernalign.tables import TableFeatures


def column_positions(
    owner: str, given: Any, n_features: int, feature_names: Sequence[str] | None
) -> list[int]:
    """Positions of the `columns` of a family, which may be positions, names, a mask or a slice.

    For a table, given positions refer to its columns; the result refers to encoded features.
    """
    n_columns = len(feature_names.table) if isinstance(feature_names, TableFeatures) else n_features
    if isinstance(given, slice):
        wanted: list[Any] = list(range(n_columns))[given]
    elif isinstance(given, np.ndarray) and given.dtype.kind == "b" and len(given) == n_columns:
        wanted = np.flatnonzero(given).tolist()
    elif np.ndim(given) == 1 and not isinstance(given, str):
        wanted = np.asarray(given).tolist() if isinstance(given, np.ndarray) else list(given)
    else:
        wanted = [given]
    valid = all(isinstance(c, str | numbers.Integral) and not isinstance(c, bool) for c in wanted)
    if (np.ndim(given) != 1 and not isinstance(given, slice)) or not valid:
        raise ValueError(
            f"The 'columns' parameter of {owner} must be a list of positions or names, a boolean "
            f"mask or a slice. Got {given!r} instead."
        )
    if not wanted:
        raise ValueError(f"The 'columns' parameter of {owner} selects no column of X.")
    positions = []
    for column in wanted:
        if not isinstance(column, str) and not -n_columns <= int(column) < n_columns:
            raise ValueError(
                f"The 'columns' parameter of {owner} must contain positions below the number of "
                f"features, {n_columns}. Got {column} instead."
            )
        if isinstance(feature_names, TableFeatures) and not isinstance(column, str):
            column = feature_names.table[int(column)]
        if isinstance(column, str):
            if feature_names is None:
                raise ValueError(
                    f"The 'columns' parameter of {owner} names {column!r}, but X has no column "
                    "names: pass a DataFrame, or positions instead of names."
                )
            if isinstance(feature_names, TableFeatures) and column in feature_names.columns:
                positions += feature_names.of_column(column)
                continue
            names = list(feature_names)
            if column not in names:
                left_out = (
                    isinstance(feature_names, TableFeatures) and column in feature_names.table
                )
                why = "was left out" if left_out else "is not a column"
                raise ValueError(
                    f"The 'columns' parameter of {owner} names {column!r}, which {why} of X. "
                    f"Columns are: {', '.join(map(str, names[:20]))}."
                )
            positions.append(names.index(column))
        else:
            positions.append(int(column) % n_features)
    return positions


def no_codes(owner: str, codes: Any, columns: Any, feature_names: Sequence[str]) -> ValueError:
    """The error for a family that only supports numbers but is given categories."""
    own = range(len(feature_names)) if columns is None else columns
    name = next(feature_names[k] for k in own if codes[k] > 2)
    return ValueError(
        f"{owner} is a family of kernels on numbers, but column {name!r} is categorical: use "
        "Gaussian, Laplacian, Matern, RationalQuadratic, Additive or Linear there, or restrict "
        f"{owner} to numeric columns (columns=[...])."
    )
