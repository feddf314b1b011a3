"""The table problem of several benchmarks: 20 features, of which 12 matter, in 8 clusters."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_classification


def clusters(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """n rows and their classes, 0 and 1."""
    return make_classification(
        n,
        n_features=20,
        n_informative=8,
        n_redundant=4,
        n_clusters_per_class=4,
        flip_y=0.01,
        random_state=seed,
    )
