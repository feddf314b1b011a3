"""One pass for families closed under products: kappa_sigma = exp(-D / sigma^a).

With gamma = sigma^-a the product of two members is the member at gamma + gamma', so
<K_g, K_h> = S(g + h) with S(g) = sum_ij exp(-g D_ij). On a geometric grid of gamma each octave is
the square of the one before: one exponential, then multiplications. What is kept is S, the row
sums r_i and y'K y at the nodes: O(nG) numbers, and no n x n matrix.
"""

from __future__ import annotations

import numpy as np
from scipy.interpolate import make_interp_spline

from kernalign._threads import map_rows
from kernalign._typing import Array
from kernalign.gram.dictionary import CentredProducts, centre_products
from kernalign.gram.target import Target
from kernalign.kernels.base import ScalarFamily

#: Rows and columns of a tile: two of them stay in a core's second-level cache.
TILE = 256
#: Squaring doubles a relative error, so the exponential is taken anew after this many octaves.
FRESH = 12
#: The degree of the interpolant of S between nodes.
DEGREE = 9


def gamma_step(family: ScalarFamily) -> float:
    """Step of log sigma that is one node of gamma."""
    return float(np.log(2) / (family.nodes_per_octave * family.power))


def semigroup_products(
    family: ScalarFamily, sigmas: Array, X: Array, target: Target
) -> CentredProducts:
    """Inner products of all members at `sigmas`, which fall by the factor of `gamma_step`."""
    # Beyond the grid: gamma + gamma' reaches one octave further.
    per_octave = family.nodes_per_octave
    extra = per_octave + 1
    gamma = (family.unit() / sigmas[0]) ** family.power * 2.0 ** (
        np.arange(sigmas.size + extra) / per_octave
    )
    sums = _row_sums(family, gamma, X, target)
    S = sums[:, :, 0] @ target.weight
    interpolant = make_interp_spline(np.log(gamma), S, k=DEGREE)
    g = gamma[: sigmas.size]
    between = interpolant(np.log(np.add.outer(g, g)))
    diagonal = np.full(g.size, target.total)
    return centre_products(between, sums[: g.size], diagonal, target)


def _row_sums(family: ScalarFamily, gamma: Array, X: Array, target: Target) -> Array:
    """K_g (w, w Y_c) for every node g: (G, n, 1 + c)."""
    n, G, per_octave = len(X), gamma.size, family.nodes_per_octave
    factor = np.column_stack([target.weight, target.weighted])

    def block(rows: slice) -> Array:
        """The share of tiles on and right of the diagonal, for rows and their mirror images."""
        first = rows.start
        sums = np.zeros((G, n - first, factor.shape[1]))
        left = np.ascontiguousarray(factor[rows].T)
        for start in range(first, n, TILE):
            columns = slice(start, min(start + TILE, n))
            mirrored = slice(columns.start - first, columns.stop - first)
            D = family.statistic(X[rows], None if rows == columns else X[columns])
            np.negative(D, out=D)
            K = np.empty_like(D)
            right = factor[columns]
            for chain in range(per_octave):
                for octave, node in enumerate(range(chain, G, per_octave)):
                    if octave % FRESH == 0:
                        np.multiply(D, gamma[node], out=K)
                        np.exp(K, out=K)
                    else:
                        np.multiply(K, K, out=K)
                    sums[node, : len(D)] += K @ right
                    if rows != columns:
                        sums[node, mirrored] += (left @ K).T
        return sums

    total = np.zeros((G, n, factor.shape[1]))
    for rows, sums in map_rows(block, n, TILE):
        total[:, rows.start :] += sums
    return total
