"""Stationary kernels see differences only, however far from the origin the data lie."""

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kernalign.kernels import Fourier, GaussianMetric
from tests.kernels.families import CASES, problem

stationary = pytest.mark.parametrize(
    "case", [case for case in CASES if case.stationary], ids=lambda case: case.name
)
EPS = np.finfo(float).eps


def rounding(family, sigma, shift):
    """What rounding x / sigma, omega x or L'x, at |x| = shift can change in a kernel value."""
    per_unit = np.abs(sigma) if isinstance(family, Fourier | GaussianMetric) else 1 / sigma
    return 32 * EPS * shift * per_unit.sum()


@stationary
@pytest.mark.parametrize("shift", [1.0, 1e3, 1e6])
def test_shifted_data_keep_their_gram_matrix(case, shift):
    p = problem(case)
    # Moved data are rounded, so the naive formula gets the very same rows.
    X, Z = p.X + shift, p.Z - 0.0 + shift
    sigma = p.sigma
    # A user's function is as accurate as the user made it.
    tolerance = 1e-12 + rounding(p.family, sigma, shift + np.abs(p.X).max())
    for other in (None, Z):
        naive = case.reference(X, sigma, X, X if other is None else other)
        K = p.family.gram(sigma, X, other)
        np.testing.assert_allclose(K, naive, rtol=0, atol=tolerance)


@stationary
@settings(max_examples=10, deadline=None, derandomize=True, phases=[Phase.generate])
@given(shift=st.floats(-1e4, 1e4), seed=st.integers(0, 99))
def test_shift_invariance(case, shift, seed):
    p = problem(case, seed, n=6, m=4)
    tolerance = 1e-12 + 4 * rounding(p.family, p.sigma, abs(shift) + np.abs(p.X).max())
    moved = p.family.gram(p.sigma, p.X + shift, p.Z + shift)
    np.testing.assert_allclose(moved, p.family.gram(p.sigma, p.X, p.Z), rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    "case", [case for case in CASES if not case.stationary], ids=lambda case: case.name
)
def test_the_other_families_do_see_the_origin(case):
    """Guards the list: a family marked as not stationary really is not."""
    p = problem(case)
    moved = p.family.gram(p.sigma, p.X + 1, p.Z + 1)
    assert np.abs(moved - p.family.gram(p.sigma, p.X, p.Z)).max() > 1e-6


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@settings(max_examples=10, deadline=None, derandomize=True, phases=[Phase.generate])
@given(seed=st.integers(0, 999))
def test_permuting_rows_permutes_gram(case, seed):
    p = problem(case, seed, n=8)
    order = p.rng.permutation(8)
    K = p.family.gram(p.sigma, p.X)
    np.testing.assert_allclose(
        p.family.gram(p.sigma, p.X[order]), K[np.ix_(order, order)], rtol=1e-12, atol=1e-13
    )
