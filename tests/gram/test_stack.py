"""The stack of Gram matrices: what it holds, how it is scaled, what it costs."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from kernalign import ScaleWarning
from kernalign.gram import Target
from kernalign.gram.centring import size_and_alignment
from kernalign.gram.stack import GramStack
from kernalign.kernels import Dirichlet, FamilyMember, Gaussian, GramMatrix, Linear
from tests import reference

SIGMAS = (0.25, 0.5, 1, 2, 4)
X, Y = reference.section12()
GRAMS = np.stack([reference.gaussian(X, X, sigma) for sigma in SIGMAS])
WEIGHTS = np.array([0.5, 0.0, 1.5, 0.0, 2.0])


def resolved(*kernels, rows=X):
    return [FamilyMember(k.family.resolve(rows), k.sigma) for k in kernels]


def gaussians(rows=X):
    return resolved(*(Gaussian().at(sigma) for sigma in SIGMAS), rows=rows)


def centred_diagonal(K, weight=None):
    """Mean diagonal of the centred matrix, rows counted by their weight."""
    share = np.full(len(K), 1 / len(K)) if weight is None else weight / weight.sum()
    return share @ np.diag(K) - share @ K @ share


@pytest.mark.parametrize("float32", [False, True])
def test_values(float32):
    stack = GramStack(gaussians(), X, float32=float32)
    assert stack.values.shape == (5, 40, 40)
    assert stack.values.dtype == (np.float32 if float32 else np.float64)
    tolerance = 1e-7 if float32 else 1e-13
    np.testing.assert_allclose(stack.values, GRAMS, atol=tolerance)
    np.testing.assert_array_equal(stack.scales, np.ones(5))


def test_tiles_fit_together(monkeypatch):
    monkeypatch.setattr("kernalign.gram.stack.TILE", 7)
    values = GramStack(gaussians(), X).values
    np.testing.assert_allclose(values, GRAMS, atol=1e-13)
    # Mirrored, not computed twice.
    np.testing.assert_array_equal(values[:, :7, 7:], values[:, 7:, :7].transpose(0, 2, 1))


@pytest.mark.parametrize("float32", [False, True])
@pytest.mark.parametrize("weights", [WEIGHTS, WEIGHTS + 0.1])
def test_combination(float32, weights):
    K = GramStack(gaussians(), X, float32=float32).combine(weights)
    assert K.dtype == np.float64
    np.testing.assert_allclose(K, np.tensordot(weights, GRAMS, 1), atol=4e-7 if float32 else 1e-13)


@pytest.mark.parametrize("support", [5, 40])
@pytest.mark.parametrize("columns", [None, 3])
def test_quadratic_forms(support, columns):
    B = np.random.default_rng(0).normal(size=(40, columns or 1))
    B[support:] = 0
    q = GramStack(gaussians(), X).quadratic_forms(B if columns else B[:, 0])
    expected = [sum(b @ K @ b for b in B.T) for K in GRAMS]
    np.testing.assert_allclose(q, expected, rtol=1e-12)


def test_quadratic_forms_are_never_negative():
    x = np.linspace(0, 1, 30)[:, None]
    stack = GramStack(resolved(Dirichlet().at(0.0), rows=x), x)
    b = np.random.default_rng(0).normal(size=30)
    assert stack.quadratic_forms(b - b.mean())[0] >= 0


@pytest.mark.parametrize("normalize", ["trace", "variance"])
def test_normalisation_is_undone_in_the_learned_kernel(normalize):
    kernels = [*gaussians(), *resolved(Linear().at(3.0, 3.0))]
    stack = GramStack(kernels, X, normalize)
    grams = [kernel(X) for kernel in kernels]
    size = {"trace": lambda K: np.mean(np.diag(K)), "variance": centred_diagonal}[normalize]
    np.testing.assert_allclose(stack.scales, [size(K) for K in grams], rtol=1e-12)
    np.testing.assert_allclose([size(K) for K in stack.values], 1, rtol=1e-12)
    weights = np.array([0.5, 0, 1.5, 0, 2.0, 1.0])
    kernel = stack.learned(weights)
    assert len(kernel.kernels) == 4
    np.testing.assert_allclose(kernel(X), stack.factor(weights) * stack.combine(weights), rtol=1e-9)
    assert centred_diagonal(kernel(X)) == pytest.approx(1)


def aligned(stack, weights, y, weight=None):
    weight = np.ones(len(y)) if weight is None else weight
    return size_and_alignment(stack.combine(weights), Target(y[:, None], weight))[1]


def test_integer_row_weights_are_repeated_rows():
    weight = np.arange(40) % 3 + 1.0
    long, labels = reference.repeat_rows(X, Y, weight)
    short = GramStack(gaussians(), X, "variance", weight=weight)
    repeated = GramStack(gaussians(long), long, "variance")
    np.testing.assert_allclose(short.scales, repeated.scales, rtol=1e-10)
    assert short.factor(WEIGHTS) == pytest.approx(repeated.factor(WEIGHTS))
    assert aligned(short, WEIGHTS, Y, weight) == pytest.approx(aligned(repeated, WEIGHTS, labels))


def test_constant_kernels_are_never_divided_by():
    x = X[:, :1]
    kernels = resolved(Dirichlet().at(0.0), Dirichlet().at(2.0), rows=x)
    stack = GramStack(kernels, x, "variance")
    assert stack.scales[0] == 1
    assert stack.variances[0] == pytest.approx(0, abs=1e-12)
    kernel = stack.learned(np.array([1.0, 0.0]))
    np.testing.assert_allclose(kernel(x), 1)
    assert aligned(stack, np.array([1.0, 0.0]), Y) == 0


@pytest.mark.parametrize("sigmas", [SIGMAS, (1e3, 2e3)])
def test_alignment(sigmas):
    """Also of kernels so wide that the centred matrix is a small difference of large ones."""
    stack = GramStack(resolved(*(Gaussian().at(sigma) for sigma in sigmas)), X)
    weights = np.arange(1.0, len(sigmas) + 1)
    found = aligned(stack, weights, Y)
    naive = reference.alignment(stack.combine(weights), reference.target_binary(Y))
    assert found == pytest.approx(naive, rel=1e-8)


def test_gram_matrices_and_duplicates():
    rows = np.arange(40.0)[:, None]
    kernels = resolved(*(GramMatrix(GRAMS[m]).at() for m in (0, 2, 2)), rows=rows)
    stack = GramStack(kernels, rows)
    np.testing.assert_array_equal(stack.values[1], stack.values[2])
    np.testing.assert_allclose(stack.values[1], GRAMS[2])


def test_wildly_different_scales_are_named_with_their_cure():
    rows = np.arange(40.0)[:, None]
    large = GramMatrix(1e5 * GRAMS[1], name="large")
    kernels = resolved(GramMatrix(GRAMS[0]).at(), large.at(), rows=rows)
    with pytest.warns(ScaleWarning, match=r"diagonal of GramMatrix.* is 1e\+05.*normalize='trace'"):
        GramStack(kernels, rows)
    for normalize in ("trace", "variance"):
        GramStack(kernels, rows, normalize)


def test_scales_that_differ_moderately_pass_in_silence():
    GramStack(resolved(Gaussian().at(1.0), Linear().at(3.0, 3.0)), X)


@pytest.mark.parametrize("float32", [False, True])
def test_memory(float32):
    """One array of M matrices, and little beside it: at n=2000, M=50 that is 1.6 and 0.8 GB."""
    rows = np.random.default_rng(0).normal(size=(600, 3))
    kernels = resolved(*Gaussian().grid(0.1, 10, 30), rows=rows)
    B = np.ones(600)
    size = 30 * 600**2 * (4 if float32 else 8)
    tracemalloc.start()
    try:
        stack = GramStack(kernels, rows, "variance", float32)
        stack.combine(np.ones(30))
        stack.combine(np.arange(30.0))
        stack.quadratic_forms(B)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert stack.values.nbytes == size
    # Beside the stack: the combination, a block of one matrix, tiles of the two threads.
    assert peak - size < 5 * 600**2 * 8


def test_bad_input():
    with pytest.raises(ValueError, match="at least one kernel"):
        GramStack([], X)
    with pytest.raises(ValueError, match="'normalize' parameter of GramStack must be one of"):
        GramStack(gaussians(), X, "unit")
