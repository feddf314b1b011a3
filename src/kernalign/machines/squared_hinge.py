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
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from kernalign import _lapack
from kernalign._threads import blocks_in_threads, map_rows
from kernalign._typing import Array
from kernalign.machines.least_squares import LinearModel, NormalEquations
from kernalign.rows import kept, mapped, summed
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

    Features, labels and weights are arrays, or columns that are where the rows are. Outputs then
    stay there too.
    """

    def __init__(self, phi: Any, Y: Any, weight: Any, sums: NormalEquations, root: Array | None):
        self.phi, self.Y, self.root = phi, Y, root
        self.weight = mapped(_as_column, weight)
        self.total = sums.total
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
            inside = mapped(_inside, self.weight, self.Y, f)
            share = float(summed(np.sum, inside)) / (self.total * z.shape[1])
            precondition = self._preconditioner(C, max(share, FEWEST))
            left, converged = MAX_PRODUCTS, False
            while left > 0:
                r = mapped(_slopes, inside, self.Y, f)
                penalty = z / C
                penalty[-1] = 0.0
                gradient = self._adjoint(r) + penalty
                losses: Array = summed(_losses, r, self.Y, f)
                objective = losses + (z * penalty).sum(axis=0)
                step, products = self._newton_step(gradient, inside, C, precondition)
                left -= products
                if (-(gradient * step).sum(axis=0) <= TOLERANCE * objective).all():
                    converged = True
                    break
                df = self._outputs(step)
                bend = (step[:-1] ** 2).sum(axis=0) / C
                length = self._length(f, df, (penalty * step).sum(axis=0), bend)
                z += length * step
                f = mapped(partial(_moved, length), f, df)
                inside = mapped(_inside, self.weight, self.Y, f)
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
        self, gradient: Array, inside: Any, C: float, precondition: Solver
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

    def _length(self, f: Any, df: Any, slope: Array, bend: Array) -> Array:
        """Step length: the root of the derivative, which is increasing and piecewise linear.

        slope, bend : the penalty's part of the derivative is slope + t bend.
        """

        def derivatives(t: Array) -> tuple[Array, Array]:
            first, second = summed(partial(_derivatives, t), f, df, self.weight, self.Y)
            return first + slope + t * bend, second + bend

        t = np.ones(len(slope))
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
        step = max(1, len(self.phi) // (PRECONDITIONER_ROWS * len(self.mean)))
        some = (kept(column, slice(None, None, step)) for column in (self.phi, self.weight))
        squares: Array = summed(partial(_squares_of, self.mean), *some)
        return step * squares

    def _outputs(self, z: Array) -> Any:
        """f of all rows."""
        return mapped(partial(_outputs_of, z[:-1], self._shift(z)), self.phi)

    def _adjoint(self, r: Any) -> Array:
        """sum_i (phi_i - mean, 1) r_i."""
        return self._centred(summed(_adjoint_of, self.phi, r))

    def _product(self, z: Array, inside: Any) -> Array:
        """sum_i (phi_i - mean, 1) inside_i (phi_i - mean, 1)'z."""
        product = partial(_product_of, z[:-1], self._shift(z))
        return self._centred(summed(product, self.phi, inside))

    def _shift(self, z: Array) -> Array:
        shift: Array = z[-1] - self.mean @ z[:-1]
        return shift

    def _centred(self, sums: Array) -> Array:
        """sum_i (phi_i - mean, 1) r_i from sum_i (phi_i, 1) r_i."""
        return np.vstack([sums[:-1] - np.outer(self.mean, sums[-1]), sums[-1]])


# -- functions of a block of rows ------------------------------------------------------------------


def _as_column(weight: Array) -> Array:
    return weight[:, None]


def _inside(weight: Array, Y: Array, f: Array) -> Array:
    """The weights of rows inside the margin, zero for others."""
    found: Array = weight * (Y * f < 1)
    return found


def _slopes(inside: Array, Y: Array, f: Array) -> Array:
    """Half the derivatives of the losses."""
    return inside * (f - Y)


def _losses(r: Array, Y: Array, f: Array) -> Array:
    found: Array = (r * (f - Y)).sum(axis=0)
    return found


def _moved(length: Array, f: Array, df: Array) -> Array:
    return f + length * df


def _derivatives(t: Array, f: Array, df: Array, weight: Array, Y: Array) -> Array:
    """The first and second derivatives (2, c) of the losses along a step, at t."""
    out = f + t * df
    inside = _inside(weight, Y, out) * df
    return np.array([(inside * (out - Y)).sum(axis=0), (inside * df).sum(axis=0)])


def _squares_of(mean: Array, phi: Array, weight: Array) -> Array:
    """sum_i w_i (phi_i - mean, 1) (phi_i - mean, 1)'."""
    centre, root = mean.astype(phi.dtype), np.sqrt(weight).astype(phi.dtype)

    def block(rows: slice) -> Array:
        factor = np.hstack([phi[rows] - centre, np.ones_like(root[rows])]) * root[rows]
        product: Array = factor.T @ factor
        return product

    system = np.zeros((len(mean) + 1, len(mean) + 1))
    for _, part in map_rows(block, len(phi), BLOCK):
        system += part
    return system


def _outputs_of(v: Array, shift: Array, phi: Array) -> Array:
    V = v.astype(phi.dtype)
    out = np.empty((len(phi), v.shape[1]))
    for rows, values in map_rows(lambda rows: phi[rows] @ V, len(out), ROWS):
        out[rows] = values
    return out + shift


def _adjoint_of(phi: Array, r: Array) -> Array:
    """sum_i (phi_i, 1) r_i."""
    R = r.astype(phi.dtype)
    sums = _added(lambda rows: phi[rows].T @ R[rows], phi, r.shape[1])
    return np.vstack([sums, r.sum(axis=0)])


def _product_of(v: Array, shift: Array, phi: Array, inside: Array) -> Array:
    """sum_i (phi_i, 1) inside_i (phi_i'v + shift)."""
    V = v.astype(phi.dtype)
    r = np.empty_like(inside)

    def block(rows: slice) -> Array:
        some = inside[rows] * (phi[rows] @ V + shift)
        r[rows] = some
        return np.asarray(phi[rows].T @ some.astype(phi.dtype))

    sums = _added(block, phi, r.shape[1])
    return np.vstack([sums, r.sum(axis=0)])


def _added(block: Callable[[slice], Array], phi: Array, columns: int) -> Array:
    """Sum over blocks of rows, in double precision."""
    sums = np.zeros((phi.shape[1], columns))
    for _, part in map_rows(block, len(phi), ROWS):
        sums += part
    return sums
