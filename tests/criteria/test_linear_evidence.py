"""Evidence of a linear kernel from moments is that from all pairs."""

import numpy as np
import pytest

from kernalign.criteria.kernel_sum import KernelSum, Term
from kernalign.criteria.linear_evidence import LinearEvidence, evidence_like
from kernalign.criteria.sum_evidence import SumEvidence
from kernalign.gram import Target
from kernalign.gram.packed import PackedRows
from kernalign.kernels import Additive, Gaussian, Linear

N, D = 40, 4
WEIGHTS = {
    "equal": np.ones(N),
    "integer": np.random.default_rng(5).integers(1, 4, N).astype(float),
    "fractional": np.random.default_rng(6).uniform(0.3, 3.0, N),
}


def packed(weight, X=None, noise=0.3, codes=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) + 0.5 if X is None else X
    Y = np.column_stack([X[:, 0] - X[:, 1], X[:, 2]]) + noise * rng.normal(size=(N, 2))
    return PackedRows(X, Target(Y, weight), float, codes)


def linear(size):
    return KernelSum((Term(Linear(), np.zeros(size)),), 0.0)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("size", [1, D])
@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("log_noise", [-9.0, -1.0, 5.0])
def test_value_and_slope_equal_those_of_all_pairs(weights, size, noise, log_noise):
    rows = packed(WEIGHTS[weights], noise=noise)
    forms = [form.like(rows, linear(size), 3.0) for form in (SumEvidence, LinearEvidence)]
    x = np.append(np.random.default_rng(1).normal(size=size), log_noise)
    (value, slope), (of_moments, slope_of_moments) = (form(x) for form in forms)
    assert of_moments == pytest.approx(value, rel=1e-9, abs=1e-7)
    np.testing.assert_allclose(slope_of_moments, slope, atol=1e-6 * np.abs(slope).max())
    k = forms[0].split(x)
    assert forms[1].value(k) == pytest.approx(forms[0].value(k), rel=1e-9, abs=1e-7)
    assert [form.evaluations for form in forms] == [1, 1]


@pytest.mark.parametrize("columns", ["constant", "equal"])
def test_columns_that_say_nothing_or_the_same(columns):
    X = np.random.default_rng(0).normal(size=(N, D))
    X[:] = 0.0 if columns == "constant" else X[:, :1]
    rows = packed(np.ones(N), X)
    x = np.append(np.zeros(D), -1.0)
    (value, slope), (of_moments, slope_of_moments) = (
        form.like(rows, linear(D), 3.0)(x) for form in (SumEvidence, LinearEvidence)
    )
    assert of_moments == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(slope_of_moments, slope, atol=1e-7)


def test_the_cheapest_form_is_taken():
    def form(k, **options):
        return type(evidence_like(packed(np.ones(N), **options), k, 3.0))

    assert form(linear(D)) is LinearEvidence
    assert form(KernelSum((Term(Additive(), np.zeros(D)),), 0.0)) is SumEvidence
    assert form(KernelSum((*linear(D).terms, Term(Gaussian(ard=True), np.zeros(1))), 0.0)) is (
        SumEvidence
    )
    huge = np.ones((N, D))
    huge[0, 3] = 1e160
    assert form(linear(D), X=huge) is SumEvidence
    # Categories are not numbers; and of many columns pairs are cheaper.
    assert form(linear(D), codes=np.array([0, 3, 0, 0])) is SumEvidence
    wide = np.random.default_rng(0).normal(size=(N, N // 2))
    assert form(linear(1), X=wide) is SumEvidence
