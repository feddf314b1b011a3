"""The contract of rows: an (n, d) table that need not be in memory.

Everything above asks rows for the few things below and never where they are. Rows in memory are
plain arrays, which `as_rows` wraps where one of these is asked. A new place for rows (a cluster,
files read in batches) is a `Source`, which is what a user hands in, and the `Rows` that it opens.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_feature_names, _check_n_features

from kernalign._typing import Array
from kernalign.rows.pairs import Pass, Passed


class RowSums(ABC):
    """How to sum over rows, block by block; sums of different rows are added by `+`."""

    #: Rows of a block, at most.
    block: int

    @abstractmethod
    def zero(self) -> Any:
        """The sums over no rows."""

    @abstractmethod
    def include(self, total: Any, X: Array, *columns: Array) -> None:
        """Add a block of rows, with what else is known of each, to a total, in place."""


class Rows(ABC):
    """Rows of finite numbers."""

    shape: tuple[int, int]
    #: Whether all rows are in this process: only then may work grow faster than their number.
    in_memory: bool = False

    def __len__(self) -> int:
        return self.shape[0]

    @abstractmethod
    def take(self, index: Any) -> Array:
        """Some rows, in memory, in the order of the index."""

    @abstractmethod
    def subset(self, index: Any) -> Any:
        """The rows of a mask or of an ascending index, left where they are."""

    @abstractmethod
    def select(self, columns: Any) -> Any:
        """All rows with some of their columns, left where they are."""

    @abstractmethod
    def spread(self, weight: Array) -> Array:
        """Weighted standard deviation of each column; that of the widest for a constant one."""

    @abstractmethod
    def pass_over_pairs(self, this: Pass, factor: Array) -> Passed:
        """Sums over all pairs of rows; factor (n, c) has what is known of each."""

    @abstractmethod
    def total(self, sums: RowSums, columns: Sequence[Array], index: Any = None) -> Any:
        """`sums` over all rows, or over those of an index; columns have n entries each."""


class Source(ABC):
    """What a user hands in where rows are not in memory.

    head : a table without rows that has the names of the columns, if there are any.
    """

    head: Any
    n_features: int

    @abstractmethod
    def opened(self, labels: Sequence[Any]) -> tuple[Rows, list[Any]]:
        """The rows, checked to be finite numbers, and arrays of labels, None where None is given.

        One reading of the rows suffices for both.
        """

    @abstractmethod
    def map(self, function: Callable[[Array], Array], width: int | None, dtype: Any) -> Any:
        """function(rows), (n,) or (n, width), of all rows, left where they are."""

    def check_columns(self, estimator: BaseEstimator, *, reset: bool) -> None:
        """Whether the columns are those of `fit`; reset: set `n_features_in_` and names instead."""
        _check_feature_names(estimator, self.head, reset=reset)
        _check_n_features(estimator, self.head, reset=reset)
