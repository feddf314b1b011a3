"""Held-out rows: every figure of a fitted model's quality can be recomputed from them."""

import numpy as np
import pytest
from sklearn.base import clone

from kernalign import (
    ContinuousAlignment,
    Gaussian,
    KernelClassifier,
    KernelRegressor,
    KernelSearch,
    UniformWeights,
)
from kernalign.estimators.losses import predicted_codes

LIST = UniformWeights(Gaussian().grid(0.5, 2.0, 2))


def rows(n=60):
    X = np.random.default_rng(0).normal(size=(n, 3))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "yes", "no"), np.exp(X[:, 0]) + 0.1 * X[:, 2]


@pytest.mark.parametrize("learner", [None, LIST, [LIST, ContinuousAlignment(max_iter=1)]])
@pytest.mark.parametrize("classes", [True, False])
def test_the_error_is_the_mean_of_the_errors_of_rows(learner, classes):
    X, labels, numbers = rows()
    y = labels if classes else numbers
    model = (KernelClassifier if classes else KernelRegressor)(learner)
    weight = np.arange(60) % 3.0
    found = model.fit(X, y, sample_weight=weight).held_out_
    used = np.flatnonzero(weight)
    np.testing.assert_array_equal(found.index, used)
    np.testing.assert_array_equal(found.weight, weight[used])
    assert np.average(found.errors, weights=found.weight) == pytest.approx(model.cv_error_)
    if classes:
        np.testing.assert_array_equal(model.classes_[found.y], y[used])
    else:
        np.testing.assert_array_equal(found.y, y[used])


def test_outputs_are_of_machines_that_have_not_seen_the_rows():
    """A fold by hand: the same search and machine on the rows of the other folds."""
    X, y, _ = rows()
    model = KernelClassifier(KernelSearch(effort="quick"), C=1.0).fit(X, y)
    found = model.held_out_
    assert sorted(set(found.fold)) == [0, 1, 2, 3, 4]
    test = found.index[found.fold == 2]
    train = np.setdiff1d(np.arange(60), test)
    alone = clone(model).set_params(nested=False).fit(X[train], y[train])
    np.testing.assert_allclose(
        alone.decision_function(X[test]), found.outputs[found.fold == 2], atol=1e-8
    )
    wrong = model.classes_[predicted_codes(found.outputs)] != y[found.index]
    np.testing.assert_array_equal(found.errors, wrong)


def test_deviations_are_kept_where_the_machine_predicts_them():
    X, y, numbers = rows()
    assert KernelClassifier().fit(X, y).held_out_.deviations is None
    found = KernelRegressor().fit(X, numbers).held_out_
    assert found.deviations.shape == (60,)
    assert (found.deviations > 0).all()


def test_without_an_honest_error_there_are_no_rows():
    X, y, _ = rows()
    for learner in (None, LIST):
        model = KernelClassifier(learner, nested=False).fit(X, y)
        assert len(model.held_out_) == 0
        assert model.held_out_.unknown == model.cv_error_unknown_


def test_a_row_held_out_several_times_counts_once():
    from sklearn.model_selection import ShuffleSplit

    X, y, _ = rows()
    model = KernelClassifier(LIST, C=1.0, cv=ShuffleSplit(4, random_state=0)).fit(X, y)
    assert len(np.unique(model.held_out_.index)) == len(model.held_out_) <= 24
