"""Evidence of a linear kernel from the second moments of the rows, at a cost that does not depend
on their number.

With Z = [e^{s/2} U diag(r)^{1/2}, (c h)^{1/2} 1], the matrix of `criteria.sum_evidence` is
A = ZZ' + h nu diag(1/w), of rank d + 1 plus noise. With P = diag(w) / (h nu), M = I + Z'PZ,
b = Z'PY and beta = M^-1 b,

log det A      = log det M + sum_i log(h nu / w_i)
Y'A^-1 Y       = Y'PY - b'beta
Z'A^-1 Z       = I - M^-1,    Z'A^-1 Y = beta
tr A^-1 diag(1/w) = (n - d - 1 + tr M^-1) / (h nu)

and a = A^-1 Y has the norm a'diag(1/w)a = (Y'A^-1 Y - beta'beta) / (h nu).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernalign import _lapack
from kernalign._typing import Array
from kernalign.criteria.kernel_sum import CONSTANT, NOISE, KernelSum, prior
from kernalign.criteria.sum_evidence import MIN_QUADRATIC_FORM, Part, SumEvidence, log_det_of
from kernalign.gram.packed import PackedRows
from kernalign.kernels import Family

#: The largest entry of rows whose moments are computed.
LARGEST = 1e100


class LinearEvidence(SumEvidence):
    """`SumEvidence` of a single linear kernel on columns of numbers."""

    def __init__(
        self,
        rows: PackedRows,
        families: Sequence[Family],
        tied: Sequence[bool],
        strength: float,
        least_noise: float = NOISE[0],
    ):
        super().__init__(rows, families, tied, strength, least_noise)
        ones = np.column_stack([rows.U, np.ones(rows.n)])
        weighted = rows.w[:, None] * ones
        #: Weighted moments: of the columns and the constant, of these with Y, and of Y.
        self._moments, self._with_labels = weighted.T @ ones, weighted.T @ rows.Y
        self._of_labels = float(rows.w @ (rows.Y * rows.Y).sum(axis=1))

    @staticmethod
    def applies(rows: PackedRows, families: Sequence[Family]) -> bool:
        """Whether there is one linear kernel, of a rank well below the number of rows, and its
        moments do not overflow."""
        linear = [family.pair_feature for family in families] == ["product"]
        few = 2 * (rows.d + 1) <= rows.n and not rows.codes.any()
        return linear and few and bool(np.abs(rows.U).max() < LARGEST)

    def value(self, k: KernelSum, parts: Sequence[Part] | None = None) -> float:
        return self._at(k)[0]

    def __call__(self, x: Array) -> tuple[float, Array]:
        self.evaluations += 1
        return self._at(self.split(x))

    def _at(self, k: KernelSum) -> tuple[float, Array]:
        """The value and its gradient."""
        rows, (term,) = self.rows, k.terms
        size = np.exp(term.s) * np.broadcast_to(np.exp(term.u), rows.d)
        diagonal = size * self._moments.diagonal()[:-1]
        # A linear kernel vanishes on constant columns: only noise, at any scale, is left.
        h = float(diagonal.sum()) / rows.total or 1.0
        noise = h * float(np.exp(k.log_noise))
        z = np.sqrt(np.append(size, CONSTANT * h))
        M = self._moments * (z[:, None] * z / noise)
        M[np.diag_indices_from(M)] += 1.0
        b = self._with_labels * (z[:, None] / noise)
        # M - I has the trace (1 + c) N / nu, so that rounding errors cannot make M indefinite.
        L = _lapack.cholesky(M)
        beta = _lapack.solve(L, b)
        q = max(self._of_labels / noise - float(np.vdot(b, beta)), MIN_QUADRATIC_FORM)
        log_det = log_det_of(L) + rows.n * np.log(noise) - rows.log_weights
        value = self._value(log_det, q, h, k)
        # The diagonals of Z'GZ and h nu tr G diag(1/w), G = A^-1 - (N/q) aa'.
        inverse, scale = _lapack.inverse_diagonal(L), rows.total / q
        by_z = 1 - inverse - scale * (beta * beta).sum(axis=1)
        traced = rows.n - len(z) + inverse.sum() - scale * (q - np.vdot(beta, beta))
        by_noise = 0.5 * float(traced) / h
        extra = 0.5 * (rows.total - rows.n)
        by_h = by_noise + 0.5 * float(by_z[-1]) / h + extra / h
        by_u = 0.5 * by_z[:-1] + by_h / rows.total * diagonal
        believed, pull = prior(term.u, self.strength)
        slope = (by_u.sum(keepdims=True) if term.tied else by_u) + pull
        return value + believed, np.append(slope, h * by_noise + extra)


def evidence_like(
    rows: PackedRows, k: KernelSum, strength: float, least_noise: float = NOISE[0]
) -> SumEvidence:
    """The criterion over the families of a sum, in the form that is cheapest to evaluate."""
    linear = LinearEvidence.applies(rows, [term.family for term in k.terms])
    return (LinearEvidence if linear else SumEvidence).like(rows, k, strength, least_noise)
