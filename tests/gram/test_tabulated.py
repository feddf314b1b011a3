"""One pass over the pairs: sums at the nodes, and what interpolation makes of them between."""

import numpy as np
import pytest

from kernalign.gram.dictionary import dictionary_products
from kernalign.gram.onepass import _nodes
from kernalign.gram.semigroup import gamma_step, semigroup_products
from kernalign.kernels import FamilyMember
from tests.gram.dense import setup
from tests.kernels.families import CASES, named

pytestmark = pytest.mark.usefixtures("small_blocks")
weighting = pytest.mark.parametrize("kind", ["uniform", "fractional"])
dimension = pytest.mark.parametrize("d", [1, 3, 20])


def products_of(s, kernels):
    """<K_c, L_c>, <K_c, T>, tr K_c and |K_c| from dense matrices."""
    centred = [s.dense.centred(kernel(s.X)) for kernel in kernels]
    flat = np.array([K.ravel() for K in centred])
    with_target = flat @ s.dense.T.ravel()
    trace = np.array([np.trace(K) for K in centred])
    return flat @ flat.T, with_target, trace, np.linalg.norm(flat, axis=1)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@weighting
def test_dictionary_products(case, kind):
    """Any family, in several tiles, the last of them smaller."""
    s = setup([case], kind, n=100)
    kernels = [FamilyMember(s.families[0], s.families[0].from_search(s.draw(0))) for _ in range(3)]
    found = dictionary_products(kernels, s.X, s.target)
    between, with_target, trace, size = products_of(s, kernels)
    assert (np.abs(found.between - between) / np.outer(size, size)).max() <= 1e-9
    target = np.linalg.norm(s.dense.T)
    assert (np.abs(found.with_target - with_target) / (size * target)).max() <= 1e-9
    np.testing.assert_allclose(found.trace, trace, rtol=1e-9)


def test_dictionary_of_mixed_families():
    s = setup(named("gaussian-positions", "linear", "gaussian-ard-slice", "dirichlet-name"))
    kernels = [
        FamilyMember(f, f.from_search(s.draw(i)))
        for i, f in enumerate(s.families)
        for _ in range(2)
    ]
    order = s.rng.permutation(len(kernels))
    kernels = [kernels[i] for i in order]
    found = dictionary_products(kernels, s.X, s.target)
    between, with_target, trace, size = products_of(s, kernels)
    assert (np.abs(found.between - between) / np.outer(size, size)).max() <= 1e-9
    np.testing.assert_allclose(found.trace, trace, rtol=1e-9)
    np.testing.assert_allclose(found.with_target, with_target, rtol=1e-8)


semigroups = pytest.mark.parametrize(
    "case", named("gaussian", "laplacian", "gaussian-positions"), ids=lambda case: case.name
)


def nodes_of(s):
    """sigma at the nodes of the table, from wide to narrow, and those of the searched range."""
    family, space = s.families[0], s.spaces[0]
    z = _nodes(space, gamma_step(family))[::-1]
    inside = (z >= space.lower[0]) & (z <= space.upper[0])
    return np.exp(z), inside


@semigroups
@weighting
@dimension
def test_semigroup_sums_at_the_nodes(case, kind, d):
    """What is summed is exact: products with the target, traces and norms (gamma + gamma is a
    node); products of two different members are interpolated."""
    if case.own is not None and d < 3:
        d = 4
    s = setup([case], kind, n=40, d=d)
    sigmas, inside = nodes_of(s)
    kernels = [s.families[0].at(sigma) for sigma in sigmas]
    found = semigroup_products(s.families[0], sigmas, s.X, s.target)
    tabulated = dictionary_products(kernels, s.X, s.target)
    between, with_target, trace, size = products_of(s, kernels)
    target = np.linalg.norm(s.dense.T)
    scale = np.outer(size, size)
    for products in (found, tabulated):
        assert (np.abs(products.with_target - with_target) / (size * target)).max() <= 1e-8
        np.testing.assert_allclose(products.trace, trace, rtol=1e-8)
        assert (np.abs(np.diag(products.between) - size**2) / size**2).max() <= 1e-8
    assert (np.abs(tabulated.between - between) / scale).max() <= 1e-8
    error = np.abs(found.between - between) / scale
    assert error[np.ix_(inside, inside)].max() <= 1e-5


def test_pairs_too_far_apart_to_be_seen_are_left_out():
    """Two distant clusters: between them every narrow kernel is far below rounding."""
    s = setup(named("gaussian"), "fractional", n=64, d=2)
    X = s.X.copy()
    X[32:] += 1e3
    sigmas = 2.0 ** -(np.arange(30) / 4) * 2e3
    kernels = [s.families[0].at(sigma) for sigma in sigmas]
    found = semigroup_products(s.families[0], sigmas, X, s.target)
    exact = dictionary_products(kernels, X, s.target)
    np.testing.assert_allclose(found.with_target, exact.with_target, rtol=1e-9)
    np.testing.assert_allclose(found.trace, exact.trace, rtol=1e-9)
    np.testing.assert_allclose(np.diag(found.between), np.diag(exact.between), rtol=1e-9)


tabulated_cases = pytest.mark.parametrize(
    "case",
    named(
        "gaussian",
        "laplacian",
        "matern-0.5",
        "matern-1.5",
        "matern-2.5",
        "polynomial-1",
        "polynomial-2",
        "polynomial-3",
    ),
    ids=lambda case: case.name,
)


@tabulated_cases
@weighting
@dimension
def test_interpolated_sums_over_the_whole_range(case, kind, d):
    """From the narrowest to the widest bandwidth, between nodes, to 1e-5 of their size."""
    s = setup([case], kind, n=40, d=d)
    space = s.spaces[0]
    points = np.linspace(space.lower, space.upper, 37)
    probe = s.sums.probe([s.sums.T, s.sums.identity], 0)
    products, norms = probe.scan(points)
    centred = [s.centred(0, z) for z in points]
    size = np.array([np.linalg.norm(K) for K in centred])
    expected = np.array([[np.sum(K * s.dense.T), np.trace(K)] for K in centred])
    by = size[:, None] * [np.linalg.norm(s.dense.T), np.sqrt(s.dense.N)]
    assert (np.abs(products - expected) / by).max() <= 1e-5
    assert (np.abs(norms - size**2) / size**2).max() <= 1e-5
    between = s.sums.weights_at(0, points[:, 0]) @ s.sums.between()
    between = between @ s.sums.weights_at(0, points[:, 0]).T
    flat = np.array([K.ravel() for K in centred])
    assert (np.abs(between - flat @ flat.T) / np.outer(size, size)).max() <= 1e-5


@tabulated_cases
def test_interpolation_is_exact_at_nodes(case):
    s = setup([case], n=25)
    (grid,) = s.sums._nodes
    weights = s.sums.weights_at(0, grid)
    np.testing.assert_allclose(weights, np.eye(grid.size), atol=1e-12)
    low, high = s.spaces[0].lower[0], s.spaces[0].upper[0]
    assert grid.min() < low
    assert high < grid.max()
    # Weights of an interpolant of constants add up to one.
    between = s.sums.weights_at(0, np.linspace(low, high, 50))
    np.testing.assert_allclose(between.sum(axis=1), 1, rtol=1e-11)
