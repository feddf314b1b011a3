"""Kernels of equal families share what a pair of rows tells them."""

import copy
import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone

from kernalign import ContinuousAlignment, DiscreteAlignment
from kernalign.gram.stack import GramStack
from kernalign.kernels import Gaussian, GramMatrix, Laplacian, LearnedKernel, Matern, Polynomial
from kernalign.kernels._distances import SquaredDistances, SquaredDistancesTo
from kernalign.kernels.power_of_sum import PowerOfSum
from kernalign.kernels.together import Combination, KernelsOnRows, by_family
from tests.kernels.families import CASES, problem

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(40, 3)), RNG.normal(size=(17, 3))
SIGMAS = np.geomspace(0.1, 10, 20)


@pytest.fixture
def tiles(monkeypatch):
    """How many tiles of distances are computed."""
    computed = []
    real = SquaredDistances.__call__

    def counted(self, rows, columns, out=None):
        computed.append((rows, columns))
        return real(self, rows, columns, out)

    monkeypatch.setattr(SquaredDistances, "__call__", counted)
    return computed


# --- equality ------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_copy_of_a_family_equals_it(case):
    resolved = problem(case).family
    assert copy.deepcopy(resolved) == resolved
    assert clone(case.family) == case.family
    assert hash(copy.deepcopy(resolved)) == hash(resolved)


def test_families_differ_in_class_parameters_columns_and_scales():
    assert Gaussian() != Laplacian()
    assert Matern(1.5) != Matern(2.5)
    assert Gaussian(columns=[0]) != Gaussian(columns=[1])
    assert Gaussian().resolve(X) != Gaussian().resolve(2 * X)
    assert Gaussian().resolve(X) != Gaussian()
    assert GramMatrix(np.eye(3)) == GramMatrix(np.eye(3))
    assert GramMatrix(np.eye(3)) != GramMatrix(2 * np.eye(3))
    assert Gaussian() != "Gaussian()"


def test_groups_are_those_of_equal_families():
    kernels = [Gaussian().at(1.0), Matern(2.5).at(1.0), Gaussian().at(2.0), Matern(1.5).at(1.0)]
    assert by_family(kernels) == [[0, 2], [1], [3]]


# --- values and counts ---------------------------------------------------------------------------

MIXED = [
    *(Gaussian().at(s) for s in (0.3, 1.0, 3.0)),
    *(Laplacian(columns=[0, 2]).at(s) for s in (0.5, 2.0)),
    Gaussian(ard=True).at([1.0, 2.0, np.inf]),
    *(Matern(2.5).at(s) for s in (1.0, 4.0)),
    *(Polynomial(2).at(c) for c in (0.5, 2.0)),
]
WEIGHTS = np.array([0.2, 0.0, 1.5, 0.1, 2.0, 0.7, 1.1, 0.3, 0.9, 0.4])


@pytest.mark.parametrize("other", [None, Z], ids=["itself", "others"])
def test_the_combination_is_the_naive_sum(other):
    naive = sum(w * kernel(X, other) for w, kernel in zip(WEIGHTS, MIXED, strict=True))
    K = LearnedKernel(MIXED, WEIGHTS)(X, other)
    np.testing.assert_allclose(K, naive, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(KernelsOnRows(MIXED, X, other).combine(WEIGHTS), naive, rtol=1e-12)


def test_weights_do_not_change_the_precision_of_the_product():
    """In double precision, the product would take several times as long."""
    kernel, weight = Gaussian().at(1.0), 0.3
    K = Combination([kernel], np.array([weight]), Z, np.float32)(X)
    narrow = X.astype(np.float32), Z.astype(np.float32)
    np.testing.assert_array_equal(K, kernel(*narrow) * np.float32(weight))


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("given", [False, True], ids=["new", "given"])
def test_the_combination_with_given_rows_is_the_naive_sum(precision, given):
    values = Combination(MIXED, WEIGHTS, Z, precision)
    for rows in (slice(0, 13), slice(13, 40)):
        out = np.full((len(X[rows]), len(Z)), np.nan, precision) if given else None
        found = values(X[rows], out)
        assert found.dtype == precision
        assert out is None or found is out
        naive = sum(w * kernel(X[rows], Z) for w, kernel in zip(WEIGHTS, MIXED, strict=True))
        rtol = 1e-12 if precision is np.float64 else 1e-4
        np.testing.assert_allclose(found, naive, rtol=rtol)


def test_what_the_given_rows_need_is_computed_once(monkeypatch):
    """Of kernels that share distances, and of each other kernel."""
    prepared, computed = [], []
    prepare, compute = SquaredDistancesTo.__init__, SquaredDistancesTo.__call__
    monkeypatch.setattr(
        SquaredDistancesTo, "__init__", lambda *a: prepared.append(0) or prepare(*a)
    )
    monkeypatch.setattr(
        SquaredDistancesTo, "__call__", lambda *a: computed.append(0) or compute(*a)
    )
    kernels = [*Gaussian().grid(0.1, 10, 20), Matern(2.5, ard=True).at([1.0, 2.0, 3.0])]
    values = Combination(kernels, np.ones(21), Z)
    for start in range(0, 40, 10):
        values(X[start : start + 10])
    assert (len(prepared), len(computed)) == (2, 8)


def test_work_arrays_of_a_combination_are_a_few_blocks():
    rng, m = np.random.default_rng(0), 2000
    kernels = [*Gaussian().grid(1.0, 8.0, 5), *Matern(1.5).grid(1.0, 8.0, 5), Laplacian().at(2.0)]
    values = Combination(kernels, np.ones(11), rng.normal(size=(m, 3)), np.float32)
    rows = rng.normal(size=(600, 3))
    values(rows)
    tracemalloc.start()
    values(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The sum, the shared distances and the values of one kernel in single precision; scipy's
    # distances in double precision.
    assert peak < 5.5 * 4 * 600 * m


@pytest.mark.parametrize("room", [None, np.empty((13, 9))], ids=["new", "given"])
@pytest.mark.parametrize("other", [None, Z], ids=["itself", "others"])
def test_a_tile_of_all_kernels_is_that_of_each(other, room):
    stack = np.empty((len(MIXED), 13, 9))
    KernelsOnRows(MIXED, X, other).fill(stack, slice(5, 18), slice(2, 11), room)
    for block, kernel in zip(stack, MIXED, strict=True):
        np.testing.assert_allclose(block, kernel(X, other)[5:18, 2:11], rtol=1e-12, atol=1e-12)


def test_no_kernel_and_no_weight_are_zero():
    assert not LearnedKernel([], np.zeros(0))(X, Z).any()
    assert not LearnedKernel(MIXED[:2], np.zeros(2))(X, Z).any()
    assert not Combination(MIXED[:2], np.zeros(2), Z)(X).any()


@pytest.mark.parametrize("copied", [False, True], ids=["one family", "clone"])
def test_distances_are_computed_once_for_all_bandwidths(copied, tiles):
    kernel = LearnedKernel(Gaussian().grid(0.1, 10, 20), np.ones(20))
    kernel = clone(kernel) if copied else kernel
    kernel(X, Z)
    assert len(tiles) == 1


def test_distances_are_computed_once_in_a_power_of_a_sum(tiles):
    PowerOfSum([Gaussian().at(s) for s in SIGMAS]).at(np.ones(20).tolist())(X)
    assert len(tiles) == 1


def test_a_copied_dictionary_costs_what_the_given_one_does(tiles):
    y = np.sign(X[:, 0])
    learner = DiscreteAlignment(Gaussian().grid(0.1, 10, 20))
    learner.fit(X, y)
    once = len(tiles)
    clone(learner).fit(X, y)
    assert len(tiles) == 2 * once


def test_a_stack_of_separate_equal_families_computes_distances_once(tiles):
    stack = GramStack([Gaussian().at(s) for s in SIGMAS], X)
    assert len(tiles) == 1
    for K, s in zip(stack.values, SIGMAS, strict=True):
        np.testing.assert_allclose(K, Gaussian().at(s)(X), rtol=1e-12, atol=1e-12)


def test_the_kernel_of_a_learner_predicts_with_one_distance_a_tile(tiles):
    learner = ContinuousAlignment(tol=0.0, max_iter=4).fit(X, np.sign(X[:, 0] * X[:, 1]))
    assert len(learner.kernel_.kernels) > 1
    tiles.clear()
    learner.kernel_(Z, X)
    assert len(tiles) == 1
