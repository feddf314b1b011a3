"""Kernel values by compiled loops are those of the formula, in both precisions."""

import numpy as np
import pytest

from kernalign._compiled import compiled, loops_in_use
from kernalign.kernels import Gaussian, Laplacian, LearnedKernel, Linear, Matern, learned
from kernalign.kernels.together import seconds_saved
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


def test_seconds_saved_are_those_of_families_with_compiled_loops():
    kernels = [Gaussian().at(1.0), Linear().at(1.0), Laplacian().at(2.0)]
    per_value = Gaussian.saved_per_value + Laplacian.saved_per_value
    assert seconds_saved(kernels, 1e9) == pytest.approx(1e9 * per_value)
    assert seconds_saved(kernels[1:2], 1e12) == 0


@pytest.mark.parametrize("with_itself", [True, False])
def test_large_gram_matrices_are_compiled(with_itself, monkeypatch):
    kernel = LearnedKernel([Laplacian().at(2.0), Matern().at(1.0)], np.array([0.3, 0.7]))
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(40, 3)), None if with_itself else rng.normal(size=(30, 3))
    wanted = kernel(X, Z)
    monkeypatch.setattr(learned, "BLOCK", 200)
    monkeypatch.setattr(Laplacian, "saved_per_value", np.inf)
    found = kernel(X, Z)
    assert (found != wanted).any(), "otherwise the test compares numpy with itself"
    np.testing.assert_allclose(found, wanted, rtol=1e-13)
