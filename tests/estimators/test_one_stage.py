"""Learners that train their machine with the kernel: that machine predicts, its C is tuned."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from kernalign import (
    ContinuousRisk,
    DiscreteAlignment,
    Gaussian,
    KernelClassifier,
    KernelRegressor,
    LpNormMKL,
    PolynomialMKL,
    RidgeMKL,
    UniformWeights,
)

KERNELS = Gaussian().grid(0.3, 3, 4)
ONE_STAGE = [
    LpNormMKL(KERNELS, p=1),
    LpNormMKL(KERNELS, p=2),
    RidgeMKL(KERNELS),
    PolynomialMKL(KERNELS),
    ContinuousRisk(corrective=True),
    ContinuousRisk(solver="dc", corrective=True),
]
one_stage = pytest.mark.parametrize("learner", ONE_STAGE, ids=lambda w: type(w).__name__)


def moons(n=80):
    return make_moons(n, noise=0.2, random_state=1)


@one_stage
def test_the_learners_own_machine_predicts(learner):
    X, y = moons()
    classifier = KernelClassifier(learner, C=3.0, cv=2).fit(X, y)
    alone = learner.regularised(3.0).fit(X, y)
    decision = np.ravel(alone.machine_.predict(alone.kernel_(X, X)))
    np.testing.assert_allclose(classifier.decision_function(X), decision, atol=1e-8)


@one_stage
def test_c_is_chosen_by_the_same_cross_validation(learner):
    """The error of each C is that of fits on the training part of each fold, ties to the left."""
    X, y = moons(60)
    values = [0.03, 1.0, 30.0]
    folds = list(StratifiedKFold(2).split(X, y))
    classifier = KernelClassifier(learner, C=values, cv=folds).fit(X, y)
    for C, error in zip(values, classifier.cv_results_["error"], strict=True):
        wrong = 0
        for train, test in folds:
            part = learner.regularised(C).fit(X[train], y[train])
            decision = np.ravel(part.machine_.predict(part.kernel_(X[test], X[train])))
            wrong += ((decision > 0) != y[test]).sum()
        # A path may start one C from the last and stop within its tolerance elsewhere.
        assert error == pytest.approx(wrong / len(y), abs=1.5 / len(y))
    assert values[int(np.argmin(classifier.cv_results_["error"]))] == classifier.C_


@one_stage
def test_several_classes(learner):
    X, y = make_blobs(60, centers=3, cluster_std=1.0, random_state=0)
    classifier = KernelClassifier(learner, C=1.0, cv=2).fit(X, y)
    assert classifier.decision_function(X).shape == (60, 3)
    assert classifier.score(X, y) > 0.85


@one_stage
def test_a_machine_that_is_given_replaces_its_own(learner):
    X, y = moons()
    classifier = KernelClassifier(learner, SVC(kernel="precomputed"), C=1.0, cv=2).fit(X, y)
    assert [record["machine"] for record in classifier.path_] == ["SVC"]
    assert classifier.score(X, y) > 0.85


@one_stage
def test_fitted_classifiers_pickle(learner):
    X, y = moons()
    classifier = KernelClassifier(learner, C=1.0, cv=2).fit(X, y)
    again = pickle.loads(pickle.dumps(classifier))
    np.testing.assert_array_equal(again.decision_function(X), classifier.decision_function(X))


@pytest.mark.parametrize(
    "learner",
    [RidgeMKL(KERNELS), PolynomialMKL(KERNELS), ContinuousRisk(corrective=True)],
    ids=lambda w: type(w).__name__,
)
def test_responses_come_back_in_their_own_units(learner):
    X = np.linspace(-2, 2, 60)[:, None]
    y = 1000 + 50 * np.sin(2 * X[:, 0])
    assert KernelRegressor(learner, C=100.0).fit(X, y).score(X, y) > 0.95


def test_uniform_weights_are_the_limit_of_large_p():
    X, y = moons()
    C = 2.0
    # |theta|_inf <= 1 sums the kernels, the normalised kernel divides by their centred trace.
    sums = KernelClassifier(LpNormMKL(KERNELS, p=np.inf, tol=1e-6), C=C, cv=2).fit(X, y)
    total = sum(kernel(X) for kernel in KERNELS)
    plain = SVC(kernel="precomputed", C=C, tol=1e-6).fit(total, y)
    np.testing.assert_allclose(sums.decision_function(X), plain.decision_function(total), atol=1e-3)
    uniform = UniformWeights(KERNELS).fit(X, y).kernel_
    np.testing.assert_allclose(sums.kernel_(X), uniform(X), atol=1e-10)


def test_one_kernel_is_a_plain_machine():
    X, y = moons()
    kernel = [Gaussian().at(0.8)]
    mkl = KernelClassifier(LpNormMKL(kernel, p=1, tol=1e-6), C=2.0, cv=2).fit(X, y)
    plain = SVC(kernel="precomputed", C=2.0, tol=1e-6).fit(kernel[0](X), y)
    np.testing.assert_allclose(
        mkl.decision_function(X), plain.decision_function(kernel[0](X)), atol=1e-3
    )


def test_gram_matrices_and_row_numbers():
    """Precomputed kernels: X is a column of row numbers, for prediction too."""
    X, y = moons(100)
    grams = [kernel(X) for kernel in KERNELS]
    rows = np.arange(100)[:, None]
    by_number = KernelClassifier(DiscreteAlignment(grams), C=1.0).fit(rows[:60], y[:60])
    by_data = KernelClassifier(DiscreteAlignment(KERNELS), C=1.0).fit(X[:60], y[:60])
    np.testing.assert_allclose(
        by_number.decision_function(rows[60:]), by_data.decision_function(X[60:]), atol=1e-8
    )
