"""Where a family looks on given data: finite boxes at every scale, in every degenerate case."""

import numpy as np
import pytest

from kernalign.kernels import (
    CustomFamily,
    Dirichlet,
    Fourier,
    Gaussian,
    Laplacian,
    Matern,
    Polynomial,
    RationalQuadratic,
)
from tests.kernels.families import CASES, cauchy, named, problem, wave

#: Powers of two, so that rescaling itself does not round.
TINY, HUGE = 2.0**-996, 2.0**996


def constant_feature(X):
    X = X.copy()
    X[:, -1] = X[0, -1]
    return X


DATA = {
    "scale 1": lambda X: X,
    "scale 1e-300": lambda X: X * 1e-300,
    "scale 1e-310, where one over the scale overflows": lambda X: X * 1e-310,
    "scale 1e300": lambda X: X * 1e300,
    "one constant feature": constant_feature,
    "constant feature at 1e300": lambda X: constant_feature(X * 1e300),
    "constant feature at 1e-300": lambda X: constant_feature(X * 1e-300),
    "all rows equal": lambda X: np.repeat(X[:1], len(X), axis=0),
    "all zero": lambda X: np.zeros_like(X),
    "two different rows": lambda X: np.concatenate([X[:1], np.repeat(X[1:2], len(X) - 1, axis=0)]),
    "duplicated rows": lambda X: np.repeat(X[:5], 4, axis=0),
    "far outlier": lambda X: np.concatenate([X, 1e9 * np.ones_like(X[:1])]),
}


def assert_sound(family, space, X):
    """Finite bounds that contain the scan, and parameters that `gradient` agrees with."""
    p = space.p
    assert space.lower.shape == space.upper.shape == space.unit.shape == (p,)
    assert space.scan.ndim == 2
    assert len(space.scan) >= 1
    assert space.scan.shape[1] == p
    for array in (space.lower, space.upper, space.scan, space.unit):
        assert np.isfinite(array).all()
    assert (space.lower <= space.upper).all()
    assert (space.lower <= space.scan).all()
    assert (space.scan <= space.upper).all()
    assert (space.unit > 0).all()
    few = X[:3]
    sigma = family.from_search(space.scan[0])
    assert sigma.shape == (p,)
    K = family.gram(sigma, few)
    assert family.gradient(sigma, few, None, np.ones((3, 3)), K).shape == (p,)


@pytest.mark.parametrize(
    ("case", "data"),
    [
        pytest.param(case, data, id=f"{case.name}-{name}")
        for case in CASES
        for name, data in DATA.items()
        # A user's function may overflow.
        if not (case.custom and "1e300" in name)
    ],
)
def test_box_is_finite_and_contains_scan(case, data):
    rng = np.random.default_rng(0)
    full = data(case.rows(rng, 20))
    family, X = case.resolved(full), case.cut(full)
    space = family.search_space(X, rng)
    assert_sound(family, space, X)
    # Both ends of the box and the middle of the scan are kernels.
    for z in (space.lower, space.upper, space.scan[len(space.scan) // 2]):
        K = family.gram(family.from_search(z), X)
        assert np.isfinite(K).all()
        assert np.linalg.eigvalsh(K)[0] >= -1e-9 * np.abs(K).max()


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.own is None], ids=lambda case: case.name
)
def test_one_column(case):
    rng = np.random.default_rng(0)
    X = case.rows(rng, 20)[:, :1]
    family = case.resolved(X)
    assert_sound(family, family.search_space(X, rng), X)


units_of_measurement = pytest.mark.parametrize(
    "case", [case for case in CASES if not case.custom], ids=lambda case: case.name
)


@units_of_measurement
@pytest.mark.parametrize("factor", [TINY, HUGE], ids=["1e-300", "1e300"])
def test_search_does_not_depend_on_units(case, factor):
    """X and c X are searched through the same Gram matrices."""
    p = problem(case)
    scaled = case.resolved(p.full * factor)
    here = p.family.search_space(p.X, np.random.default_rng(0))
    there = scaled.search_space(p.X * factor, np.random.default_rng(0))
    assert len(here.scan) == len(there.scan)
    for i in (0, len(here.scan) // 2, len(here.scan) - 1):
        np.testing.assert_allclose(
            scaled.gram(scaled.from_search(there.scan[i]), p.X * factor),
            p.family.gram(p.family.from_search(here.scan[i]), p.X),
            rtol=1e-9,
            atol=1e-12,
        )


@pytest.mark.parametrize(
    "case",
    named("gaussian", "laplacian", "matern-0.5", "matern-1.5", "matern-2.5"),
    ids=lambda case: case.name,
)
@pytest.mark.parametrize("scale", [1e-300, 1e-100, 1.0, 1e100, 1e300])
def test_statistic_at_any_scale_beside_a_constant_column(case, scale):
    """A constant column, such as an intercept, changes no distance, whatever the units."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(9, 1))
    X = np.column_stack([x * scale, np.ones(9)])
    family = case.family.resolve(X)
    expected = case.reference(x, np.array([0.7]), x, x)
    sigma = np.array([0.7 * scale])
    np.testing.assert_allclose(family.gram(sigma, X), expected, rtol=1e-9, atol=1e-12)
    by_statistic = family.from_statistic(family.statistic(X), sigma)
    np.testing.assert_allclose(by_statistic, expected, rtol=1e-9, atol=1e-12)


def test_scan_reaches_from_nearly_identity_to_nearly_linear():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    family = Gaussian().resolve(X)
    space = family.search_space(X, rng)
    low, high = family.from_search(space.lower), family.from_search(space.upper)
    # A quarter of a small nearest-neighbour distance: most rows see only themselves.
    off_diagonal = family.gram(low, X)[~np.eye(50, dtype=bool)]
    assert np.median(off_diagonal) < 1e-12
    # Four times the largest distance: exp(-1/16) is the smallest entry.
    assert family.gram(high, X).min() == pytest.approx(np.exp(-1 / 16), rel=1e-10)


def test_scan_of_one_bandwidth_is_fine():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    for family in (Gaussian(), Laplacian(), Matern()):
        steps = np.diff(family.resolve(X).search_space(X, rng).scan[:, 0])
        assert (steps > 0).all()
        assert steps.max() <= np.log(2) / 8 * (1 + 1e-9)


@pytest.mark.parametrize("ard", [False, True])
def test_rational_quadratic_searches_alpha(ard):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    family = RationalQuadratic(ard=ard).resolve(X)
    space = family.search_space(X, rng)
    alpha = np.exp([space.lower[-1], space.upper[-1]])
    # From heavy tails to nearly Gaussian ones, and starts on either side of alpha = 1.
    assert alpha[0] <= 0.2
    assert alpha[1] >= 10
    starts = np.exp(space.scan[:, -1])
    assert starts.min() < 1 < starts.max()


def test_scan_of_frequencies_misses_no_lobe():
    """A lobe of the objective is 2 pi / range wide in omega: at least six points each."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-10, 10, size=(100, 1))
    family = Dirichlet().resolve(X)
    space = family.search_space(X, rng)
    omega = np.array([family.from_search(z)[0] for z in space.scan])
    lobe = 2 * np.pi / np.ptp(X)
    assert np.diff(omega).max() <= lobe / 6 * (1 + 1e-9)


# --- bounds of the user --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "family",
    [
        Gaussian(bounds=(0.5, 3)),
        Laplacian(bounds=(0.5, 3)),
        Gaussian(ard=True, bounds=(0.5, 3)),
        Laplacian(ard=True, bounds=(0.5, 3)),
        Matern(2.5, ard=True, bounds=(0.5, 3)),
        RationalQuadratic(bounds=(0.5, 3)),
        RationalQuadratic(ard=True, bounds=(0.5, 3)),
        Polynomial(bounds=(0.5, 3)),
        Fourier(bounds=(0.5, 3)),
        CustomFamily(cauchy, (0.5, 3)),
        CustomFamily(cauchy, (0.5, 3), log=False),
        CustomFamily(wave, [(0.5, 3), (0.5, 3)]),
    ],
    ids=lambda family: repr(family).split(" at 0x")[0],
)
def test_bounds_are_the_range_searched(family):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2)) * [1, 5]
    family = family.resolve(X)
    space = family.search_space(X, rng)
    assert_sound(family, space, X)
    ends = np.sort([family.from_search(space.lower), family.from_search(space.upper)], axis=0)
    if isinstance(family, RationalQuadratic):
        ends = ends[:, :-1]
    np.testing.assert_allclose(ends[0], 0.5, rtol=1e-13)
    np.testing.assert_allclose(ends[1], 3, rtol=1e-13)


def test_bounds_of_a_line_of_frequencies():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 1))
    family = Dirichlet(bounds=(0, 10)).resolve(X)
    space = family.search_space(X, rng)
    assert family.from_search(space.lower)[0] == 0
    assert family.from_search(space.upper)[0] == pytest.approx(10, rel=1e-13)


@pytest.mark.parametrize(
    "bounds", [(0, 1), (-1, 1), (2, 1), (1, np.inf), (np.nan, 1), (1,), (1, 2, 3), "ab", 3]
)
@pytest.mark.parametrize("family", [Gaussian, Laplacian, Matern, RationalQuadratic, Polynomial])
def test_bad_bounds_of_positive_parameters(family, bounds):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    with pytest.raises(ValueError, match=rf"'bounds' parameter of {family.__name__}.*Got"):
        family(bounds=bounds).resolve(X).search_space(X, rng)


@pytest.mark.parametrize("bounds", [(2, 1), (1, np.inf), (np.nan, 1), (1,), "ab", 3])
@pytest.mark.parametrize(("family", "d"), [(Fourier, 2), (Fourier, 1), (Dirichlet, 1)])
def test_bad_bounds_of_frequencies(family, d, bounds):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, d))
    with pytest.raises(ValueError, match=rf"'bounds' parameter of {family.__name__}.*Got"):
        family(bounds=bounds).resolve(X).search_space(X, rng)


@pytest.mark.parametrize("bounds", [(0, 1), (2, 1), (1, np.inf), (1, 2, 3), [(1, 2), (0, 1)], 3])
def test_bad_bounds_of_custom_family(bounds):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    with pytest.raises(ValueError, match=r"'bounds' parameter of CustomFamily.*Got"):
        CustomFamily(cauchy, bounds).resolve(X).search_space(X, rng)
