"""Sums over features of packed pairs."""

import numpy as np
import pytest

from kernalign import KernelSearch
from kernalign.gram import Target
from kernalign.gram.packed import PackedRows
from kernalign.kernels._bump import bump
from kernalign.learners import unit_scan

RNG = np.random.default_rng(0)
U = RNG.normal(size=(30, 4))
#: Two rows may be equal.
U[7] = U[3]
FUNCTIONS = {
    "square": lambda x, z: (x - z) ** 2,
    "absolute": lambda x, z: np.abs(x - z),
    "product": lambda x, z: x * z,
    "bump": lambda x, z: bump(x - z),
}


def packed(precision):
    return PackedRows(U, Target(RNG.normal(size=(len(U), 1)), np.ones(len(U))), precision)


@pytest.mark.parametrize(("precision", "rtol"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize("feature", FUNCTIONS)
def test_sums_are_those_of_the_features(feature, precision, rtol):
    i, j = np.triu_indices(len(U), 1)
    of_features = FUNCTIONS[feature](U[i], U[j])
    rows, r = packed(precision), np.array([0.3, 0.0, 2.0, 1.0])
    found = [rows.summed(feature, r), rows.summed(feature, np.array([0.7]))]
    for own, expected in zip(found, [of_features @ r, 0.7 * of_features.sum(axis=1)], strict=True):
        assert own.dtype == precision
        np.testing.assert_allclose(own, expected, rtol=rtol, atol=rtol)
    W = RNG.normal(size=len(i)).astype(precision)
    for tied, expected in [(False, W @ of_features), (True, [(W @ of_features).sum()])]:
        own = rows.contracted(feature, W, tied)
        np.testing.assert_allclose(own, expected, rtol=rtol, atol=100 * rtol)


def test_one_bandwidth_needs_no_single_features():
    """Of (d, pairs) numbers there is more memory and work than of all else in the search."""
    rows = packed(np.float32)
    for feature in FUNCTIONS:
        rows.summed(feature, np.ones(1))
        rows.contracted(feature, np.ones(30 * 29 // 2, dtype=np.float32), tied=True)
    assert not rows._pairs


def test_a_search_on_the_scanned_rows_does_not_pack_them_again(monkeypatch):
    made = []

    class Counted(PackedRows):
        def __init__(self, rows, *given, **options):
            made.append(len(rows))
            super().__init__(rows, *given, **options)

    monkeypatch.setattr(unit_scan, "PackedRows", Counted)
    KernelSearch().fit(U, np.sin(U[:, 0]))
    # In the units of the columns' spreads, and in damped ones.
    assert made == [len(U)] * 2
