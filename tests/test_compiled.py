"""Compiled loops are used where they pay, and compute what numpy computes."""

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from kernalign import _compiled
from kernalign._compiled import START_UP, compiled, loops_in_use
from kernalign.kernels._decay import LARGEST, decay

precisions = pytest.mark.parametrize("kind", [np.float64, np.float32])


@pytest.fixture
def loops():
    pytest.importorskip("numba")
    with compiled(np.inf):
        assert loops_in_use() is not None
        yield loops_in_use()


# -- where they are used ----------------------------------------------------------------------


def test_they_are_used_inside_only_and_if_they_pay():
    pytest.importorskip("numba")
    assert loops_in_use() is None
    with compiled(2 * START_UP):
        assert loops_in_use() is not None
        # A part of a large computation is not a small one.
        with compiled(START_UP / 2):
            assert loops_in_use() is not None
    assert loops_in_use() is None
    with compiled(START_UP / 2):
        assert loops_in_use() is None


@pytest.mark.parametrize(
    "error",
    [
        ImportError("no numba"),
        RuntimeError("no locator available"),
        OSError("no library of llvmlite"),
        SystemError("another numpy"),
        AttributeError("an older numba"),
    ],
)
def test_without_a_usable_numba_there_are_no_loops(error, monkeypatch):
    class Failing:
        def find_spec(self, name, path=None, target=None):
            if name == "kernalign._loops":
                raise error

    import kernalign

    monkeypatch.setattr(sys, "meta_path", [Failing(), *sys.meta_path])
    monkeypatch.delitem(sys.modules, "kernalign._loops", raising=False)
    monkeypatch.delattr(kernalign, "_loops", raising=False)
    _compiled._loops.cache_clear()
    try:
        with compiled(np.inf):
            assert loops_in_use() is None
    finally:
        _compiled._loops.cache_clear()


SMALL_FIT = """
import sys
import numpy as np
from kernalign import ContinuousAlignment
X = np.random.default_rng(0).normal(size=(2000, 3))
ContinuousAlignment().fit(X, np.sign(X[:, 0]))
sys.exit("numba" in sys.modules)
"""


def test_small_fits_do_not_wait_for_the_import_of_numba():
    assert subprocess.run([sys.executable, "-c", SMALL_FIT], check=False).returncode == 0


# -- exp(-u) ----------------------------------------------------------------------------------


@precisions
def test_decay_is_the_exponential_to_rounding(kind, loops):
    most = LARGEST[np.dtype(kind)]
    # A number of values that is no multiple of the length of a vector.
    u = np.concatenate([[0.0], np.logspace(-9, np.log10(most / 2), 10007)]).astype(kind)
    found, exact = decay(u), np.exp(-u.astype(np.longdouble))
    assert found.dtype == kind
    # Beyond half of the exponent, the constant that makes it continuous is not below rounding.
    assert float(np.abs(found / exact - 1).max()) < 2 * np.finfo(kind).eps


@precisions
def test_decay_ends_in_zero_without_subnormal_numbers(kind, loops):
    most = LARGEST[np.dtype(kind)]
    u = np.linspace(0.5 * most, 3 * most, 5001).astype(kind)
    found = decay(u)
    assert (found[u >= most] == 0).all()
    assert (np.diff(found) <= 0).all()
    assert found.min() == 0
    assert found[found > 0].min() > np.finfo(kind).tiny
    # Infinite distances are possible, and NaN is not hidden.
    np.testing.assert_array_equal(
        decay(np.array([np.inf, np.nan, 0.0], dtype=kind))[[0, 1]], [0, np.nan]
    )


@precisions
def test_decay_in_place_and_of_arrays_that_are_not_contiguous(kind, loops):
    u = np.random.default_rng(0).uniform(0, 9, (37, 41)).astype(kind)
    exact, rtol = np.exp(-u), 4 * np.finfo(kind).eps
    out = np.empty((37, 82), dtype=kind)[:, ::2]
    assert decay(u, out=out) is out
    np.testing.assert_allclose(out, exact, rtol=rtol)
    np.testing.assert_allclose(decay(np.asfortranarray(u)), exact, rtol=rtol)
    assert decay(u, out=u) is u
    np.testing.assert_allclose(u, exact, rtol=rtol)


# -- distances --------------------------------------------------------------------------------


@precisions
@pytest.mark.parametrize("d", [1, 3, 4, 5, 8, 31])
def test_cityblock_distances(kind, d, loops):
    rng = np.random.default_rng(d)
    A, B = rng.normal(size=(13, d)).astype(kind), rng.normal(size=(37, d)).astype(kind)
    out = np.full((13, 37), np.nan, dtype=kind)
    loops.cityblock(A, np.ascontiguousarray(B.T), out)
    exact = cdist(A.astype(float), B.astype(float), "cityblock")
    np.testing.assert_allclose(out, exact, rtol=d * np.finfo(kind).eps)


@precisions
def test_cityblock_distances_are_symmetric(kind, loops):
    """Bit for bit, wherever a pair is in a vector."""
    A = np.random.default_rng(0).normal(size=(45, 7)).astype(kind)
    out = np.empty((45, 45), dtype=kind)
    loops.cityblock(A, np.ascontiguousarray(A.T), out)
    np.testing.assert_array_equal(out, out.T)
    np.testing.assert_array_equal(np.diagonal(out), 0)


def test_loops_that_numba_does_not_compile_are_not_used():
    code = "from kernalign import _compiled; print(_compiled._loops())"
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    found = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=True)
    assert found.stdout.strip() == b"None"
