"""Least squares on features: one pass over the rows gives the solution for every C.

min_{v,b} sum_i w_i |y_i - b - v'phi(x_i)|^2 + |v|^2 / C. The sums over rows of w, w phi, w y, w phi
phi' and w phi y' determine the solution for every C, and they are additive over blocks of rows,
folds and workers of a cluster.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.utils import gen_batches

from kernalign import _lapack
from kernalign._memory import too_small, working_memory
from kernalign._threads import blocks_in_threads, map_rows
from kernalign._typing import Array
from kernalign.criteria.evidence import mirror
from kernalign.features.base import FeatureMap
from kernalign.machines.model import linear_model
from kernalign.rows import RowSums, as_rows, summed, taken, weighted_sums

#: Rows of features that one thread computes at a time.
ROWS = 256
#: Columns of the Gram matrix of features that one thread computes at a time.
COLUMNS = 256
#: Rows of features in memory at a time, if the limit allows it.
HELD = 4096


@dataclass(frozen=True)
class NormalEquations:
    """Sums over rows: w, w raw (r,), w y (c,), w raw raw' (r, r) lower, w raw y' (r, c)."""

    total: float
    raw: Array
    y: Array
    gram: Array
    cross: Array

    def __add__(self, other: NormalEquations) -> NormalEquations:
        return NormalEquations(
            self.total + other.total,
            self.raw + other.raw,
            self.y + other.y,
            self.gram + other.gram,
            self.cross + other.cross,
        )

    def centred(self) -> tuple[Array, Array]:
        """sum w raw_c raw_c' and sum w raw_c y_c', which determine the solution."""
        A = self.gram.copy()
        mirror(A)
        A -= np.outer(self.raw, self.raw) / self.total
        return A, self.cross - np.outer(self.raw, self.y) / self.total

    def path(self, root: Array | None, values: Array) -> list[LinearModel]:
        """The solution at each C.

        In coefficients a of the raw features, |v|^2 = a'LL'a, so that the equations at C are
        (A + LL' / C) a = B. No matrix is multiplied by L^-1, which would amplify rounding errors.
        """
        with blocks_in_threads():
            A, B = map(np.asarray_chkfinite, self.centred())
            penalty = np.eye(len(A)) if root is None else _squared(root)
            # Directions of A below this are rounding errors of the sums.
            rounding = len(A) * np.finfo(float).eps * np.diagonal(self.gram)

            def solve(place: slice) -> Array:
                system = penalty / values[place.start]
                system += A
                system.ravel()[:: len(A) + 1] += rounding
                return _lapack.solve(_lapack.cholesky(system), B)

            return [self._model(a) for _, a in map_rows(solve, len(values), 1)]

    def _model(self, a: Array) -> LinearModel:
        return LinearModel(a, (self.y - self.raw @ a) / self.total)


def _squared(L: Array) -> Array:
    """LL' of a lower triangle."""
    K = np.empty(L.shape)

    def tile(columns: slice) -> None:
        below, left = slice(columns.start, None), slice(columns.stop)
        K[below, columns] = L[below, left] @ L[columns, left].T

    for _ in map_rows(tile, len(L), COLUMNS):
        pass
    mirror(K)
    return K


@dataclass(frozen=True)
class LinearModel:
    """f(x) = raw(x)' coefficients + intercept: (r, c) and (c,)."""

    coefficients: Array
    intercept: Array


def normal_equations(
    features: FeatureMap,
    X: Any,
    Y: Array,
    weight: Array,
    rows: Any = None,
    kept: Array | None = None,
) -> NormalEquations:
    """Sums over the rows of X, or over those of an index `rows`, in blocks.

    kept : (rows, r), filled with phi of these rows; for rows in memory only.
    """
    sums = as_rows(X).total(_FeatureSums(features, Y.shape[1], kept), (Y, weight), rows)
    w, Y = (weight, Y) if rows is None else (taken(weight, rows), taken(Y, rows))
    return replace(sums, total=float(summed(np.sum, w)), y=weighted_sums(w, Y))


class _FeatureSums(RowSums):
    """The normal equations without sums of w and w y, which need no features."""

    def __init__(self, features: FeatureMap, n_outputs: int, kept: Array | None = None):
        self.features = features
        self.n_outputs = n_outputs
        self.kept = kept
        self.block = held_rows(features.n_features)

    def zero(self) -> NormalEquations:
        r, c = self.features.n_features, self.n_outputs
        return NormalEquations(0.0, np.zeros(r), np.zeros(c), np.zeros((r, r)), np.zeros((r, c)))

    def include(self, total: NormalEquations, X: Array, *columns: Array) -> None:
        Y, w = columns
        raw = raw_rows(self.features, X)
        if self.kept is not None:
            _whiten_rows(self.kept[: len(X)], raw, self.features.root)
            self.kept = self.kept[len(X) :]
        np.add(total.raw, w @ raw, out=total.raw)
        np.add(total.cross, raw.T @ (w[:, None] * Y), out=total.cross)
        if not (w == 1).all():
            raw *= np.sqrt(w)[:, None]
        _add_gram(total.gram, raw)


def stored_features(features: FeatureMap, precision: Any, X: Array) -> Array:
    """phi of some rows in a precision, computed in blocks."""
    phi = np.empty((len(X), features.n_features), dtype=precision)
    for rows in gen_batches(len(X), held_rows(features.n_features)):
        _whiten_rows(phi[rows], raw_rows(features, X[rows]), features.root)
    return phi


def raw_rows(features: FeatureMap, X: Array) -> Array:
    """`features.raw(X)`, its rows computed in threads."""
    raw = np.empty((len(X), features.n_features))
    for rows, values in map_rows(lambda rows: features.raw(X[rows]), len(X), ROWS):
        raw[rows] = values
    return raw


def _whiten_rows(out: Array, raw: Array, root: Array | None) -> None:
    """phi = raw L^{-T}, its rows computed in threads."""
    if root is None:
        out[:] = raw
        return

    def block(rows: slice) -> Array:
        phi: Array = solve_triangular(root, raw[rows].T, lower=True, check_finite=False).T
        return phi

    for rows, phi in map_rows(block, len(raw), ROWS):
        out[rows] = phi


def _add_gram(gram: Array, raw: Array) -> None:
    """gram += raw'raw on and below the diagonal, by columns in threads."""

    def tile(columns: slice) -> None:
        below = slice(columns.start, None)
        gram[below, columns] += raw[:, below].T @ raw[:, columns]

    for _ in map_rows(tile, len(gram), COLUMNS):
        pass


def held_rows(n_features: int) -> int:
    """Rows of features held at a time within scikit-learn's `working_memory`."""
    budget = working_memory()
    least = 2 * 8 * max(1, n_features)
    if budget < least:
        raise too_small(f"two rows of {n_features} features", least)
    return int(min(HELD, budget // least))


def outputs(features: FeatureMap, models: list[LinearModel], X: Array) -> Array:
    """f(x) of several models on the same rows: (models, n, c)."""
    stacked = np.hstack([model.coefficients for model in models])
    intercept = np.concatenate([model.intercept for model in models])
    out = linear_model(features, stacked, intercept).outputs(X)
    return np.moveaxis(out.reshape(len(X), len(models), -1), 1, 0)
