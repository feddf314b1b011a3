"""Evidence of sums of kernels on packed pairs: against dense formulas and central differences."""

import numpy as np
import pytest

from kernalign.criteria.kernel_sum import CONSTANT, KernelSum, Term, prior, retied
from kernalign.criteria.sum_evidence import SumEvidence
from kernalign.gram import Target
from kernalign.gram.packed import PackedRows, packable
from kernalign.kernels import (
    Additive,
    Fourier,
    Gaussian,
    Laplacian,
    LearnedKernel,
    Linear,
    Matern,
    RationalQuadratic,
)

FAMILIES = [
    Linear(),
    Additive(),
    Gaussian(ard=True),
    Laplacian(ard=True),
    Matern(1.5, ard=True),
    Matern(2.5, ard=True),
]
N, D = 25, 3
WEIGHTS = {
    "equal": np.ones(N),
    "integer": np.random.default_rng(5).integers(1, 4, N).astype(float),
    "fractional": np.random.default_rng(6).uniform(0.3, 3.0, N),
}


def problem(weight, precision=float, tied=None, strength=3.0):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1] * X[:, 2]]) + 0.1 * rng.normal(size=(N, 2))
    rows = PackedRows(X, Target(Y, weight), precision)
    tied = [False, True] * 3 if tied is None else tied
    E = SumEvidence(rows, FAMILIES, tied, strength)
    x = rng.normal(scale=0.5, size=sum(E.sizes) + len(FAMILIES)) - 0.5
    return X, Y, E, x


def dense(X, k):
    """The Gram matrix of a sum by the families' own formulas."""
    kernels, weights = [t.member(D) for t in k.terms], np.array([t.weight for t in k.terms])
    return LearnedKernel(kernels, weights)(X)


def naive_value(X, Y, w, k, strength):
    """The docstring's formula on rows repeated by their weights."""
    copies = np.repeat(np.arange(len(X)), w.astype(int))
    K, Y = dense(X[copies], k), Y[copies]
    n, c = Y.shape
    h = np.trace(K) / n
    A = K + h * (CONSTANT + np.exp(k.log_noise) * np.eye(n))
    Y = Y - Y.mean(axis=0)
    q = np.trace(Y.T @ np.linalg.solve(A, Y))
    penalty = sum(
        strength * np.log1p((t.u - t.u.mean()) ** 2).sum() for t in k.terms if len(t.u) > 1
    )
    return n / 2 * np.log(q / (n * c)) + np.linalg.slogdet(A)[1] / 2 + penalty


@pytest.mark.parametrize("weights", ["equal", "integer"])
def test_value_against_the_formula(weights):
    w = WEIGHTS[weights]
    X, Y, E, x = problem(w)
    k = E.split(x)
    assert E.value(k) == pytest.approx(naive_value(X, Y, w, k, 3.0), rel=1e-10)
    np.testing.assert_array_equal(E.join(k), x)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("tied", [[True] * 6, [False] * 6, [False, True] * 3])
def test_gradient_is_the_derivative(weights, tied):
    _, _, E, x = problem(WEIGHTS[weights], tied=tied)
    value, slope = E(x)
    assert value == pytest.approx(E.value(E.split(x)), rel=1e-12)
    step = 1e-5
    differences = [(E(x + step * e)[0] - E(x - step * e)[0]) / (2 * step) for e in np.eye(len(x))]
    np.testing.assert_allclose(slope, differences, atol=1e-6 * np.abs(slope).max())


def test_single_precision_is_close_to_double():
    _, _, double, x = problem(WEIGHTS["equal"])
    _, _, single, _ = problem(WEIGHTS["equal"], np.float32)
    value, slope = single(x)
    assert value == pytest.approx(double(x)[0], abs=1e-3)
    np.testing.assert_allclose(slope, double(x)[1], atol=1e-3 * np.abs(slope).max())


@pytest.mark.parametrize("weights", ["equal", "integer"])
def test_left_out_outputs_are_those_of_machines_without_the_row(weights):
    """Of a row of weight w one of w equal rows is left out."""
    w = WEIGHTS[weights]
    X, Y, E, x = problem(w)
    k = E.split(x)
    centred = Y - w @ Y / w.sum()
    copies = np.repeat(np.arange(N), w.astype(int))
    K = dense(X[copies], k)
    h = np.trace(K) / len(K)
    A = K + h * (CONSTANT + np.exp(k.log_noise) * np.eye(len(K)))
    found = E.left_out(k)
    for i in range(N):
        place = int(np.flatnonzero(copies == i)[0])
        others = np.arange(len(K)) != place
        solution = np.linalg.solve(A[np.ix_(others, others)], centred[copies][others])
        np.testing.assert_allclose(found[i], A[place, others] @ solution, atol=1e-9)


def test_a_search_raises_the_evidence_and_ends_within_its_bounds():
    _, _, E, x = problem(WEIGHTS["equal"])
    start = E.split(x)
    found, evidence = E.minimise(start, 20)
    assert evidence == pytest.approx(-E.value(found), rel=1e-10)
    assert evidence > -E.value(start) + 1
    bounds = E.bounds()
    assert (E.join(found) >= bounds[:, 0]).all()
    assert (E.join(found) <= bounds[:, 1]).all()


def test_prior_is_flat_where_relevances_are_alike():
    u = np.full(4, 1.3)
    value, slope = prior(u, 3.0)
    assert value == 0
    np.testing.assert_array_equal(slope, 0)
    spread = np.array([0.0, 1.0, -2.0])
    assert prior(spread, 2.0)[0] == pytest.approx(2 * np.log1p((spread - spread.mean()) ** 2).sum())


def test_a_tied_term_equals_one_of_equal_relevances():
    X, _, E, _ = problem(WEIGHTS["equal"])
    for family in FAMILIES:
        k = KernelSum((Term(family, np.array([-0.7]), 0.4),), -1.0)
        np.testing.assert_allclose(dense(X, k), dense(X, retied(k, D)), rtol=1e-12)
        size = np.diagonal(dense(E.rows.U, k)).mean()
        if family != Linear():
            assert k.size(D) == pytest.approx(size)


def test_which_families_can_be_packed():
    assert all(packable(family) for family in FAMILIES)
    assert not packable(RationalQuadratic(ard=True))
    assert not packable(Fourier())


def test_of_constant_columns_a_linear_kernel_is_noise():
    """Its matrix is zero, and A = h (1 + nu I) at any h has the same evidence."""
    rng = np.random.default_rng(0)
    target = Target(rng.normal(size=(N, 1)), np.ones(N))
    E = SumEvidence(PackedRows(np.zeros((N, D)), target), [Linear()], [True], 0.0)
    k = KernelSum((Term(Linear(), np.zeros(1)),), -1.0)
    A = CONSTANT + np.exp(-1.0) * np.eye(N)
    Y = target.centred
    fit = N * np.log(np.vdot(Y, np.linalg.solve(A, Y)) / N)
    assert E.value(k) == pytest.approx(0.5 * (fit + np.linalg.slogdet(A)[1]), rel=1e-6)
    value, slope = E(E.join(k))
    assert value == pytest.approx(E.value(k))
    assert slope[0] == 0
