"""Select landmarks by randomly pivoted Cholesky factorisation, k-means++ or at random.

Pivoted Cholesky samples rows in proportion to the part of k(x, x) that the previous rows leave
unexplained, a block at a time. k-means++ samples them in proportion to the squared distance, in the
kernel's feature space, to the nearest row sampled before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from kernalign._threads import blocks_in_threads, map_rows
from kernalign._typing import Array, IntArray
from kernalign.kernels import LearnedKernel
from kernalign.rows import as_rows

METHODS = ("pivots", "kmeans++", "uniform")
#: Number of candidates per landmark, and minimum number of candidates.
CANDIDATES, MIN_CANDIDATES = 3, 2000
#: A row of which less than this share is unexplained adds only rounding errors.
MIN_UNEXPLAINED = 1e-6
#: Rows sampled at a time: a share of all, because rows of one block ignore each other, and at most
#: BLOCK. COLUMNS is the number of kernel values per row that one thread computes.
BLOCK_SHARE, BLOCK, COLUMNS = 0.05, 128, 512


def choose_landmarks(
    kernel: LearnedKernel,
    X: Any,
    number: int,
    rng: np.random.Generator,
    method: str = "pivots",
) -> Array:
    """At most `number` distinct rows of X, in the order of the rows."""
    pool = number if method == "uniform" else max(CANDIDATES * number, MIN_CANDIDATES)
    candidates = _candidates(X, pool, rng)
    if len(candidates) <= number:
        return candidates
    if method == "pivots":
        with blocks_in_threads():
            chosen = pivots(kernel, candidates, number, rng)
    elif method == "kmeans++":
        chosen = kmeans_plus_plus(kernel, candidates, number, rng)
    else:
        chosen = rng.choice(len(candidates), number, replace=False)
    landmarks: Array = candidates[np.sort(chosen)]
    return landmarks


def _candidates(X: Any, number: int, rng: np.random.Generator) -> Array:
    """Distinct rows, sampled without replacement if there are more than enough."""
    n = len(X)
    drawn = np.sort(rng.choice(n, 2 * number, replace=False)) if n > 2 * number else np.arange(n)
    rows = as_rows(X).take(drawn)
    _, first = np.unique(rows, axis=0, return_index=True)
    if first.size > number:
        first = rng.choice(first, number, replace=False)
    distinct: Array = rows[np.sort(first)]
    return distinct


def pivots(kernel: LearnedKernel, X: Array, number: int, rng: np.random.Generator) -> IntArray:
    """Rows sampled by randomly pivoted Cholesky; fewer if fewer explain the kernel."""
    diagonal = kernel.diag(X)
    left = diagonal.copy()
    threshold = MIN_UNEXPLAINED * float(diagonal.max())
    F = np.zeros((number, len(X)))
    chosen = np.zeros(0, dtype=np.intp)
    while chosen.size < number:
        open_rows = np.flatnonzero(left > threshold)
        if not open_rows.size:
            break
        size = min(_draw(number), number - chosen.size, open_rows.size)
        share = left[open_rows] / left[open_rows].sum()
        drawn = rng.choice(open_rows, size, replace=False, p=share)
        done = chosen.size
        columns = _unexplained(kernel, X, drawn, F[:done])
        kept, L = _independent(columns[:, drawn], threshold)
        F[done : done + kept.size] = solve_triangular(L, columns[kept], lower=True)
        chosen = np.concatenate([chosen, drawn[kept]])
        left -= np.einsum("ij,ij->j", F[done : chosen.size], F[done : chosen.size])
        left[chosen] = 0.0
    return chosen


def _draw(number: int) -> int:
    """Number of rows sampled at a time."""
    return min(BLOCK, max(1, int(BLOCK_SHARE * number)))


def _unexplained(kernel: LearnedKernel, X: Array, drawn: IntArray, F: Array) -> Array:
    """k(x_drawn, X) - F_drawn' F: the part of these rows of k(X, X) that is unexplained."""
    rows, left = X[drawn], np.ascontiguousarray(F[:, drawn].T)

    def block(columns: slice) -> Array:
        K: Array = kernel(rows, X[columns])
        return K - left @ F[:, columns]

    return np.hstack([part for _, part in map_rows(block, len(X), COLUMNS)])


def _independent(G: Array, threshold: float) -> tuple[IntArray, Array]:
    """Members of a block of pivots that the others leave unexplained, and their factor."""
    kept = np.arange(len(G))
    try:
        L = cholesky(G, lower=True)
        if (np.diagonal(L) ** 2 > threshold).all():
            return kept, L
    except np.linalg.LinAlgError:
        pass
    L = np.zeros_like(G)
    used: list[int] = []
    for i in range(len(G)):
        row = np.zeros(len(G))
        for a, j in enumerate(used):
            row[a] = (G[i, j] - row[:a] @ L[a, :a]) / L[a, a]
        rest = G[i, i] - row @ row
        if rest > threshold:
            row[len(used)] = np.sqrt(rest)
            L[len(used)] = row
            used.append(i)
    size = len(used)
    return np.asarray(used, dtype=np.intp), L[:size, :size]


def kmeans_plus_plus(
    kernel: LearnedKernel, X: Array, number: int, rng: np.random.Generator
) -> IntArray:
    """Rows sampled by the squared distance k(x,x) - 2 k(x,c) + k(c,c) to the nearest c so far."""
    diagonal = kernel.diag(X)
    chosen: list[Any] = [int(rng.integers(len(X)))]
    distance = np.full(len(X), np.inf)
    while True:
        # Kernel values with the last few sampled rows are computed as one block.
        fresh = np.asarray(chosen[-_draw(number) :])
        K = kernel(X[fresh], X)
        distance = np.minimum(distance, (diagonal - 2 * K + diagonal[fresh, None]).min(axis=0))
        distance[chosen] = 0.0
        np.maximum(distance, 0.0, out=distance)
        missing = number - len(chosen)
        far = np.flatnonzero(distance > MIN_UNEXPLAINED * diagonal.max())
        if missing == 0 or not far.size:
            return np.asarray(chosen, dtype=np.intp)
        size = min(missing, _draw(number), far.size)
        share = distance[far] / distance[far].sum()
        chosen += rng.choice(far, size, replace=False, p=share).tolist()
