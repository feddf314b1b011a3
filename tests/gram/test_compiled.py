"""The compiled pass over pairs computes what numpy computes, and what a sum over pairs says."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from kernalign import ContinuousAlignment, Gaussian, Laplacian
from kernalign._compiled import loops_in_use
from kernalign.gram import Target, semigroup
from kernalign.gram.dictionary import DictionaryPass
from kernalign.gram.semigroup import SemigroupPass
from kernalign.gram.tiles import pass_over_pairs
from kernalign.rows import pairs

pytest.importorskip("numba")

families = pytest.mark.parametrize(
    "family", [Gaussian(), Laplacian()], ids=["gaussian", "laplacian"]
)


def problem(n, outputs, d=3):
    rng = np.random.default_rng(n)
    X, Y = rng.normal(size=(n, d)), rng.normal(size=(n, outputs))
    return X, Target(Y, rng.uniform(0.5, 2.0, n))


def grid(family, octaves, widest=1e-3):
    per_octave = family.nodes_per_octave
    return widest * 2.0 ** (np.arange(octaves * per_octave + 1) / per_octave)


def passed(family, gamma, X, target, saved):
    return pass_over_pairs(SemigroupPass(family, gamma, gamma.size, saved), X, target).summary


def same(found, wanted, rtol):
    """Sums of products of weights and kernel values are compared with sums of their sizes."""
    np.testing.assert_allclose(found.total, wanted.total, rtol=rtol)
    np.testing.assert_allclose(found.cross, wanted.cross, rtol=rtol)
    np.testing.assert_allclose(
        found.with_target, wanted.with_target, rtol=rtol, atol=rtol * wanted.total.max()
    )


@families
@pytest.mark.parametrize("outputs", [1, 2, 3, 4])
@pytest.mark.parametrize(("n", "sizes"), [(1, (32, 16)), (70, (32, 16)), (101, (1024, 256))])
def test_sums_are_those_over_all_pairs(family, outputs, n, sizes, monkeypatch):
    """For rows and columns that are no multiples of the sizes of tiles and vectors."""
    monkeypatch.setattr(pairs, "SIZES", (sizes,))
    X, target = problem(n, outputs)
    gamma = grid(family, octaves=12)
    found = passed(family, gamma, X, target, saved=np.inf)
    w, Y = target.weight, target.weighted
    K = np.exp(-gamma[:, None, None] * family.statistic(X))
    sums = K @ w
    np.testing.assert_allclose(found.total, sums @ w, rtol=1e-11)
    np.testing.assert_allclose(found.cross, np.einsum("gi,hi,i->gh", sums, sums, w), rtol=1e-11)
    with_target = np.einsum("ic,gij,jc->g", Y, K, Y)
    np.testing.assert_allclose(
        found.with_target, with_target, rtol=1e-10, atol=1e-11 * np.vdot(Y, Y)
    )


@families
def test_exponentials_are_computed_again_after_many_octaves(family):
    """By numpy after as many, so that errors are the same."""
    octaves = 2 * semigroup.OCTAVES_PER_EXP + 3
    X, target = problem(90, 2)
    gamma = grid(family, octaves, widest=1e-9)
    found, wanted = (passed(family, gamma, X, target, saved) for saved in (np.inf, 0.0))
    # Squaring doubles a relative error.
    same(found, wanted, rtol=2.0**semigroup.OCTAVES_PER_EXP * 1e-15)


@families
def test_tiles_too_far_apart_to_be_seen_are_left_out(family, monkeypatch):
    monkeypatch.setattr(pairs, "SIZES", ((32, 16),))
    X, target = problem(64, 1)
    X[32:] += 1e3
    gamma = grid(family, octaves=12)
    asked = []
    tile = SemigroupPass._compiled_tile

    def counting(self, loops, D, w, factor, products, mirrored):
        asked.append(len(products))
        tile(self, loops, D, w, factor, products, mirrored)

    monkeypatch.setattr(SemigroupPass, "_compiled_tile", counting)
    found = passed(family, gamma, X, target, saved=np.inf)
    assert min(asked) < gamma.size
    assert max(asked) == gamma.size
    same(found, passed(family, gamma, X, target, saved=0.0), rtol=1e-11)


@families
def test_one_and_two_threads_agree_bit_for_bit(family, monkeypatch):
    monkeypatch.setattr(pairs, "SIZES", ((32, 16),))
    X, target = problem(150, 2)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            found.append(passed(family, grid(family, 10), X, target, saved=np.inf))
    one, two = found
    np.testing.assert_array_equal(one.total, two.total)
    np.testing.assert_array_equal(one.cross, two.cross)
    np.testing.assert_array_equal(one.with_target, two.with_target)


@families
def test_products_of_a_dictionary(family):
    X, target = problem(101, 2)
    kernels = [family.at(sigma) for sigma in (0.5, 1.0, 4.0)]
    found, wanted = (
        pass_over_pairs(DictionaryPass(kernels, saved), X, target) for saved in (np.inf, 0.0)
    )
    same(found.summary, wanted.summary, rtol=1e-13)
    np.testing.assert_allclose(found.products, wanted.products, rtol=1e-13)
    np.testing.assert_allclose(found.diagonal, wanted.diagonal, rtol=1e-13)


def test_the_size_of_a_fit_decides(monkeypatch):
    """Both passes of a large fit are compiled, and no pass of a small one."""
    X, target = problem(40, 1)
    used = []
    share = pairs.Pass.share

    def watched(self, *blocks):
        inner = self._share

        def seen(*arguments):
            used.append((type(self).__name__, loops_in_use() is not None))
            return inner(*arguments)

        monkeypatch.setattr(self, "_share", seen, raising=False)
        return share(self, *blocks)

    monkeypatch.setattr(pairs.Pass, "share", watched)
    ContinuousAlignment(Gaussian()).fit(X, target.values[:, 0])
    assert set(used) == {("SemigroupPass", False), ("DictionaryPass", False)}
    used.clear()
    monkeypatch.setattr(semigroup, "SAVED", 1.0)
    ContinuousAlignment(Gaussian()).fit(X, target.values[:, 0])
    assert set(used) == {("SemigroupPass", True), ("DictionaryPass", True)}
