"""The effect of a training row: the machine is solved again without it, by another way."""

import numpy as np
import pytest

from kernalign import ContinuousAlignment, Gaussian, KernelClassifier, KernelRegressor
from kernalign.gram import Target
from kernalign.gram.labels import class_target
from kernalign.machines.tuned_ridge import solved_ridge
from kernalign.report import influence_info


def rows(n=70, classes=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    score = X[:, 0] + 0.5 * rng.normal(size=n)
    labels = np.array(["a", "b", "c"])[np.digitize(score, [0.0] if classes == 2 else [-0.5, 0.5])]
    return X, labels, np.exp(0.5 * X[:, 0]) + 0.1 * rng.normal(size=n)


def solved_again(model, X, values, kept, x):
    """The output at x of the ridge machine on some rows; kernel, noise and constant stay."""
    n = len(X)
    K = model.kernel_(X)
    h = np.diagonal(K).mean()
    noise, constant = 1 / model.C_, h
    A = K[np.ix_(kept, kept)] + constant + noise * np.eye(len(kept))
    Y = values[kept].reshape(len(kept), -1)
    mean = Y.mean(axis=0)
    k = model.kernel_(X[[x]], X[kept])[0] + constant
    assert len(X) == n
    return mean + k @ np.linalg.solve(A, Y - mean)


@pytest.mark.parametrize("classes", [2, 3])
def test_effects_of_classes_are_those_of_solving_again(classes):
    X, labels, _ = rows(classes=classes)
    model = KernelClassifier().fit(X, labels)
    codes = np.searchsorted(model.classes_, labels)
    values = class_target(codes, classes, np.ones(70)).values
    info = influence_info(model, X[[5]], X, labels, row=5)
    others = np.delete(np.arange(70), 5)

    def probability(kept):
        out = solved_again(model, X, values, kept, 5)
        out = out if classes > 2 else out[0]
        code = list(model.classes_).index(info.prediction)
        return model.calibration_.probabilities(np.asarray(out)[None])[0, code]

    assert info.itself
    assert info.value == pytest.approx(probability(others), abs=1e-6)
    assert 5 not in [item.row for item in info.rows]
    for item in info.rows:
        without = probability(others[others != item.row])
        assert item.effect == pytest.approx(info.value - without, abs=1e-6)
    every = [abs(info.value - probability(others[others != i])) for i in others]
    assert abs(info.rows[0].effect) == pytest.approx(max(every), abs=1e-6)


def test_effects_of_a_regression_are_in_its_units():
    X, _, y = rows()
    y = 1000 * y
    model = KernelRegressor().fit(X, y)
    posterior = model.certainty_.posterior
    info = influence_info(model, X[[7]], X, y, row=7)
    t = model.response_.forward(y)
    others = np.delete(np.arange(70), 7)

    def prediction(kept):
        K = model.kernel_(X)
        h = np.diagonal(K).mean()
        log_noise = np.log(posterior.noise / h)
        sub = K[np.ix_(kept, kept)]
        # solved_ridge takes the noise in units of the mean diagonal of its own rows.
        log_noise += np.log(h / np.diagonal(sub).mean())
        machine = solved_ridge(sub, Target(t[kept][:, None], np.ones(len(kept))), log_noise).model
        out = machine.predict(model.kernel_(X[[7]], X[kept]))[:, 0]
        return model.response_.back(out)[0]

    # The constant of the machine follows the mean diagonal of its rows, which hardly changes.
    assert info.value == pytest.approx(prediction(others), rel=1e-3)
    for item in info.rows[:3]:
        without = prediction(others[others != item.row])
        assert item.effect == pytest.approx(info.value - without, rel=0.02, abs=0.02)


def test_a_new_row_is_explained_as_the_model_predicts_it():
    X, labels, _ = rows()
    model = KernelClassifier().fit(X, labels)
    new = np.array([[0.3, -0.2, 0.1]])
    info = influence_info(model, new, X, labels)
    assert not info.itself
    assert info.prediction == model.predict(new)[0]
    assert info.value == pytest.approx(model.predict_proba(new).max(), abs=1e-6)


def test_other_machines_are_trained_again():
    X, labels, _ = rows()
    model = KernelClassifier(ContinuousAlignment(max_iter=1), C=1.0).fit(X, labels)
    info = influence_info(model, X[[3]], X, labels, row=3)
    assert info.unknown == ""
    machine = {r["machine"]: r for r in model.path_ if r["chosen"]}
    assert len(machine) == 1
    item = info.rows[0]
    kept = np.delete(np.arange(70), [3, item.row])
    from sklearn.svm import SVC

    if "support vector machine" in machine:
        K = model.kernel_(X)
        svc = SVC(kernel="precomputed", C=1.0).fit(K[np.ix_(kept, kept)], labels[kept])
        out = svc.decision_function(K[np.ix_([3], kept)])
        code = list(model.classes_).index(info.prediction)
        without = model.calibration_.probabilities(out)[0, code]
        assert item.effect == pytest.approx(info.value - without, abs=1e-3)


def test_of_landmarks_the_most_similar_training_rows_are_listed():
    X, labels, _ = rows()
    learner = ContinuousAlignment(Gaussian(), max_iter=1)
    model = KernelClassifier(learner, solver="nystroem", n_components=10, C=1.0).fit(X, labels)
    info = influence_info(model, X[[3]], X, labels, row=3)
    assert "landmarks" in info.unknown
    similar = model.kernel_(X[[3]], X)[0] / np.sqrt(
        model.kernel_.diag(X[[3]]) * model.kernel_.diag(X)
    )
    similar[3] = -1
    assert [item.row for item in info.rows] == np.argsort(-similar, kind="stable")[:8].tolist()
    assert all(item.effect is None for item in info.rows)
