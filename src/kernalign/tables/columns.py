"""The columns of a table, as seen in `fit`, and the matrix of features that encodes them."""

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

#: Kinds that are dropped with a warning, and the kind that would keep the column.
SUGGESTED = {"text": "categorical", "identifier": "numeric"}


class Columns(Sequence[Column]):
    """The columns of a table: the kind of each, and the features that it is encoded as.

    Created by `Columns.of(table)` from the rows of a fit, and applied to other rows by `encode`.

    Attributes
    ----------
    columns : the description of each column of the table, in its order.
    features : the description of each column of the encoded matrix, in its order. Features are
        sorted by column name, unless the table is an array or contains only numbers.
    rows : the number of rows of the table.
    named : whether the table has column names; otherwise columns are matched by position.

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
        """Determine the kind of each column from the rows of a fit.

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
            If columns of free text or identifiers are dropped.
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
                # A column that the user drops need not be readable.
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

        Columns are matched by name, in any order; dropped columns may be absent.

        Raises
        ------
        ValueError
            If columns are missing or unknown, or contain values that cannot be encoded because
            `fit` saw none of their kind. The message lists all of them.

        Warns
        -----
        ColumnWarning
            If cells are missing in a column that had no missing cells in `fit`. They are replaced
            by the median, or by a category that equals no other.
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
                f"{listed(new_missing)}. They are replaced by the median, or by a category that "
                "equals no other."
            )
        return np.hstack([block.matrix for block in blocks])

    def _matched(self, source: Source) -> dict[str, Cells | UnusableError]:
        """The columns of another table, matched by name; errors are those of scikit-learn."""
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
        """The features that encode the columns."""
        return tuple(f for place in self._order for f in self.columns[place].features)

    @property
    def _order(self) -> list[int]:
        """Positions of the columns in the order of their features.

        Named columns are sorted by name. Sums over features, and therefore predictions, do not
        depend on the order of the columns in the table.
        """
        places = list(range(len(self.columns)))
        if not self.named or self.all_numbers:
            return places
        return sorted(places, key=lambda place: self.columns[place].name)

    @property
    def all_numbers(self) -> bool:
        """Whether the matrix equals the table: every column is numeric and complete."""
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
        """True for each feature whose values are codes, which can only be equal or different."""
        return np.array([feature.is_code for feature in self.features], dtype=bool)

    @property
    def scales(self) -> Array:
        """The robust scale of each feature; 1 for codes."""
        return np.array([feature.scale for feature in self.features])

    @property
    def column_of_feature(self) -> np.ndarray[Any, np.dtype[np.intp]]:
        """The position in the table of the column that each feature comes from."""
        counts = [len(self.columns[place].features) for place in self._order]
        return np.repeat(self._order, counts)

    @property
    def in_words(self) -> str:
        """How many columns there are and how many are used: '9 columns, 7 used'."""
        used = sum(column.used for column in self.columns)
        left_out = f", {used} used" if used < len(self.columns) else ""
        return f"{counted(len(self.columns), 'column')}{left_out}"

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
    """scikit-learn's message about feature names."""
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
    """One problem per name: repeated columns of a duplicated name are omitted."""
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
    """How to use a text column or an identifier, if there is one."""
    for column in columns:
        if column.kind in SUGGESTED:
            example = f"kinds={{{column.name!r}: {SUGGESTED[column.kind]!r}}}"
            return f" To use one of them, give its kind, such as {example}."
    return ""


def _warn(message: str) -> None:
    warnings.warn(message, ColumnWarning, stacklevel=find_stack_level())
