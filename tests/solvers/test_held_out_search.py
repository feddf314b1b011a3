"""A kernel optimised by the errors of held-out rows, with further kernels where they help."""

from dataclasses import replace

import numpy as np

from kernalign.criteria.held_out_error import HeldOutError
from kernalign.criteria.kernel_sum import KernelSum, Term
from kernalign.gram import Target
from kernalign.gram.crossed import CrossedRows
from kernalign.kernels import Gaussian, Laplacian, Linear
from kernalign.solvers import held_out_search
from kernalign.solvers.family_search import RELEVANT, SUM, Effort, Found
from kernalign.solvers.held_out_search import optimised

D = 3


def tied(family, u=-1.0):
    return KernelSum((Term(family, np.array([u])),), -1.0)


PATH = [
    Found(tied(Gaussian(ard=True)), -10.0, RELEVANT),
    Found(tied(Linear()), -30.0, RELEVANT),
    Found(tied(Laplacian(ard=True)), -20.0, RELEVANT),
    Found(tied(Laplacian(ard=True), u=-2.0), -25.0, RELEVANT),
]


def rows_of(f, n, seed, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    y = f(X) + noise * rng.normal(size=n)
    return CrossedRows(X, Target(y[:, None], np.ones(n)), n // 8, float)


def both(f, n=800, **given):
    return rows_of(f, n // 2, 0, **given), rows_of(f, n, 1, **given)


def value(rows, k):
    return HeldOutError.like(rows, k, 3.0).value(k)


def smooth(X):
    return np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2


def test_errors_of_other_rows_fall():
    half, whole = both(smooth)
    found = optimised(half, whole, PATH[0], PATH[:1], Effort())
    start, other = PATH[0].kernel, rows_of(smooth, 1000, 7)
    assert value(whole, found) < value(whole, start)
    assert value(other, found) < value(other, start) - 100
    (term,) = found.terms
    assert term.u[2] < term.u[:2].min() - 1, "the last column does not matter"


def test_a_kernel_of_another_family_is_added_where_it_helps():
    def both_kinds(X):
        return 5 * X[:, 0] + np.sin(4 * X[:, 1]) + np.sign(X[:, 2])

    half, whole = both(both_kinds, 2400)
    alone = optimised(half, whole, PATH[0], PATH, Effort(max_terms=1))
    grown = optimised(half, whole, PATH[0], PATH, Effort())
    assert len(alone.terms) == 1
    families = [type(term.family) for term in grown.terms]
    assert families[0] is Gaussian
    assert 1 < len(families) == len(set(families)) <= 3
    other = rows_of(both_kinds, 1000, 7)
    assert value(other, grown) < value(other, alone) - 10


def test_nothing_is_added_that_does_not_help():
    half, whole = both(lambda X: 2 * X[:, 0], noise=1.0)
    found = optimised(half, whole, PATH[1], PATH, Effort())
    assert [type(term.family) for term in found.terms] == [Linear]


def test_only_families_of_the_search_are_added():
    half, whole = both(lambda X: 5 * X[:, 0] + np.sin(4 * X[:, 1]))
    path = [PATH[0], PATH[2]]
    found = optimised(half, whole, PATH[0], path, Effort())
    assert {type(term.family) for term in found.terms} <= {Gaussian, Laplacian}


def test_candidates_are_the_best_single_kernels_of_each_family():
    pair = KernelSum((*tied(Linear()).terms, *tied(Gaussian(ard=True)).terms), -1.0)
    path = [*PATH, Found(pair, 50.0, SUM)]
    found = held_out_search._candidates(path, D)
    assert [type(term.family) for term in found] == [Gaussian, Laplacian, Linear]
    # The Laplacian of larger evidence.
    np.testing.assert_array_equal(found[1].u, np.full(D, -1.0))


def test_a_new_kernel_has_its_share_of_the_sum():
    best = replace(PATH[0].kernel, terms=(Term(Gaussian(ard=True), np.zeros(D), 1.3),))
    for term in held_out_search._candidates(PATH, D):
        sums = held_out_search._sums(best, term, D)
        sizes = [KernelSum(k.terms[1:], 0.0).size(D) / best.size(D) for k in sums]
        np.testing.assert_allclose(sizes, held_out_search.SHARES)


def test_steps_of_many_columns_are_affordable():
    """Laplacian kernels need the differences of single columns; Gaussian ones do not."""
    smooth, rough = PATH[0].kernel, PATH[2].kernel
    most = held_out_search.MOST_NUMBERS["absolute"]
    assert held_out_search.affordable_share(rough, most / 2) == 1
    assert held_out_search.affordable_share(rough, 4 * most) == 0.5
    assert held_out_search.affordable_share(smooth, 4 * most) == 1


def test_expensive_families_are_not_added(monkeypatch):
    def kinds(X):
        return 5 * X[:, 0] + np.sin(4 * X[:, 1]) + np.sign(X[:, 2])

    half, whole = both(kinds, 2400)
    found = optimised(half, whole, PATH[0], PATH, Effort())
    assert Laplacian in {type(term.family) for term in found.terms}
    monkeypatch.setitem(held_out_search.MOST_NUMBERS, "absolute", 10.0)
    found = optimised(half, whole, PATH[0], PATH, Effort())
    assert Laplacian not in {type(term.family) for term in found.terms}


def test_the_noise_is_raised_while_the_error_hardly_rises():
    """Ten landmarks do not need it, but all rows as landmarks do."""
    rows = rows_of(smooth, 1200, 3, noise=0.5)
    rows = CrossedRows(rows.X, Target(rows.Y, rows.w), 10, float)
    k = replace(PATH[0].kernel, log_noise=-12.0)
    found = held_out_search.with_more_noise(rows, k, 0.0, Effort())
    assert -6 < found.log_noise <= 0
    limit = 0.5 * held_out_search.MIN_GAIN * (rows.n - rows.m)
    assert value(rows, found) < value(rows, k) + limit
    next_one = replace(found, log_noise=found.log_noise + np.log(4))
    assert value(rows, next_one) > value(rows, k) + limit or next_one.log_noise > 0
    assert held_out_search.with_more_noise(rows, k, -9.0, Effort()).log_noise <= -9
