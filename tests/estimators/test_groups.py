"""Groups: rows that no fold divides."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.model_selection import GroupKFold, GroupShuffleSplit, LeaveOneGroupOut, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernalign import ContinuousAlignment, Gaussian, KernelClassifier, KernelRegressor
from kernalign.estimators.folds import group_folds
from kernalign.estimators.linear import rows_held_out
from kernalign.estimators.problem import Problem
from kernalign.gram import Target

rng = np.random.default_rng(0)
NUMBER, EACH = 30, 5
GROUPS = rng.permutation(np.repeat(np.arange(NUMBER), EACH))
#: Rows of a group are almost the same, and its label is noise: nothing can be learned of others.
X = rng.normal(size=(NUMBER, 3))[GROUPS] + 0.01 * rng.normal(size=(NUMBER * EACH, 3))
COIN = np.tile([0, 1], NUMBER // 2)[rng.permutation(NUMBER)][GROUPS]
NOISE = rng.normal(size=NUMBER)[GROUPS]
OPTIONS = [{}, {"learner": ContinuousAlignment(Gaussian(), max_iter=5)}]
both = pytest.mark.parametrize("options", OPTIONS, ids=["default", "alignment"])


@both
@pytest.mark.filterwarnings("ignore::kernalign.AlignmentWarning")
def test_the_error_of_a_classifier_is_that_of_other_groups(options):
    leaks = KernelClassifier(**options).fit(X, COIN)
    honest = KernelClassifier(**options).fit(X, COIN, groups=GROUPS)
    assert leaks.cv_error_ < 0.1
    assert honest.cv_error_ > 0.3


@both
@pytest.mark.filterwarnings("ignore::kernalign.AlignmentWarning")
def test_the_error_of_a_regressor_is_that_of_other_groups(options):
    leaks = KernelRegressor(**options).fit(X, NOISE)
    honest = KernelRegressor(**options).fit(X, NOISE, groups=GROUPS)
    assert leaks.cv_error_ < 0.2 * NOISE.var()
    assert honest.cv_error_ > 0.7 * NOISE.var()
    # Thirty groups say less than 150 rows.
    if not options:
        assert honest.cv_error_std_ > 0.1 * honest.cv_error_


def test_probabilities_are_those_of_other_groups():
    sure = KernelClassifier().fit(X, COIN).predict_proba(X).max(axis=1).mean()
    unsure = KernelClassifier().fit(X, COIN, groups=GROUPS).predict_proba(X).max(axis=1).mean()
    assert sure > 0.9
    assert unsure < 0.75


def test_a_splitter_is_given_the_groups():
    learner = ContinuousAlignment(Gaussian(), max_iter=2)
    y = X[:, 0] + 0.1 * NOISE
    by_number = KernelRegressor(learner, C=1.0, cv=5).fit(X, y, groups=GROUPS)
    splitter = KernelRegressor(learner, C=1.0, cv=GroupKFold(5)).fit(X, y, groups=GROUPS)
    assert by_number.cv_error_ == splitter.cv_error_
    names = pd.Series([f"patient {g}" for g in GROUPS])
    named = KernelRegressor(learner, C=1.0, cv=LeaveOneGroupOut()).fit(X, y, groups=names)
    assert named.cv_error_ == pytest.approx(by_number.cv_error_, rel=0.5)
    shuffled = GroupShuffleSplit(2, random_state=0)
    assert np.isfinite(KernelRegressor(learner, cv=shuffled).fit(X, y, groups=GROUPS).cv_error_)


def test_rows_of_weight_zero_have_no_group():
    learner = ContinuousAlignment(Gaussian(), max_iter=2)
    y, weight = X[:, 0], (GROUPS % 3 > 0).astype(float)
    used = weight > 0
    one = KernelRegressor(learner, C=1.0).fit(X, y, weight, GROUPS)
    other = KernelRegressor(learner, C=1.0).fit(X[used], y[used], groups=GROUPS[used])
    assert one.cv_error_ == pytest.approx(other.cv_error_)


def test_folds_divide_no_group():
    codes = rng.integers(0, 3, len(GROUPS))
    for folds in (group_folds(GROUPS, 4), group_folds(GROUPS, 4, codes)):
        assert len(folds) == 4
        assert sorted(np.concatenate([test for _, test in folds])) == list(range(len(GROUPS)))
        for train, test in folds:
            assert not set(GROUPS[train]) & set(GROUPS[test])
    assert len(group_folds(np.array([0, 0, 1, 1]), 5)) == 2
    # One class is one group: without it there is nothing to tell apart.
    assert group_folds(np.array([0, 0, 1, 1]), 5, np.array([0, 0, 1, 1])) is None


def test_many_rows_are_not_held_out_at_random():
    n = 3000
    target = Target(np.zeros((n, 1)), np.ones(n))
    groups = np.arange(n) // 10
    alone = Problem(np.zeros((n, 1)), np.zeros(n), target, np.ones(n), None)
    assert rows_held_out(alone, 5) == 600
    grouped = Problem(np.zeros((n, 1)), np.zeros(n), target, np.ones(n), None, groups)
    assert rows_held_out(grouped, 5) == 0
    assert grouped.rows(np.arange(10, 30)).groups.tolist() == [1] * 10 + [2] * 10


def test_scikit_learn_routes_groups():
    model = KernelRegressor(ContinuousAlignment(Gaussian(), max_iter=2), C=1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        chain = make_pipeline(StandardScaler(), model.set_fit_request(groups=True))
        found = cross_validate(
            chain, X, X[:, 0], cv=GroupKFold(3), params={"groups": GROUPS}, return_estimator=True
        )
    for fitted in found["estimator"]:
        assert np.isfinite(fitted[-1].cv_error_)


@pytest.mark.parametrize(
    ("groups", "says"),
    [
        (GROUPS[:10], "one entry for each row. Got 10 entries for 150 rows"),
        ([None, *GROUPS[1:]], r"groups has no entry in row 0 \(counted from 0\)"),
        (np.zeros(150), "at least two distinct values"),
        (5, "groups must be a list, an array or a series"),
    ],
)
def test_groups_that_cannot_be_used(groups, says):
    with pytest.raises(ValueError, match=says):
        KernelRegressor().fit(X, NOISE, groups=groups)
