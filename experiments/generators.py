"""Rows drawn from the distributions that the paper and the benchmark collections describe."""

from __future__ import annotations

import numpy as np

Rows = tuple[np.ndarray, np.ndarray]

#: Frequencies of the sine problem.
FREQUENCIES = (np.sqrt(2.0), np.sqrt(12.0), np.sqrt(60.0))
#: Distance of the class means from the origin in the 50-dimensional problem.
RHO = 1.75
DIMENSIONS = 50


def sine_function(x: np.ndarray) -> np.ndarray:
    """f(x) = sin(sqrt2 x) + sin(sqrt12 x) + sin(sqrt60 x)."""
    return sum((np.sin(w * x) for w in FREQUENCIES), np.zeros_like(x))


def sine(n: int, rng: np.random.Generator) -> Rows:
    """x uniform on [-10, 10], y = sign f(x)."""
    x = rng.uniform(-10, 10, n)
    return x[:, None], np.where(sine_function(x) >= 0, 1, -1)


def gaussians50(n: int, gamma: float, rng: np.random.Generator, *, balanced: bool = False) -> Rows:
    """x ~ N(y rho theta / |theta|, I), theta_i = (i / 50)^gamma, y = -1 or +1 alike often.

    balanced : exactly as many rows of either class, instead of labels drawn one by one. It matters:
        with unequal classes identity-like kernels predict the larger one.
    """
    theta = (np.arange(1, DIMENSIONS + 1) / DIMENSIONS) ** gamma
    mean = RHO * theta / np.linalg.norm(theta)
    y = np.where(np.arange(n) % 2 == 0, 1, -1) if balanced else rng.choice([-1, 1], n)
    y = rng.permutation(y)
    return rng.standard_normal((n, DIMENSIONS)) + y[:, None] * mean, y


def ringnorm(n: int, rng: np.random.Generator) -> Rows:
    """Breiman's ringnorm, columns z-scored: N(0, 4I) against N(a, I), a_i = 2 / sqrt20."""
    y = rng.choice([-1, 1], n)
    noise = rng.standard_normal((n, 20))
    X = np.where(y[:, None] == 1, 2 * noise, noise + 2 / np.sqrt(20))
    return _scored(X), y


def waveform(n: int, rng: np.random.Generator) -> Rows:
    """Breiman's waveform, columns z-scored: one of three mixtures of triangles against the rest."""
    i = np.arange(1, 22)
    triangles = [np.maximum(6 - np.abs(i - centre), 0) for centre in (11, 15, 7)]
    pairs = [(0, 1), (0, 2), (1, 2)]
    kind = rng.integers(0, 3, n)
    u = rng.uniform(size=(n, 1))
    first = np.array([triangles[a] for a, _ in pairs])[kind]
    second = np.array([triangles[b] for _, b in pairs])[kind]
    X = u * first + (1 - u) * second + rng.standard_normal((n, 21))
    return _scored(X), np.where(kind == 1, 1, -1)


def _scored(X: np.ndarray) -> np.ndarray:
    scored: np.ndarray = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    return scored
