"""Fit to files that need not fit in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

from kernalign.rows.input import columns_apart


class FitsFiles(ABC):
    """`fit_files` of an estimator with `fit`."""

    @abstractmethod
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn from rows and labels."""

    def fit_files(
        self, files: Any, target: Any, sample_weight: str | None = None, groups: str | None = None
    ) -> Self:
        """Learn from Parquet files or an Arrow data set, which are read in batches.

        The fit is that of `fit` to the same table. If the rows and their features fit in
        scikit-learn's `working_memory`, they are loaded. Otherwise each pass reads the files again,
        and only labels, weights and samples of the rows are in memory. Files must then be fitted by
        ridge regression on landmarks (the default), or by `solver="nystroem"` or `"fourier"`.

        Parameters
        ----------
        files : str, path, list of paths, or pyarrow.dataset.Dataset
            A Parquet file, a pattern such as "rows/*.parquet", a folder of Parquet files, or a list
            of files. All files must have the same columns. Files of a pattern or a folder are read
            in the order of their names. A data set of pyarrow may have other formats.
        target : str, or list of str for several responses
            The column of labels or responses.
        sample_weight, groups : str, optional
            The columns of weights and of groups, as in `fit`.

            All other columns are features, as for a data frame: numbers, categories, dates. The
            parameters `kinds` and `categorical_features` describe them. The kinds of columns of
            many rows are determined on a sample, which has a row of each category.
        """
        targets = [target] if isinstance(target, str) else target
        if not (isinstance(targets, list) and targets and all(isinstance(t, str) for t in targets)):
            raise TypeError(
                f"'target' must be the name of a column, or a list of names. Got {target!r}."
            )
        for what, name in (("sample_weight", sample_weight), ("groups", groups)):
            if name is not None and not isinstance(name, str):
                raise TypeError(f"{what!r} must be the name of a column. Got {name!r}.")
        columns = columns_apart(files, targets, sample_weight, groups)
        return self.fit(*columns)
