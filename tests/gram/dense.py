"""Naive inner products of centred Gram matrices: n x n arrays, two products with C each.

With row weights w of sum N, centring is C = I - 1 w'/N and <K, L> = sum_ij w_i w_j K_ij L_ij:
what equal rows written w_i times would give (`test_oracle_counts_weights_as_repeated_rows`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kernalign.gram import Element, PairSums, Target, pair_sums
from kernalign.kernels import Family, SearchSpace
from tests.kernels.families import MEANS, NAMES, SCALES, Array, Case


class Dense:
    """Generators of a space of centred Gram matrices, as matrices.

    Entries carry the factor sqrt(w_i w_j), so that the Frobenius product is the weighted one. The
    identity is not such a matrix: its products are traces.
    """

    def __init__(self, target: Target):
        self.root = np.sqrt(target.weight)
        self.N = target.weight.sum()
        n = len(target.weight)
        self.C = np.eye(n) - np.outer(np.ones(n), target.weight) / self.N
        self.T = self.centred(target.values @ target.values.T)
        self.atoms: list[Array] = []

    def centred(self, K: Array) -> Array:
        return self.root[:, None] * (self.C @ K @ self.C.T) * self.root

    def generator_products(self, K_c: Array) -> Array:
        """<G, K_c> for each generator G: the target, the identity, the kernels added."""
        return np.array(
            [np.sum(self.T * K_c), np.trace(K_c), *(np.sum(A * K_c) for A in self.atoms)]
        )

    def table(self) -> Array:
        identity = [np.trace(self.T), self.N - 1, *(np.trace(A) for A in self.atoms)]
        rows = [self.generator_products(A) for A in (self.T, *self.atoms)]
        return np.array([rows[0], identity, *rows[1:]])


@dataclass(frozen=True)
class Setup:
    """Families on data, their sums over pairs, and the same in dense matrices."""

    families: list[Family]
    spaces: list[SearchSpace]
    X: Array
    target: Target
    sums: PairSums
    rng: np.random.Generator
    cases: list[Case]

    @cached_property
    def dense(self) -> Dense:
        return Dense(self.target)

    def draw(self, family: int) -> Array:
        """A search coordinate within the box, with a kernel neither constant nor the identity."""
        member, space = self.families[family], self.spaces[family]
        sigma = self.cases[family].parameters(self.rng, member.select(self.X))
        return np.clip(member.to_search(sigma), space.lower, space.upper)

    def centred(self, family: int, z: Array) -> Array:
        member = self.families[family]
        K = member.gram(member.from_search(z), member.select(self.X))
        return self.dense.centred(K)

    def append(self, family: int, z: Array) -> Element:
        self.dense.atoms.append(self.centred(family, z))
        return self.sums.append(family, z)


def weights(kind: str, rng: np.random.Generator, n: int) -> Array:
    if kind == "uniform":
        return np.ones(n)
    if kind == "integer":
        return rng.integers(1, 4, n).astype(float)
    return rng.uniform(0.2, 3, n)


def setup(
    cases: Sequence[Case], kind: str = "uniform", n: int = 40, d: int | None = None, seed: int = 0
) -> Setup:
    rng = np.random.default_rng(seed)
    d = max(case.d for case in cases) if d is None else d
    X = rng.normal(size=(n, d))
    if d <= len(SCALES):
        X = X * SCALES[:d] + MEANS[:d]
    target = Target(rng.normal(size=(n, 2)), weights(kind, rng, n))
    return assemble(cases, X, target, rng)


def assemble(cases: Sequence[Case], X: Array, target: Target, rng: np.random.Generator) -> Setup:
    names = NAMES[: X.shape[1]] if X.shape[1] <= len(NAMES) else None
    families = [case.family.resolve(X, names, target.weight) for case in cases]
    spaces = [f.search_space(f.select(X), np.random.default_rng(0)) for f in families]
    sums = pair_sums(families, spaces, X, target)
    return Setup(families, spaces, X, target, sums, rng, list(cases))


def relative_error(table: Array, expected: Array) -> float:
    """Largest error of a table of inner products, in units of the norms of its elements."""
    size = np.sqrt(np.diag(expected))
    return float((np.abs(table - expected) / np.outer(size, size)).max())
