"""Folds of classes: rare classes do not change them for the others."""

import warnings

import dask
import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import KFold, StratifiedKFold

from kernalign import (
    Gaussian,
    KernelClassifier,
    KernelSearch,
    LpNormMKL,
    SelectionWarning,
    UniformWeights,
)
from kernalign.estimators.folds import class_folds, number_folds
from kernalign.estimators.linear import held_out_split
from kernalign.estimators.present import PresentClasses
from kernalign.estimators.problem import Problem
from kernalign.gram import sampling
from kernalign.gram.labels import class_target
from kernalign.rows.chunks import Chunks, DaskColumn

QUICK = UniformWeights(Gaussian().grid(0.5, 2.0, 2))


def test_frequent_classes_are_split_as_scikit_learn_splits():
    codes = np.random.default_rng(0).integers(0, 3, 60)
    theirs = StratifiedKFold(5, shuffle=True, random_state=0)
    expected = list(theirs.split(np.zeros((60, 1)), codes))
    for ours, (train, test) in zip(class_folds(codes, 5), expected, strict=True):
        np.testing.assert_array_equal(ours[0], train)
        np.testing.assert_array_equal(ours[1], test)


@pytest.mark.parametrize("rare", [1, 2, 3, 4])
def test_a_rare_class_leaves_the_number_of_folds(rare):
    codes = np.r_[np.zeros(30, dtype=int), np.ones(30, dtype=int), np.full(rare, 2)]
    folds = class_folds(codes, 5)
    assert len(folds) == 5
    held = np.concatenate([test for _, test in folds])
    expected = np.arange(60) if rare == 1 else np.arange(60 + rare)
    np.testing.assert_array_equal(np.sort(held), expected)
    for train, test in folds:
        assert set(codes[train]) == {0, 1, 2}
        assert not set(train) & set(test)
        assert (codes[test] == 2).sum() <= 1
        assert len(train) + len(test) == len(codes)


def test_without_two_classes_to_hold_out_there_are_no_folds():
    assert class_folds(np.r_[np.zeros(9, dtype=int), 1], 5) is None
    assert class_folds(np.arange(4), 5) is None
    assert len(class_folds(np.array([0, 0, 0, 1, 1]), 5)) == 3


def test_folds_of_numbers():
    assert [len(test) for _, test in number_folds(7, 3)] == [3, 2, 2]
    assert len(number_folds(2, 5)) == 2


@pytest.mark.parametrize("rare", [1, 2])
@pytest.mark.parametrize("dtype", [object, str])
def test_a_rare_class_leaves_the_choice_of_c(rare, dtype):
    labels = np.array(["a", "b", "c"], dtype=dtype)
    X, y = make_moons(80, noise=0.2, random_state=0)
    X, y = np.r_[X, np.full((rare, 2), 3.0)], np.r_[y, np.full(rare, 2)]
    splits = []

    class Recorded(UniformWeights):
        def learn(self, X, target, feature_names=None):
            splits.append(len(X))
            return super().learn(X, target, feature_names)

    model = KernelClassifier(Recorded(QUICK.kernels), C=[0.1, 1.0, 10.0])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(X, labels[y])
    assert splits[0] == 80 + rare
    # Five folds, each without a fifth of the rows.
    assert len(splits) == 6
    assert max(splits[1:]) < 0.82 * len(X)
    assert np.isfinite(model.cv_error_)
    assert model.C_ in (0.1, 1.0, 10.0)
    assert model.cv_error_ < 0.2
    told = [str(w.message) for w in said if issubclass(w.category, SelectionWarning)]
    assert told == (
        []
        if rare == 2
        else [
            "Class 'c' has a single row, which is in every training set: cv_error_ is estimated on "
            "held-out rows of the other classes, and so is C, unless the default fit takes it from "
            "the noise."
        ]
    )
    assert set(model.predict(X)) == {"a", "b", "c"}


@pytest.mark.parametrize("dtype", [object, str])
def test_a_class_of_one_row_beside_another_leaves_nothing_to_choose_by(dtype):
    X, _ = make_moons(20, random_state=0)
    y = np.array(["many"] * 19 + ["one"], dtype=dtype)
    with pytest.warns(SelectionWarning, match="Class 'one' has a single row, and at most one"):
        model = KernelClassifier(QUICK).fit(X, y)
    assert np.isnan(model.cv_error_)
    assert model.C_ == 1
    assert set(model.predict(X)) <= {"many", "one"}


def test_without_rows_to_hold_out_the_default_takes_c_from_its_noise():
    X, y = np.array([[0.0, 1.0], [2.0, 0.5]]), ["a", "b"]
    said = "no rows can be held out, .* The default fit takes C from the noise that it finds"
    with pytest.warns(SelectionWarning, match=said):
        model = KernelClassifier(KernelSearch(effort="quick")).fit(X, y)
    assert np.isnan(model.cv_error_)
    assert model.C_ != 1


@pytest.mark.parametrize("C", ["auto", "1", [], [0.0], [[1.0]]])
def test_the_message_about_c_names_all_that_is_allowed(C):
    X, y = make_moons(20, random_state=0)
    said = r"'C' parameter of KernelClassifier must be 'cv', a number in \(0, inf\) or a sequence"
    with pytest.raises(ValueError, match=said):
        KernelClassifier(QUICK, C=C).fit(X, y)


def test_one_class_of_objects_is_refused_in_words():
    X, _ = make_moons(20, random_state=0)
    with pytest.raises(ValueError, match=r"at least two classes in y. Got one class: 'a'\."):
        KernelClassifier().fit(X, np.full(20, "a", dtype=object))


def test_the_only_row_of_a_class_is_never_held_out_of_many_rows():
    codes = np.r_[np.arange(200) % 2, 2]
    target = class_target(codes, 3, np.ones(201))
    for used in ([], np.arange(0, 120)):
        train, test = held_out_split(target, 80, used)
        assert 200 in train
        assert len(test) == 80


def with_strays(number):
    """Two moons, some rows of which have labels of their own; rows to test; how many differ."""
    X, y = make_moons(300, noise=0.2, random_state=0)
    labels = np.array(["a", "b"], dtype=object)[y]
    labels[np.arange(number) * 7] = [f"stray {i}" for i in range(number)]
    return X[:150], labels[:150], X[150:], labels[150:]


@pytest.mark.filterwarnings("ignore::kernalign.SelectionWarning")
def test_stray_labels_leave_accuracy_and_probabilities():
    found = []
    for number in (0, 1, 4):
        X, y, X_test, y_test = with_strays(number)
        model = KernelClassifier().fit(X, y)
        of_right = np.searchsorted(model.classes_, y_test.tolist())
        probability = model.predict_proba(X_test)[np.arange(150), of_right]
        found.append([np.mean(model.predict(X_test) != y_test), -np.log(probability).mean()])
        assert model.cv_error_ < 0.12
    clean, one, several = found
    assert one[0] <= clean[0] + 0.02
    assert several[0] <= clean[0] + 0.02
    # A share of the labels is wrong, and the probabilities have to allow for it.
    assert one[1] <= clean[1] + 0.03
    assert several[1] <= clean[1] + 0.08


def test_single_rows_are_all_named():
    X, y, *_ = with_strays(2)
    said = "Classes 'stray 0' and 'stray 1' have a single row each, which is in every training set"
    with pytest.warns(SelectionWarning, match=said):
        KernelClassifier(QUICK, C=1.0, cv=2).fit(X, y)


@pytest.mark.parametrize(
    "options",
    [
        {"learner": QUICK},
        {"learner": QUICK, "machine": KernelRidge(kernel="precomputed")},
        {"learner": LpNormMKL(Gaussian().grid(0.5, 2.0, 2), p=1)},
        {"learner": QUICK, "solver": "nystroem"},
        {},
    ],
    ids=["machines", "given machine", "one stage", "nystroem", "default"],
)
def test_a_split_may_train_without_a_class(options):
    """A row of a class that was not there to learn is wrong, and nothing else."""
    X, y, *_ = with_strays(1)
    model = KernelClassifier(C=1.0, cv=KFold(3), **options).fit(X, y)
    assert 1 / 150 < model.cv_error_ < 0.2
    assert model.predict_proba(X).shape == (150, 3)
    X, y = X[y != "stray 0"], y[y != "stray 0"]
    order = np.argsort(y == "b", kind="stable")
    with pytest.raises(ValueError, match="Got a split without two classes to train on"):
        KernelClassifier(C=1.0, cv=KFold(2), **options).fit(X[order][:140], y[order][:140])


def test_outputs_of_classes_that_are_there():
    target = class_target(np.array([0, 0, 3, 3]), 4, np.ones(4))
    problem = Problem(np.zeros((4, 1)), np.array([0, 0, 3, 3]), target, np.ones(4), None)
    present = PresentClasses.of(problem)
    assert present.problem(problem).y.tolist() == [0, 0, 1, 1]
    assert present.problem(problem).target.values.tolist() == [[-1], [-1], [1], [1]]
    out = present.outputs(np.array([[0.5, -3.0]]))
    assert out.tolist() == [[[-0.5, -1, -1, 0.5], [3, -3, -3, -3]]]


def test_classes_outside_the_stratified_rows_are_counted(monkeypatch):
    """On a cluster, the numbers of rows of all classes are added over chunks."""
    monkeypatch.setattr(sampling, "STRATIFIED_ROWS", 50)
    codes = np.arange(2000) % 2
    codes[1990] = 2
    rows = Chunks([dask.delayed(np.zeros)((500, 1))] * 4, np.full(4, 500))
    with dask.config.set(scheduler="threads"):
        columns = DaskColumn.of(codes, rows), DaskColumn.of(np.ones(2000), rows)
        target = class_target(columns[0], 3, columns[1])
        for used in range(5):
            assert 1990 not in held_out_split(target, 10, np.arange(used))[1]
