"""Inner products of a finite set of kernels, in one streamed pass over the pairs of rows.

<K_c, L_c> = <K, L> - (2/n) r_K' r_L + s_K s_L / n^2 with row sums r and total sum s, so the
matrices themselves are never stored: only tiles of them, one at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernalign._typing import Array
from kernalign.gram.pairs import Pass, RemoteRows, Share, Summary, pass_over_pairs
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


def dictionary_products(
    kernels: Sequence[BaseKernel], X: Array | RemoteRows, target: Target
) -> CentredProducts:
    """All inner products of `kernels` with each other, the target and the identity."""
    found = pass_over_pairs(DictionaryPass(list(kernels)), X, target)
    assert found.products is not None
    assert found.diagonal is not None
    return centre_products(found.products, found.summary, found.diagonal, target)


class DictionaryPass(Pass):
    """Every product of every two kernels."""

    def __init__(self, kernels: list[BaseKernel]):
        self.kernels = kernels
        self.groups = by_family(kernels)
        self.width = self.kept = len(kernels)

    def tile_bytes(self, tile: int) -> int:
        side = min(tile, self.side())
        # The stack of all kernels, and what the longest formula holds on its way.
        return 8 * side**2 * (2 * self.width + 6)

    def side(self) -> int:
        return int(np.clip(np.sqrt(STACK_BYTES / (8 * self.width)), 64, 256))

    def share(self, A: Array, B: Array | None, left: Array, right: Array, tile: int) -> Share:
        m, columns, size = self.width, left.shape[1], min(tile, self.side())
        products = np.zeros((m, m))
        diagonal = np.zeros(m)
        sums_left = np.zeros((m, len(A), columns))
        sums_right = sums_left if B is None else np.zeros((m, len(B), columns))
        weighted = not ((left[:, 0] == 1).all() and (right[:, 0] == 1).all())
        for a in _tiles(len(A), size):
            for b in _tiles(len(A) if B is None else len(B), size):
                if B is None and b.start < a.start:
                    continue
                same = B is None and a == b
                stack = np.empty((m, a.stop - a.start, b.stop - b.start))
                other = None if same else (A if B is None else B)[b]
                fill_pair(stack, self.groups, self.kernels, A[a], other)
                sums_left[:, a] += stack @ right[b]
                if same:
                    diagonal += np.einsum("kii,i->k", stack, left[a, 0])
                else:
                    sums_right[:, b] += stack.transpose(0, 2, 1) @ left[a]
                if weighted:
                    stack *= np.sqrt(left[a, 0])[:, None] * np.sqrt(right[b, 0])
                flat = stack.reshape(m, -1)
                products += (1 if same else 2) * (flat @ flat.T)
        return Share(sums_left, None if B is None else sums_right, products, diagonal)


def _tiles(n: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def centre_products(
    between: Array, summary: Summary, diagonal: Array, target: Target
) -> CentredProducts:
    """Centre the raw sums <K, L>, K (w, w Y_c) and tr K."""
    N = target.total
    s = summary.total[: summary.with_target.size]
    centred = between - (2 / N) * summary.cross + np.outer(s, s) / N**2
    return CentredProducts(centred, summary.with_target, diagonal - s / N)


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
    """Gram blocks of all kernels on one tile, from each family's columns of the data."""
    for group in groups:
        view = views[id(kernels[group[0]].family)]
        _fill(tile, group, kernels, view[rows], None if rows == columns else view[columns])


def fill_pair(
    tile: Array,
    groups: list[list[int]],
    kernels: Sequence[BaseKernel],
    A: Array,
    B: Array | None,
) -> None:
    """Gram blocks of all kernels on one tile of rows A and B (None: A with itself)."""
    for group in groups:
        family = kernels[group[0]].family
        right = None if B is None else family.select(B)
        _fill(tile, group, kernels, family.select(A), right)


def _fill(
    tile: Array, group: list[int], kernels: Sequence[BaseKernel], A: Array, B: Array | None
) -> None:
    """Gram blocks of the kernels of one family."""
    family = kernels[group[0]].family
    if is_scalar(family):
        statistic = family.statistic(A, B)
        for i in group:
            tile[i] = family.from_statistic(statistic, kernels[i].sigma)
    else:
        for i in group:
            tile[i] = family.gram(kernels[i].sigma, A, B)
