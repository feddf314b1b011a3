"""The interface of rows: an (n, d) table that need not be in memory.

All other code uses only these operations and does not depend on where the rows are. Rows in memory
are plain arrays, which `as_rows` wraps. A new kind of storage (a cluster, files read in batches)
implements `Source`, which is what a user passes in, and the `Rows` that it opens. Labels and
weights of rows in memory or in files are arrays; elsewhere they may be a `Column`, which stays with
the rows. `rows.columns` has the operations on both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_feature_names, _check_n_features

from kernalign._typing import Array, IntArray
from kernalign.rows.pairs import Pass, Passed


class RowSums(ABC):
    """A sum over rows, computed block by block; sums of different rows are added by `+`."""

    #: Maximum number of rows of a block.
    block: int

    @abstractmethod
    def zero(self) -> Any:
        """The sums over no rows."""

    @abstractmethod
    def include(self, total: Any, X: Array, *columns: Array) -> None:
        """Add a block of rows, with further columns of the same length, to a total in place."""


class AllBut:
    """An index of all n rows except some, which takes no memory for the others."""

    def __init__(self, n: int, excluded: IntArray):
        self.n, self.excluded = n, np.unique(excluded)

    def __len__(self) -> int:
        return self.n - len(self.excluded)

    def __iter__(self) -> Iterator[int]:
        return iter(np.asarray(self).tolist())

    def __array__(self, dtype: Any = None, copy: Any = None) -> IntArray:
        return np.delete(np.arange(self.n, dtype=dtype), self.excluded)


class Column(ABC):
    """Values of each row, (n,) or (n, c), that are where the rows are."""

    #: Number of rows.
    n_rows: int

    def __len__(self) -> int:
        return self.n_rows

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return len(self), *self.take(slice(0, 1)).shape[1:]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @abstractmethod
    def take(self, index: Any) -> Any:
        """Values of some rows, in memory, in the order of the index."""

    @abstractmethod
    def subset(self, index: Any) -> Column:
        """Values of the rows of a mask, which may be a column, or of an ascending index or
        slice."""

    @abstractmethod
    def map(self, function: Callable[..., Any], *others: Column) -> Column:
        """function(block, *blocks of others) of every block of rows."""

    @abstractmethod
    def reduce(
        self, function: Callable[..., Any], join: Callable[[Any, Any], Any], *others: Column
    ) -> Any:
        """function(block, *blocks of others) of every block of rows, joined in pairs."""


class Rows(ABC):
    """Rows of finite numbers.

    Weights, factors and further columns of an operation are arrays with an entry for each row, or
    columns that are where the rows are.
    """

    shape: tuple[int, int]
    #: Whether all rows are in this process: only then may the cost be superlinear in their number.
    in_memory: bool = False

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def processes(self) -> int:
        """Number of processes that store features of rows beside them; 0 if none does."""
        return 0

    @abstractmethod
    def take(self, index: Any) -> Array:
        """Some rows, in memory, in the order of the index."""

    @abstractmethod
    def subset(self, index: Any) -> Any:
        """The rows of a mask, which may be a column, or of an ascending index, without moving
        them."""

    @abstractmethod
    def select(self, columns: Any) -> Any:
        """All rows with some of their columns, without moving them."""

    def column(self, position: int) -> Array:
        """One column of all rows, in memory."""
        values: Array = self.select([position]).take(slice(None))[:, 0]
        return values

    def positions(self) -> Any:
        """A column with the position of each row."""
        return np.arange(len(self))

    def map(self, function: Callable[[Array], Array]) -> Any:
        """A column of function(rows), stored where the rows are, if `processes` is not 0."""
        raise NotImplementedError(f"{type(self).__name__} stores nothing beside its rows.")

    @abstractmethod
    def spread(self, weight: Any) -> Array:
        """Weighted standard deviation of each column; for a constant column that of the widest."""

    @abstractmethod
    def pass_over_pairs(self, this: Pass, factor: Any) -> Passed:
        """Sums over all pairs of rows; factor (n, c) has further values of each row."""

    @abstractmethod
    def total(self, sums: RowSums, columns: Sequence[Any], index: Any = None) -> Any:
        """`sums` over all rows, or over those of an index; `columns` have n entries each."""


class Source(ABC):
    """Input of a user whose rows are not in memory.

    head : a table without rows that has the column names, if there are any.
    `check_columns` is called first.
    """

    head: Any
    n_features: int

    @abstractmethod
    def opened(self, labels: Sequence[Any]) -> tuple[Rows, list[Any]]:
        """The rows, checked to be finite, and the labels as arrays or columns (None stays None).

        The data are read once for both.
        """

    @abstractmethod
    def map(self, function: Callable[[Array], Array], width: int | None, dtype: Any) -> Any:
        """function(rows) of all rows, of shape (n,) or (n, width), without moving them."""

    def check_columns(self, estimator: BaseEstimator, *, reset: bool) -> None:
        """Check that the columns are those of `fit`; with reset, set `n_features_in_` and names."""
        _check_feature_names(estimator, self.head, reset=reset)
        _check_n_features(estimator, self.head, reset=reset)
