"""KernelClassifier: classes, decisions, probabilities, the choice of C, weights, data frames."""

import pickle

import numpy as np
import pandas
import polars
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    KFold,
    LeaveOneOut,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, NuSVC

from kernalign import (
    ContinuousAlignment,
    Gaussian,
    KernelClassifier,
    LearnedKernel,
    Linear,
    SelectionWarning,
)
from kernalign.kernels.learned import rows_within_budget
from kernalign.machines.base import C_GRID
from tests import reference


def moons(n=60, n_test=200, noise=0.2, seed=0):
    X, y = make_moons(n + n_test, noise=noise, random_state=seed)
    return X[:n], y[:n], X[n:], y[n:]


def blobs(n=60, n_test=60, classes=3, spread=1.5):
    X, y = make_blobs(n + n_test, centers=classes, cluster_std=spread, random_state=3)
    return X[:n], y[:n], X[n:], y[n:]


def refusal(estimator, X, y):
    """The message with which fit refuses, or None where it accepts."""
    try:
        estimator.fit(X, y)
    except ValueError as error:
        return str(error)
    return None


@pytest.fixture(scope="module")
def binary():
    X, y, X_test, y_test = moons()
    return KernelClassifier(ContinuousAlignment()).fit(X, y), X_test, y_test


@pytest.fixture(scope="module")
def several():
    X, y, X_test, y_test = blobs(classes=4)
    return KernelClassifier(ContinuousAlignment(), C=[0.1, 1.0, 10.0]).fit(X, y), X_test, y_test


# --- classes and decisions -----------------------------------------------------------------------


def test_two_classes(binary):
    clf, X, y = binary
    assert clf.score(X, y) > 0.9
    decision = clf.decision_function(X)
    assert decision.shape == (len(X),)
    np.testing.assert_array_equal(clf.predict(X), clf.classes_[(decision > 0).astype(int)])
    assert decision[y == 1].mean() > 0 > decision[y == 0].mean()
    assert isinstance(clf.kernel_, LearnedKernel)
    assert clf.alignment_ == clf.learner_.alignment_
    assert clf.history_ == clf.learner_.history_
    assert clf.n_features_in_ == 2
    assert not hasattr(clf, "feature_names_in_")


def test_several_classes(several):
    clf, X, y = several
    assert clf.score(X, y) > 0.8
    decision = clf.decision_function(X)
    assert decision.shape == (len(X), 4)
    np.testing.assert_array_equal(clf.predict(X), clf.classes_[decision.argmax(axis=1)])


def test_the_kernel_is_the_learners_and_the_machine_an_svm_on_it():
    X, y, X_test, _ = moons()
    clf = KernelClassifier(ContinuousAlignment(), SVC(kernel="precomputed"), C=2.0).fit(X, y)
    kernel = ContinuousAlignment().fit(X, y).kernel_
    assert clf.kernel_ == kernel
    svm = SVC(kernel="precomputed", C=2.0).fit(kernel(X), y)
    np.testing.assert_allclose(
        clf.decision_function(X_test), svm.decision_function(kernel(X_test, X)), atol=1e-9
    )


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"]),
        np.array(["yes", "no"], dtype=object),
        np.array([False, True]),
        np.array([1.0, 2.0]),
        np.array([-1, 1]),
        np.array([10, 7], dtype=np.uint8),
    ],
    ids=["str", "object", "bool", "float", "signed", "uint8"],
)
def test_labels_of_any_kind(labels):
    X, y, X_test, y_test = moons(40)
    named = KernelClassifier(ContinuousAlignment(), C=1.0).fit(X, labels[y])
    np.testing.assert_array_equal(named.classes_, np.unique(labels))
    predicted = named.predict(X_test)
    assert predicted.dtype == named.classes_.dtype
    assert set(predicted) == set(labels)
    plain = KernelClassifier(ContinuousAlignment(), C=1.0).fit(X, y)
    # Near the boundary a swap of the classes may round to the other side.
    clear = np.abs(plain.decision_function(X_test)) > 1e-2
    np.testing.assert_array_equal(predicted[clear], labels[plain.predict(X_test)][clear])
    assert named.score(X_test, labels[y_test]) > 0.85


@pytest.mark.parametrize("labels", [list("abcd"), [0.0, 1.0, 2.0, 7.0]])
def test_labels_of_any_kind_for_several_classes(labels):
    X, y, X_test, y_test = blobs(classes=4)
    labels = np.array(labels)
    clf = KernelClassifier(ContinuousAlignment(), C=1.0).fit(X, labels[y])
    np.testing.assert_array_equal(clf.classes_, labels)
    assert clf.score(X_test, labels[y_test]) > 0.8


# --- probabilities -------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", ["binary", "several"])
def test_probabilities_sum_to_one_and_agree_with_the_prediction(problem, request):
    clf, X, y = request.getfixturevalue(problem)
    P = clf.predict_proba(X)
    assert P.shape == (len(X), len(clf.classes_))
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-12)
    assert (P >= 0).all()
    np.testing.assert_array_equal(clf.classes_[P.argmax(axis=1)], clf.predict(X))
    assert log_loss(y, P) < np.log(len(clf.classes_)) - 0.2


@pytest.mark.parametrize("noise", [0.2, 0.4, 0.8])
def test_probabilities_beat_chance_on_new_rows_whatever_the_noise(noise):
    X, y, X_test, y_test = moons(100, 400, noise=noise)
    P = KernelClassifier(ContinuousAlignment(), C=C_GRID[::4]).fit(X, y).predict_proba(X_test)
    assert log_loss(y_test, P) < np.log(2) - 0.02


def test_probabilities_at_a_given_c_are_calibrated_on_held_out_rows_too():
    """A large C fits the training rows exactly: decision values there say nothing of doubt."""
    X, y, X_test, y_test = moons(100, 400, noise=0.4)
    clf = KernelClassifier(ContinuousAlignment(), C=100.0).fit(X, y)
    assert log_loss(y_test, clf.predict_proba(X_test)) < np.log(2)


# --- the choice of C -----------------------------------------------------------------------------


def test_a_number_is_taken_as_it_is():
    X, y, *_ = moons(30)
    clf = KernelClassifier(ContinuousAlignment(), machine=SVC(kernel="precomputed"), C=0.37).fit(
        X, y
    )
    assert clf.C_ == 0.37
    np.testing.assert_array_equal(clf.cv_results_["C"], [0.37])


def test_the_papers_grid_is_chosen_from(binary):
    clf, *_ = binary
    np.testing.assert_allclose(clf.cv_results_["C"], C_GRID)
    errors = clf.cv_results_["error"]
    assert ((errors >= 0) & (errors <= 1)).all()
    # What decides are Brier scores; ties go to the stronger regularisation.
    assert pytest.approx(C_GRID[np.argmin(clf.cv_results_["loss"])]) == clf.C_


def test_a_sequence_is_chosen_from_in_any_order():
    X, y, *_ = moons(40, noise=0.4)
    one = KernelClassifier(ContinuousAlignment(), C=[10.0, 1e-3, 0.1]).fit(X, y)
    two = KernelClassifier(ContinuousAlignment(), C=(1e-3, 0.1, 10.0)).fit(X, y)
    array = KernelClassifier(ContinuousAlignment(), C=np.array([0.1, 10.0, 1e-3])).fit(X, y)
    assert one.C_ == two.C_ == array.C_
    np.testing.assert_array_equal(one.cv_results_["C"], [1e-3, 0.1, 10.0])


@pytest.mark.parametrize("nested", [True, False])
def test_the_error_of_each_c_is_that_of_the_folds(nested):
    """Recomputed with scikit-learn alone: learn, train, count mistakes."""
    X, y, *_ = moons(45, noise=0.4)
    values = [0.1, 1.0, 10.0]
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    clf = KernelClassifier(ContinuousAlignment(), C=values, cv=3, nested=nested).fit(X, y)
    whole = ContinuousAlignment().fit(X, y).kernel_
    for C, error in zip(values, clf.cv_results_["error"], strict=True):
        wrong = 0
        for train, test in folds:
            kernel = ContinuousAlignment().fit(X[train], y[train]).kernel_ if nested else whole
            svm = SVC(kernel="precomputed", C=C).fit(kernel(X[train]), y[train])
            wrong += (svm.predict(kernel(X[test], X[train])) != y[test]).sum()
        assert error == pytest.approx(wrong / len(X), abs=1e-12)


@pytest.mark.parametrize(("nested", "times"), [(True, 4), (False, 1)])
def test_nested_learns_the_kernel_again_in_each_fold(nested, times, monkeypatch):
    rows = []
    original = ContinuousAlignment.learn

    def spy(self, X, target, feature_names=None):
        rows.append(len(X))
        return original(self, X, target, feature_names)

    monkeypatch.setattr(ContinuousAlignment, "learn", spy)
    X, y, *_ = moons(30)
    KernelClassifier(ContinuousAlignment(), C=[1.0, 10.0], cv=3, nested=nested).fit(X, y)
    assert len(rows) == times
    assert rows[0] == 30
    assert all(n == 20 for n in rows[1:])


def test_nested_selection_is_honest():
    """Labels that are noise: a kernel that has seen the held-out labels shows a smaller error."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 8)), rng.permutation(np.repeat([0, 1], 30))
    learner = ContinuousAlignment(Gaussian(ard=True), max_iter=3)
    honest = KernelClassifier(learner, C=[0.1, 1.0, 10.0]).fit(X, y)
    lying = KernelClassifier(learner, C=[0.1, 1.0, 10.0], nested=False).fit(X, y)
    assert lying.cv_results_["error"].min() < 0.4
    assert honest.cv_results_["error"].min() > lying.cv_results_["error"].min() + 0.05


@pytest.mark.parametrize(
    "cv",
    [
        2,
        StratifiedKFold(3, shuffle=True, random_state=1),
        ShuffleSplit(3, test_size=0.3, random_state=0),
        PredefinedSplit(np.arange(40) % 4 - 1),
        LeaveOneOut(),
        [(np.arange(0, 40, 2), np.arange(1, 40, 2))],
    ],
    ids=["int", "stratified", "shuffle", "predefined", "one out", "list"],
)
def test_folds_of_any_kind(cv):
    X, y, X_test, _ = moons(40, noise=0.3)
    clf = KernelClassifier(ContinuousAlignment(), C=[0.1, 1.0, 10.0], cv=cv).fit(X, y)
    assert clf.C_ in (0.1, 1.0, 10.0)
    assert np.isfinite(clf.predict_proba(X_test)).all()


@pytest.mark.filterwarnings("ignore::kernalign.AlignmentWarning")
@pytest.mark.parametrize("classes", [2, 3])
def test_a_fold_without_one_of_the_classes(classes):
    """Rows in order of their class and folds in order of the rows: say so, or leave it out."""
    X, y, *_ = blobs(60, classes=classes)
    order = np.argsort(y, kind="stable")
    clf = KernelClassifier(ContinuousAlignment(), C=[0.1, 1.0], cv=KFold(classes))
    message = refusal(clf, X[order], y[order])
    if message is None:
        assert np.isfinite(clf.predict_proba(X)).all()
    else:
        assert "class" in message
        assert "fold" in message or "cv" in message


def test_a_class_smaller_than_the_number_of_folds_makes_fewer_folds():
    X, y, *_ = moons(40)
    keep = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:3]]
    clf = KernelClassifier(ContinuousAlignment(), C=[0.1, 1.0], cv=10).fit(X[keep], y[keep])
    assert np.isfinite(clf.cv_results_["error"]).all()


def test_a_class_of_one_row_is_not_cross_validated():
    X, y, X_test, _ = moons(40)
    keep = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:1]]
    with pytest.warns(SelectionWarning, match=r"single row, .* no rows can be held out"):
        clf = KernelClassifier(ContinuousAlignment()).fit(X[keep], y[keep])
    assert clf.C_ == 1
    assert np.isfinite(clf.predict_proba(X_test)).all()


# --- weights -------------------------------------------------------------------------------------


def test_class_weights_are_sample_weights():
    X, y, X_test, _ = moons(50, noise=0.4)
    by_class = KernelClassifier(ContinuousAlignment(), C=1.0, class_weight={0: 1.0, 1: 3.0}).fit(
        X, y
    )
    by_row = KernelClassifier(ContinuousAlignment(), C=1.0).fit(
        X, y, sample_weight=np.where(y == 1, 3.0, 1.0)
    )
    plain = KernelClassifier(ContinuousAlignment(), C=1.0).fit(X, y)
    np.testing.assert_array_equal(
        by_class.decision_function(X_test), by_row.decision_function(X_test)
    )
    np.testing.assert_array_equal(by_class.predict_proba(X_test), by_row.predict_proba(X_test))
    assert by_class.decision_function(X_test).mean() > plain.decision_function(X_test).mean() + 0.05


def test_balanced_class_weights_are_the_inverse_shares():
    X, y, X_test, _ = moons(60, noise=0.4)
    keep = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:10]]
    X, y = X[keep], y[keep]
    balanced = KernelClassifier(ContinuousAlignment(), C=1.0, class_weight="balanced").fit(X, y)
    share = np.bincount(y) / len(y)
    given = {0: 1 / (2 * share[0]), 1: 1 / (2 * share[1])}
    by_hand = KernelClassifier(ContinuousAlignment(), C=1.0, class_weight=given).fit(X, y)
    np.testing.assert_allclose(
        balanced.decision_function(X_test), by_hand.decision_function(X_test), atol=1e-9
    )


def test_class_and_sample_weights_multiply():
    X, y, X_test, _ = moons(40, noise=0.4)
    weight = np.random.default_rng(0).uniform(0.5, 2, 40)
    both = KernelClassifier(ContinuousAlignment(), C=1.0, class_weight={0: 2.0, 1: 1.0}).fit(
        X, y, weight
    )
    product = KernelClassifier(ContinuousAlignment(), C=1.0).fit(
        X, y, weight * np.where(y == 0, 2.0, 1.0)
    )
    np.testing.assert_array_equal(both.decision_function(X_test), product.decision_function(X_test))


@pytest.mark.parametrize("problem", [moons, blobs])
def test_integer_weights_are_repeated_rows(problem):
    X, y, X_test, _ = problem(40)
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    # One learner: folds of repeated rows are other folds, and might choose another.
    model = KernelClassifier(ContinuousAlignment(), SVC(kernel="precomputed"), C=1.0)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    repeated = clone(model).fit(*reference.repeat_rows(X, y, weight))
    np.testing.assert_allclose(weighted.kernel_(X), repeated.kernel_(X), atol=1e-6)
    np.testing.assert_allclose(
        weighted.decision_function(X_test), repeated.decision_function(X_test), atol=5e-3
    )


def test_rows_of_weight_zero_are_as_if_removed():
    X, y, X_test, _ = moons(60)
    weight = np.ones(60)
    weight[::3] = 0
    X[::3] *= 50
    zero = KernelClassifier(ContinuousAlignment(), C=1.0).fit(X, y, sample_weight=weight)
    removed = KernelClassifier(ContinuousAlignment(), C=1.0).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_array_equal(zero.decision_function(X_test), removed.decision_function(X_test))
    np.testing.assert_array_equal(zero.predict_proba(X_test), removed.predict_proba(X_test))


def test_a_class_of_weight_zero_is_no_class():
    X, y, X_test, _ = blobs()
    clf = KernelClassifier(ContinuousAlignment(), C=[0.1, 1.0]).fit(
        X, y, sample_weight=(y != 1).astype(float)
    )
    np.testing.assert_array_equal(clf.classes_, [0, 2])
    assert set(clf.predict(X_test)) <= {0, 2}


@pytest.mark.parametrize("classes", [2, 3])
def test_folds_are_made_of_the_rows_that_count(classes):
    """All rows of positive weight of one class come first: folds of all rows would miss them."""
    X, y, *_ = blobs(60, classes=classes)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    weight = np.ones(60)
    weight[np.flatnonzero(y == 1)[3:]] = 0
    zero = KernelClassifier(ContinuousAlignment(), C=[0.1, 1.0]).fit(X, y, sample_weight=weight)
    removed = KernelClassifier(ContinuousAlignment(), C=[0.1, 1.0]).fit(
        X[weight > 0], y[weight > 0]
    )
    np.testing.assert_allclose(zero.cv_results_["error"], removed.cv_results_["error"], atol=1e-12)


# --- machines ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "machine",
    [
        SVC(kernel="precomputed"),
        SVC(kernel="precomputed", C=123.0, class_weight="balanced"),
        NuSVC(kernel="precomputed", nu=0.2),
    ],
    ids=["SVC", "SVC balanced", "NuSVC"],
)
@pytest.mark.parametrize("problem", [moons, blobs])
def test_any_machine_that_takes_a_precomputed_kernel(machine, problem):
    X, y, X_test, y_test = problem()
    before = repr(machine)
    clf = KernelClassifier(ContinuousAlignment(), machine=machine, C=[0.1, 1.0, 10.0]).fit(X, y)
    assert repr(machine) == before
    assert clf.path_[0]["machine"] == type(machine).__name__
    assert clf.score(X_test, y_test) > 0.8
    P = clf.predict_proba(X_test)
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_array_equal(clf.classes_[P.argmax(axis=1)], clf.predict(X_test))


def test_an_svm_handed_in_is_the_default_one():
    X, y, X_test, _ = moons(noise=0.1)
    given = KernelClassifier(
        ContinuousAlignment(), machine=SVC(kernel="precomputed"), C=[0.1, 1.0, 10.0]
    ).fit(X, y)
    default = KernelClassifier(ContinuousAlignment(), C=[0.1, 1.0, 10.0]).fit(X, y)
    (chosen,) = (record for record in default.path_ if record["chosen"])
    assert chosen["machine"] == "support vector machine"
    assert given.C_ == default.C_
    np.testing.assert_allclose(
        given.decision_function(X_test), default.decision_function(X_test), atol=1e-9
    )


def test_a_machine_with_one_value_per_pair_of_classes():
    """decision_function_shape="ovo" has k(k-1)/2 columns, which are not scores of classes."""
    X, y, X_test, y_test = blobs(classes=4)
    machine = SVC(kernel="precomputed", decision_function_shape="ovo")
    clf = KernelClassifier(ContinuousAlignment(), machine=machine, C=[0.1, 1.0])
    message = refusal(clf, X, y)
    if message is None:
        assert clf.score(X_test, y_test) > 0.8
        assert clf.predict_proba(X_test).shape == (len(X_test), 4)
    else:
        assert "decision_function_shape" in message


def test_a_machine_of_distances_is_refused_or_given_distances():
    """A kernel is large where rows are near: neighbours by smallest kernel are the farthest."""
    X, y, X_test, y_test = moons()
    clf = KernelClassifier(
        ContinuousAlignment(), machine=KNeighborsClassifier(metric="precomputed")
    )
    message = refusal(clf, X, y)
    if message is None:
        assert clf.score(X_test, y_test) > 0.8
    else:
        assert "kernel='precomputed'" in message


def test_another_family():
    X, y, X_test, y_test = blobs()
    linear = KernelClassifier(ContinuousAlignment(Linear()), C=1.0).fit(X, y)
    assert linear.score(X_test, y_test) > 0.8
    assert {type(k.family) for k in linear.kernel_.kernels} == {Linear}


# --- as an estimator -----------------------------------------------------------------------------


def test_it_works_in_a_pipeline_and_under_cross_validation():
    X, y = load_iris(return_X_y=True)
    X, y = X[::3], y[::3]
    model = make_pipeline(
        StandardScaler(), KernelClassifier(ContinuousAlignment(), C=[0.1, 1.0, 10.0], cv=3)
    )
    assert model.fit(X, y).score(X, y) > 0.9
    scores = cross_val_score(model, X, y, cv=3)
    assert scores.mean() > 0.85
    assert (cross_val_score(model, X, y, cv=3, scoring="neg_log_loss") > -1).all()


def test_it_pickles(binary):
    clf, X, _ = binary
    copy = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(copy.predict_proba(X), clf.predict_proba(X))
    assert copy.kernel_ == clf.kernel_


def test_two_fits_are_the_same_and_clone_forgets():
    X, y, X_test, _ = moons(40)
    clf = KernelClassifier(ContinuousAlignment(), C=[0.1, 1.0]).fit(X, y)
    first = clf.decision_function(X_test)
    np.testing.assert_array_equal(clf.fit(X, y).decision_function(X_test), first)
    fresh = clone(clf)
    with pytest.raises(NotFittedError):
        fresh.predict(X_test)
    for method in ("decision_function", "predict_proba"):
        with pytest.raises(NotFittedError):
            getattr(fresh, method)(X_test)


def test_prediction_in_blocks_is_prediction_at_once(binary, several):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (2500, 2))
    for clf, *_ in (binary, several):
        whole = clf.decision_function(X)
        with sklearn.config_context(working_memory=1):
            assert rows_within_budget(len(clf.model_.rows)) < len(X) / 2
            np.testing.assert_allclose(clf.decision_function(X), whole, atol=1e-10)
            P = clf.predict_proba(X)
            predicted = clf.predict(X)
        np.testing.assert_allclose(P, clf.predict_proba(X), atol=1e-10)
        clear = np.abs(P[:, 0] - P[:, 1]) > 1e-6
        np.testing.assert_array_equal(predicted[clear], clf.predict(X)[clear])


# --- data frames ---------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", [pandas.DataFrame, polars.DataFrame], ids=["pandas", "polars"])
def test_data_frames_are_arrays_with_names(frame):
    X, y, X_test, _ = moons(40)
    names = ["left", "right"]

    def framed(A):
        return frame(dict(zip(names, A.T, strict=True)))

    clf = KernelClassifier(ContinuousAlignment(), C=1.0).fit(framed(X), y)
    np.testing.assert_array_equal(clf.feature_names_in_, names)
    plain = KernelClassifier(ContinuousAlignment(), C=1.0).fit(X, y)
    np.testing.assert_allclose(
        clf.decision_function(framed(X_test)), plain.decision_function(X_test), atol=1e-9
    )
    with pytest.raises(ValueError, match="feature names") as caught:
        clf.predict(framed(X_test[:, ::-1])[["right", "left"]])
    assert "same order" in str(caught.value)
    other = frame({"left": X_test[:, 0], "wrong": X_test[:, 1]})
    with pytest.raises(ValueError, match="wrong"):
        clf.predict(other)
    with pytest.raises(ValueError, match="feature"):
        clf.predict(framed(X_test)[["left"]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        clf.predict(X_test)


def test_columns_can_be_chosen_by_name():
    X, y, *_ = moons(40)
    frame = pandas.DataFrame({"noise": np.zeros(40), "a": X[:, 0], "b": X[:, 1]})
    # The constant column is left out: "a" and "b" are the features 0 and 1.
    for columns in (["a", "b"], [1, 2], slice(1, 3), np.array([False, True, True])):
        learner = ContinuousAlignment(Gaussian(columns=columns))
        clf = KernelClassifier(learner, C=[1.0, 10.0], cv=3).fit(frame, y)
        assert list(clf.kernel_.kernels[0].family.columns) == [0, 1]
        assert clf.score(frame, y) > 0.9
    learner = ContinuousAlignment(Gaussian(columns=[0]))
    with pytest.raises(ValueError, match="names 'noise', which was left out of X"):
        KernelClassifier(learner).fit(frame, y)
