"""Non-negative weights of largest alignment (alignf), with a certificate for each answer."""

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from kernalign.criteria import best_weights, centered_alignment
from kernalign.criteria.alignment import _polished
from tests import reference
from tests.criteria.matrices import labels, random_gram

seeds = st.integers(0, 10_000)
properties = settings(max_examples=50, deadline=None, derandomize=True, phases=[Phase.generate])


def products(grams, y):
    """M, a and |T_c|."""
    centred = [reference.centre(K) for K in grams]
    T = reference.centre(np.outer(y, y))
    M = np.array([[reference.frobenius(A, B) for A in centred] for B in centred])
    a = np.array([reference.frobenius(A, T) for A in centred])
    return M, a, reference.norm(T)


def bracket(M, a, v):
    """Section 3.4: a'v / sqrt(v'Mv) <= max <= sqrt(v'Mv) / t, t = min (Mv)_m / a_m."""
    root = np.sqrt(v @ M @ v)
    positive = a > 1e-12 * a.max()
    t = ((M @ v)[positive] / a[positive]).min()
    return a @ v / root, root / t


def widths(name):
    return {
        "spread": np.geomspace(0.25, 4, 5),
        "two": np.array([0.5, 2.0]),
        "duplicated": np.array([0.5, 1.0, 0.5, 2.0, 1.0]),
        "near-duplicates": np.array([0.5, 0.5 * (1 + 1e-7), 1.0, 1.0 + 1e-9, 2.0]),
        "many": np.geomspace(0.05, 20, 30),
        "narrow and wide": np.array([1e-3, 1e-2, 1.0, 1e2, 1e3]),
    }[name]


dictionaries = pytest.mark.parametrize(
    "name", ["spread", "two", "duplicated", "near-duplicates", "many", "narrow and wide"]
)


def dictionary(name, seed, constant=False):
    rng = np.random.default_rng(seed)
    n = 30
    X, y = rng.normal(size=(n, 2)), labels(rng, n)
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    grams = [np.exp(-((X[:, None] - X) ** 2).sum(-1) / s**2) for s in widths(name)]
    if constant:
        grams.append(np.ones((n, n)))
    return grams, y


@dictionaries
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("constant", [False, True], ids=["", "constant"])
def test_certificate(name, seed, constant):
    grams, y = dictionary(name, seed, constant)
    M, a, _ = products(grams, y)
    v = best_weights(M, a)
    assert v.shape == a.shape
    assert (v >= 0).all()
    assert v.any()
    if constant:
        assert v[-1] == 0
    used = slice(None, -1) if constant else slice(None)
    M, a, v = M[used, used], a[used], v[used]
    # The two sides of the bound of section 3.4. M squares the condition of the dictionary, so
    # that it cannot tell kernels 1e-7 apart from each other any better than this.
    accuracy = 1e-7 if name == "near-duplicates" else 1e-10
    lower, upper = bracket(M, a, v)
    assert lower <= upper * (1 + 1e-14)
    assert upper - lower <= accuracy * upper
    # KKT in scaled variables, at the best multiple of v.
    s = np.sqrt(np.diag(M))
    v = v * (a @ v) / (v @ M @ v)
    u, gap = v * s, (M @ v - a) / s
    assert gap.min() >= -accuracy * np.abs(a / s).max()
    assert abs(u @ gap) <= accuracy * (a @ v)


@dictionaries
@pytest.mark.parametrize("seed", range(3))
def test_alignment_equals_reference(name, seed):
    """The weights of duplicates are not unique, their alignment is."""
    grams, y = dictionary(name, seed)
    M, a, norm_T = products(grams, y)
    v = best_weights(M, a)
    mu = reference.optimal_weights_alignf(grams, np.outer(y, y))
    ours, theirs = (a @ w / np.sqrt(w @ M @ w) / norm_T for w in (v, mu))
    assert ours == pytest.approx(theirs, rel=1e-7 if name == "near-duplicates" else 1e-9)
    if name in ("spread", "two"):
        np.testing.assert_allclose(v / np.linalg.norm(v), mu, atol=1e-8)


@pytest.mark.parametrize("first", range(5))
def test_active_sets_find_the_optimum_from_any_kernel(first):
    """Kernels enter and leave: the start need not be near the optimum."""
    grams, y = dictionary("spread", 1)
    M, a, _ = products(grams, y)
    s = np.sqrt(np.diag(M))
    M, a = M / np.outer(s, s), a / s
    u = _polished(np.eye(5)[first], M, a)
    assert (u >= 0).all()
    lower, upper = bracket(M, a, u)
    assert upper - lower <= 1e-12 * upper


@dictionaries
def test_beats_every_simpler_choice(name):
    grams, y = dictionary(name, 0)
    T = np.outer(y, y)
    M, a, _ = products(grams, y)
    best = centered_alignment(np.tensordot(best_weights(M, a), grams, 1), T)
    single = [centered_alignment(K, T) for K in grams]
    align = np.tensordot(a / np.sqrt(np.diag(M)), grams, 1)
    assert best >= max(single) - 1e-12
    assert best >= centered_alignment(sum(grams), T) - 1e-12
    assert best >= centered_alignment(align, T) - 1e-12


def test_agrees_with_a_generic_solver():
    grams, y = dictionary("spread", 0)
    M, a, _ = products(grams, y)
    s = np.sqrt(np.diag(M))
    M, a = M / np.outer(s, s), a / s
    v = best_weights(M, a)
    result = minimize(
        lambda u: u @ M @ u - 2 * u @ a,
        np.ones(len(a)),
        jac=lambda u: 2 * (M @ u - a),
        bounds=[(0, None)] * len(a),
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-12, "maxiter": 10_000},
    )
    ours, theirs = (a @ w / np.sqrt(w @ M @ w) for w in (v, result.x))
    assert ours == pytest.approx(theirs, rel=1e-7)
    assert ours >= theirs * (1 - 1e-12)


@properties
@given(seed=seeds, n=st.integers(4, 12), m=st.integers(1, 6))
def test_certificate_of_random_grams(seed, n, m):
    rng = np.random.default_rng(seed)
    y = labels(rng, n)
    M, a, _ = products([random_gram(rng, n) for _ in range(m)], y)
    v = best_weights(M, a)
    assert (v >= 0).all()
    lower, upper = bracket(M, a, v)
    assert upper - lower <= 1e-10 * upper


@properties
@given(seed=seeds, n=st.integers(4, 10))
def test_scale_of_the_kernels_does_not_matter(seed, n):
    """T3: the same combined kernel, whatever the units of its parts."""
    rng = np.random.default_rng(seed)
    y = labels(rng, n)
    grams = [random_gram(rng, n, n) for _ in range(4)]
    M, a, _ = products(grams, y)
    scale = 10 ** rng.uniform(-3, 3, 4)
    v = best_weights(M, a)
    w = best_weights(M * np.outer(scale, scale), a * scale)
    combined, rescaled = np.tensordot(v, grams, 1), np.tensordot(w * scale, grams, 1)
    assert centered_alignment(combined, rescaled) == pytest.approx(1, abs=1e-9)


def test_section_12():
    X, y = reference.section12()
    grams = [reference.gaussian(X, X, sigma) for sigma in (0.25, 0.5, 1, 2, 4)]
    M, a, norm_T = products(grams, y)
    v = best_weights(M, a)
    mu = v / np.linalg.norm(v)
    np.testing.assert_allclose(mu, [0.072595, 0.876049, 0, 0, 0.476727], atol=1.1e-6)
    np.testing.assert_array_equal(mu[2:4], 0)
    assert a @ v / np.sqrt(v @ M @ v) / norm_T == pytest.approx(0.194517699, abs=6e-10)


def test_no_kernel_aligned_gives_no_weight():
    M = np.eye(3)
    np.testing.assert_array_equal(best_weights(M, np.array([0.0, -1.0, -2.0])), 0)
    np.testing.assert_array_equal(best_weights(np.zeros((3, 3)), np.zeros(3)), 0)
    assert best_weights(np.zeros((0, 0)), np.zeros(0)).shape == (0,)


def test_only_kernels_that_help_get_weight():
    v = best_weights(np.eye(3), np.array([2.0, -1.0, 1.0]))
    assert v[1] == 0
    assert v[0] / v[2] == pytest.approx(2, rel=1e-13)


def test_zero_kernels_get_weight_zero():
    M = np.array([[4.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 9.0]])
    v = best_weights(M, np.array([2.0, 0.0, 3.0]))
    assert v[1] == 0
    np.testing.assert_allclose(v[[0, 2]] / v[0], np.linalg.solve(M[::2, ::2], [2, 3]) / (3 / 7))
