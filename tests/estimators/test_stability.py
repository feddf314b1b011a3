"""What folds find again of a kernel, and how their spread tells that of samples."""

import numpy as np
import pytest

from kernalign import ContinuousAlignment, Gaussian, KernelClassifier, KernelRegressor
from kernalign.estimators.stability import FoldKernel, _inflation, stability
from kernalign.kernels import Laplacian, LearnedKernel, Matern

X = np.random.default_rng(0).normal(size=(30, 2))


def kernel(*members, weights=None):
    return LearnedKernel(members, np.ones(len(members)) if weights is None else weights)


def test_kernels_that_come_back_are_counted():
    found = stability(
        kernel(Gaussian().at(1.0), Gaussian().at(2.0), Laplacian().at(1.0)),
        30,
        [
            FoldKernel(kernel(Gaussian().at(1.0)), 20),
            FoldKernel(kernel(Matern(1.5).at(1.0), Gaussian().at(3.0), weights=[3.0, 1.0]), 20),
        ],
        X,
    )
    assert found.families == ("Gaussian", "Laplacian", "Matern(nu=1.5)")
    np.testing.assert_allclose(found.weights, [[2 / 3, 1 / 3, 0], [1, 0, 0], [0.25, 0, 0.75]])
    assert found.came_back == {"Gaussian": 2, "Laplacian": 0, "Matern(nu=1.5)": 1}
    assert "Gaussian: in 2 of 2 folds, 67 % of the weights" in str(found)


def test_alignment_is_one_for_the_same_kernel_and_naive_for_others():
    own, other = kernel(Gaussian().at(1.0)), kernel(Gaussian().at(5.0))
    twice = kernel(Gaussian().at(1.0), weights=np.array([2.0]))
    found = stability(own, 30, [FoldKernel(twice, 20), FoldKernel(other, 20)], X)
    C = np.eye(30) - 1 / 30
    K, L = C @ own(X) @ C, C @ other(X) @ C
    expected = (K * L).sum() / np.sqrt((K * K).sum() * (L * L).sum())
    np.testing.assert_allclose(found.alignment, [1, expected])


def test_spread_over_folds_tells_the_spread_over_samples():
    """Of a mean: folds of all rows, and small samples of many rows."""
    assert _inflation(100, 100, [80] * 5) == pytest.approx(4)
    rng = np.random.default_rng(1)
    y = rng.normal(size=400)
    means = [y[rng.choice(400, 50, replace=False)].mean() for _ in range(4000)]
    found = _inflation(400, 100, [50]) * np.var(means)
    assert found == pytest.approx(y.var() / 100, rel=0.1)


@pytest.mark.parametrize("learner", [None, ContinuousAlignment(Gaussian())])
def test_folds_of_a_fit_tell_their_kernels(learner):
    y = np.sin(2 * X[:, 0])
    model = KernelRegressor(learner, cv=3).fit(X, y)
    assert model.stability_.folds == 3
    assert not model.stability_.unknown
    assert (model.stability_.alignment > 0.5).all()


def test_without_folds_there_is_a_reason():
    found = KernelClassifier(nested=False).fit(X, X[:, 0] > 0).stability_
    assert found.folds == 0
    assert found.came_back.keys() == set(found.families)
    assert str(found) == "not known: no fold has learned its own kernel"
