"""Importances are Sobol's total effects on the predictions, by the user's columns."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import KFold

from kernalign import ContinuousAlignment, Gaussian, KernelClassifier, KernelRegressor, Linear
from kernalign.estimators.importances import FOLD_COLUMNS, Probes, fold_probes

RNG = np.random.default_rng(0)


def straight(n=80, d=4):
    """Straight lines of two columns, which need no relevance of their own."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, d))
    return X, 2 * X[:, 0] + X[:, 1] + 0.1 * rng.normal(size=n)


def test_effects_of_a_sum_are_the_variances_of_its_terms():
    X = RNG.normal(size=(5000, 3)) * [1, 2, 1]
    probes = Probes.of(X, np.arange(3), 3, 5000)
    found = probes.importances(lambda Z: Z @ [3.0, 1.0, 0.0])
    np.testing.assert_allclose(found, [9 / 13, 4 / 13, 0], atol=0.03)


def test_effects_of_a_product_belong_to_both_factors():
    X = RNG.choice([-1.0, 1.0], size=(4000, 2))
    probes = Probes.of(X, np.arange(2), 2, 4000)
    np.testing.assert_allclose(probes.importances(lambda Z: Z[:, 0] * Z[:, 1]), [0.5, 0.5], 0.1)


def test_importances_are_the_naive_formula_with_several_outputs():
    X = RNG.normal(size=(30, 3))
    probes = Probes.of(X, np.array([1, 0, 1]), 3, 7)

    def f(Z):
        return np.column_stack([np.sin(Z[:, 0]) * Z[:, 2], Z[:, 1] ** 2])

    effects = np.zeros(3)
    for row, other in zip(probes.rows, probes.others, strict=True):
        for column, features in ((0, [1]), (1, [0, 2])):
            changed = row.copy()
            changed[features] = other[features]
            effects[column] += ((f(changed[None]) - f(row[None])) ** 2).sum()
    np.testing.assert_allclose(probes.importances(f), effects / effects.sum(), rtol=1e-12)
    assert len(probes.rows) == 7
    assert not (probes.rows == probes.others).all(axis=1).any()


def test_a_constant_function_has_no_importances():
    probes = Probes.of(np.zeros((1, 2)), np.arange(2), 2, 5)
    np.testing.assert_array_equal(probes.importances(lambda Z: np.ones(len(Z))), [0, 0])


def test_straight_lines_matter_by_their_slopes():
    X, y = straight()
    model = KernelRegressor().fit(X, y)
    found, ends = model.feature_importances_, model.feature_importances_interval_
    np.testing.assert_allclose(found, [0.8, 0.2, 0, 0], atol=0.06)
    assert found.sum() == pytest.approx(1)
    assert (ends[:, 0] <= found).all()
    assert (found <= ends[:, 1]).all()
    assert ends[0, 0] > ends[1, 1] > ends[2, 1]
    chosen = SelectFromModel(model, prefit=True, threshold=0.05).get_support()
    np.testing.assert_array_equal(chosen, [True, True, False, False])


def test_columns_of_a_table_are_the_users():
    rng = np.random.default_rng(2)
    n = 90
    kind = rng.choice(["a", "b", "c"], n)
    table = pd.DataFrame({"noise": rng.normal(size=n), "left out": ["same"] * n, "kind": kind})
    y = np.select([kind == "a", kind == "b"], [0.0, 3.0], 1.0) + 0.1 * rng.normal(size=n)
    model = KernelRegressor().fit(table, y)
    found = model.feature_importances_
    assert found.shape == (3,)
    assert found[1] == 0
    assert found[2] > 0.9
    assert model.feature_importances_interval_.shape == (3, 2)


def test_one_bandwidth_ranks_the_columns_of_its_predictions():
    X, y = straight()
    model = KernelClassifier(ContinuousAlignment(Gaussian()), C=1.0).fit(X, y > 0)
    assert model.feature_importances_[0] == model.feature_importances_.max()
    with pytest.raises(AttributeError, match="fewer than two folds have learned their own model"):
        _ = model.feature_importances_interval_


def test_what_is_not_known_says_why():
    X, y = straight()
    with pytest.raises(NotFittedError):
        _ = KernelRegressor().feature_importances_
    model = KernelRegressor(nested=False).fit(X, y)
    with pytest.raises(
        AttributeError, match=r"no fold has learned its own kernel.*\. Fit with nested=True\.$"
    ):
        _ = model.feature_importances_interval_
    model = KernelRegressor(ContinuousAlignment(Linear()), solver="fourier").fit(X, y)
    with pytest.raises(AttributeError, match="stores no rows"):
        _ = model.feature_importances_
    assert not hasattr(model, "feature_importances_")
    assert fold_probes(np.zeros((5, FOLD_COLUMNS + 1)), None) is None


def test_a_splitter_gives_as_many_folds_as_it_has():
    X, y = straight()
    model = KernelRegressor(cv=KFold(3)).fit(X, y)
    assert model.stability_.importances.shape == (3, 4)
    np.testing.assert_allclose(model.stability_.importances.sum(axis=1), 1)
