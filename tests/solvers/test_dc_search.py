"""The certified search: its value, its bound and its refusals."""

import numpy as np
import pytest

from kernalign.gram.quadratic_form import quadratic_forms
from kernalign.kernels import Dirichlet, Gaussian, Laplacian, Matern, RationalQuadratic
from kernalign.solvers.dc_search import certified_search
from tests import reference


def search_of(family, X, **options):
    family = family.resolve(X)
    space = family.search_space(family.select(X), np.random.default_rng(0))
    return certified_search(quadratic_forms(family, X, space, **options), space), family


def section12_c(sigma, rho):
    X, y = reference.section12()
    c = np.linalg.solve(reference.gaussian(X, X, sigma) + rho * np.eye(40), y)
    return X, c[:, None]


def grid_values(X, c, sigmas, metric="sqeuclidean"):
    """c'G(sigma)c from the pairs themselves."""
    difference = X[:, None] - X
    D = (difference**2).sum(-1) if metric == "sqeuclidean" else np.abs(difference).sum(-1)
    power = 2 if metric == "sqeuclidean" else 1
    W = c @ c.T
    rows, columns = np.triu_indices(len(X), 1)
    d, w = D[rows, columns], 2 * W[rows, columns]
    return np.trace(W) + np.array([w @ np.exp(-d / s**power) for s in sigmas])


@pytest.mark.parametrize(
    ("sigma", "rho", "value", "where"),
    [(2, 1, 29.686417, 0.57025), (4, 0.3, 403.275462, 0.63672), (0.3, 0.1, 43.116733, 0.79448)],
)
@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-8])
def test_reference_values(sigma, rho, value, where, tol):
    """The inner search of methods.md section 12."""
    X, c = section12_c(sigma, rho)
    search, _ = search_of(Gaussian(bounds=(0.1, 10)), X)
    found = search.maximise(c, tol=tol)
    assert found.value == pytest.approx(value, abs=1e-6)
    assert np.exp(found.z[0]) == pytest.approx(where, abs=2e-5)
    assert found.value <= found.upper <= found.value * (1 + 1.01 * tol)
    assert found.evaluations <= 90


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n", [40, 240])
def test_certificate_on_a_fine_grid(n, seed):
    """[T17], [T18]: the value is that of a fine grid, and no grid point is above the bound."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.sign(np.sin(3 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=n))
    sigma = np.exp(rng.uniform(-1, 1))
    K = np.exp(-((X[:, None] - X) ** 2).sum(-1) / sigma**2)
    c = np.linalg.solve(K + 10 ** rng.uniform(-2, 1) * np.eye(n), np.stack([y, y**2 - X[:, 2]]).T)
    search, _ = search_of(Gaussian(bounds=(0.05, 50)), X)
    found = search.maximise(c)
    grid = grid_values(X, c, np.geomspace(0.05, 50, 4000 if n < 100 else 1500))
    assert found.value == pytest.approx(grid.max(), rel=1e-4)
    assert grid.max() <= found.upper * (1 + 1e-12)
    assert found.upper <= found.value * (1 + 3e-4)


def test_laplacian_kernels():
    """exp(-omega D) with omega = 1/sigma is the same problem."""
    X, c = section12_c(1, 0.5)
    search, _ = search_of(Laplacian(bounds=(0.05, 50)), X)
    found = search.maximise(c, tol=1e-6)
    grid = grid_values(X, c, np.geomspace(0.05, 50, 4000), "cityblock")
    assert found.value == pytest.approx(grid.max(), rel=1e-5)
    assert grid.max() <= found.upper * (1 + 1e-12)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_monotone_problems_have_their_maximum_at_an_end(sign):
    """All pairs pull together, or all apart."""
    X = np.array([[0.0], [1.0]])
    c = np.array([[1.0], [sign]])
    search, _ = search_of(Gaussian(bounds=(0.1, 10)), X)
    found = search.maximise(c, tol=1e-10)
    end = 10.0 if sign > 0 else 0.1
    assert np.exp(found.z[0]) == pytest.approx(end, rel=1e-3)
    assert found.value == pytest.approx(2 + sign * 2 * np.exp(-1 / end**2), rel=1e-9)
    assert found.upper == pytest.approx(found.value, rel=1e-9)


def test_interval_of_one_point_and_zero_dual_vectors():
    X, c = section12_c(2, 1)
    search, _ = search_of(Gaussian(bounds=(2, 2)), X)
    found = search.maximise(c)
    assert found.value == pytest.approx(3.642533, abs=1e-6)
    assert found.upper == pytest.approx(found.value, rel=1e-12)
    search, _ = search_of(Gaussian(bounds=(0.1, 10)), X)
    found = search.maximise(0 * c)
    assert found.value == found.upper == 0


def test_a_start_is_used():
    X, c = section12_c(2, 1)
    search, family = search_of(Gaussian(bounds=(0.1, 10)), X)
    cold = search.maximise(c)
    warm = search.maximise(c, [cold.z])
    assert warm.evaluations <= cold.evaluations + 1
    assert warm.value == pytest.approx(cold.value, rel=1e-9)
    outside = search.maximise(c, [family.to_search(np.array([1e3]))])
    assert outside.value == pytest.approx(cold.value, rel=1e-9)


# -- several widths -------------------------------------------------------------------------------


def test_two_widths_reference_value():
    X, c = section12_c(2, 1)
    search, family = search_of(Gaussian(ard=True, bounds=(0.2, 10)), X)
    found = search.maximise(c, tol=1e-4)
    assert found.value == pytest.approx(59.25765, abs=1e-4)
    np.testing.assert_allclose(family.from_search(found.z), [0.4465, 10], rtol=1e-3)
    assert found.value <= found.upper <= found.value * (1 + 1.01e-4)


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_certificate_of_several_widths(d):
    """No point of a random cloud is above the bound, and a local search finds nothing better."""
    rng = np.random.default_rng(d)
    X = rng.normal(size=(40, d)) * np.arange(1, d + 1)
    y = np.sign(np.sin(3 * X[:, 0]) + 0.3 * X[:, -1] + 0.5 * rng.normal(size=40))
    D = (X[:, None] - X) ** 2
    c = np.linalg.solve(np.exp(-D.sum(-1) / 4) + 0.3 * np.eye(40), y)[:, None]
    search, family = search_of(Gaussian(ard=True, bounds=(0.2, 20)), X)
    found = search.maximise(c, tol=1e-2)
    assert found.upper <= found.value * (1 + 1.01e-2)
    low, high = family.to_search(np.full(d, 20.0)), family.to_search(np.full(d, 0.2))
    cloud = np.exp(rng.uniform(np.log(low), np.log(high), size=(1000, d)))
    near = np.clip(found.z * np.exp(0.1 * rng.normal(size=(500, d))), low, high)
    rows, columns = np.triu_indices(40, 1)
    scale = family.to_search(np.ones(d))
    pairs, w = D[rows, columns] / scale, 2 * (c @ c.T)[rows, columns]

    def values(omegas):
        return np.sum(c**2) + np.exp(-omegas @ pairs.T) @ w

    assert values(found.z[None])[0] == pytest.approx(found.value, rel=1e-10)
    assert values(cloud).max() <= found.upper * (1 + 1e-12)
    assert values(near).max() <= found.value * (1 + 1e-5)


def test_one_width_by_both_searches():
    """A Gaussian with one bandwidth per feature on one feature is one with one bandwidth."""
    X, c = section12_c(2, 1)
    one, _ = search_of(Gaussian(bounds=(0.1, 10)), X[:, :1])
    several, _ = search_of(Gaussian(ard=True, bounds=(0.1, 10)), X[:, :1])
    assert one.maximise(c, tol=1e-6).value == pytest.approx(
        several.maximise(c, tol=1e-6).value, rel=1e-6
    )


def test_several_widths_without_attraction_or_room():
    """f is concave where no pair has negative weight; the box may be a point."""
    X, c = section12_c(2, 1)
    search, family = search_of(Gaussian(ard=True, bounds=(0.2, 10)), X)
    found = search.maximise(np.abs(c))
    np.testing.assert_allclose(family.from_search(found.z), [10, 10])
    assert found.upper == pytest.approx(found.value, rel=1e-12)
    search, _ = search_of(Gaussian(ard=True, bounds=(2, 2)), X)
    found = search.maximise(c)
    assert found.value == pytest.approx(3.642533, abs=1e-6)
    assert found.upper == pytest.approx(found.value, rel=1e-12)
    search, _ = search_of(Gaussian(ard=True), X)
    found = search.maximise(c, tol=1e-2)
    assert found.upper <= found.value * 1.0101


@pytest.mark.parametrize(
    ("family", "d"),
    [
        (Gaussian(ard=True), 5),
        (Matern(), 2),
        (RationalQuadratic(), 1),
        (Dirichlet(), 1),
        (Laplacian(ard=True), 2),
    ],
)
def test_refuses_what_it_cannot_certify(family, d):
    X = np.random.default_rng(0).normal(size=(10, d))
    with pytest.raises(ValueError, match='use solver="gradient" instead'):
        search_of(family, X)
