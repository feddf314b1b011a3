"""Small problems whose answers are known, for the tests of this directory."""

import numpy as np


def ring(n=120, noise_features=0, seed=0):
    """Two classes told apart by |(x_0, x_1)| alone; further features are noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2 + noise_features))
    return X, (np.hypot(X[:, 0], X[:, 1]) > 1.18).astype(int)


def wave(n=120, seed=0):
    """A response that no linear model explains."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 2))
    return X, np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] ** 2 + 0.05 * rng.standard_normal(n)
