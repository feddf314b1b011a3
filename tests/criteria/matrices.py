"""Random Gram matrices, and the space of elements that they span."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernalign.gram import Element, PairSums, Target, pair_sums
from kernalign.kernels import GramMatrix
from tests import reference

Array = np.ndarray


def random_gram(rng: np.random.Generator, n: int, rank: int | None = None) -> Array:
    """A positive semidefinite matrix of any rank and size."""
    rank = int(rng.integers(1, n + 1)) if rank is None else rank
    A = rng.normal(size=(n, rank)) + rng.normal(size=rank)
    return 10 ** rng.uniform(-2, 2) * A @ A.T


def space_of(grams: Sequence[Array], y: Array) -> PairSums:
    """The span of Khat*_c = y_c y_c', C_n and the centred matrices, exact."""
    X = np.arange(len(y), dtype=float)[:, None]
    families = [GramMatrix(K).resolve(X) for K in grams]
    target = Target(np.asarray(y, dtype=float)[:, None], np.ones(len(y)))
    sums = pair_sums(families, [None] * len(families), X, target)
    for i in range(len(families)):
        sums.append(i, np.zeros(0))
    return sums


def dense(element: Element, grams: Sequence[Array], y: Array) -> Array:
    """The n x n matrix that an element of `space_of(grams, y)` stands for."""
    generators = [
        reference.centre(np.outer(y, y)),
        reference.centring_matrix(len(y)),
        *(reference.centre(K) for K in grams),
    ]
    return sum(c * G for c, G in zip(element.padded(), generators, strict=True))


def labels(rng: np.random.Generator, n: int) -> Array:
    """Both signs, in any proportion."""
    y = np.where(rng.random(n) < rng.uniform(0.2, 0.8), 1.0, -1.0)
    y[0], y[1] = 1.0, -1.0
    return y
