"""Exact sums over dense blocks of rows, for any family.

<E, K(z)> for a dense symmetric E is summed over blocks on and above the diagonal, in parallel. The
memory is a few arrays of n^2 / 2 numbers, so the Gram matrix must fit in memory.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernalign._threads import map_rows
from kernalign._typing import Array
from kernalign.gram.base import FIRST_ATOM, IDENTITY, TARGET, Element, PairSums, Probe
from kernalign.gram.centring import centre_block
from kernalign.gram.target import Target
from kernalign.kernels import Family

#: Rows of a block. Up to WHOLE rows there is a single block, because threads would cost more than
#: they save.
ROWS, WHOLE = 128, 400
#: If the centred norm is below this share of |K|^2, it is computed again from centred blocks.
CANCELLED = 1e-4


def block_rows(n: int) -> int:
    """Rows of a block, a function of n alone, so that sums do not depend on the machine."""
    return n if n <= WHOLE else ROWS


class BlockSums(PairSums):
    """Inner products by dense blocks, with gradients."""

    def __init__(self, families: Sequence[Family], X: Array, target: Target):
        super().__init__(families, target)
        self.views = [np.ascontiguousarray(family.select(X)) for family in families]

    def probe(self, elements: Sequence[Element], family: int) -> Probe:
        return _BlockProbe(self, elements, family)

    def dense(self, elements: Sequence[Element]) -> list[list[Array]]:
        """Each element in block form, times the row weights, off-diagonal blocks doubled.

        A block has rows a:b and columns a:n, so that sum(block * K[a:b, a:]) over all blocks is
        sum_ij w_i w_j E_ij K_ij for symmetric K.
        """
        target = self.target
        coefficients = np.stack([e.padded() for e in elements])
        n = len(target.weight)
        atoms = np.flatnonzero(coefficients[:, FIRST_ATOM:].any(axis=0))
        means = {int(a): self._row_means(int(a)) for a in atoms}
        grand = {a: float(target.weight @ m) / target.total for a, m in means.items()}

        def block(rows: slice) -> list[Array]:
            a, b = rows.start, rows.stop
            T = target.centred[a:b] @ target.centred[a:].T
            parts = [c[TARGET] * T - c[IDENTITY] / target.total for c in coefficients]
            for atom in atoms:
                m = means[int(atom)]
                K = centre_block(self._gram(int(atom), rows), m[a:b], m[a:], grand[int(atom)])
                for part, c in zip(parts, coefficients, strict=True):
                    if c[FIRST_ATOM + atom] != 0:
                        part += c[FIRST_ATOM + atom] * K
            scale = np.outer(target.weight[a:b], target.weight[a:])
            scale[:, b - a :] *= 2
            inside = np.arange(b - a)
            for part, c in zip(parts, coefficients, strict=True):
                part *= scale
                # The identity of repeated rows has weight w_i, not w_i^2, on the diagonal.
                part[inside, inside] += c[IDENTITY] * target.weight[a:b]
            return parts

        blocks = [parts for _, parts in map_rows(block, n, block_rows(n))]
        return [[parts[e] for parts in blocks] for e in range(len(elements))]

    def _gram(self, atom: int, rows: slice) -> Array:
        """Rows a:b, columns a:n of one atom's Gram matrix."""
        index, z = self.atoms[atom]
        family = self.families[index]
        return block_gram(family, family.from_search(z), self.views[index], rows)

    def _row_means(self, atom: int) -> Array:
        sums = np.zeros(len(self.target.weight))
        weight = self.target.weight
        for rows, K in map_rows(
            lambda rows: self._gram(atom, rows), len(sums), block_rows(len(sums))
        ):
            add_row_sums(sums, K, rows, weight)
        means: Array = sums / self.target.total
        return means


def block_gram(family: Family, sigma: Array, X: Array, rows: slice) -> Array:
    """Rows a:b and columns a:n of the Gram matrix, with an exact diagonal."""
    a, b = rows.start, rows.stop
    diagonal = family.gram(sigma, X[a:b])
    if b == len(X):
        return diagonal
    return np.hstack([diagonal, family.gram(sigma, X[a:b], X[b:])])


def add_row_sums(sums: Array, K: Array, rows: slice, weight: Array) -> None:
    """Add the contribution of a block to K w, using the symmetry of K."""
    a, b = rows.start, rows.stop
    sums[a:b] += K @ weight[a:]
    sums[b:] += weight[a:b] @ K[:, b - a :]


class _BlockProbe(Probe):
    def __init__(self, sums: BlockSums, elements: Sequence[Element], family: int):
        self._target = sums.target
        self._family = sums.families[family]
        self._X = sums.views[family]
        self._elements = sums.dense(elements)
        self._grams: list[Array] = []
        self._means = np.zeros(0)

    def products(self, z: Array) -> tuple[Array, float]:
        weight, N = self._target.weight, self._target.total
        n = len(weight)
        size = block_rows(n)
        sigma = self._family.from_search(z)
        uniform = self._target.uniform

        def block(rows: slice) -> tuple[Array, Array, float]:
            K = block_gram(self._family, sigma, self._X, rows)
            i = rows.start // size
            inner = np.array([np.vdot(E[i], K) for E in self._elements])
            inside = rows.stop - rows.start
            if uniform:
                square = float(2 * np.vdot(K, K) - np.vdot(K[:, :inside], K[:, :inside]))
            else:
                left, right = weight[rows], weight[rows.start :]
                square = float(2 * left @ (K * K) @ right)
                square -= float(left @ (K[:, :inside] ** 2) @ left)
            return K, inner, square

        inner = np.zeros(len(self._elements))
        square = 0.0
        sums = np.zeros(n)
        self._grams = []
        for rows, (K, part, part_square) in map_rows(block, n, size):
            inner += part
            square += part_square
            add_row_sums(sums, K, rows, weight)
            self._grams.append(K)
        self._means = sums / N
        total = weight @ sums
        norm = float(square - 2 * weight @ sums**2 / N + (total / N) ** 2)
        if norm < CANCELLED * square:
            norm = self._centred_square(size)
        return inner, max(norm, 0.0)

    def _centred_square(self, size: int) -> float:
        """<K_c, K_c> from the centred blocks, if the sums have lost too many digits."""
        weight = self._target.weight

        def block(rows: slice) -> float:
            a, b = rows.start, rows.stop
            square = self._centred(rows, size) ** 2
            square[:, b - a :] *= 2
            return float(weight[a:b] @ square @ weight[a:])

        return sum(part for _, part in map_rows(block, len(weight), size))

    def _centred(self, rows: slice, size: int) -> Array:
        """A block of K_c, from the last Gram matrix."""
        a, b = rows.start, rows.stop
        means = self._means
        grand = float(self._target.weight @ means) / self._target.total
        return centre_block(self._grams[a // size].copy(), means[a:b], means[a:], grand)

    def gradient(self, z: Array, d_products: Array, d_norm: float) -> Array:
        sigma = self._family.from_search(z)
        weight = self._target.weight
        size = block_rows(len(weight))

        def block(rows: slice) -> Array:
            i = rows.start // size
            a, b = rows.start, rows.stop
            K = self._grams[i]
            W = sum(d * E[i] for d, E in zip(d_products, self._elements, strict=True))
            if d_norm != 0:
                centred = self._centred(rows, size)
                centred *= 2 * d_norm * np.outer(weight[a:b], weight[a:])
                centred[:, b - a :] *= 2
                W = W + centred
            inside = b - a
            X = self._X[a:b]
            slope = self._family.gradient(sigma, X, None, W[:, :inside], K[:, :inside])
            if b < len(self._X):
                rest = self._family.gradient(sigma, X, self._X[b:], W[:, inside:], K[:, inside:])
                slope = slope + rest
            return slope

        slope = np.zeros(z.size)
        for _, part in map_rows(block, len(weight), size):
            slope += part
        return slope
