"""Inner products of a finite set of kernels, in one streamed pass over the pairs of rows.

<K_c, L_c> = <K, L> - (2/n) r_K' r_L + s_K s_L / n^2 with row sums r and total sum s, so the
matrices themselves are never stored: only tiles of them, one at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernalign._threads import map_rows
from kernalign._typing import Array
from kernalign.gram.target import Target
from kernalign.kernels import BaseKernel
from kernalign.kernels.base import is_scalar

#: Bytes of the tile stack (all kernels on one tile) that one thread works on.
STACK_BYTES = 1 << 20


@dataclass(frozen=True)
class CentredProducts:
    """Inner products of the centred Gram matrices of m kernels.

    between : (m, m) <K_c, L_c>;  with_target : (m,) <K_c, Khat*_c>;  trace : (m,) tr K_c.
    """

    between: Array
    with_target: Array
    trace: Array


def dictionary_products(kernels: Sequence[BaseKernel], X: Array, target: Target) -> CentredProducts:
    """All inner products of `kernels` with each other, the target and the identity."""
    n, m = len(X), len(kernels)
    side = int(np.clip(np.sqrt(STACK_BYTES / (8 * m)), 64, 256))
    groups = by_family(kernels)
    views = {id(k.family): k.family.select(X) for k in kernels}
    root = np.sqrt(target.weight)
    factor = np.column_stack([target.weight, target.weighted])

    def block(rows: slice) -> tuple[Array, Array, Array]:
        """The share of tiles on and right of the diagonal, for rows and their mirror images."""
        first = rows.start
        products = np.zeros((m, m))
        sums = np.zeros((m, n - first, factor.shape[1]))
        diagonal = np.zeros(m)
        stack = np.empty((m, rows.stop - first, side))
        for start in range(first, n, side):
            columns = slice(start, min(start + side, n))
            tile = stack[:, :, : columns.stop - columns.start]
            fill_tile(tile, groups, kernels, views, rows, columns)
            sums[:, : rows.stop - first] += tile @ factor[columns]
            if columns == rows:
                diagonal = np.einsum("kii,i->k", tile, target.weight[rows])
            else:
                mirrored = slice(columns.start - first, columns.stop - first)
                sums[:, mirrored] += tile.transpose(0, 2, 1) @ factor[rows]
            if not target.uniform:
                tile *= root[rows, None] * root[columns]
            flat = tile.reshape(m, -1)
            products += (1 if columns == rows else 2) * (flat @ flat.T)
        return products, sums, diagonal

    between = np.zeros((m, m))
    sums = np.zeros((m, n, factor.shape[1]))
    diagonal = np.zeros(m)
    for rows, (products, part, part_diagonal) in map_rows(block, n, side):
        between += products
        sums[:, rows.start :] += part
        diagonal += part_diagonal
    return centre_products(between, sums, diagonal, target)


def centre_products(
    between: Array, sums: Array, diagonal: Array, target: Target
) -> CentredProducts:
    """Centre the raw sums <K, L>, K (w, w Y_c) and tr K."""
    N = target.total
    r = sums[:, :, 0]
    s = r @ target.weight
    centred = between - (2 / N) * (r * target.weight) @ r.T + np.outer(s, s) / N**2
    with_target = np.einsum("kic,ic->k", sums[:, :, 1:], target.weighted)
    return CentredProducts(centred, with_target, diagonal - s / N)


def by_family(kernels: Sequence[BaseKernel]) -> list[list[int]]:
    """Positions of the kernels that share a family, and so a pair statistic."""
    groups: dict[int, list[int]] = {}
    for i, kernel in enumerate(kernels):
        groups.setdefault(id(kernel.family), []).append(i)
    return list(groups.values())


def fill_tile(
    tile: Array,
    groups: list[list[int]],
    kernels: Sequence[BaseKernel],
    views: dict[int, Array],
    rows: slice,
    columns: slice,
) -> None:
    """Gram blocks of all kernels on one tile."""
    for group in groups:
        family = kernels[group[0]].family
        view = views[id(family)]
        A, B = view[rows], None if rows == columns else view[columns]
        if is_scalar(family):
            statistic = family.statistic(A, B)
            for i in group:
                tile[i] = family.from_statistic(statistic, kernels[i].sigma)
        else:
            for i in group:
                tile[i] = family.gram(kernels[i].sigma, A, B)
