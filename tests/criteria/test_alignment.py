"""Centred alignment of plain arrays: a cosine, and the refusal of what has none."""

import numpy as np
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kernalign.criteria import alignment, centered_alignment
from tests import reference
from tests.criteria.matrices import labels, random_gram

properties = settings(max_examples=50, deadline=None, derandomize=True, phases=[Phase.generate])
seeds = st.integers(0, 10_000)
both = pytest.mark.parametrize("measure", [alignment, centered_alignment])


@properties
@given(seed=seeds, n=st.integers(2, 12))
def test_equals_reference(seed, n):
    rng = np.random.default_rng(seed)
    K, L = random_gram(rng, n), random_gram(rng, n)
    assert centered_alignment(K, L) == pytest.approx(reference.alignment(K, L), abs=1e-12)
    assert alignment(K, L) == pytest.approx(reference.uncentred_alignment(K, L), abs=1e-13)


@both
@properties
@given(data=st.data())
def test_is_a_cosine(measure, data):
    """In [-1, 1], symmetric, one with itself; of any square matrices, not only of kernels."""
    n = data.draw(st.integers(1, 6))
    matrices = arrays(float, (n, n), elements=st.floats(-1e3, 1e3))
    K, L = data.draw(matrices), data.draw(matrices)
    value = measure(K, L)
    assert -1 <= value <= 1
    assert measure(L, K) == pytest.approx(value, abs=1e-14)
    assert measure(-K, L) == pytest.approx(-value, abs=1e-14)
    with_itself = measure(K, K)
    assert with_itself == 0 or with_itself == pytest.approx(1, abs=1e-14)


@both
@properties
@given(seed=seeds, scale=st.floats(1e-300, 1e300), n=st.integers(2, 9))
def test_scale_does_not_matter(measure, seed, scale, n):
    rng = np.random.default_rng(seed)
    K, L = random_gram(rng, n), random_gram(rng, n)
    K /= np.abs(K).max()
    assert measure(scale * K, L) == pytest.approx(measure(K, L), abs=1e-11)


@both
@properties
@given(seed=seeds, n=st.integers(2, 12))
def test_order_of_rows_does_not_matter(measure, seed, n):
    rng = np.random.default_rng(seed)
    K, L = random_gram(rng, n), random_gram(rng, n)
    order = np.ix_(p := rng.permutation(n), p)
    assert measure(K[order], L[order]) == pytest.approx(measure(K, L), abs=1e-12)


@properties
@given(seed=seeds, shift=st.floats(-10, 10), n=st.integers(2, 12))
def test_centred_alignment_ignores_constants(seed, shift, n):
    """K + b 1' + 1 b' + c is K after centring."""
    rng = np.random.default_rng(seed)
    K, L = random_gram(rng, n, n), random_gram(rng, n, n)
    b = rng.normal(size=n) * np.abs(K).max()
    moved = K + b[:, None] + b + shift
    assert centered_alignment(moved, L) == pytest.approx(centered_alignment(K, L), abs=1e-10)


@properties
@given(seed=seeds, n=st.integers(2, 12))
def test_kernels_never_oppose_each_other(seed, n):
    rng = np.random.default_rng(seed)
    assert centered_alignment(random_gram(rng, n), random_gram(rng, n)) >= -1e-12


@properties
@given(seed=seeds, n=st.integers(3, 12))
def test_perfect_kernel_of_labels(seed, n):
    rng = np.random.default_rng(seed)
    y = labels(rng, n)
    assert centered_alignment(np.outer(y, y), 7 * np.outer(y, y) + 3) == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("constant", [0.0, 1.0, -2.0, 0.1, 1 / 3, 1e300, 1e-300])
@pytest.mark.parametrize("n", [1, 2, 7, 60])
def test_constant_matrices_have_alignment_zero(constant, n):
    K = np.full((n, n), constant)
    L = random_gram(np.random.default_rng(0), n)
    assert centered_alignment(K, L) == 0
    assert centered_alignment(L, K) == 0
    assert centered_alignment(K, K) == 0
    # Rank-one parts along constants vanish too, up to rounding.
    b = np.random.default_rng(1).normal(size=n)
    assert centered_alignment(b[:, None] + b, L) == 0


def test_small_departures_from_a_constant_count():
    rng = np.random.default_rng(0)
    K, L = random_gram(rng, 9, 9), random_gram(rng, 9, 9)
    K /= np.abs(K).max()
    assert centered_alignment(1 + 1e-8 * K, L) == pytest.approx(centered_alignment(K, L), abs=1e-6)


def test_uncentred_alignment_of_zero():
    assert alignment(np.zeros((3, 3)), np.eye(3)) == 0
    assert alignment(np.ones((4, 4)), np.eye(4)) == pytest.approx(0.5, abs=1e-15)


def test_identity():
    """<C_n, T_c> = |y_c|^2 and |C_n| = sqrt(n - 1), |T_c| = |y_c|^2."""
    y = np.array([1, 1, -1, -1, -1])
    assert centered_alignment(np.eye(5), np.outer(y, y)) == pytest.approx(0.5, abs=1e-15)


def test_accepts_lists_and_integers():
    assert alignment([[1, 0], [0, 1]], [[1, 1], [1, 1]]) == pytest.approx(np.sqrt(0.5), abs=1e-15)


@both
@pytest.mark.parametrize(
    ("K", "L", "message"),
    [
        (np.ones((2, 3)), np.eye(2), r"K must be a square matrix. Got shape \(2, 3\)"),
        (np.eye(2), np.ones(4), r"L must be a square matrix. Got shape \(4,\)"),
        (np.ones((0, 0)), np.eye(2), r"K must be a square matrix. Got shape \(0, 0\)"),
        (np.eye(2), np.eye(3), r"same shape. Got \(2, 2\) and \(3, 3\)"),
        (np.full((2, 2), np.nan), np.eye(2), "K must hold finite numbers"),
        (np.eye(2), np.full((2, 2), np.inf), "L must hold finite numbers"),
    ],
)
def test_bad_input(measure, K, L, message):
    with pytest.raises(ValueError, match=message):
        measure(K, L)


def test_section_12():
    X, y = reference.section12()
    T = np.outer(y, y)
    expected = [0.161172, 0.184096, 0.139423, 0.109207, 0.135080]
    grams = [reference.gaussian(X, X, sigma) for sigma in (0.25, 0.5, 1, 2, 4)]
    found = [centered_alignment(K, T) for K in grams]
    np.testing.assert_allclose(found, expected, atol=5.1e-7)
    assert centered_alignment(sum(grams), T) == pytest.approx(0.164599, abs=5.1e-7)


@properties
@given(seed=seeds, n=st.integers(2, 9))
def test_adding_the_target_raises_alignment(seed, n):
    rng = np.random.default_rng(seed)
    y = labels(rng, n)
    K, T = random_gram(rng, n, n), np.outer(y, y)
    before = centered_alignment(K, T)
    assume(before < 1 - 1e-6)
    assert centered_alignment(K + np.abs(K).max() * T, T) > before
