"""DA: centred alignment with a finite set of kernels (Cortes, Mohri and Rostamizadeh, 2010).

With a_m = <K_m, Khat*_c> and M_ml = <(K_m)_c, (K_l)_c> the alignment of sum_m mu_m K_m is

F(mu) = a'mu / (sqrt(mu'M mu) |Khat*_c|).

align takes each kernel's own alignment as its weight, alignf the non-negative weights of largest F:
v = argmin_{v >= 0} v'Mv - 2 v'a, mu = v / |v|.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning

from kernalign._threads import map_rows
from kernalign._typing import Array, IntArray
from kernalign._validation import check_choice
from kernalign._warnings import AlignmentWarning, find_stack_level
from kernalign.criteria import best_weights
from kernalign.gram import Target
from kernalign.gram.centring import centre_block, cosine
from kernalign.gram.sizes import Sizes
from kernalign.gram.stack import NORMALISATIONS
from kernalign.kernels import FamilyMember
from kernalign.kernels.together import KernelsOnRows
from kernalign.learners.base import Learned
from kernalign.learners.finite import FiniteLearner

#: Relative gap above which the weights are computed again from the Gram matrices themselves.
MAX_PRODUCT_GAP = 1e-10
#: Relative gap above which the solution is not considered optimal.
TOLERANCE = 1e-8
#: |K_c|^2 / (tr K)^2 below which centring leaves inner products less than ten correct digits.
MIN_CENTRED_SHARE = 1e-5
#: Weights of unit kernels below this share of the largest are rounding errors of zero.
NEGLIGIBLE = 1e-12
#: Side of the tiles of Gram matrices that are factorised in turn.
TILE = 64


class DiscreteAlignment(FiniteLearner):
    """argmax_{mu >= 0, |mu| = 1} F(sum_m mu_m K_m), F the centred alignment with the labels.

    The method alignf of Cortes, Mohri and Rostamizadeh (2010). The weights do not depend on the
    order of the kernels, and the combination does not depend on their scale. No n x n matrix is
    stored.

    Parameters
    ----------
    kernels : list of kernels or Gram matrices
        Such as `Gaussian().grid(0.1, 10, 20)`. With Gram matrices, X is one column of row indices.
    joint : bool
        Optimise all weights jointly. False is the method align of the same authors: mu_m is
        proportional to the alignment of K_m alone, which depends on the scale of the kernels.
    normalize : {"none", "trace", "variance"}
        Divide each kernel by 1, its mean diagonal, or its mean diagonal after centring. If `joint`
        is true, this only changes the meaning of `weights_`.

    Attributes
    ----------
    kernel_ : LearnedKernel
    alignment_ : float
        Centred alignment of `kernel_` with the target kernel on the training rows.
    weights_ : (M,) array
        mu, |mu| = 1, for the kernels divided by `scales_`.
    objective_ : float
        `alignment_`.
    gap_ : float
        1 - alignment_ / upper, where `upper` bounds the alignment of all weights. 0 for align,
        whose weights are given by a formula.
    converged_ : bool
        Whether `gap_` is at most 1e-8.
    n_iter_ : int
    history_ : list of dict
        One record per attempt: the alignment (objective), the bound `upper`, their relative `gap`,
        the residual `kkt` of the optimality conditions, and whether the weights were computed from
        inner products ("products") or from a factor of the Gram matrices ("factor"). For align, the
        alignment only.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernalign.kernels import Gaussian
    >>> from kernalign.learners.discrete_alignment import DiscreteAlignment
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = DiscreteAlignment(Gaussian().grid(0.1, 10, 20)).fit(X, y)
    >>> bool(learner.alignment_ > 0.7), bool(learner.gap_ < 1e-10)
    (True, True)
    """

    def __init__(self, kernels: Any = None, *, joint: bool = True, normalize: str = "none"):
        self.kernels = kernels
        self.joint = joint
        self.normalize = normalize

    def learn(
        self, X: Array, target: Target, feature_names: Sequence[str] | None = None
    ) -> Learned:
        check_choice(self, "joint", (True, False))
        check_choice(self, "normalize", NORMALISATIONS)
        kernels = self.dictionary(X, feature_names, target.weight)
        sizes = Sizes(kernels, X, target, self.normalize, scale_free=self.joint)
        rows = Rows(kernels, X, target, sizes)
        problem = rows.problem()
        if problem is None:
            return self._unaligned(sizes)
        if self.joint:
            problem, u, history = alignf(problem, rows)
        else:
            u = problem.a * problem.norms / sizes.scales[problem.used]
            history = [{"iteration": 1, "objective": problem.certificate(u)["objective"]}]
        gap = float(history[-1].get("gap", 0.0))
        if gap > TOLERANCE:
            warnings.warn(
                f"alignf stopped at a relative gap of {gap:.1e} to the best alignment, above "
                f"{TOLERANCE:g}: some kernels are too similar to determine their weights.",
                ConvergenceWarning,
                stacklevel=find_stack_level(),
            )
        mu = problem.weights(u, sizes.scales)
        return Learned(
            kernel=sizes.learned(mu),
            alignment=float(history[-1]["objective"]),
            history=history,
            converged=gap <= TOLERANCE,
            weights=mu,
            gap=gap,
            extra={"scales_": sizes.scales},
        )

    def _unaligned(self, sizes: Sizes) -> Learned:
        """Equal weights, with a warning that gives the reason."""
        if sizes.vanishing.all():
            sizes.warn_if_constant()
        else:
            warnings.warn(
                "No kernel of the list is aligned with the labels: all kernels get equal weights.",
                AlignmentWarning,
                stacklevel=find_stack_level(),
            )
        M = len(sizes.kernels)
        mu = np.full(M, 1 / np.sqrt(M))
        # Every combination has alignment zero, so equal weights are as good as any.
        record = {"iteration": 1, "objective": 0.0}
        if self.joint:
            record |= {"upper": 0.0, "gap": 0.0, "kkt": 0.0}
        return Learned(
            kernel=sizes.learned(mu),
            alignment=0.0,
            history=[record],
            weights=mu,
            gap=0.0,
            extra={"scales_": sizes.scales},
        )


@dataclass(frozen=True)
class UnitProblem:
    """max_{u >= 0} a'u / sqrt(u'Mu) over kernels with |K_c| = 1, and a target of norm one.

    used : (m,) positions of the kernels that are not constant on the rows;  norms : their |K_c|.
    M : (m, m) inner products;  a : (m,) alignments of the single kernels.
    factor : (r, m + 1) array [R, b] with M = R'R and a = R'b, if it is known.
    """

    used: IntArray
    norms: Array
    M: Array
    a: Array
    factor: Array | None = None

    def solve(self) -> Array:
        """u of largest alignment, as far as the given numbers determine it."""
        try:
            if self.factor is None:
                u = best_weights(self.M, self.a)
            else:
                R, b = self.factor[:, :-1], self.factor[:, -1]
                u, _ = nnls(R, b, maxiter=30 * len(self.a))
        except RuntimeError:
            u = np.zeros(len(self.a))
        u = np.where(u > NEGLIGIBLE * u.max(), u, 0.0)
        # If the solver failed, the weights of align are feasible and are certified like any others.
        return u if u.any() else self.a

    def certificate(self, u: Array) -> dict[str, float]:
        """lower <= max F <= upper from any u >= 0 other than zero, and the KKT residual.

        For w >= 0 and M = R'R: a'w = (a - Mu)'w + (Ru)'(Rw), and |w| <= |Rw| because the inner
        products of positive semidefinite matrices are not negative. So
        F(w) = a'w / |Rw| <= |(a - Mu)_+| + |Ru|, and F(w) <= |Ru| / t where Mu >= t a.
        All sums have terms of one sign, so the bounds hold to rounding even for similar kernels.
        """
        # The scale of u with the smallest (u'Mu - 2 u'a).
        u = u * (self.a @ u) / (u @ self.M @ u)
        Mu = self.M @ u
        length = float(np.sqrt(u @ Mu))
        lower = cosine(float(self.a @ u), float(u @ Mu), 1.0)
        upper = length + float(np.linalg.norm(np.maximum(self.a - Mu, 0.0)))
        present = self.a > 0
        t = float((Mu[present] / self.a[present]).min())
        if t > 0:
            upper = min(upper, length / t)
        upper = max(upper, lower)
        kkt = float(np.abs(np.minimum(u, Mu - self.a)).max())
        return {
            "objective": lower,
            "upper": upper,
            "gap": 1 - lower / upper,
            "kkt": kkt,
        }

    def weights(self, u: Array, scales: Array) -> Array:
        """mu of the kernels K_m / s_m, |mu| = 1, from the weights u of unit kernels."""
        mu = np.zeros(len(scales))
        mu[self.used] = u / self.norms * scales[self.used]
        # Scaling before squaring avoids underflow.
        mu /= mu.max()
        return mu / np.linalg.norm(mu)


class Rows:
    """The dictionary on given rows; computes the numbers of a `UnitProblem`."""

    def __init__(self, kernels: Sequence[FamilyMember], X: Array, target: Target, sizes: Sizes):
        self.kernels, self.X, self.target = kernels, X, target
        self.products = sizes.products
        self.used: IntArray = np.flatnonzero(~sizes.vanishing)
        self.raw = target.total * sizes.diagonals[self.used]

    def problem(self) -> UnitProblem | None:
        """From inner products if centring left them accurate; None if no kernel is aligned."""
        size = self.target.norm
        if not self.used.size or size == 0:
            return None
        squares = np.diag(self.products.between)[self.used]
        if (squares < MIN_CENTRED_SHARE * self.raw**2).any():
            found = self.factored_problem()
        else:
            norms = np.sqrt(squares)
            M = self.products.between[np.ix_(self.used, self.used)] / norms / norms[:, None]
            a = self.products.with_target[self.used] / norms / size
            # <K_c, Khat*_c> >= 0 for positive semidefinite K: negative values are rounding errors.
            found = UnitProblem(self.used, norms, M, np.maximum(a, 0.0))
        return found if found.a.any() else None

    def factored_problem(self) -> UnitProblem:
        """From a factor of the centred Gram matrices; this does not square the condition number."""
        R = centred_factor([self.kernels[m] for m in self.used], self.X, self.target)
        norms = np.linalg.norm(R, axis=0)
        R = R / norms
        M = R.T @ R
        return UnitProblem(self.used, norms[:-1], M[:-1, :-1], np.maximum(M[:-1, -1], 0.0), R)


def alignf(problem: UnitProblem, rows: Rows) -> tuple[UnitProblem, Array, list[dict[str, Any]]]:
    """The solved problem, its weights u, and the certificate of each attempt.

    Inner products are cheap but square the condition number of similar kernels. If the certificate
    shows a loss of accuracy, the Gram matrices are factorised instead.
    """
    u = problem.solve()
    history: list[dict[str, Any]] = [_record(problem, u, 1)]
    if history[-1]["gap"] > MAX_PRODUCT_GAP and problem.factor is None:
        problem = rows.factored_problem()
        u = min(problem.solve(), u, key=lambda w: problem.certificate(w)["gap"])
        history.append(_record(problem, u, 2))
    return problem, u, history


def _record(problem: UnitProblem, u: Array, attempt: int) -> dict[str, Any]:
    route = "products" if problem.factor is None else "factor"
    return {"iteration": attempt, **problem.certificate(u), "route": route}


def centred_factor(kernels: Sequence[FamilyMember], X: Array, target: Target) -> Array:
    """R with R'R = [vec K_1c, ..., vec K_mc, vec Khat*_c]' [the same], without forming products.

    The QR factorisation of the n^2 x (m + 1) matrix of centred Gram matrices, tile by tile: the
    factor of two stacked matrices is the factor of their stacked factors. A first pass computes the
    row means, so that each entry is centred before it is squared.
    """
    n, m = len(X), len(kernels)
    weight, root = target.weight, np.sqrt(target.weight)
    on_rows = KernelsOnRows(kernels, X)

    def tiles(rows: slice) -> Iterator[tuple[slice, Array]]:
        """Tiles on and right of the diagonal, with the kernels there and space for the target."""
        for start in range(rows.start, n, TILE):
            columns = slice(start, min(start + TILE, n))
            tile = np.empty((m + 1, rows.stop - rows.start, columns.stop - columns.start))
            on_rows.fill(tile[:m], rows, columns)
            yield columns, tile

    def row_sums(rows: slice) -> Array:
        """The contribution of these tiles and their mirror images to the row sums."""
        sums = np.zeros((m, n))
        for columns, tile in tiles(rows):
            sums[:, rows] += tile[:m] @ weight[columns]
            if columns != rows:
                sums[:, columns] += weight[rows] @ tile[:m]
        return sums

    def factor(rows: slice) -> Array:
        R = np.zeros((0, m + 1))
        for columns, tile in tiles(rows):
            for K, mean, total in zip(tile[:m], means, grand, strict=True):
                centre_block(K, mean[rows], mean[columns], float(total))
            tile[m] = target.centred[rows] @ target.centred[columns].T
            # Tiles off the diagonal also represent their mirror images.
            tile *= np.sqrt(1.0 if columns == rows else 2.0) * root[rows, None] * root[columns]
            R = _triangle(R, tile.reshape(m + 1, -1).T)
        return R

    means = np.zeros((m, n))
    for _, part in map_rows(row_sums, n, TILE):
        means += part / target.total
    grand = means @ weight / target.total
    R = np.zeros((0, m + 1))
    for _, part in map_rows(factor, n, TILE):
        R = _triangle(R, part)
    return R


def _triangle(R: Array, below: Array) -> Array:
    """The QR factor of two vertically stacked matrices."""
    triangle: Array = np.asarray(np.linalg.qr(np.concatenate([R, below]), mode="r"))
    return triangle
