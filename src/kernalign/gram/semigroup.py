"""One pass for families closed under products: kappa_sigma = exp(-D / sigma^a).

With gamma = sigma^-a the product of two members is the member at gamma + gamma', so
<K_g, K_h> = S(g + h) with S(g) = sum_ij exp(-g D_ij). On a geometric grid of gamma, each octave is
the square of the previous one: one exponential, then multiplications. Only S, the row sums r_i and
Y_c'K Y_c at the nodes are stored: O(nG) numbers and no n x n matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.interpolate import make_interp_spline

from kernalign._compiled import loops_in_use, pays
from kernalign._typing import Array
from kernalign.gram.dictionary import CentredProducts, centre_products
from kernalign.gram.target import Target
from kernalign.gram.tiles import cut, pass_over_pairs, room_for, tile_pairs
from kernalign.kernels._decay import LARGEST, decay
from kernalign.kernels.structure import ScalarFamily
from kernalign.rows.pairs import Pass, Share

#: Squaring doubles a relative error, so the exponential is computed again after this many octaves.
#: The relative error is then 1e-10, for kernels so narrow that centring does not amplify it.
OCTAVES_PER_EXP = 20
#: exp(-50), times n, is negligible compared with the diagonal. A tile with all gamma D above this
#: exponent is skipped, which also avoids slow subnormal numbers.
NEGLIGIBLE_EXPONENT = 50.0
#: Degree of the interpolant of S between nodes.
DEGREE = 9
#: Seconds that compiled loops save per pair of rows, with one thread or two.
SAVED = 7e-9


def gamma_step(family: ScalarFamily) -> float:
    """Step of log sigma that is one node of gamma."""
    return float(np.log(2) / (family.nodes_per_octave * family.power))


def saved_in_pass(n: int) -> float:
    """Seconds that compiled loops save in a pass over n rows."""
    return SAVED * n**2 / 2


def semigroup_products(
    family: ScalarFamily, sigmas: Array, X: Any, target: Target
) -> CentredProducts:
    """Inner products of all members at `sigmas`, which decrease by the factor of `gamma_step`.

    X has all columns, from which the family selects its own.
    """
    # The grid is extended by one octave, because products are at gamma + gamma'.
    per_octave = family.nodes_per_octave
    extra = per_octave + 1
    gamma = (family.unit() / sigmas[0]) ** family.power * 2.0 ** (
        np.arange(sigmas.size + extra) / per_octave
    )
    this = SemigroupPass(family, gamma, sigmas.size, saved_in_pass(len(X)))
    summary = pass_over_pairs(this, X, target).summary
    interpolant = make_interp_spline(np.log(gamma), summary.total, k=DEGREE)
    g = gamma[: sigmas.size]
    between = interpolant(np.log(np.add.outer(g, g)))
    return centre_products(between, summary, np.full(g.size, target.total), target)


class SemigroupPass(Pass):
    """K_g w and <K_g, Khat*_c> for every node g of a geometric grid.

    saved : seconds that compiled loops would save in the whole pass.
    """

    def __init__(self, family: ScalarFamily, gamma: Array, kept: int, saved: float = 0.0):
        self.family = family
        self.gamma = gamma
        self.width, self.kept = gamma.size, kept
        self.saved = saved

    def side(self, tile: int) -> int:
        """Rows and columns of a tile. Compiled loops go through it once, so that it does not need
        to fit in the cache."""
        return 2 * tile if pays(self.saved) else tile

    def tile_bytes(self, tile: int, columns: int) -> int:
        tile = self.side(tile)
        # Statistic, kernel values, and intermediate results of the distance; sums over the tile.
        return 8 * (3 * tile**2 + 2 * self.width * tile * (2 + columns))

    def _share(self, A: Array, B: Array | None, left: Array, right: Array, tile: int) -> Share:
        family, n, m = self.family, len(A), None if B is None else len(B)
        tile = self.side(tile)
        statistic = family.statistic_tiles(
            family.select(A), None if B is None else family.select(B)
        )
        sums_left = np.zeros((self.width, n))
        sums_right = sums_left if m is None else np.zeros((self.width, m))
        with_target = np.zeros(self.width)
        room = [room_for(tile**2), room_for(tile**2)]
        room += [room_for(self.width * tile * left.shape[1]), room_for(self.width * tile)]
        loops = loops_in_use()
        for rows, columns, same in tile_pairs(n, m, tile):
            p, q = rows.stop - rows.start, columns.stop - columns.start
            D = statistic(rows, columns, cut(room[0], (p, q)))
            K = cut(room[1], (p, q))
            products = cut(room[2], (self.width, p, left.shape[1]))
            mirrored = cut(room[3], (self.width, q))
            seen = int(np.searchsorted(self.gamma * D.min(), NEGLIGIBLE_EXPONENT))
            of_tile = D, left[rows, 0], right[columns], products[:seen], mirrored[:seen]
            if loops is None:
                self._tile(K, *of_tile)
            else:
                self._compiled_tile(loops, *of_tile)
            sums_left[:seen, rows] += products[:seen, :, 0]
            inner = np.einsum("kic,ic->k", products[:seen, :, 1:], left[rows, 1:])
            with_target[:seen] += inner if same else 2 * inner
            if not same:
                sums_right[:seen, columns] += mirrored[:seen]
        return Share(sums_left, None if m is None else sums_right, with_target)

    def _tile(
        self, K: Array, D: Array, w: Array, factor: Array, products: Array, mirrored: Array
    ) -> None:
        """K_g (w, w Y_c) of the rows of a tile and K_g' w of its columns, for the first nodes g.

        Each octave is the square of the previous one.
        """
        per_octave = self.family.nodes_per_octave
        for chain in range(per_octave):
            for octave, node in enumerate(range(chain, len(products), per_octave)):
                if octave % OCTAVES_PER_EXP == 0:
                    np.multiply(D, self.gamma[node], out=K)
                    decay(K, out=K)
                else:
                    np.multiply(K, K, out=K)
                np.matmul(K, factor, out=products[node])
                np.matmul(w, K, out=mirrored[node])

    def _compiled_tile(
        self, loops: Any, D: Array, w: Array, factor: Array, products: Array, mirrored: Array
    ) -> None:
        """The same as `_tile`.

        numpy computes a node in four steps of tens of microseconds each, after which threads wait
        for Python's global lock. This is one step for all nodes.
        """
        loops.semigroup_tile(
            D,
            self.gamma[: len(products)],
            self.family.nodes_per_octave,
            OCTAVES_PER_EXP,
            LARGEST[D.dtype],
            np.ascontiguousarray(w),
            np.ascontiguousarray(factor.T),
            products,
            mirrored,
        )
