"""Parquet files and Arrow data sets, read in batches of rows. No other module imports pyarrow."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kernalign._threads import thread_count
from kernalign.tables.problems import listed

#: Number of rows of a batch, and of batches that are read ahead.
BATCH_ROWS, AHEAD = 2**16, 2
#: pandas stores the index of a data frame under these names; it is no column.
_INDEX = re.compile(r"__index_level_\d+__")


def require() -> Any:
    """The package pyarrow, or an error that says how to install it."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.dataset
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(
            'Parquet files need the extra "parquet": pip install "kernalign[parquet]".'
        ) from error
    return pyarrow


def is_data_set(X: Any) -> bool:
    """Whether X is a data set of pyarrow; this does not import pyarrow."""
    return type(X).__module__ == "pyarrow._dataset" and hasattr(X, "to_batches")


class DataSet:
    """The rows of Parquet files, or of a data set of pyarrow, in batches.

    files : a path, a pattern such as "rows/*.parquet", a folder, a list of paths, or a
        `pyarrow.dataset.Dataset`. Files of a pattern or a folder are sorted by name.
    """

    def __init__(self, files: Any):
        pyarrow = require()
        if is_data_set(files):
            self._data = files
        else:
            paths = _paths(files)
            with _readable():
                schema = _common_schema(paths)
                self._data = pyarrow.dataset.dataset(paths, schema=schema, format="parquet")
        with _readable():
            self.n_rows = int(self._data.count_rows())
        self.names = [name for name in self._data.schema.names if not _INDEX.fullmatch(name)]
        doubled = [name for name in self.names if self.names.count(name) > 1]
        if doubled:
            raise ValueError(f"The files have several columns named {doubled[0]!r}: rename them.")

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """All rows with some columns, as consecutive tables."""
        pyarrow, found = require(), 0
        with _readable():
            for batch in self._data.to_batches(
                columns=list(names),
                batch_size=BATCH_ROWS,
                batch_readahead=AHEAD,
                fragment_readahead=1,
                use_threads=thread_count() > 1,
            ):
                found += len(batch)
                if len(batch):
                    yield pyarrow.Table.from_batches([batch])
        if found != self.n_rows:
            raise ValueError(
                f"The files changed while they were read: they had {self.n_rows} rows, and now "
                f"they have {found}. Fit again."
            )

    def table(self, names: Sequence[str]) -> Any:
        """Some columns of all rows, in memory."""
        self.check_names(names)
        parts = list(self.batches(names))
        if not parts:
            raise ValueError("The files have no rows.")
        return joined(parts)

    def check_names(self, names: Sequence[str]) -> None:
        """Check that there are columns with these names."""
        for name in names:
            if name not in self.names:
                shown = listed([repr(other) for other in self.names], most=20)
                raise ValueError(f"The files have no column {name!r}. Their columns are: {shown}.")


def joined(tables: Sequence[Any]) -> Any:
    """Tables with the same columns, below each other."""
    with _readable():
        return require().concat_tables(tables).unify_dictionaries()


def first_rows(column: Any) -> dict[Any, int] | None:
    """The first row of each value of text, categories or booleans; None for other columns."""
    pyarrow = require()
    types, kind = pyarrow.types, column.type
    if types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    elif not (types.is_string(kind) or types.is_large_string(kind) or types.is_boolean(kind)):
        return None
    table = pyarrow.table({"value": column, "row": pyarrow.array(range(len(column)))})
    first = table.group_by("value").aggregate([("row", "min")])
    return dict(zip(first["value"].to_pylist(), first["row_min"].to_pylist(), strict=True))


#: A value and the first row that has it.
End = tuple[Any, int]


def ends_of(column: Any) -> tuple[End | None, End | None, int | None]:
    """The smallest and the largest value of a column, and the first row without a value; None
    where there is none."""
    pyarrow = require()
    compute = pyarrow.compute
    missing = column.is_null(nan_is_null=True)
    empty = compute.index(missing, True).as_py()
    try:
        ends = compute.min_max(column.filter(compute.invert(missing)))
        low, high = (
            None
            if ends[end].as_py() is None
            else (ends[end].as_py(), compute.index(column, ends[end]).as_py())
            for end in ("min", "max")
        )
    except (pyarrow.ArrowException, KeyError):
        # The type has no order.
        low = high = None
    return low, high, None if empty < 0 else empty


def _paths(files: Any) -> list[str]:
    """The paths that a user names."""
    if isinstance(files, str | os.PathLike):
        one = os.fspath(files)
        if Path(one).is_dir():
            found = sorted(str(path) for path in Path(one).rglob("*.parquet"))
        elif glob.has_magic(one) and not Path(one).exists():
            found = sorted(glob.glob(one, recursive=True))
        else:
            found = [one]
    elif isinstance(files, list | tuple) and all(isinstance(f, str | os.PathLike) for f in files):
        found = [os.fspath(file) for file in files]
    else:
        raise TypeError(
            "'files' must be a path, a pattern, a folder, a list of paths, or a data set of "
            f"pyarrow. Got {type(files).__name__}."
        )
    if not found:
        raise FileNotFoundError(f"There is no Parquet file at {files!r}.")
    for path in found:
        if not Path(path).is_file():
            raise FileNotFoundError(f"There is no file {path!r}.")
    return found


def _common_schema(paths: Sequence[str]) -> Any:
    """The columns that all files have, with types that hold the values of each file."""
    pyarrow = require()
    first = common = _schema(paths[0])
    for path in paths[1:]:
        other = _schema(path)
        for one, two, a, b in ((first, other, paths[0], path), (other, first, path, paths[0])):
            absent = [name for name in one.names if name not in two.names]
            if absent:
                raise ValueError(
                    f"All files must have the same columns. {b!r} has no column {absent[0]!r}, "
                    f"which {a!r} has."
                )
        for name in first.names:
            pair = [pyarrow.schema([schema.field(name)]) for schema in (common, other)]
            try:
                pyarrow.unify_schemas(pair, promote_options="permissive")
            except pyarrow.ArrowException:
                raise ValueError(
                    f"Column {name!r} must have the same type in all files. Got "
                    f"{common.field(name).type} in {paths[0]!r} and {other.field(name).type} in "
                    f"{path!r}."
                ) from None
        common = pyarrow.unify_schemas([common, other], promote_options="permissive")
    return common


def _schema(path: str) -> Any:
    pyarrow = require()
    try:
        return pyarrow.parquet.read_schema(path).remove_metadata()
    except pyarrow.ArrowException as problem:
        raise ValueError(f"{path!r} cannot be read as a Parquet file: {problem}") from None


@contextmanager
def _readable() -> Iterator[None]:
    """Errors of pyarrow as errors of this package."""
    pyarrow = require()
    try:
        yield
    except (pyarrow.ArrowException, OSError) as problem:
        if isinstance(problem, FileNotFoundError):
            raise
        raise ValueError(f"The files cannot be read: {problem}") from problem
