"""Tests of dependence by centred alignment, with p-values by permutation.

Columns are replaced by their normal scores z, so that no test depends on units or on the
distribution of a column. A column has the features rho^{m/2} h_m(z), h_m the normalised Hermite
polynomials, whose products are the first terms of Mehler's kernel: a Gaussian kernel on one column.
With centred features Phi of the rows and centred labels Y, |Phi'Y|^2 = <K_c, Khat*_c> is the
numerator of the centred alignment (normalised HSIC). Its denominator is the same for every
permutation of the labels, so all permutations together are one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from math import factorial
from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from kernalign._typing import Array, IntArray

#: Number of terms of Mehler's kernel, and their decay.
DEGREE, DECAY = 4, 0.5
#: Limit of scores: the fourth power of a larger one would be dominated by a single row.
LARGEST = 2.5
#: Numbers in the permuted labels of one matrix product.
BLOCK = 2**22
#: Relative rounding error of sums of the same numbers in another order.
ROUNDING = 1e-10


def normal_scores(X: Array) -> Array:
    """Each column by its ranks, as quantiles of a standard normal; equal values stay equal."""
    ranks = rankdata(X, axis=0)
    scores: Array = np.clip(ndtri((ranks - 0.5) / len(X)), -LARGEST, LARGEST)
    scores -= scores.mean(axis=0)
    spread = scores.std(axis=0)
    return np.divide(scores, spread, out=np.zeros_like(scores), where=spread > 0)


def hermite(z: Array) -> list[Array]:
    """The normalised Hermite polynomials of degree 1 to DEGREE."""
    found = [np.ones_like(z), z]
    for m in range(1, DEGREE):
        found.append((z * found[m] - np.sqrt(m) * found[m - 1]) / np.sqrt(m + 1))
    return found[1:]


def column_features(Z: Array) -> Array:
    """Centred features of every column of scores, (n, d DEGREE), of unit trace together."""
    parts = [DECAY ** (m / 2) * h for m, h in enumerate(hermite(Z))]
    return unit(np.hstack(parts))


def unit(features: Array) -> Array:
    """Centred features whose Gram matrix has Frobenius norm one."""
    features = features - features.mean(axis=0)
    n, r = features.shape
    gram = features.T @ features if r < n else features @ features.T
    size = float(np.sqrt(np.linalg.norm(gram)))
    return features / size if size > 0 else features


def permuted_p_value(
    features: Array, Y: Array, number: int, rng: np.random.Generator
) -> tuple[float, int]:
    """p-value of |Phi'Y|^2 under permutations of the rows of Y, and the number of permutations.

    If there are at most `number` permutations in all, each is used and the p-value is exact.
    Otherwise they are random and include the identity: the level is exact for any distribution.
    """
    n, c = Y.shape
    Y = Y - Y.mean(axis=0)
    observed = float(np.square(features.T @ Y).sum()) * (1 - ROUNDING)
    if n <= 12 and factorial(n) <= number:
        every = np.array(list(permutations(range(n))))
        return float(np.mean(_statistics(features, Y, every) >= observed)), len(every)
    size = max(1, min(number, BLOCK // (n * c)))
    exceeding, done = 0, 0
    while done < number:
        b = min(size, number - done)
        order = rng.permuted(np.broadcast_to(np.arange(n), (b, n)), axis=1)
        exceeding += int((_statistics(features, Y, order) >= observed).sum())
        done += b
    return (1 + exceeding) / (1 + number), number


def _statistics(features: Array, Y: Array, order: IntArray) -> Array:
    """|Phi'Y_pi|^2 for each order of the rows, (b, n)."""
    total = np.zeros(len(order))
    for column in Y.T:
        with_features = column[order] @ features
        total += np.einsum("br,br->b", with_features, with_features)
    return total


def sequential_p_value(
    draw: Callable[[int], Array], observed: float, number: int, enough: int = 20, batch: int = 100
) -> float:
    """p-value of a statistic from draws under the null; drawing stops early if it is large.

    Besag and Clifford: drawing stops at the l-th draw if `enough` of them are as large as the
    observed statistic, and the p-value is enough / l. It is valid for any number of draws.
    """
    observed *= 1 - ROUNDING
    exceeding, done = 0, 0
    while done < number:
        b = min(batch, number - done)
        as_large = np.cumsum(draw(b) >= observed) + exceeding
        if as_large[-1] >= enough:
            return enough / (done + int(np.searchsorted(as_large, enough)) + 1)
        exceeding, done = int(as_large[-1]), done + b
        batch = min(2 * batch, 1000)
    return (1 + exceeding) / (1 + number)


class ConditionalTest:
    """Test whether some columns carry information about Y that the other columns do not.

    Null hypothesis: given the other columns, these columns Z_G and Y are independent. Z_G given the
    others is modelled as linear in their normal scores, with residuals of one distribution of any
    shape (a Gaussian copula). Draws under the null replace the residuals of Z_G by permuted ones
    with the same inner products, orthogonal to the other columns, and then map each column to its
    observed values, in the order of the draw. Y and the other columns do not change.

    The statistic is the sum over Hermite features h_m of the columns of
    rho^m [|h_m'R|^2 + mean_k |h_m'(R z_k)|^2] / |h_m|^2: the alignment with R, the residual of Y
    after linear regression on the other columns, alone and multiplied by each other column z_k.

    Z : (n, d) normal scores; group : positions of the columns tested; Y : (n, c) labels.
    """

    def __init__(self, Z: Array, group: IntArray, Y: Array, rng: np.random.Generator):
        n = len(Z)
        others = np.delete(Z, group, axis=1)
        basis = np.linalg.qr(np.column_stack([np.ones(n), self._most_related(Z, group, others)]))[0]
        self.rng, self.basis = rng, basis
        self.columns = Z[:, group]
        self.fitted = basis @ (basis.T @ self.columns)
        e = self.columns - self.fitted
        self.determined = bool(np.square(e).sum() <= 1e-9 * np.square(self.columns).sum())
        self.root = _root(e[None])[0]
        leverage = np.clip(np.square(basis).sum(axis=1), 0.0, 0.95)
        self.residuals = e / np.sqrt(1 - leverage)[:, None]
        R = Y - basis @ (basis.T @ Y)
        size = float(np.linalg.norm(R))
        R = R / size if size > 0 else R
        with_others = [R * z[:, None] for z in others.T]
        share = np.sqrt(max(len(with_others), 1))
        self.target = np.hstack([R, *(part / share for part in with_others)])

    @staticmethod
    def _most_related(Z: Array, group: IntArray, others: Array) -> Array:
        """The other columns, or the most correlated ones if there are too many for the rows."""
        most = max(1, len(Z) // 3)
        if others.shape[1] <= most:
            return others
        related = np.abs(others.T @ Z[:, group]).max(axis=1)
        return others[:, np.argsort(-related, kind="stable")[:most]]

    def statistic(self, columns: Array) -> Array:
        """The statistic of several copies of the columns: (b, n, g) -> (b,)."""
        b = len(columns)
        total = np.zeros(b)
        for z in np.moveaxis(columns, 2, 0):
            for m, h in enumerate(hermite(z)):
                size = np.einsum("bn,bn->b", h, h)
                aligned = np.square(h @ self.target).sum(axis=1)
                total += DECAY**m * np.divide(aligned, size, out=np.zeros(b), where=size > 0)
        return total

    def draw(self, number: int) -> Array:
        """The statistic of `number` draws under the null hypothesis."""
        n = len(self.columns)
        order = self.rng.permuted(np.broadcast_to(np.arange(n), (number, n)), axis=1)
        e = self.residuals[order]
        e -= np.einsum("nq,bqg->bng", self.basis, np.einsum("nq,bng->bqg", self.basis, e))
        roots = _root(e)
        # e L^-T has orthonormal columns; times the root of the observed ones, the same products.
        e = np.swapaxes(np.linalg.solve(roots, np.swapaxes(e, 1, 2)), 1, 2) @ self.root.T
        return self.statistic(self._of_same_values(self.fitted + e))

    def _of_same_values(self, copies: Array) -> Array:
        """Copies (b, n, g) whose columns have the observed values, in their own order.

        Normal scores have one empirical distribution, and a binary column two values: otherwise a
        copy would differ from the column by its distribution alone.
        """
        order = np.argsort(copies, axis=1)
        values = np.broadcast_to(np.sort(self.columns, axis=0), copies.shape)
        found = np.empty_like(copies)
        np.put_along_axis(found, order, values, axis=1)
        return found

    def p_value(self, number: int) -> float:
        """p-value from at most `number` draws; 1 if the other columns determine these."""
        if self.determined:
            return 1.0
        observed = float(self.statistic(self.columns[None])[0])
        return sequential_p_value(self.draw, observed, number)


def _root(e: Array) -> Array:
    """Cholesky factors of e'e, of several e: (b, n, g) -> (b, g, g)."""
    gram = np.einsum("bng,bnh->bgh", e, e)
    size = np.trace(gram, axis1=1, axis2=2)
    # Columns that are functions of each other leave no direction of their own.
    gram += (1e-9 * size + np.finfo(float).tiny)[:, None, None] * np.eye(gram.shape[1])
    roots: Array = np.linalg.cholesky(gram)
    return roots


def discoveries(p_values: Array, rate: float, *, dependent: bool = False) -> Any:
    """The hypotheses rejected at a false discovery rate, by Benjamini and Hochberg.

    dependent : valid under any dependence of the p-values (Benjamini and Yekutieli).
    """
    m = len(p_values)
    if dependent:
        rate = rate / float((1 / np.arange(1, m + 1)).sum())
    ordered = np.sort(p_values)
    below = np.flatnonzero(ordered <= rate * np.arange(1, m + 1) / m)
    return p_values <= (ordered[below[-1]] if below.size else -1.0)
