"""Inner products of a finite set of kernels, in one streamed pass over the pairs of rows.

<K_c, L_c> = <K, L> - (2/n) r_K' r_L + s_K s_L / n^2 with row sums r and total sum s. Only one tile
of the matrices is stored at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.blas import dgemm

from kernalign._typing import Array
from kernalign.gram.centring import cosine
from kernalign.gram.target import Target
from kernalign.gram.tiles import cut, pass_over_pairs, room_for, tile_pairs
from kernalign.kernels import FamilyMember
from kernalign.kernels.together import KernelsOnRows, seconds_saved
from kernalign.rows.pairs import Pass, Share, Summary

#: Bytes of the tile stack (all kernels on one tile) of one thread.
STACK_BYTES = 1 << 20
#: For fewer kernels than this, a plain product is faster than the symmetric one.
FEW = 8


@dataclass(frozen=True)
class CentredProducts:
    """Inner products of the centred Gram matrices of m kernels.

    between : (m, m) <K_c, L_c>;  with_target : (m,) <K_c, Khat*_c>;  trace : (m,) tr K_c.
    """

    between: Array
    with_target: Array
    trace: Array

    def alignment(self, weights: Array, target: Target) -> float:
        """Centred alignment of sum_m weights_m K_m, a'w / (sqrt(w'Mw) |Khat*_c|)."""
        square = float(weights @ self.between @ weights)
        return cosine(float(weights @ self.with_target), square, target.square)


def dictionary_products(
    kernels: Sequence[FamilyMember], X: Any, target: Target, saved: float = 0.0
) -> CentredProducts:
    """All inner products of `kernels` with each other, the target and the identity.

    saved : seconds that compiled loops saved in an earlier pass over these rows.
    """
    saved += seconds_saved(kernels, len(X) ** 2 / 2)
    found = pass_over_pairs(DictionaryPass(list(kernels), saved), X, target)
    assert found.products is not None
    assert found.diagonal is not None
    return centre_products(found.products, found.summary, found.diagonal, target)


class DictionaryPass(Pass):
    """Every product of every two kernels."""

    def __init__(self, kernels: list[FamilyMember], saved: float = 0.0):
        self.kernels = kernels
        self.saved = saved
        self.width = self.kept = len(kernels)

    def tile_bytes(self, tile: int, columns: int) -> int:
        side = min(tile, self.side())
        # The stack of all kernels, and the intermediate results of the longest formula.
        return 8 * side**2 * (2 * self.width + 6) + 8 * 2 * self.width * side * (2 + columns)

    def side(self) -> int:
        return int(np.clip(np.sqrt(STACK_BYTES / (8 * self.width)), 64, 256))

    def _share(self, A: Array, B: Array | None, left: Array, right: Array, tile: int) -> Share:
        m, size = self.width, min(tile, self.side())
        kernels = KernelsOnRows(self.kernels, A, B)
        products, with_target, diagonal = np.zeros((m, m)), np.zeros(m), np.zeros(m)
        sums_left = np.zeros((m, len(A)))
        sums_right = sums_left if B is None else np.zeros((m, len(B)))
        weighted = not ((left[:, 0] == 1).all() and (right[:, 0] == 1).all())
        statistic, values = room_for(size**2), room_for(m * size**2)
        for a, b, same in tile_pairs(len(A), None if B is None else len(B), size):
            shape = a.stop - a.start, b.stop - b.start
            stack = cut(values, (m, *shape))
            kernels.fill(stack, a, b, cut(statistic, shape))
            times = 1 if same else 2
            found = stack @ right[b]
            sums_left[:, a] += found[:, :, 0]
            with_target += times * np.einsum("kic,ic->k", found[:, :, 1:], left[a, 1:])
            if same:
                diagonal += np.einsum("kii,i->k", stack, left[a, 0])
            else:
                sums_right[:, b] += left[a, 0] @ stack
            if weighted:
                stack *= np.sqrt(left[a, 0])[:, None] * np.sqrt(right[b, 0])
            products += times * _squares(stack.reshape(m, -1))
        return Share(sums_left, None if B is None else sums_right, with_target, products, diagonal)


def _squares(rows: Array) -> Array:
    """Inner products of long rows with each other."""
    if len(rows) < FEW:
        # numpy's product of a matrix with its own transpose is slow for a few rows.
        products: Array = dgemm(1.0, rows.T, rows.T, trans_a=True)
        return products
    return rows @ rows.T


def centre_products(
    between: Array, summary: Summary, diagonal: Array, target: Target
) -> CentredProducts:
    """Centre the raw sums <K, L>, K (w, w Y_c) and tr K."""
    N = target.total
    s = summary.total[: summary.with_target.size]
    centred = between - (2 / N) * summary.cross + np.outer(s, s) / N**2
    return CentredProducts(centred, summary.with_target, diagonal - s / N)
