"""Evidence of a sum of kernels with one relevance per feature, and all its derivatives.

k = sum_f e^{s_f} kappa_f(r_f), A = k + h (c + nu diag(1/w)), h the mean diagonal of k. A constant
kernel of the same size represents the mean that a machine fits, and the noise nu is in units of the
kernel. In nats of all N = sum w rows, as a mean over the c outputs,

-log evidence = N/2 log(tr Y'A^-1 Y / Nc) + 1/2 log det A    (at the best scale of A)

and the prior that all features are equally relevant: sum_k log(1 + (u_k - mean u)^2) for u = log r,
times its strength. A relevance that already differs from the others is hardly penalised further.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernalign import _lapack
from kernalign._typing import Array
from kernalign.criteria.kernel_sum import CONSTANT, NOISE, KernelSum, SumCriterion, Term, prior
from kernalign.gram.packed import SUMS, PackedRows
from kernalign.kernels import Family

#: Packed Gram matrix of a term, its diagonal, and the slope of its profile if it has one.
Part = tuple[Array, Array, Array | None]
#: Lower bound of tr Y'A^-1 Y, which vanishes for a constant response.
MIN_QUADRATIC_FORM = 1e-200


class SumEvidence(SumCriterion):
    """-log evidence - log prior as a function of all relevances, weights and the noise.

    families, tied : of the terms, and whether a term has a single relevance.
    strength : of the prior.
    least_noise : the smallest noise that is searched.
    """

    rows: PackedRows

    def __init__(
        self,
        rows: PackedRows,
        families: Sequence[Family],
        tied: Sequence[bool],
        strength: float,
        least_noise: float = NOISE[0],
    ):
        super().__init__(rows, families, tied, strength, least_noise)
        self.evaluations = 0
        self._room: Array | None = None

    # -- value and slope ----------------------------------------------------------------------

    def parts(self, k: KernelSum) -> list[Part]:
        """Packed Gram matrix and diagonal of each term, and the slope of its profile."""
        return [self.part(term) for term in k.terms]

    def part(self, term: Term) -> Part:
        """Those of one term, without its size e^s."""
        rows, feature, r = self.rows, term.family.pair_feature, np.exp(term.u)
        D = rows.summed(feature, r)
        if feature in SUMS:
            return D, rows.own_summed(feature, r), None
        K, slope = term.family.profile_and_slope(D)
        return K, np.ones(rows.n), slope

    def factor(self, k: KernelSum, parts: Sequence[Part]) -> tuple[Array, float]:
        """The Cholesky factor of A, below the diagonal, and h.

        The factor lives until the next call.
        """
        rows, sizes = self.rows, [np.exp(term.s) for term in k.terms]
        packed, diagonal = rows.precision(sizes[0]) * parts[0][0], sizes[0] * parts[0][1]
        for size, (K, own, _) in zip(sizes[1:], parts[1:], strict=True):
            packed += rows.precision(size) * K
            diagonal += size * own
        # A linear kernel vanishes on constant columns: only noise, at any scale, is left.
        h = float(rows.w @ diagonal) / rows.total or 1.0
        diagonal += h * (CONSTANT + np.exp(k.log_noise) / rows.w)
        packed += rows.precision(CONSTANT * h)
        if self._room is None:
            # New memory in each of many evaluations would cost as much as the arithmetic.
            self._room = np.empty((rows.n, rows.n), order="F")
        added = 0.0
        while True:
            rows.fill(self._room, packed, diagonal + added)
            if not _lapack.factorise(self._room):
                return self._room, h
            added = 10 * added or _lapack.JITTER * float(np.abs(diagonal).mean())

    def _value(self, log_det: float, q: float, h: float, k: KernelSum) -> float:
        """-log evidence from log det A and q = tr Y'A^-1 Y."""
        rows = self.rows
        # A row of weight w counts as w equal rows, whose determinant has these additional factors.
        extra = rows.total - rows.n
        repeated = rows.log_weights + extra * (k.log_noise + np.log(h))
        fit = rows.total * np.log(q / (rows.total * rows.Y.shape[1]))
        return float(0.5 * (fit + log_det + repeated))

    def value(self, k: KernelSum, parts: Sequence[Part] | None = None) -> float:
        """-log evidence - log prior; with the parts of k, if they are known."""
        L, h = self.factor(k, self.parts(k) if parts is None else parts)
        believed = sum(prior(term.u, self.strength)[0] for term in k.terms)
        return self._value(log_det_of(L), self._solved(L)[1], h, k) + believed

    def _solved(self, L: Array) -> tuple[Array, float]:
        a = _lapack.solve(L, self.rows.Y)
        return a, max(float(np.vdot(a, self.rows.Y)), MIN_QUADRATIC_FORM)

    def __call__(self, x: Array) -> tuple[float, Array]:
        """The value and its gradient."""
        self.evaluations += 1
        rows, k = self.rows, self.split(x)
        parts = self.parts(k)
        L, h = self.factor(k, parts)
        a, q = self._solved(L)
        value = self._value(log_det_of(L), q, h, k)
        # dV/dA = (A^-1 - (N/q) aa') / 2; an entry below the diagonal represents two.
        G = _lapack.add_outer(_lapack.invert(L), -rows.total / q, a)
        off, on = rows.entries(G)
        on *= 0.5
        nu, extra = np.exp(k.log_noise), 0.5 * (rows.total - rows.n)
        by_noise = nu * float(on @ (1 / rows.w))
        # Noise and constant are in units of h, to which every diagonal entry contributes.
        by_h = by_noise + CONSTANT * (float(on.sum()) + float(off.sum(dtype=float))) + extra / h
        on += by_h / rows.total * rows.w
        slopes, by_weight = [], []
        for term, part in zip(k.terms, parts, strict=True):
            by_u, by_s = self._slopes(term, part, off, on)
            believed, pull = prior(term.u, self.strength)
            value += believed
            slopes.append(by_u + pull)
            by_weight.append(by_s)
        return value, np.concatenate([*slopes, by_weight[1:], [h * by_noise + extra]])

    def _slopes(self, term: Term, part: Part, off: Array, on: Array) -> tuple[Array, float]:
        """d/du and d/ds of a term, given dV/dk off and on the diagonal."""
        rows, (K, own, slope) = self.rows, part
        feature, size = term.family.pair_feature, np.exp(term.s)
        by_s = size * (float(off @ K) + float(on @ own))
        if slope is not None:
            by_r = rows.contracted(feature, off * slope, term.tied)
        else:
            by_r = rows.contracted(feature, off, term.tied)
            by_r += rows.own_contracted(feature, on, term.tied)
        return size * by_r * np.exp(term.u), by_s

    def left_out(self, k: KernelSum) -> Array:
        """Leave-one-out predictions of the labels Y."""
        L, h = self.factor(k, self.parts(k))
        a, _ = self._solved(L)
        nu = h * float(np.exp(k.log_noise))
        return leave_one_out(self.rows.Y, a, _lapack.inverse_diagonal(L), self.rows.w, nu)


def log_det_of(L: Array) -> float:
    """log det LL'."""
    return 2 * float(np.log(L.diagonal()).sum())


def leave_one_out(Y: Array, a: Array, inverse: Array, w: Array, noise: float) -> Array:
    """Leave-one-out outputs of the machine with A = K + noise diag(1/w), a = A^-1 Y.

    inverse : (n,) the diagonal of A^-1. A row of weight w is treated as w equal rows, one of which
    is left out: the diagonal of the inverse for w rows is (1 - 1/w) / noise + (A^-1)_ii / w^2. A
    row of weight below one is left out completely.
    """
    copies = np.maximum(w, 1.0)
    own = (1 - 1 / copies) / noise + inverse / copies**2
    missed: Array = a / (copies * own)[:, None]
    return Y - missed
