"""The columns of a table, as the fit saw them, and the matrix of features that they become."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from kernalign._documented import includes_parameters
from kernalign._typing import Array
from kernalign._warnings import ColumnWarning, find_stack_level
from kernalign.tables.asked import asked_kinds
from kernalign.tables.cells import Cells
from kernalign.tables.display import as_html, as_text
from kernalign.tables.encoders import Block, Feature
from kernalign.tables.problems import UnusableError, counted, listed, raise_all
from kernalign.tables.reading import Source, read_table
from kernalign.tables.recognise import Column, decide

#: The kinds that are left out with a warning, and the kind under which they can be used.
SUGGESTED = {"text": "categorical", "identifier": "numeric"}


class Columns(Sequence[Column]):
    """The columns of a table: what was decided about each, and the features that it becomes.

    Made by `Columns.of(table)` from the rows of a fit, and applied to other rows by `encode`.

    Attributes
    ----------
    columns : the description of each column of the table, in its order.
    features : the description of each column of the encoded matrix, in its order: that of the
        names, unless the table is an array, or has numbers only.
    rows : the number of rows of the table.
    named : whether the table names its columns; otherwise they are matched by position.

    Examples
    --------
    >>> table = {
    ...     "height": ["1,71", "1,80", "1,65", "1,92"],
    ...     "colour": ["red", "blue", "red", None],
    ... }
    >>> columns = Columns.of(table)
    >>> columns.encode(table)
    array([[0.  , 1.71],
           [1.  , 1.8 ],
           [0.  , 1.65],
           [2.  , 1.92]])
    >>> columns["colour"].kind
    'categorical'
    """

    def __init__(self, columns: Sequence[Column], rows: int, named: bool) -> None:
        self.columns = tuple(columns)
        self.rows = rows
        self.named = named
        self.features: tuple[Feature, ...] = self.features_in_order()

    @classmethod
    @includes_parameters
    def of(
        cls,
        table: Any,
        categorical_features: Any = "from_dtype",
        kinds: Mapping[Any, Any] | None = None,
    ) -> Columns:
        """What the rows of a fit say about each column.

        Parameters
        ----------
        table : data frame of pandas, polars or pyarrow, array of objects, dictionary of columns,
            list of dictionaries, or array of numbers
            Missing cells are None, NaN, NaT or NA.
        {categorical_features}
        {kinds}

        Raises
        ------
        ValueError
            If columns cannot be used. The message lists all of them.

        Warns
        -----
        ColumnWarning
            If columns of free text or identifiers are left out.
        """
        source = read_table(table)
        asked = asked_kinds(source.names, categorical_features, kinds)
        by_dtype = isinstance(categorical_features, str)
        columns: list[Column] = []
        problems = []
        for name, cells, kind in zip(source.names, source.columns, asked, strict=True):
            try:
                if isinstance(cells, UnusableError):
                    raise cells
                columns.append(decide(cells, kind, by_dtype, keep=source.plain))
            except UnusableError as why:
                # A column that the user drops has no need to be readable.
                if isinstance(kind, str) and kind == "drop":
                    columns.append(Column(name, "dropped", "as asked for", 0, ()))
                else:
                    problems.append((name, str(why)))
        raise_all(_without_doubles(problems), len(source.names))
        _check_some_used(columns)
        _warn_of_left_out(columns)
        return cls(columns, source.rows, source.named)

    def encode(self, table: Any) -> Array:
        """The matrix of features, one row per row of the table.

        Columns are matched by name, in any order; columns that were left out may be absent.

        Raises
        ------
        ValueError
            If columns are missing or unknown, or hold what the fit did not see in them and what
            cannot be encoded. The message lists all of them.

        Warns
        -----
        ColumnWarning
            If cells are missing in a column that had none: the median takes their place, or a
            category that equals no other.
        """
        left_out = {column.name for column in self.columns if not column.used}
        cells = self._matched(read_table(table, skip=left_out))
        blocks: list[Block] = []
        problems = []
        new_missing = []
        for place in self._order:
            column = self.columns[place]
            if column.encoder is None:
                continue
            found = cells[column.name]
            try:
                if isinstance(found, UnusableError):
                    raise found
                block = column.encoder.encode(found)
            except UnusableError as why:
                problems.append((column.name, str(why)))
                continue
            blocks.append(block)
            if block.missing.any() and not column.missing:
                new_missing.append(f"{column.name!r} ({counted(int(block.missing.sum()), 'row')})")
        raise_all(problems, len(self.columns))
        if new_missing:
            _warn(
                "Cells are missing in columns that were complete in the fit: "
                f"{listed(new_missing)}. The median takes their place, or a category that equals "
                "no other."
            )
        return np.hstack([block.matrix for block in blocks])

    def _matched(self, source: Source) -> dict[str, Cells | UnusableError]:
        """The columns of another table by the names of the fit, in scikit-learn's words."""
        names = [column.name for column in self.columns]
        if not (self.named and source.named):
            if len(source.names) != len(names):
                raise ValueError(
                    f"X has {len(source.names)} features, but {len(names)} features are expected "
                    "as input."
                )
            return dict(zip(names, source.columns, strict=True))
        needed = [column.name for column in self.columns if column.used]
        unknown = [name for name in source.names if name not in set(names)]
        absent = [name for name in needed if name not in set(source.names)]
        if unknown or absent:
            raise ValueError(_mismatch(unknown, absent))
        doubled = [name for name, times in Counter(source.names).items() if times > 1]
        raise_all(
            [(n, "several columns have this name: rename them.") for n in doubled], len(names)
        )
        return dict(zip(source.names, source.columns, strict=True))

    def features_in_order(self) -> tuple[Feature, ...]:
        """The features that the columns become."""
        return tuple(f for place in self._order for f in self.columns[place].features)

    @property
    def _order(self) -> list[int]:
        """Positions of the columns in the order of their features.

        Columns with names are taken in the order of these, so that sums over features, and with
        them predictions, are the same in whatever order the table has them.
        """
        places = list(range(len(self.columns)))
        if not self.named or self.all_numbers:
            return places
        return sorted(places, key=lambda place: self.columns[place].name)

    @property
    def all_numbers(self) -> bool:
        """Whether the matrix is the table itself: every column is one of complete numbers."""
        return all(
            column.kind == "numeric" and [f.state for f in column.features] == ["value"]
            for column in self.columns
        )

    @property
    def feature_names(self) -> list[str]:
        """The name of each feature."""
        return [feature.name for feature in self.features]

    @property
    def is_code(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """True for each feature whose values are codes, which are only equal or different."""
        return np.array([feature.is_code for feature in self.features], dtype=bool)

    @property
    def scales(self) -> Array:
        """The robust unit of each feature; 1 for codes."""
        return np.array([feature.scale for feature in self.features])

    @property
    def column_of_feature(self) -> np.ndarray[Any, np.dtype[np.intp]]:
        """The position in the table of the column that each feature comes from."""
        counts = [len(self.columns[place].features) for place in self._order]
        return np.repeat(self._order, counts)

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __getitem__(self, key: Any) -> Any:
        """A column by its name or position."""
        if not isinstance(key, str):
            return self.columns[key]
        for column in self.columns:
            if column.name == key:
                return column
        raise KeyError(key)

    def __repr__(self) -> str:
        return as_text(self.columns, self.rows, len(self.features))

    def _repr_html_(self) -> str:
        return as_html(self.columns, self.rows, len(self.features))


def _mismatch(unknown: list[str], absent: list[str]) -> str:
    """scikit-learn's message about the names of features."""
    message = "The feature names should match those that were passed during fit.\n"
    for title, names in (
        ("Feature names unseen at fit time:", unknown),
        ("Feature names seen at fit time, yet now missing:", absent),
    ):
        if names:
            shown = [f"- {name}\n" for name in names[:5]] + ["- ...\n"] * (len(names) > 5)
            message += f"{title}\n{''.join(shown)}"
    return message


def _without_doubles(problems: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """One problem per name: the further columns of a duplicated name add nothing."""
    first: dict[str, str] = {}
    for name, why in problems:
        first.setdefault(name, why)
    return list(first.items())


def _check_some_used(columns: Sequence[Column]) -> None:
    if not any(column.used for column in columns):
        reasons = [f"{column.name!r} ({column.kind}: {column.why})" for column in columns]
        raise ValueError(f"No column can be used: {listed(reasons)}.{_how_to_use(columns)}")


def _warn_of_left_out(columns: Sequence[Column]) -> None:
    left_out = [column for column in columns if column.kind in SUGGESTED]
    if left_out:
        reasons = [f"{column.name!r} ({column.why})" for column in left_out]
        _warn(
            f"Text and identifiers are left out: {listed(reasons, most=8)}."
            f"{_how_to_use(left_out)} The kind 'drop' leaves a column out without this warning."
        )


def _how_to_use(columns: Sequence[Column]) -> str:
    """What to do in order to use a column of text or an identifier, if there is one."""
    for column in columns:
        if column.kind in SUGGESTED:
            example = f"kinds={{{column.name!r}: {SUGGESTED[column.kind]!r}}}"
            return f" To use one of them, give its kind, such as {example}."
    return ""


def _warn(message: str) -> None:
    warnings.warn(message, ColumnWarning, stacklevel=find_stack_level())
