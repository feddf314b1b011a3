"""Kernel values by compiled loops are those of the formula, in both precisions."""

import numpy as np
import pytest

from kernalign._compiled import compiled, loops_in_use
from tests.kernels.families import named

pytest.importorskip("numba")

cases = pytest.mark.parametrize(
    "case",
    named(
        "gaussian",
        "gaussian-ard",
        "laplacian",
        "laplacian-ard",
        "matern-0.5",
        "matern-1.5",
        "matern-2.5",
    ),
    ids=lambda case: case.name,
)


def rows_of(case):
    rng = np.random.default_rng(0)
    # Numbers of rows that are no multiple of the length of a vector.
    train, X, Z = (case.rows(rng, n) for n in (50, 43, 61))
    return case.resolved(train), case.parameters(rng, train), train, X, Z


@cases
@pytest.mark.parametrize("with_itself", [True, False])
def test_values_are_those_of_the_formula(case, with_itself):
    family, sigma, train, X, Z = rows_of(case)
    with compiled(np.inf):
        assert loops_in_use() is not None
        found = family.gram(sigma, X, None if with_itself else Z)
    wanted = case.reference(train, sigma, X, X if with_itself else Z)
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-14)


@cases
def test_values_in_single_precision_are_as_good_as_those_of_numpy(case):
    family, sigma, _, X, Z = rows_of(case)
    exact = family.gram(sigma, X, Z)
    X, Z = X.astype(np.float32), Z.astype(np.float32)
    by_numpy = family.gram(sigma, X, Z)
    with compiled(np.inf):
        found = family.gram(sigma, X, Z)
    assert found.dtype == by_numpy.dtype == np.float32
    bound = np.abs(by_numpy - exact).max() + 10 * np.finfo(np.float32).eps
    assert np.abs(found - exact).max() <= bound


@cases
def test_rows_at_any_distance_give_finite_values(case):
    family, sigma, _, X, _ = rows_of(case)
    far = X.copy()
    far[::2] *= 1e150
    with compiled(np.inf):
        K = family.gram(sigma, far)
    np.testing.assert_allclose(K, family.gram(sigma, far), rtol=1e-10, atol=1e-14)
    assert np.isfinite(K).all()
