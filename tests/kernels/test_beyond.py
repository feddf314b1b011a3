"""Variance of the change beyond the range of the training rows."""

import numpy as np
import pytest

from kernalign import Gaussian, KernelRegressor, KernelSearch, Linear
from kernalign.kernels import FamilyMember, LearnedKernel
from kernalign.kernels.beyond import variance_beyond
from kernalign.kernels.units import Units

X = np.random.default_rng(0).uniform(-1, 1, size=(50, 2))
UNITS = Units.of(X, np.ones(50))


def in_units(family, sigma):
    return LearnedKernel([FamilyMember(family.in_units(UNITS), np.array(sigma))], np.array([2.0]))


def test_no_change_inside_the_range_or_without_units():
    kernel = in_units(Gaussian(ard=True), [1.0, 2.0])
    np.testing.assert_array_equal(variance_beyond(kernel, X), 0)
    plain = LearnedKernel([Gaussian().at(1.0)], np.ones(1))
    np.testing.assert_array_equal(variance_beyond(plain, 100 * X), 0)


def test_equals_the_variogram_of_the_kernel_without_clipping():
    kernel = in_units(Gaussian(ard=True), [1.0, 2.0])
    out = np.array([[1.5, 0.0], [0.2, -3.0], [5.0, 5.0], [0.0, 0.0]])
    corner = np.clip(out, X.min(axis=0), X.max(axis=0))

    def u(rows):
        scaled = (rows - UNITS.centre) / UNITS.spread
        far = np.maximum(np.abs(scaled) - 3, 0)
        curve = np.where(far > 0, np.sign(scaled) * (3 + np.log1p(far)), scaled)
        return (curve - UNITS.mean) / UNITS.deviation

    D = (((u(out) - u(corner)) / [1.0, 2.0]) ** 2).sum(axis=1)
    np.testing.assert_allclose(variance_beyond(kernel, out), 4 * (1 - np.exp(-D)), atol=1e-5)


@pytest.mark.parametrize("family", [Gaussian(ard=True), Linear()])
def test_grows_with_the_distance_and_stays_finite(family):
    kernel = in_units(family, [1.0, 1.0])
    away = np.array([[1.0, 0.0]]) * np.array([0.0, 1.1, 2.0, 10.0, 1e100, 1e300])[:, None]
    found = variance_beyond(kernel, away)
    assert found[0] == 0
    assert (np.diff(found) >= -1e-9).all()
    assert np.isfinite(found).all()


def test_standard_deviations_grow_beyond_the_rows():
    y = np.sin(3 * X[:, 0]) + 0.1 * np.random.default_rng(1).normal(size=50)
    model = KernelRegressor(KernelSearch(effort="quick"), cv=2).fit(X, y)
    near, far = model.predict(np.array([[0.9, 0.0], [4.0, 0.0]]), return_std=True)[1]
    assert far > 2 * near
    low, high = model.predict_interval(np.array([[0.9, 0.0], [4.0, 0.0]])).T
    assert (high - low)[1] > 2 * (high - low)[0]
