"""Kernel logistic regression on landmarks, by a few Newton steps from ridge regression.

f(x) = g(x) + k(x, Z) a with landmarks Z and a known function g minimises

    J(a) = sum_i w_i loss(y_i, f(x_i)) + noise/2 |f|^2,    |f|^2 = a'K a + 2 a'p + |g|^2

with K = k(Z, Z) and p the values of g at Z, up to the constant. For two classes, labels -1/+1, the
loss is log(1 + exp(-y f)). For more, it is -log softmax(f)_y, with one output for each class. A
step is

    1. the slope of J at a: k(X, Z)'W (P - E) + noise (K a + p), P the probabilities, E one-hot
    2. d = -H^-1 slope, nearly, with H the second derivative of J, by conjugate gradients
    3. a += t d with the t of lowest J among 1, 1/2, 1/4, ...

J never increases. Slope and J are sums over all rows; H may be that of a sample.

Ridge regression of labels is the first step from f = 0, where the second derivative is that of a
squared loss / 4: with the same noise / 4, f is twice its output. Further steps give the rows near
the boundary more weight. After about two, they mostly raise the size of f, which calibration does
better: with few errors, the minimum of J has a larger loss of new rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from kernalign._threads import blocks_in_threads
from kernalign._typing import Array, IntArray
from kernalign.gram import Target
from kernalign.machines.landmark_ridge import LandmarkRidge, Sample
from kernalign.machines.model import DualModel

#: The logistic loss at f = 0 has a quarter of the second derivative of half the squared loss, and
#: its minimum is at twice the label.
CURVATURE, LABELS = 0.25, 2.0
#: Number of Newton steps, and the decrease of J, relative to J, at which further steps end.
STEPS, TOLERANCE = 2, 1e-4
#: Stopping criterion of conjugate gradients in a step: residual relative to the slope, and maximum
#: number of iterations.
STOP = (0.05, 60)
#: Lengths of a step that are tried. The last one is none.
LENGTHS = (1.0, 0.5, 0.25, 0.125, 0.0)


@dataclass(frozen=True)
class Start:
    """The point f = level + base + k(X, Z) a from which Newton steps start.

    level : (c,); a : (m, c).
    base : (n, c) outputs, in memory, of a function outside the landmarks, or None; at_landmarks :
        (m, c) its values at the landmarks.
    """

    level: Array
    a: Array
    base: Array | None = None
    at_landmarks: Any = 0.0

    @classmethod
    def of(cls, model: DualModel, constant: float) -> Start:
        """From ridge regression on the same landmarks, with its constant kernel."""
        a = model.coefficients
        scale = _scale(a.shape[1])
        return cls(scale * (model.intercept - constant * a.sum(axis=0)), scale * a)

    @classmethod
    def beside(cls, mean: Array, outputs: Array, places: IntArray) -> Start:
        """From the outputs (n, c) of ridge regression on more landmarks, without the mean.

        places : (m,) positions of the landmarks among the rows.
        """
        scale = _scale(len(mean))
        base = scale * outputs
        return cls(scale * mean, np.zeros((len(places), len(mean))), base, base[places])


class LandmarkLogistic:
    """The machine on landmarks.

    ridge : kernel values and the preconditioner.
    sample : rows whose kernel values are stored, for H, if those of `ridge` are not.
    """

    def __init__(self, ridge: LandmarkRidge, sample: Sample | None = None):
        self.ridge, self.sample = ridge, sample

    def solve(self, target: Target, start: Start, share: float = 1.0, steps: int = STEPS) -> Array:
        """The coefficients a, (m, c), after some steps.

        share : of the noise of the ridge machine.
        """
        noise, a = CURVATURE * share * self.ridge.noise, start.a
        columns: tuple[Any, ...] = (target.weight, target.values)
        if start.base is not None:
            columns = (*columns, start.base)
        for _ in range(steps):
            with blocks_in_threads():
                slope = self._slope(columns, start, a, noise)
                d = self._direction(columns, start, a, -slope, noise)
                objectives = self._objectives(columns, start, a, d, noise)
            best = int(np.argmin(objectives))
            a = a + LENGTHS[best] * d
            if objectives[-1] - objectives[best] <= TOLERANCE * abs(objectives[-1]):
                break
        return a

    def model(self, start: Start, a: Array) -> DualModel:
        """The model of a start without other functions than those of the landmarks."""
        return DualModel(a, start.level + self.ridge.constant * a.sum(axis=0))

    def added(self, other: DualModel, start: Start, a: Array) -> DualModel:
        """The model of a start beside a ridge machine, whose first landmarks are these."""
        coefficients = _scale(a.shape[1]) * other.coefficients.reshape(-1, a.shape[1])
        coefficients[: len(a)] += a
        return self.model(start, coefficients)

    def slope(self, target: Target, start: Start, a: Array, share: float = 1.0) -> Array:
        """The slope of J at a, (m, c)."""
        columns = (target.weight, target.values)
        with blocks_in_threads():
            return self._slope(columns, start, a, CURVATURE * share * self.ridge.noise)

    def _slope(self, columns: tuple[Any, ...], start: Start, a: Array, noise: float) -> Array:
        ridge = self.ridge
        of_values = partial(_missed, start.level, a.astype(ridge.precision))
        sums = ridge.products(of_values, a.shape[1], *columns)
        return sums + noise * (ridge.of_landmarks(a) + start.at_landmarks)

    def _direction(
        self, columns: tuple[Any, ...], start: Start, a: Array, right: Array, noise: float
    ) -> Array:
        """Step 2, from the rows whose kernel values are stored."""
        machine = self.ridge if self.sample is None else self.sample.machine
        weight = columns[0] if self.sample is None else self.sample.weight
        f = start.level + machine.outputs(a)
        if start.base is not None:
            f += start.base
        P = probabilities(f).astype(machine.precision)
        w = weight.astype(machine.precision)
        return self.ridge.curved(right, _curved, noise, STOP, machine, w, P)

    def _objectives(
        self, columns: tuple[Any, ...], start: Start, a: Array, d: Array, noise: float
    ) -> Array:
        """J, up to a constant, at each of the lengths."""
        ridge = self.ridge
        precise = a.astype(ridge.precision), d.astype(ridge.precision)
        of_values = partial(_losses_along, start.level, *precise)
        losses = ridge.total(of_values, (len(LENGTHS),), *columns)
        K_a, K_d, t = ridge.of_landmarks(a), ridge.of_landmarks(d), np.array(LENGTHS)
        first = np.vdot(d, K_a + start.at_landmarks)
        return losses + noise * (t * first + t**2 / 2 * np.vdot(d, K_d))


def _scale(outputs: int) -> float:
    """What outputs of ridge regression are multiplied with: labels are -1/+1, or 0/1 for several
    classes."""
    return LABELS if outputs == 1 else 2 * LABELS


def probabilities(f: Array) -> Array:
    """(n, c); for one output, of the class +1."""
    found: Array = expit(f) if f.shape[1] == 1 else softmax(f, axis=1)
    return found


def losses(f: Array, Y: Array) -> Array:
    """(n,) from outputs and labels -1/+1 or one-hot."""
    if f.shape[1] == 1:
        found: Array = np.logaddexp(0.0, -Y * f)[:, 0]
        return found
    top = f.max(axis=1)
    found = top + np.log(np.exp(f - top[:, None]).sum(axis=1)) - (f * Y).sum(axis=1)
    return found


def _outputs(level: Array, a: Array, values: Array, base: tuple[Array, ...]) -> Array:
    f: Array = level + (values @ a).astype(float)
    for one in base:
        f += one
    return f


def _missed(level: Array, a: Array, values: Array, w: Array, Y: Array, *base: Array) -> Array:
    """W (P - E)."""
    P = probabilities(_outputs(level, a, values, base))
    E = (Y + 1) / 2 if Y.shape[1] == 1 else Y
    found: Array = (w[:, None] * (P - E)).astype(values.dtype)
    return found


def _losses_along(
    level: Array, a: Array, d: Array, values: Array, w: Array, Y: Array, *base: Array
) -> Array:
    """Losses at a + t d, summed over rows, for each length t."""
    f, df = _outputs(level, a, values, base), (values @ d).astype(float)
    return np.array([w @ losses(f + t * df, Y) for t in LENGTHS])


def _curved(d: Array, values: Array, w: Array, P: Array) -> Array:
    """The second derivative of the losses by the outputs, times the change of the outputs."""
    change = values @ d
    moved = P * change
    inner = moved if P.shape[1] == 1 else moved.sum(axis=1, keepdims=True)
    found: Array = w[:, None] * (moved - P * inner)
    return found
