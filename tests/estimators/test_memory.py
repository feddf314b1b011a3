"""Memory is a promise: nothing goes over the budget it states."""

import tracemalloc

import numpy as np
import pytest
from sklearn import config_context

from kernalign import (
    ContinuousAlignment,
    Fourier,
    Gaussian,
    KernelClassifier,
    KernelRegressor,
    Laplacian,
    Matern,
)
from kernalign.features import NystroemMap
from kernalign.machines import normal_equations

MB = 2**20


def problem(n, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.sign(X[:, 0] * X[:, 1]).astype(int)


def peak_of(function):
    """Megabytes that a call needs at its worst, beyond what was there."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        function()
        return (tracemalloc.get_traced_memory()[1] - before) / MB
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("family", [Gaussian(), Matern(), Laplacian()], ids=repr)
@pytest.mark.parametrize("estimator", [KernelClassifier, KernelRegressor])
def test_predictions_of_many_rows_stay_within_working_memory(estimator, family):
    """40,000 x 200 kernel values are 61 MB; the budget is 8."""
    X, y = problem(200)
    model = estimator(ContinuousAlignment(family, max_iter=3), C=1.0, cv=2).fit(X, y)
    many, _ = problem(40_000, seed=1)
    with config_context(working_memory=8):
        # The outputs themselves and validated copies of the rows come on top.
        assert peak_of(lambda: model.predict(many)) < 8 + 4


@pytest.mark.parametrize("family", [Gaussian(), Matern()], ids=repr)
def test_one_bandwidth_is_learned_without_a_gram_matrix(family):
    """A Gram matrix of 3000 rows is 69 MB."""
    X, y = problem(3000)
    learner = ContinuousAlignment(family)
    learner.fit(X[:100], y[:100])
    assert peak_of(lambda: learner.fit(X, y)) < 35


def test_frequencies_need_no_gram_matrix_from_end_to_end():
    """Learning, choice of C, machine and calibration; a Gram matrix would be 1.1 GB."""
    X = np.random.default_rng(0).standard_normal((12_000, 1))
    y = (np.sin(5 * X[:, 0]) > 0).astype(int)
    learner = ContinuousAlignment(Fourier(bounds=(0, 10)), max_iter=2)
    model = KernelClassifier(learner)
    assert peak_of(lambda: model.fit(X, y)) < 200 * 8 * 12_000 / MB
    assert model.solver_ == "fourier"
    assert model.score(X, y) > 0.95


def test_sums_of_features_stay_within_working_memory():
    """5000 rows of 1000 features are 38 MB; the budget is 8, their Gram matrix 8 twice over."""
    X, y = problem(5000)
    Y = y[:, None].astype(float)
    kernel = ContinuousAlignment(max_iter=1).fit(X[:200], y[:200]).kernel_
    features = NystroemMap(kernel, X[:1000])
    with config_context(working_memory=8):
        assert peak_of(lambda: normal_equations(features, X, Y, np.ones(5000))) < 8 + 16 + 8


def test_frequencies_are_learned_in_linear_memory():
    X, y = problem(20_000, d=2)
    learner = ContinuousAlignment(Fourier(), max_iter=1)
    # A hundred numbers per row, against 20,000 for a Gram matrix.
    assert peak_of(lambda: learner.fit(X, y)) < 100 * 8 * 20_000 / MB
