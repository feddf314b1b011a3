"""The one list of kernel families under test: an entry here brings a family all common tests.

Each case carries its own naive formula, written from the docstring of the family with the double
loops of `tests.reference`, and constants that the family takes from the training data computed
anew from these data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kernalign.kernels import (
    Additive,
    CustomFamily,
    Dirichlet,
    Family,
    Fourier,
    Gaussian,
    GaussianMetric,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
)
from tests import reference
from tests.extend.inverse_multiquadric import InverseMultiquadric
from tests.extend.squared_features import SquaredFeatures

Array = np.ndarray

NAMES = ["a", "b", "c", "d"]
#: Features of very different units, none of them centred.
SCALES = np.array([1.0, 20.0, 0.05, 3.0])
MEANS = np.array([0.5, -30.0, 0.02, 1.0])


@dataclass(frozen=True)
class Case:
    """A family, its naive formula on its own columns and how to draw its parameters.

    reference : (train, sigma, X, Z) -> Gram matrix, all data cut to the family's own columns.
    parameters : (rng, train) -> sigma.
    own : positions of the columns that the family must see; None for all.
    """

    name: str
    family: Family
    reference: Callable[[Array, Array, Array, Array], Array]
    parameters: Callable[[np.random.Generator, Array], Array]
    d: int = 3
    own: tuple[int, ...] | None = None
    stationary: bool = False
    #: Relative accuracy of `gradient`: rounding, unless it is itself a difference quotient.
    gradient_accuracy: float = 1e-9

    @property
    def custom(self) -> bool:
        return isinstance(self.family, CustomFamily)

    @property
    def ard(self) -> bool:
        return bool(getattr(self.family, "ard", False))

    def rows(self, rng: np.random.Generator, n: int) -> Array:
        return rng.normal(size=(n, self.d)) * SCALES[: self.d] + MEANS[: self.d]

    def cut(self, X: Array) -> Array:
        return X if self.own is None else X[:, list(self.own)]

    def resolved(self, X: Array) -> Family:
        return self.family.resolve(X, NAMES[: X.shape[1]])


@dataclass(frozen=True)
class Problem:
    """A family resolved on `full`, its columns of two data sets, and one parameter."""

    family: Family
    full: Array
    other_full: Array
    X: Array
    Z: Array
    sigma: Array
    rng: np.random.Generator


def problem(case: Case, seed: int = 0, n: int = 17, m: int = 11) -> Problem:
    rng = np.random.default_rng(seed)
    full, other_full = case.rows(rng, n), case.rows(rng, m)
    X, Z = case.cut(full), case.cut(other_full)
    sigma = case.parameters(rng, X)
    return Problem(case.resolved(full), full, other_full, X, Z, sigma, rng)


# --- parameters of the size of the data ----------------------------------------------------------


def one_bandwidth(rng: np.random.Generator, X: Array) -> Array:
    return np.linalg.norm(X.std(axis=0)) * np.exp(rng.uniform(-1, 1, 1))


def bandwidths(rng: np.random.Generator, X: Array) -> Array:
    d = X.shape[1]
    return X.std(axis=0) * np.sqrt(d) * np.exp(rng.uniform(-1, 1, d))


def projections(rng: np.random.Generator, X: Array) -> Array:
    """Entries of L (d, 2), row by row."""
    d = X.shape[1]
    return (rng.normal(size=(d, 2)) / (X.std(axis=0) * np.sqrt(d))[:, None]).ravel()


def projection(rng: np.random.Generator, X: Array) -> Array:
    return rng.normal(size=X.shape[1]) / X.std(axis=0)


def one_width_l1(rng: np.random.Generator, X: Array) -> Array:
    return X.std(axis=0).sum() * np.exp(rng.uniform(-1, 1, 1))


def widths_l1(rng: np.random.Generator, X: Array) -> Array:
    d = X.shape[1]
    return X.std(axis=0) * d * np.exp(rng.uniform(-1, 1, d))


def with_alpha(draw: Callable[[np.random.Generator, Array], Array]) -> Callable[..., Array]:
    return lambda rng, X: np.append(draw(rng, X), np.exp(rng.uniform(-1.5, 2)))


def frequencies(rng: np.random.Generator, X: Array) -> Array:
    """Several frequencies of both signs, or one that is well above zero."""
    if X.shape[1] == 1:
        return rng.uniform(0.5, 3, 1) / X.std(axis=0)
    return rng.normal(size=X.shape[1]) / X.std(axis=0)


def feature_weights(rng: np.random.Generator, X: Array) -> Array:
    return rng.uniform(0.1, 1, X.shape[1])


def offset(rng: np.random.Generator, X: Array) -> Array:
    return np.exp(rng.uniform(-3, 3, 1))


# --- naive formulas ------------------------------------------------------------------------------


def gaussian(train: Array, sigma: Array, X: Array, Z: Array) -> Array:
    return reference.gaussian(X, Z, sigma)


def gaussian_metric(train: Array, sigma: Array, X: Array, Z: Array) -> Array:
    """exp(-sum_r (sum_k L_kr (x_k - z_k))^2), pair by pair."""
    L = sigma.reshape(X.shape[1], -1)
    return np.array([[np.exp(-(((x - z) @ L) ** 2).sum()) for z in Z] for x in X])


def laplacian(train: Array, sigma: Array, X: Array, Z: Array) -> Array:
    return reference.laplacian(X, Z, sigma)


def matern(nu: float) -> Callable[..., Array]:
    return lambda train, sigma, X, Z: reference.matern(X, Z, sigma, nu)


def rational_quadratic(train: Array, sigma: Array, X: Array, Z: Array) -> Array:
    return reference.rational_quadratic(X, Z, sigma[:-1], sigma[-1])


def fourier(train: Array, omega: Array, X: Array, Z: Array) -> Array:
    return reference.fourier(X, Z, omega)


def dirichlet(train: Array, sigma: Array, X: Array, Z: Array) -> Array:
    return reference.dirichlet(X, Z, sigma[0])


def additive(train: Array, weights: Array, X: Array, Z: Array) -> Array:
    s = train.std(axis=0)
    return reference.additive(X / s, Z / s, weights)


def linear(train: Array, weights: Array, X: Array, Z: Array) -> Array:
    """sum_k w_k^2 x_k z_k / (d s_k^2), s_k the standard deviation on the training data."""
    s = np.sqrt(((train - train.mean(axis=0)) ** 2).mean(axis=0))
    return reference.linear(X, Z, weights / (s * np.sqrt(train.shape[1])))


def polynomial(degree: int) -> Callable[..., Array]:
    def naive(train: Array, c: Array, X: Array, Z: Array) -> Array:
        mean_square = np.mean([row @ row for row in train])
        return reference.polynomial(X, Z, c[0], degree, np.sqrt(mean_square))

    return naive


# --- kernels of a user ---------------------------------------------------------------------------


def cauchy(X: Array, Z: Array, sigma: float) -> Array:
    """1 / (1 + |x - z|^2 / sigma^2)."""
    return 1 / (1 + ((X[:, None] - Z) ** 2).sum(-1) / sigma**2)


def cauchy_gradient(X: Array, Z: Array, W: Array, K: Array, sigma: float) -> float:
    return float(np.sum(W * 2 * K * (1 - K) / sigma))


def naive_cauchy(train: Array, sigma: Array, X: Array, Z: Array) -> Array:
    return reference.gram(X, Z, lambda x, z: 1 / (1 + np.sum((x - z) ** 2) / sigma[0] ** 2))


def wave(X: Array, Z: Array, sigma: float, omega: float) -> Array:
    """exp(-|x - z|^2 / sigma^2) cos(omega (x_1 - z_1))."""
    D = ((X[:, None] - Z) ** 2).sum(-1)
    return np.exp(-D / sigma**2) * np.cos(omega * np.subtract.outer(X[:, 0], Z[:, 0]))


def wave_gradient(X: Array, Z: Array, W: Array, K: Array, sigma: float, omega: float) -> Array:
    D = ((X[:, None] - Z) ** 2).sum(-1)
    t = np.subtract.outer(X[:, 0], Z[:, 0])
    by_omega = -np.exp(-D / sigma**2) * np.sin(omega * t) * t
    return np.array([np.sum(W * K * 2 * D / sigma**3), np.sum(W * by_omega)])


def naive_wave(train: Array, sigma: Array, X: Array, Z: Array) -> Array:
    return reference.gram(
        X,
        Z,
        lambda x, z: (
            np.exp(-np.sum((x - z) ** 2) / sigma[0] ** 2) * np.cos(sigma[1] * (x[0] - z[0]))
        ),
    )


def wave_parameters(rng: np.random.Generator, X: Array) -> Array:
    return np.append(one_bandwidth(rng, X), rng.uniform(0, 2))


# --- the list ------------------------------------------------------------------------------------


def _matern_cases() -> list[Case]:
    cases = []
    for nu in (0.5, 1.5, 2.5):
        name, naive = f"matern-{nu}", matern(nu)
        cases += [
            Case(name, Matern(nu), naive, one_bandwidth, stationary=True),
            Case(f"{name}-ard", Matern(nu, ard=True), naive, bandwidths, stationary=True),
        ]
    return cases


def _inverse_multiquadric(train: Array, sigma: Array, X: Array, Z: Array) -> Array:
    return np.array([[1 / np.sqrt(1 + ((x - z) @ (x - z)) / sigma[0] ** 2) for z in Z] for x in X])


def _squared_features(train: Array, sigma: Array, X: Array, Z: Array) -> Array:
    s = np.abs(train).max()
    return np.array([[x @ z / s**2 + sigma[0] * (x**2 @ z**2) / s**4 for z in Z] for x in X])


def _share(rng: np.random.Generator, X: Array) -> Array:
    return np.exp(rng.uniform(-2, 2, 1))


CASES = [
    Case("gaussian", Gaussian(), gaussian, one_bandwidth, stationary=True),
    Case("gaussian-ard", Gaussian(ard=True), gaussian, bandwidths, stationary=True),
    Case("gaussian-metric", GaussianMetric(2), gaussian_metric, projections, stationary=True),
    Case(
        "gaussian-metric-names",
        GaussianMetric(1, columns=["d", "a"]),
        gaussian_metric,
        projection,
        d=4,
        own=(3, 0),
        stationary=True,
    ),
    Case("laplacian", Laplacian(), laplacian, one_width_l1, stationary=True),
    Case("laplacian-ard", Laplacian(ard=True), laplacian, widths_l1, stationary=True),
    *_matern_cases(),
    Case(
        "rational-quadratic",
        RationalQuadratic(),
        rational_quadratic,
        with_alpha(one_bandwidth),
        stationary=True,
    ),
    Case(
        "rational-quadratic-ard",
        RationalQuadratic(ard=True),
        rational_quadratic,
        with_alpha(bandwidths),
        stationary=True,
    ),
    Case("fourier", Fourier(), fourier, frequencies, stationary=True),
    Case("fourier-1d", Fourier(), fourier, frequencies, d=1, stationary=True),
    Case("dirichlet", Dirichlet(), dirichlet, frequencies, d=1, stationary=True),
    Case("linear", Linear(), linear, feature_weights),
    Case("additive", Additive(), additive, feature_weights, stationary=True),
    Case("polynomial-1", Polynomial(1), polynomial(1), offset),
    Case("polynomial-2", Polynomial(), polynomial(2), offset),
    Case("polynomial-3", Polynomial(3), polynomial(3), offset),
    Case(
        "custom",
        CustomFamily(cauchy, (0.01, 1e3)),
        naive_cauchy,
        one_bandwidth,
        stationary=True,
        gradient_accuracy=1e-8,
    ),
    Case(
        "custom-gradient",
        CustomFamily(cauchy, (0.01, 1e3), gradient_function=cauchy_gradient),
        naive_cauchy,
        one_bandwidth,
        stationary=True,
    ),
    Case(
        "custom-two",
        CustomFamily(wave, [(0.01, 1e3), (0, 5)], log=False),
        naive_wave,
        wave_parameters,
        stationary=True,
        gradient_accuracy=1e-8,
    ),
    Case(
        "custom-two-gradient",
        CustomFamily(wave, [(0.01, 1e3), (0, 5)], log=False, gradient_function=wave_gradient),
        naive_wave,
        wave_parameters,
        stationary=True,
    ),
    # Columns by position, by name and by slice.
    Case(
        "gaussian-positions",
        Gaussian(columns=[2, 0]),
        gaussian,
        one_bandwidth,
        d=4,
        own=(2, 0),
        stationary=True,
    ),
    Case(
        "gaussian-ard-slice",
        Gaussian(ard=True, columns=slice(1, None)),
        gaussian,
        bandwidths,
        d=4,
        own=(1, 2, 3),
        stationary=True,
    ),
    Case(
        "matern-names",
        Matern(columns=["c", "a"]),
        matern(1.5),
        one_bandwidth,
        d=4,
        own=(2, 0),
        stationary=True,
    ),
    Case(
        "dirichlet-name",
        Dirichlet(columns=["b"]),
        dirichlet,
        frequencies,
        d=4,
        own=(1,),
        stationary=True,
    ),
    Case("linear-negative", Linear(columns=[-1, 1]), linear, feature_weights, d=4, own=(3, 1)),
    Case("polynomial-mixed", Polynomial(columns=["d", 0]), polynomial(2), offset, d=4, own=(3, 0)),
    Case(
        "custom-slice",
        CustomFamily(cauchy, (0.01, 1e3), columns=slice(None, None, 2)),
        naive_cauchy,
        one_bandwidth,
        d=4,
        own=(0, 2),
        stationary=True,
        gradient_accuracy=1e-8,
    ),
    Case(
        "custom-gradient-name",
        CustomFamily(cauchy, (0.01, 1e3), gradient_function=cauchy_gradient, columns=["d"]),
        naive_cauchy,
        one_bandwidth,
        d=4,
        own=(3,),
        stationary=True,
    ),
    Case(
        "extend-scalar",
        InverseMultiquadric(),
        _inverse_multiquadric,
        one_bandwidth,
        stationary=True,
    ),
    Case("extend-features", SquaredFeatures(), _squared_features, _share),
]


def named(*names: str) -> list[Case]:
    """The cases of these names, in this order."""
    by_name = {case.name: case for case in CASES}
    return [by_name[name] for name in names]
