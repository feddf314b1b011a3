"""One pass for families closed under products: kappa_sigma = exp(-D / sigma^a).

With gamma = sigma^-a the product of two members is the member at gamma + gamma', so
<K_g, K_h> = S(g + h) with S(g) = sum_ij exp(-g D_ij). On a geometric grid of gamma each octave is
the square of the one before: one exponential, then multiplications. What is kept is S, the row
sums r_i and y'K y at the nodes: O(nG) numbers, and no n x n matrix.
"""

from __future__ import annotations

import numpy as np
from scipy.interpolate import make_interp_spline

from kernalign._typing import Array
from kernalign.gram.dictionary import CentredProducts, centre_products
from kernalign.gram.pairs import Pass, RemoteRows, Share, pass_over_pairs
from kernalign.gram.target import Target
from kernalign.kernels.base import ScalarFamily

#: Squaring doubles a relative error, so the exponential is taken anew after this many octaves.
FRESH = 12
#: The degree of the interpolant of S between nodes.
DEGREE = 9


def gamma_step(family: ScalarFamily) -> float:
    """Step of log sigma that is one node of gamma."""
    return float(np.log(2) / (family.nodes_per_octave * family.power))


def semigroup_products(
    family: ScalarFamily, sigmas: Array, X: Array | RemoteRows, target: Target
) -> CentredProducts:
    """Inner products of all members at `sigmas`, which fall by the factor of `gamma_step`.

    X has all columns, of which the family selects its own.
    """
    # Beyond the grid: gamma + gamma' reaches one octave further.
    per_octave = family.nodes_per_octave
    extra = per_octave + 1
    gamma = (family.unit() / sigmas[0]) ** family.power * 2.0 ** (
        np.arange(sigmas.size + extra) / per_octave
    )
    summary = pass_over_pairs(SemigroupPass(family, gamma, sigmas.size), X, target).summary
    interpolant = make_interp_spline(np.log(gamma), summary.total, k=DEGREE)
    g = gamma[: sigmas.size]
    between = interpolant(np.log(np.add.outer(g, g)))
    return centre_products(between, summary, np.full(g.size, target.total), target)


class SemigroupPass(Pass):
    """K_g (w, w Y_c) for every node g of a geometric grid."""

    def __init__(self, family: ScalarFamily, gamma: Array, kept: int):
        self.family = family
        self.gamma = gamma
        self.width, self.kept = gamma.size, kept

    def tile_bytes(self, tile: int) -> int:
        # Statistic, kernel values, and what the distance holds on its way.
        return 8 * 4 * tile**2

    def share(self, A: Array, B: Array | None, left: Array, right: Array, tile: int) -> Share:
        A = self.family.select(A)
        other = A if B is None else self.family.select(B)
        sums_left = np.zeros((self.width, len(A), left.shape[1]))
        sums_right = sums_left if B is None else np.zeros((self.width, len(other), left.shape[1]))
        for i in range(0, len(A), tile):
            rows = slice(i, min(i + tile, len(A)))
            mirror = np.ascontiguousarray(left[rows].T)
            for j in range(i if B is None else 0, len(other), tile):
                columns = slice(j, min(j + tile, len(other)))
                same = B is None and rows == columns
                D = self.family.statistic(A[rows], None if same else other[columns])
                self._add_tile(
                    D,
                    sums_left[:, rows],
                    right[columns],
                    None if same else sums_right[:, columns],
                    mirror,
                )
        return Share(sums_left, None if B is None else sums_right)

    def _add_tile(
        self, D: Array, left: Array, right_factor: Array, right: Array | None, mirror: Array
    ) -> None:
        """Each octave is the square of the one before; D is overwritten."""
        per_octave = self.family.nodes_per_octave
        np.negative(D, out=D)
        K = np.empty_like(D)
        for chain in range(per_octave):
            for octave, node in enumerate(range(chain, self.width, per_octave)):
                if octave % FRESH == 0:
                    np.multiply(D, self.gamma[node], out=K)
                    np.exp(K, out=K)
                else:
                    np.multiply(K, K, out=K)
                left[node] += K @ right_factor
                if right is not None:
                    right[node] += (mirror @ K).T
