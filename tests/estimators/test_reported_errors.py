"""`cv_error_` means the same for classes and for numbers, and counts rows as the user does."""

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.model_selection import KFold, StratifiedKFold

from kernalign import Gaussian, KernelClassifier, KernelRegressor, UniformWeights

QUICK = UniformWeights(Gaussian().grid(0.5, 2.0, 2))


def problem(n=90):
    X, y = make_moons(n, noise=0.4, random_state=0)
    return X, y


def held_out_mean(model, X, y, loss, folds, weight):
    """The plain mean over held-out rows of a model that is fitted without them."""
    losses = np.empty(len(y))
    for train, test in folds:
        part = model.fit(X[train], y[train], sample_weight=weight[train])
        losses[test] = loss(part.predict(X[test]), y[test])
    return np.average(losses, weights=weight)


@pytest.mark.parametrize("weighted", [False, True])
def test_at_a_fixed_c_it_is_the_error_of_that_c(weighted):
    X, y = problem()
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weighted else np.ones(len(y))
    clf = KernelClassifier(QUICK, C=1.0, cv=StratifiedKFold(3)).fit(X, y, sample_weight=weight)
    other = KernelClassifier(QUICK, C=1.0, cv=2)
    wrong = held_out_mean(other, X, y, np.not_equal, StratifiedKFold(3).split(X, y), weight)
    # The better of two machines is taken: no worse than the one of a fit, up to a few rows.
    assert clf.cv_error_ == pytest.approx(wrong, abs=0.06)
    Z = X[:, 0] + 3 * X[:, 1]
    folds = KFold(3, shuffle=True, random_state=0)
    regressor = KernelRegressor(QUICK, C=1.0, cv=folds).fit(X, Z, sample_weight=weight)
    other = KernelRegressor(QUICK, C=1.0, cv=2)
    squares = held_out_mean(other, X, Z, lambda a, b: (a - b) ** 2, folds.split(X), weight)
    # A fold's own unit of the response differs a little from that of all rows.
    assert regressor.cv_error_ == pytest.approx(squares, rel=0.2)
    assert np.isfinite(regressor.cv_error_std_)


def test_it_does_not_count_rows_by_the_weight_of_their_class():
    X, y = problem()
    common = {"learner": QUICK, "C": 1.0, "cv": StratifiedKFold(3)}
    balanced = KernelClassifier(**common, class_weight={0: 1.0, 1: 50.0}).fit(X, y)
    by_class = []
    for code in (0, 1):
        wrong = 0
        for train, test in StratifiedKFold(3).split(X, y):
            part = KernelClassifier(**common | {"class_weight": {0: 1.0, 1: 50.0}, "cv": 2})
            own = test[y[test] == code]
            wrong += (part.fit(X[train], y[train]).predict(X[own]) != code).sum()
        by_class.append(wrong)
    plain = sum(by_class) / len(y)
    weighted = (by_class[0] + 50 * by_class[1]) / (51 * len(y) / 2)
    assert abs(plain - weighted) > 0.1
    assert balanced.cv_error_ == pytest.approx(plain, abs=0.05)
