"""The squared hinge as the machine for many rows of classes: when it is tried, taken, trained."""

import zipfile

import numpy as np
import pytest
import sklearn

from kernalign import (
    Gaussian,
    KernelClassifier,
    KernelRegressor,
    UniformWeights,
    load,
    save,
)
from kernalign.estimators import hinge, linear
from kernalign.features import NystroemMap
from kernalign.learners import Sampled
from kernalign.machines import SquaredHinge, normal_equations, squared_hinge
from kernalign.machines.model import linear_model

KERNELS = UniformWeights(Gaussian().grid(20.0, 40.0, 2))


def far_rows(n, number=2):
    """Rows of one class far behind the margin draw least squares on few features away from it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, number))
    y = X.argmax(axis=1)
    X[(y == 0) & (rng.random(n) < 0.4), 0] += 8.0
    return X, y


def machine_of(model):
    (chosen,) = (record for record in model.path_ if record["chosen"])
    return chosen["machine"].split(" (")[0]


@pytest.fixture
def one_share(monkeypatch):
    monkeypatch.setattr(linear, "FOLDS_ROWS", 500)


@pytest.fixture
def exact(monkeypatch):
    monkeypatch.setattr(squared_hinge, "TOLERANCE", 1e-13)
    monkeypatch.setattr(hinge, "PRECISION", float)
    monkeypatch.setattr(linear, "PRECISION", float)


@pytest.mark.usefixtures("exact", "one_share")
@pytest.mark.parametrize("number", [2, 3])
@pytest.mark.parametrize("learner", [KERNELS, Sampled(KERNELS, tol=0.5, max_rows=300)])
def test_the_machine_is_the_squared_hinge_on_all_rows(learner, number):
    """Whether the features of the choice serve the fit, or the kernel is learned anew."""
    X, y = far_rows(1000, number)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    model = KernelClassifier(learner, solver="nystroem", n_components=6)
    model.fit(X, y, sample_weight=weight)
    assert machine_of(model) == "squared hinge"
    squares, chosen = model.path_
    assert chosen["machine"] == "squared hinge (nystroem)"
    assert chosen["error"] < squares["error"]
    features = NystroemMap(model.kernel_, model.model_.rows)
    signs = 2.0 * y[:, None] - 1 if number == 2 else 2 * np.eye(number)[y] - 1
    sums = normal_equations(features, X, signs, weight)
    naive = SquaredHinge(features.transform(X), signs, weight, sums, features.root)
    expected, _ = naive.solve(model.C_, sums.path(features.root, np.array([1.0]))[0])
    np.testing.assert_allclose(
        model.decision_function(X),
        linear_model(features, expected.coefficients, expected.intercept).outputs(X),
        atol=1e-4,
    )


def test_all_splits_try_the_same_values_around_the_best_of_least_squares(monkeypatch):
    X, y = far_rows(600)
    seen = []
    real = SquaredHinge.solve

    def recorded(self, C, start):
        seen.append(C)
        return real(self, C, start)

    monkeypatch.setattr(SquaredHinge, "solve", recorded)
    model = KernelClassifier(KERNELS, solver="nystroem", n_components=6).fit(X, y)
    squares, other = model.path_
    number = len(seen) // 5
    tried = np.array(seen[:number])
    # Five folds, and the machine on all rows.
    assert machine_of(model) == "squared hinge"
    assert seen == [*np.tile(tried, 5), model.C_]
    assert 0.009 * squares["C"] < tried.min() <= other["C"] <= tried.max()
    assert np.isfinite(model.cv_results_["error"]).sum() == number
    assert np.isfinite(model.cv_error_)


def test_no_larger_values_are_tried_where_it_does_not_converge(monkeypatch):
    """All splits try the smallest value, and the machine on all rows is least squares or this."""
    X, y = far_rows(600)
    seen = []
    real = SquaredHinge.solve

    def never(self, C, start):
        seen.append(C)
        return real(self, C, start)[0], False

    monkeypatch.setattr(SquaredHinge, "solve", never)
    model = KernelClassifier(KERNELS, solver="nystroem", n_components=6).fit(X, y)
    assert set(seen[:5]) == {seen[0]}
    assert len(seen) == 5 + (machine_of(model) == "squared hinge")


@pytest.mark.parametrize("seed", range(4))
def test_noise_is_left_to_least_squares(seed):
    """No row is beyond the margin: both machines are the same, up to rounding errors."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((300, 3)), rng.integers(2, size=300)
    model = KernelClassifier(KERNELS, solver="nystroem", n_components=20, C=[0.1, 1.0]).fit(X, y)
    assert machine_of(model) == "least squares"
    assert [p["machine"] for p in model.path_] == [
        "least squares (nystroem)",
        "squared hinge (nystroem)",
    ]


def test_it_is_tried_where_features_can_be_kept(monkeypatch):
    X, y = far_rows(300)
    options = {"n_components": 50, "C": [1.0, 10.0], "cv": 2}
    tried = KernelClassifier(KERNELS, solver="nystroem", **options).fit(X, y)
    assert len(tried.path_) == 2
    assert len(KernelClassifier(KERNELS, solver="cg", **options).fit(X, y).path_) == 1
    assert len(KernelRegressor(KERNELS, solver="nystroem", **options).fit(X, y).path_) == 1
    with sklearn.config_context(working_memory=4):
        assert hinge.features_fit(2**10, 2**10)
        assert not hinge.features_fit(2**10, 2**10 + 1)
    monkeypatch.setattr(linear, "features_fit", lambda rows, number, _: (rows, number) != (300, 50))
    few = KernelClassifier(KERNELS, solver="nystroem", **options).fit(X, y)
    assert len(few.path_) == 1
    assert machine_of(few) == "least squares"


def test_a_copy_from_a_file_predicts_the_same(tmp_path):
    """And nothing that only the fit needs is in it."""
    X, y = far_rows(300)
    model = KernelClassifier(KERNELS, solver="nystroem", n_components=60).fit(X, y)
    assert machine_of(model) == "squared hinge"
    path = save(model, tmp_path / "model.kern")
    with zipfile.ZipFile(path) as file:
        size = file.getinfo("arrays.bin").file_size
    assert size < 8 * 60 * len(X) / 2  # half of the features of all rows
    copy = load(tmp_path / "model.kern")
    np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))
