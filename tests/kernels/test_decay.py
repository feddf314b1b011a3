"""exp(-u) without subnormal numbers."""

import numpy as np
import pytest

from kernalign import Gaussian, Laplacian, Matern
from kernalign.kernels._decay import LARGEST, decay


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_equals_the_exponential_where_it_matters(kind):
    u = np.linspace(0, 30, 2000).astype(kind)
    np.testing.assert_allclose(decay(u), np.exp(-u), rtol=4e-6 if kind is np.float32 else 1e-15)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_gives_no_subnormal_number(kind):
    u = np.linspace(0, 2 * LARGEST[np.dtype(kind)], 5000).astype(kind)
    value = decay(u)
    assert value.dtype == kind
    assert (np.diff(value) <= 0).all()
    assert value[value > 0].min() > np.finfo(kind).tiny
    assert (value[u >= LARGEST[np.dtype(kind)]] == 0).all()


def test_writes_in_place():
    u = np.array([0.0, 1.0, 1e200, np.inf])
    assert decay(u, out=u) is u
    np.testing.assert_allclose(u, [1, np.exp(-1), 0, 0])


@pytest.mark.parametrize("family", [Gaussian(), Laplacian(), Matern(nu=0.5), Matern(nu=2.5)])
def test_kernels_of_far_points_have_no_subnormal_values(family):
    X = np.linspace(0, 100, 300)[:, None]
    K = family.at(0.1)(X)
    assert K[K > 0].min() > np.finfo(float).tiny
    assert (K == 0).any()
