"""Machines of the user's: regressors on classes, and limits that were met."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC

from kernalign import ContinuousAlignment, KernelClassifier


def test_a_regressor_on_two_classes_sees_signs():
    X, y = make_moons(120, noise=0.15, random_state=0)
    model = KernelClassifier(ContinuousAlignment(), KernelRidge(kernel="precomputed"), C=10.0).fit(
        X, y
    )
    K = model.kernel_(X)
    by_hand = np.linalg.solve(K + 0.1 * np.eye(120), 2.0 * y - 1)
    np.testing.assert_allclose(model.decision_function(X), K @ by_hand, atol=1e-6)
    assert model.score(X, y) > 0.95


def test_a_regressor_on_three_classes_sees_one_column_each():
    X, y = load_iris(return_X_y=True)
    model = KernelClassifier(ContinuousAlignment(), KernelRidge(kernel="precomputed"), C=10.0).fit(
        X, y
    )
    assert model.decision_function(X).shape == (150, 3)
    assert model.score(X, y) > 0.9


def test_a_machine_that_stopped_early_is_reported():
    X, y = make_moons(80, noise=0.3, random_state=0)
    stopped = SVC(kernel="precomputed", max_iter=5)
    with pytest.warns(ConvergenceWarning, match="SVC stopped after 5 iterations at C=100"):
        KernelClassifier(ContinuousAlignment(), machine=stopped, C=100.0, cv=2).fit(X, y)
