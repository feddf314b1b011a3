"""The search over families: each stage on data made for it."""

import numpy as np
import pytest

from kernalign.criteria.sum_evidence import SumEvidence
from kernalign.gram import Target
from kernalign.gram.packed import PackedRows
from kernalign.kernels import Additive, Gaussian, Laplacian, Linear, Matern
from kernalign.solvers.family_search import (
    GROUPS,
    RELEVANT,
    SUM,
    TIED,
    Effort,
    Found,
    best_of,
    search,
    simplest_enough,
    tied_kernels,
)

FAMILIES = [Linear(), Additive(), Gaussian(ard=True), Matern(1.5, ard=True), Laplacian(ard=True)]


def rows_of(response, n=120, d=4, seed=0, noise=0.05):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = response(X) + noise * rng.normal(size=n)
    return PackedRows(X, Target(y[:, None], np.ones(n)))


def searched(rows):
    tied = tied_kernels(rows, FAMILIES, Effort())
    return tied, search(rows, tied, GROUPS, Effort(), known=True)


@pytest.mark.parametrize(
    ("response", "families"),
    [
        (lambda X: X @ np.ones(4), {Linear}),
        (lambda X: np.sin(2 * X).sum(axis=1), {Additive}),
        (lambda X: np.sin(X.sum(axis=1)), {Gaussian, Matern}),
    ],
    ids=["plane", "sum of waves", "wave"],
)
def test_the_family_that_made_the_response_has_the_largest_evidence(response, families):
    tied, _ = searched(rows_of(response))
    assert type(best_of(tied).kernel.terms[0].family) in families


def test_relevances_find_the_features():
    _, path = searched(rows_of(lambda X: np.sin(2 * X[:, 0] + X[:, 2])))
    best = max((one for one in path if one.stage == RELEVANT), key=lambda one: one.evidence)
    u = best.kernel.terms[0].u
    assert set(np.argsort(u)[-2:]) == {0, 2}
    assert best.evidence > max(one.evidence for one in path if one.stage == TIED) + 10


def test_a_sum_is_found_where_one_kernel_is_not_enough():
    rows = rows_of(lambda X: 3 * X[:, 0] + np.sin(4 * X[:, 1] * X[:, 2]), n=200, d=3)
    _, path = searched(rows)
    sums = [one for one in path if one.stage == SUM]
    assert sums
    single = max(one.evidence for one in path if one.stage != SUM)
    assert max(one.evidence for one in sums) >= single + Effort().gain


def test_every_evidence_on_the_path_is_true():
    rows = rows_of(lambda X: np.sin(2 * X[:, 0]) + X[:, 1])
    _, path = searched(rows)
    for found in path:
        strength = 0.0 if found.stage == TIED else Effort().prior
        again = SumEvidence.like(rows, found.kernel, strength).value(found.kernel)
        assert -again == pytest.approx(found.evidence, abs=1e-6)


def test_a_richer_kernel_must_gain():
    kernel = searched(rows_of(lambda X: X[:, 0], n=30))[0][Linear()].kernel
    path = [Found(kernel, 0.0, stage) for stage in (TIED, RELEVANT, SUM)]
    assert simplest_enough(path, [1.0, 3.9, 3.9], 3.0) is path[0]
    assert simplest_enough(path, [1.0, 4.1, 7.0], 3.0) is path[1]
    assert simplest_enough(path, [1.0, 4.1, 7.2], 3.0) is path[2]
    assert simplest_enough(path, [1.0, 2.0, 4.5], 3.0) is path[2]
