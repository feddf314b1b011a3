"""Weights of rows in the default fit: numbers of equal rows, or only their ratios count."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from kernalign import KernelClassifier, KernelRegressor, KernelSearch
from kernalign.gram.target import meant_weights, relative_weights

X, LABELS = make_moons(80, noise=0.35, random_state=0)
RESPONSE = X[:, 0] + 0.1 * X[:, 1] ** 2
QUICK = KernelSearch(effort="quick")


@pytest.mark.parametrize("factor", [1000.0, 1e-3, 1e-250, 1e250])
@pytest.mark.parametrize("equal", [True, False])
def test_a_common_factor_changes_nothing(factor, equal):
    weight = np.ones(80) if equal else np.random.default_rng(0).uniform(0.5, 1.5, 80)
    for make, y in ((KernelClassifier, LABELS), (KernelRegressor, RESPONSE)):
        one = make(QUICK, cv=2).fit(X, y, sample_weight=weight)
        other = make(QUICK, cv=2).fit(X, y, sample_weight=factor * weight)
        assert other.cv_error_ == pytest.approx(one.cv_error_, rel=1e-6)
        np.testing.assert_allclose(other.model_.outputs(X), one.model_.outputs(X), atol=1e-6)
        assert pytest.approx(one.C_, rel=1e-6) == other.C_


def test_a_common_factor_of_class_weights_changes_nothing():
    one = KernelClassifier(QUICK, cv=2, class_weight={0: 1, 1: 3}).fit(X, LABELS)
    other = KernelClassifier(QUICK, cv=2, class_weight={0: 1000, 1: 3000}).fit(X, LABELS)
    np.testing.assert_allclose(other.predict_proba(X), one.predict_proba(X), atol=1e-6)


def test_a_given_c_is_the_cost_of_a_row_of_weight_one():
    heavy = KernelClassifier(QUICK, cv=2, C=1.0).fit(X, LABELS, sample_weight=np.full(80, 5.0))
    costly = KernelClassifier(QUICK, cv=2, C=5.0).fit(X, LABELS)
    np.testing.assert_allclose(heavy.model_.outputs(X), costly.model_.outputs(X), atol=1e-8)


def test_deviations_do_not_depend_on_a_common_factor():
    one = KernelRegressor(QUICK, cv=2).fit(X, RESPONSE)
    other = KernelRegressor(QUICK, cv=2).fit(X, RESPONSE, sample_weight=np.full(80, 1000.0))
    deviations = [model.predict(X, return_std=True)[1] for model in (one, other)]
    np.testing.assert_allclose(*deviations, rtol=1e-6)


def test_relative_weights_have_mean_one():
    weight = np.random.default_rng(0).uniform(size=50)
    found = relative_weights(1e200 * weight)
    assert found.mean() == pytest.approx(1.0)
    np.testing.assert_allclose(found / found[0], weight / weight[0], rtol=1e-6)
    assert (relative_weights(np.full(3, 7.0)) == 1).all()
    np.testing.assert_array_equal(relative_weights(np.array([0.0, 5.0, 5.0])), [0, 1, 1])


def test_whole_numbers_from_one_on_are_numbers_of_equal_rows():
    for counts in ([1.0, 3.0, 2.0], [1.0, 1.0, 1.0], [0.0, 1.0, 4.0]):
        np.testing.assert_array_equal(meant_weights(np.array(counts)), counts)
    for others in ([2.0, 4.0, 3.0], [1.0, 1.5, 2.0], [1000.0, 1000.0, 1000.0]):
        assert meant_weights(np.array(others)).mean() == pytest.approx(1.0)
