"""The squared hinge loss on stored features, by Newton's method with conjugate gradients.

min_{v,b} sum_i w_i max(0, 1 - y_i f(x_i))^2 + |v|^2 / C with f(x) = phi(x)'v + b and y = -1 or +1,
separately for each column of Y. It is least squares on the rows inside the margin, y f < 1, so the
normal equations of all rows are a preconditioner and their solution is the start. A product with
the Hessian is one pass over phi for all columns.

Unknowns are z = (v, a) with f = (phi - mean)'v + a: v and a are then nearly uncorrelated. Gradients
and Hessians are divided by two.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.linalg import solve_triangular

from kernalign import _lapack
from kernalign._threads import blocks_in_threads, map_rows
from kernalign._typing import Array
from kernalign.machines.least_squares import LinearModel, NormalEquations
from kernalign.solvers.conjugate_gradients import ratio

#: Rows of phi that one thread processes at a time; they stay in its cache for the transpose.
ROWS = 128
#: Stopping criterion: predicted decrease relative to the objective, and number of products in all
#: steps. Ordinary problems need at most 80; rows that are interpolated, as by a kernel much too
#: narrow, need any number.
TOLERANCE, MAX_PRODUCTS = 1e-4, 150
#: Stopping criterion of one step: relative residual, and maximum number of products.
INEXACT, PRODUCTS = 0.3, 30
#: Minimum share of rows that the preconditioner assumes inside the margin.
FEWEST = 0.01
#: The preconditioner uses at most so many rows per feature, in blocks of the second number.
PRECONDITIONER_ROWS, BLOCK = 4, 2048
#: Stopping criterion of the line search: relative slope, and maximum number of evaluations.
FLAT, EVALUATIONS = 1e-3, 20

Solver = Callable[[Array], Array]


class SquaredHinge:
    """The problems of one set of rows, to be solved at several C.

    phi : (n, r) features, which are not copied; products have their precision.
    Y : (n, c) of -1 and +1.
    weight : (n,).
    sums, root : normal equations of the same rows, of which the mean is used, and the root of their
        features.
    """

    def __init__(
        self, phi: Array, Y: Array, weight: Array, sums: NormalEquations, root: Array | None
    ):
        self.phi, self.Y, self.weight, self.root = phi, Y, weight[:, None], root
        mean = sums.raw / sums.total
        self.mean = mean if root is None else solve_triangular(root, mean, lower=True)
        with blocks_in_threads():
            self.A = self._squares()

    def solve(self, C: float, start: LinearModel) -> tuple[LinearModel, bool]:
        """The optimum at C, from the solution of least squares or of another C, and whether the
        predicted decrease is small enough."""
        with blocks_in_threads():
            z = self._unknowns(start)
            f = self._outputs(z)
            share = float((self.weight * (self.Y * f < 1)).mean() / self.weight.mean())
            precondition = self._preconditioner(C, max(share, FEWEST))
            left, converged = MAX_PRODUCTS, False
            while left > 0:
                inside = self.weight * (self.Y * f < 1)
                r = inside * (f - self.Y)
                penalty = z / C
                penalty[-1] = 0.0
                gradient = self._adjoint(r) + penalty
                objective = (r * (f - self.Y)).sum(axis=0) + (z * penalty).sum(axis=0)
                step, products = self._newton_step(gradient, inside, C, precondition)
                left -= products
                if (-(gradient * step).sum(axis=0) <= TOLERANCE * objective).all():
                    converged = True
                    break
                df = self._outputs(step)
                bend = (step[:-1] ** 2).sum(axis=0) / C
                length = self._length(f, df, (penalty * step).sum(axis=0), bend)
                z += length * step
                f += length * df
            return self._model(z), converged

    def _unknowns(self, model: LinearModel) -> Array:
        v = model.coefficients if self.root is None else self.root.T @ model.coefficients
        return np.vstack([v, model.intercept + self.mean @ v])

    def _model(self, z: Array) -> LinearModel:
        v, level = z[:-1], z[-1]
        intercept = level - self.mean @ v
        if self.root is not None:
            v = solve_triangular(self.root, v, lower=True, trans="T")
        return LinearModel(v, intercept)

    def _newton_step(
        self, gradient: Array, inside: Array, C: float, precondition: Solver
    ) -> tuple[Array, int]:
        """Minus the second derivatives' inverse times the gradient, by conjugate gradients, and the
        number of products with the second derivatives."""
        step = np.zeros_like(gradient)
        residual = -gradient
        solved = precondition(residual)
        direction = solved
        size = first = (residual * solved).sum(axis=0)
        products = 0
        while products < PRODUCTS:
            products += 1
            product = self._product(direction, inside)
            product[:-1] += direction[:-1] / C
            length = ratio(size, (direction * product).sum(axis=0))
            step += length * direction
            residual -= length * product
            solved = precondition(residual)
            before, size = size, (residual * solved).sum(axis=0)
            if (size <= INEXACT**2 * first).all():
                break
            direction = solved + ratio(size, before) * direction
        return step, products

    def _length(self, f: Array, df: Array, slope: Array, bend: Array) -> Array:
        """Step length: the root of the derivative, which is increasing and piecewise linear.

        slope, bend : the penalty's part of the derivative is slope + t bend.
        """

        def derivatives(t: Array) -> tuple[Array, Array]:
            out = f + t * df
            inside = self.weight * (self.Y * out < 1) * df
            first = (inside * (out - self.Y)).sum(axis=0) + slope + t * bend
            return first, (inside * df).sum(axis=0) + bend

        t = np.ones(f.shape[1])
        low, high = np.zeros_like(t), np.full_like(t, np.inf)
        flat = FLAT * np.abs(derivatives(low)[0])
        for _ in range(EVALUATIONS):
            first, second = derivatives(t)
            if (np.abs(first) <= flat).all():
                break
            low, high = np.where(first < 0, t, low), np.where(first > 0, t, high)
            newton = t - ratio(first, second)
            middle = np.where(np.isinf(high), 2 * t, (low + np.where(np.isinf(high), t, high)) / 2)
            t = np.where((newton >= low) & (newton <= high), newton, middle)
        return t

    def _preconditioner(self, C: float, share: float) -> Solver:
        """Least squares, as if a share of each row were inside the margin."""
        system = share * self.A
        system.ravel()[: -1 : len(system) + 1] += 1 / C
        # Sums in single precision can be indefinite. An approximate factor is enough.
        return partial(_lapack.solve, _lapack.cholesky(system))

    def _squares(self) -> Array:
        """sum_i w_i (phi_i - mean, 1) (phi_i - mean, 1)', nearly: all rows count if there are few
        rows per feature, otherwise some of them represent all."""
        n, r = self.phi.shape
        step = max(1, n // (PRECONDITIONER_ROWS * r))
        phi, mean = self.phi[::step], self.mean.astype(self.phi.dtype)
        root = np.sqrt(step * self.weight[::step]).astype(phi.dtype)

        def block(rows: slice) -> Array:
            some = np.hstack([phi[rows] - mean, np.ones_like(root[rows])]) * root[rows]
            product: Array = some.T @ some
            return product

        system = np.zeros((r + 1, r + 1))
        for _, part in map_rows(block, len(phi), BLOCK):
            system += part
        return system

    def _outputs(self, z: Array) -> Array:
        """f of all rows."""
        V = z[:-1].astype(self.phi.dtype)
        out = np.empty(self.Y.shape)
        for rows, values in map_rows(lambda rows: self.phi[rows] @ V, len(out), ROWS):
            out[rows] = values
        return out + (z[-1] - self.mean @ z[:-1])

    def _adjoint(self, r: Array) -> Array:
        """sum_i (phi_i - mean, 1) r_i."""
        R = r.astype(self.phi.dtype)
        sums = self._added(lambda rows: self.phi[rows].T @ R[rows], r.shape[1])
        return self._centred(sums, r)

    def _product(self, z: Array, inside: Array) -> Array:
        """sum_i (phi_i - mean, 1) inside_i (phi_i - mean, 1)'z."""
        V = z[:-1].astype(self.phi.dtype)
        shift = z[-1] - self.mean @ z[:-1]
        r = np.empty_like(inside)

        def block(rows: slice) -> Array:
            phi = self.phi[rows]
            some = inside[rows] * (phi @ V + shift)
            r[rows] = some
            return np.asarray(phi.T @ some.astype(phi.dtype))

        return self._centred(self._added(block, r.shape[1]), r)

    def _added(self, block: Callable[[slice], Array], columns: int) -> Array:
        """Sum over blocks of rows, in double precision."""
        sums = np.zeros((self.phi.shape[1], columns))
        for _, part in map_rows(block, len(self.phi), ROWS):
            sums += part
        return sums

    def _centred(self, sums: Array, r: Array) -> Array:
        """sum_i (phi_i - mean, 1) r_i from sum_i phi_i r_i."""
        total = r.sum(axis=0)
        return np.vstack([sums - np.outer(self.mean, total), total])
