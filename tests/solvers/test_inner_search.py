"""The inner search: known maxima of stand-in objectives, in one parameter and in several."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from kernalign.gram import Probe
from kernalign.kernels import SearchSpace
from kernalign.solvers.inner_search import maximise

LOCAL = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.differing_executors]
)


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    """As in a fit: threads only get in each other's way on vectors of two numbers."""
    with threadpool_limits(1):
        yield


class Function(Probe):
    """A probe whose single inner product is a function of z."""

    def __init__(self, value, slope=None):
        self.value = value
        self.slope = slope
        self.evaluated = []

    def products(self, z):
        self.evaluated.append(np.array(z))
        return np.array([self.value(z)]), 0.0

    def gradient(self, z, d_products, d_norm):
        assert self.slope is not None, "one parameter is searched without gradients"
        return d_products[0] * np.asarray(self.slope(z), dtype=float)


class FirstProduct:
    """The objective that is the inner product itself."""

    def __init__(self):
        self.elements = []

    def value(self, products, norm):
        return products[..., 0]

    def derivative(self, products, norm):
        return np.ones(1), 0.0


def line(low, high, points):
    scan = np.linspace(low, high, points)[:, None]
    return SearchSpace(scan[0], scan[-1], scan, np.ones(1))


@pytest.mark.parametrize("outside", [-np.inf, np.inf, np.nan])
def test_an_objective_that_is_no_number_between_two_points_of_the_scan(outside):
    """A warning would be an error: differences of infinite values are not taken."""
    probe = Function(lambda z: outside if 0.3 < z[0] % 1 < 0.7 else -abs(z[0] - 2.2))
    found = maximise(FirstProduct(), probe, line(0, 4, 5), starts=[])
    assert found.value <= 0
    assert found.value >= -0.2


def box(low, high, scan):
    scan = np.asarray(scan, dtype=float)
    p = scan.shape[1]
    return SearchSpace(np.full(p, float(low)), np.full(p, float(high)), scan, np.ones(p))


def of_line(function):
    return Function(lambda z: function(z[0]))


# --- one parameter -------------------------------------------------------------------------------


def test_the_highest_of_many_maxima():
    """Forty local maxima of nearly the same height; the highest is at the one nearest to 1.3."""

    def wave(z):
        return np.cos(20 * z) - 0.05 * (z - 1.3) ** 2

    found = maximise(FirstProduct(), of_line(wave), line(-6, 6, 1600))
    fine = np.linspace(1.1, 1.5, 200_001)
    assert found.z[0] == pytest.approx(fine[wave(fine).argmax()], abs=1e-4)
    assert found.value == pytest.approx(wave(fine).max(), abs=1e-8)


def test_a_narrow_peak_beside_a_broad_one():
    def peaks(z):
        return np.exp(-((z - 2) ** 2)) + 1.2 * np.exp(-(((z + 3) / 0.05) ** 2))

    found = maximise(FirstProduct(), of_line(peaks), line(-5, 5, 300))
    assert found.z[0] == pytest.approx(-3, abs=1e-3)
    assert found.value == pytest.approx(peaks(-3.0), abs=1e-6)


@pytest.mark.parametrize(("function", "where"), [(lambda z: z, 4.0), (lambda z: -z, -1.0)])
def test_a_maximum_on_the_boundary_is_reached_exactly(function, where):
    found = maximise(FirstProduct(), of_line(function), line(-1, 4, 20))
    assert found.z[0] == where
    assert found.value == abs(where)


@LOCAL
@given(
    st.lists(
        st.tuples(st.floats(-1, 1), st.floats(0, 12), st.floats(0, 6.3)), min_size=1, max_size=6
    )
)
def test_it_is_global_up_to_the_step_of_the_scan(terms):
    """f* - f(found) <= max|f''| h^2 / 8, whatever the function: no basin is lost."""

    def waves(z):
        z = np.asarray(z, dtype=float)
        return sum(a * np.cos(w * z + phase) for a, w, phase in terms)

    space = line(0, 5, 300)
    found = maximise(FirstProduct(), of_line(waves), space)
    h = 5 / 299
    curvature = sum(abs(a) * w**2 for a, w, _ in terms)
    best = waves(np.linspace(0, 5, 20_001)).max()
    assert found.value >= best - curvature * h**2 / 8 - 1e-12
    assert found.value >= waves(space.scan[:, 0]).max()
    assert found.value == pytest.approx(float(waves(found.z[0])), abs=1e-12)
    assert 0 <= found.z[0] <= 5


def test_a_given_start_is_looked_at_between_the_points_of_the_scan():
    def needle(z):
        return np.exp(-(((z - 0.77) / 1e-3) ** 2)) - 0.01 * z

    coarse = line(0, 2, 5)
    assert maximise(FirstProduct(), of_line(needle), coarse).z[0] == 0
    found = maximise(FirstProduct(), of_line(needle), coarse, starts=[np.array([0.7702])])
    assert found.z[0] == pytest.approx(0.77, abs=1e-3)
    assert found.value > 0.9


def test_a_start_outside_the_bounds_is_brought_inside():
    probe = of_line(lambda z: z)
    found = maximise(FirstProduct(), probe, line(0, 1, 5), starts=[np.array([9.0])])
    assert found.z[0] == 1
    assert max(z[0] for z in probe.evaluated) <= 1


def test_a_single_point_is_its_own_maximum():
    found = maximise(FirstProduct(), of_line(lambda z: z**2), line(3, 3, 1))
    assert (found.z[0], found.value) == (3, 9)


def test_places_without_a_value_are_passed_over():
    def holes(z):
        return -np.inf if z < 1 else np.nan if z < 2 else -((z - 3) ** 2)

    found = maximise(FirstProduct(), of_line(holes), line(0, 4, 41))
    assert found.z[0] == pytest.approx(3, abs=1e-4)
    assert found.value == pytest.approx(0, abs=1e-8)


# --- several parameters --------------------------------------------------------------------------


def quadratic(centre, curvature):
    centre, curvature = np.asarray(centre, float), np.asarray(curvature, float)
    return Function(
        lambda z: 3.0 - curvature @ (z - centre) ** 2, lambda z: -2 * curvature * (z - centre)
    )


@LOCAL
@given(
    st.lists(st.tuples(st.floats(-3, 3), st.floats(0.1, 10)), min_size=2, max_size=5),
    st.integers(0, 100),
)
def test_the_top_of_a_bowl_inside_the_box(terms, seed):
    """Separable, so the optimum in the box is the centre brought inside it."""
    centre, curvature = np.array(terms).T
    scan = np.random.default_rng(seed).uniform(-2, 2, (6, len(terms)))
    found = maximise(FirstProduct(), quadratic(centre, curvature), box(-2, 2, scan))
    best = np.clip(centre, -2, 2)
    assert found.value == pytest.approx(3.0 - curvature @ (best - centre) ** 2, abs=1e-3)
    np.testing.assert_allclose(found.z, best, atol=0.05)
    assert (np.abs(found.z) <= 2).all()


def two_hills(z):
    """Heights 1 at (2, 2) and 1.5 at (-2, -2)."""
    return np.exp(-((z - 2) ** 2).sum()) + 1.5 * np.exp(-((z + 2) ** 2).sum())


def two_hills_slope(z):
    return -2 * (z - 2) * np.exp(-((z - 2) ** 2).sum()) - 3 * (z + 2) * np.exp(
        -((z + 2) ** 2).sum()
    )


def test_several_starts_find_the_higher_hill():
    """The scan goes from one hill to the other; its best point lies on the lower one."""
    scan = np.array([[-3.0, -3.0], [-1.0, -1.0], [0.0, 0.0], [1.5, 1.5], [3.0, 3.0]])
    assert np.argmax([two_hills(z) for z in scan]) == 3
    space = box(-4, 4, scan)
    probe = Function(two_hills, two_hills_slope)
    assert maximise(FirstProduct(), probe, space, n_starts=1).z[0] == pytest.approx(2, abs=1e-2)
    found = maximise(FirstProduct(), probe, space, n_starts=3)
    np.testing.assert_allclose(found.z, [-2, -2], atol=1e-2)
    assert found.value == pytest.approx(1.5, abs=1e-4)


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (0, 2, 1), (2, 1, 0)])
def test_the_order_of_the_scan_does_not_matter(order):
    """Random frequencies, random parameters: a scan of several parameters has no order."""
    scan = np.array([[1.5, 1.5], [-1.0, -1.0], [3.0, -3.0]])[list(order)]
    probe = Function(two_hills, two_hills_slope)
    space = replace(box(-4, 4, scan), ordered=False)
    found = maximise(FirstProduct(), probe, space, n_starts=3)
    np.testing.assert_allclose(found.z, [-2, -2], atol=1e-2)


def test_a_given_start_leads_to_its_hill():
    space = box(-4, 4, [[1.5, 1.5], [1.0, 1.0], [2.5, 2.5]])
    probe = Function(two_hills, two_hills_slope)
    found = maximise(FirstProduct(), probe, space, starts=[np.array([-1.5, -1.2])])
    np.testing.assert_allclose(found.z, [-2, -2], atol=1e-2)


def test_the_result_is_no_worse_than_any_start():
    """A cliff that a quasi-Newton step falls off must not lose the point it started from."""
    spike = Function(lambda z: float(np.all(z == 0.25)) - 1.0, lambda z: np.ones(2))
    found = maximise(FirstProduct(), spike, box(0, 1, [[0.25, 0.25], [0.5, 0.5]]))
    np.testing.assert_array_equal(found.z, [0.25, 0.25])
    assert found.value == 0


@pytest.mark.parametrize("factor", [1e-12, 1.0, 1e9, 1e200])
def test_the_size_of_the_objective_does_not_matter(factor):
    probe = Function(
        lambda z: factor * two_hills(z), lambda z: factor * np.asarray(two_hills_slope(z))
    )
    found = maximise(FirstProduct(), probe, box(-4, 4, [[-1.0, -1.5], [0.0, 0.0], [1.5, 1.5]]))
    np.testing.assert_allclose(found.z, [-2, -2], atol=1e-2)
    assert found.value == pytest.approx(1.5 * factor, rel=1e-4)


@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e4])
def test_the_unit_of_a_parameter_sets_its_steps(unit):
    probe = Function(
        lambda z: two_hills(z / unit), lambda z: np.asarray(two_hills_slope(z / unit)) / unit
    )
    scan = unit * np.array([[-1.0, -1.5], [0.0, 0.0], [1.5, 1.5]])
    space = SearchSpace(np.full(2, -4 * unit), np.full(2, 4 * unit), scan, np.full(2, unit))
    found = maximise(FirstProduct(), probe, space)
    np.testing.assert_allclose(found.z / unit, [-2, -2], atol=1e-2)


def test_an_objective_that_is_zero_at_every_start_is_searched_all_the_same():
    """After a step the slope towards a kernel already taken is zero: all starts can be there."""
    saddle = Function(
        lambda z: 1e10 * (z[0] - 0.5) * (z[1] + 1),
        lambda z: 1e10 * np.array([z[1] + 1, z[0] - 0.5]),
    )
    space = box(0, 1, [[0.5, 0.2], [0.5, 0.8]])
    found = maximise(FirstProduct(), saddle, space, starts=[np.array([0.5, 0.5])])
    np.testing.assert_allclose(found.z, [1, 1], atol=1e-3)


def test_an_objective_without_a_value_anywhere_says_so():
    """As on rows that are all equal, where no kernel has a direction."""
    nowhere = Function(lambda z: -np.inf, lambda z: np.zeros(2))
    found = maximise(FirstProduct(), nowhere, box(0, 1, [[0.2, 0.2], [0.8, 0.8]]))
    assert found.value == -np.inf
    assert ((found.z >= 0) & (found.z <= 1)).all()


# --- penalties -----------------------------------------------------------------------------------
# A penalty is one on bandwidths, whose search coordinates are positive.


def pull_to(where, strength):
    where = np.asarray(where, dtype=float)

    def penalty(z):
        return strength * float((z - where) @ (z - where)), 2 * strength * (z - where)

    return penalty


@pytest.mark.parametrize("strength", [0.0, 0.5, 2.0, 100.0])
def test_a_penalty_moves_the_optimum_to_where_the_two_balance(strength):
    """max 3 - |z - a|^2 - s |z - b|^2 is at (a + s b) / (1 + s)."""
    a, b = np.array([3.0, 1.0]), np.array([1.5, 2.5])
    probe = quadratic(a, np.ones(2))
    space = box(0.1, 4, [[2.0, 2.0], [3.0, 3.0]])
    found = maximise(FirstProduct(), probe, space, penalty=pull_to(b, strength))
    best = (a + strength * b) / (1 + strength)
    np.testing.assert_allclose(found.z, best, atol=1e-2)
    value = 3 - (best - a) @ (best - a) - strength * (best - b) @ (best - b)
    assert found.value == pytest.approx(value, abs=1e-3)


def test_a_penalised_optimum_on_the_boundary():
    probe = quadratic([3.0, 9.0], np.ones(2))
    space = box(0.5, 4, [[2.0, 2.0], [3.0, 3.0]])
    found = maximise(FirstProduct(), probe, space, penalty=pull_to([3.0, 8.0], 1.0))
    np.testing.assert_allclose(found.z, [3, 4], atol=1e-2)
    assert (found.z <= 4).all()


def test_a_penalty_on_one_parameter():
    probe = Function(lambda z: 3 - (z[0] - 3) ** 2, lambda z: -2 * (z - 3))
    found = maximise(FirstProduct(), probe, line(0.5, 4, 9), penalty=pull_to([1.0], 1.0))
    assert found.z[0] == pytest.approx(2, abs=1e-2)
    assert found.value == pytest.approx(1, abs=1e-3)


def test_a_penalty_decides_between_hills():
    """The higher hill is too far from where the penalty wants the parameters."""
    probe = Function(lambda z: two_hills(z - 4), lambda z: np.asarray(two_hills_slope(z - 4)))
    space = box(0.1, 8, [[2.5, 2.5], [5.5, 5.5]])
    free = maximise(FirstProduct(), probe, space)
    np.testing.assert_allclose(free.z, [2, 2], atol=1e-2)
    found = maximise(FirstProduct(), probe, space, penalty=pull_to([6.0, 6.0], 0.1))
    np.testing.assert_allclose(found.z, [6, 6], atol=1e-2)
    assert found.value == pytest.approx(1, abs=1e-3)
