"""A test by centred alignment: does y depend on X, and on which columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length

from kernalign._threads import map_tasks
from kernalign._typing import Array, IntArray
from kernalign._validation import is_integer, refuse_text
from kernalign.criteria.dependence import (
    ConditionalTest,
    column_features,
    discoveries,
    normal_scores,
    permuted_p_value,
    unit,
)
from kernalign.features import NystroemMap
from kernalign.gram.labels import infer_target
from kernalign.kernels import Gaussian, LearnedKernel

#: Number of landmarks of the Gaussian kernel on all columns; maximum number of column features.
LANDMARKS, FEATURES = 200, 400


@dataclass(frozen=True)
class AlignmentTest:
    """Result of `alignment_test`.

    alignment : centred alignment of X and y, 0 to 1.
    p_value : of the hypothesis that y is independent of all columns.
    names : names of the tested groups of columns.
    p_values : (groups,) of the hypothesis that y is independent of the group, given the other
        columns.
    found : names of the groups for which the hypothesis is rejected, the smallest p-value first.
    fdr : upper bound of the expected share of false discoveries among `found`.
    n_permutations : number of permutations of the labels.
    """

    alignment: float
    p_value: float
    names: list[str]
    p_values: Array
    found: list[str]
    fdr: float
    n_permutations: int


def alignment_test(
    X: Any,
    y: Any,
    *,
    groups: Mapping[str, Sequence[Any]] | None = None,
    fdr: float = 0.1,
    n_permutations: int = 10_000,
    dependent: bool = False,
    random_state: int = 0,
) -> AlignmentTest:
    """Test whether y depends on X, and on which columns it depends given the others.

    The first p-value compares the centred alignment (normalised HSIC) of X and y with that of
    permuted labels. Its level is exact: under independence it is below 0.05 in at most 5 % of
    samples, for any distribution of X and y. The kernel is the sum of a Gaussian kernel on all
    columns and one on each column, applied to the ranks of the columns.

    The p-value of a group tests whether the group carries information about y that the other
    columns do not have. It is a conditional randomisation test: the group is replaced by random
    copies that keep its relation to the other columns but are independent of y. The test assumes
    that the group, given the other columns, is linear in their normal scores (a Gaussian copula),
    with residuals of one distribution of any shape. The dependence of y on the columns is
    arbitrary. A column that is only correlated with a relevant one is not reported.

    Parameters
    ----------
    X : (n, d) array or data frame of numbers
    y : (n,) classes or numbers
        Whole numbers with at most 20 distinct values are classes.
    groups : dict from names to lists of columns, optional
        Columns by position, or by name in a data frame. By default every column is its own group;
        an empty dict tests no groups.
    fdr : float in (0, 1)
        False discovery rate of `found`, by the method of Benjamini and Hochberg.
    n_permutations : int
        Number of permutations of the labels, and maximum number of draws for each group; fewer are
        drawn if a p-value is clearly large.
    dependent : bool
        Use the method of Benjamini and Yekutieli, which is valid under any dependence between the
        p-values but less powerful.
    random_state : int

    Returns
    -------
    AlignmentTest

    Examples
    --------
    >>> import numpy as np
    >>> from kernalign import alignment_test
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 5))
    >>> X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
    >>> found = alignment_test(X, np.sin(2 * X[:, 0]) + 0.5 * rng.normal(size=200))
    >>> found.p_value < 0.001, found.found
    (True, ['x0'])
    """
    rows, columns = _checked(X, y)
    _check_options(fdr, n_permutations, random_state)
    tested = _positions(groups, columns)
    target = infer_target(y, np.ones(len(rows)))
    Z = normal_scores(rows)
    rng = np.random.default_rng(random_state)
    features = _features(Z, rng)
    aligned = _alignment(features, target.centred)
    p_value, number = permuted_p_value(features, target.centred, n_permutations, rng)
    seeds = rng.spawn(len(tested))

    def p_of(task: tuple[IntArray, np.random.Generator]) -> float:
        return ConditionalTest(Z, task[0], target.centred, task[1]).p_value(n_permutations)

    p_values = np.array(map_tasks(p_of, list(zip(tested.values(), seeds, strict=True))))
    names = list(tested)
    rejected = discoveries(p_values, fdr, dependent=dependent)
    order = [i for i in np.argsort(p_values, kind="stable").tolist() if rejected[i]]
    found = [names[i] for i in order]
    return AlignmentTest(aligned, p_value, names, p_values, found, float(fdr), number)


def _features(Z: Array, rng: np.random.Generator) -> Array:
    """Features of a Gaussian kernel on each column and of one on all columns, equally scaled."""
    of_columns = column_features(Z)
    if of_columns.shape[1] > FEATURES:
        # Random signs preserve inner products in expectation.
        signs = rng.choice([-1.0, 1.0], size=(of_columns.shape[1], FEATURES))
        of_columns = unit(of_columns @ signs)
    if Z.shape[1] == 1:
        return of_columns
    kernel = LearnedKernel([Gaussian().at(np.sqrt(2 * Z.shape[1]))], np.ones(1))
    landmarks = Z[rng.permutation(len(Z))[:LANDMARKS]]
    return np.hstack([of_columns, unit(NystroemMap(kernel, landmarks).transform(Z))])


def _alignment(features: Array, Y: Array) -> float:
    """<K_c, Khat*_c> / (|K_c| |Khat*_c|) of K = Phi Phi'."""
    sizes = float(np.linalg.norm(features.T @ features)) * float(np.linalg.norm(Y.T @ Y))
    return float(np.square(features.T @ Y).sum()) / sizes if sizes > 0 else 0.0


def _checked(X: Any, y: Any) -> tuple[Array, list[Any]]:
    """Rows of finite numbers, and the names of the columns."""
    refuse_text(X)
    rows = np.asarray(X, dtype=float)
    if rows.ndim != 2 or len(rows) < 4 or not rows.shape[1]:
        raise ValueError(
            "X of alignment_test must be a table of at least four rows and one column. "
            f"Got the shape {rows.shape}."
        )
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0].tolist()
        raise ValueError(
            f"X of alignment_test must hold finite numbers. Row {row} of column {column} holds "
            f"{rows[row, column]}: impute it, or drop the row."
        )
    check_consistent_length(rows, y)
    return rows, list(getattr(X, "columns", range(rows.shape[1])))


def _check_options(fdr: Any, n_permutations: Any, random_state: Any) -> None:
    if not isinstance(fdr, float) or not 0 < fdr < 1:
        raise ValueError(f"'fdr' of alignment_test must be a float in (0, 1). Got {fdr!r}.")
    if not is_integer(n_permutations) or n_permutations < 1:
        raise ValueError(
            "'n_permutations' of alignment_test must be an int in [1, inf). "
            f"Got {n_permutations!r}."
        )
    if not is_integer(random_state) or random_state < 0:
        raise ValueError(
            f"'random_state' of alignment_test must be an int in [0, inf). Got {random_state!r}."
        )


def _positions(groups: Any, columns: list[Any]) -> dict[str, IntArray]:
    """The positions of the columns of each group, by its name."""
    if groups is None:
        named = [f"x{name}" if isinstance(name, int) else str(name) for name in columns]
        return {name: np.array([k]) for k, name in enumerate(named)}
    if not isinstance(groups, Mapping):
        raise ValueError(
            "'groups' of alignment_test must be a dict from names to lists of columns, or None. "
            f"Got {type(groups).__name__}."
        )
    place = {name: k for k, name in enumerate(columns)}
    found = {}
    for name, members in groups.items():
        positions = [place.get(m, m if is_integer(m) else -1) for m in members]
        if not positions or not all(0 <= k < len(columns) for k in positions):
            raise ValueError(
                f"Group {name!r} of alignment_test must list columns of X. Got {list(members)!r}."
            )
        found[str(name)] = np.unique(positions)
    return found
