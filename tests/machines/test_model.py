"""Trained models: the same outputs whatever the machine, from the rows that are needed."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC

from kernalign import Gaussian, LearnedKernel
from kernalign.features import ExplicitMap, NystroemMap
from kernalign.kernels._distances import SquaredDistancesTo
from kernalign.machines import DualModel, Precomputed, SupportVectorClassifier
from kernalign.machines import model as model_module
from kernalign.machines.model import KernelValues, Seen, linear_model

KERNEL = LearnedKernel(Gaussian().grid(0.7, 2.0, 2), np.array([0.4, 0.6]))


def rows(n=60, d=3, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def problem():
    X = rows()
    return X, (X[:, 0] * X[:, 1] > 0).astype(int), Seen.of(X, np.ones(len(X)))


@pytest.mark.parametrize("outputs", [1, 3])
def test_rows_without_a_coefficient_are_not_kept(outputs):
    X, _, seen = problem()
    rng = np.random.default_rng(1)
    dual = rng.standard_normal((60, outputs))
    dual[::2] = 0
    intercept = rng.standard_normal(outputs)
    if outputs == 1:
        dual, intercept = dual[:, 0], intercept[0]
    whole = DualModel(dual, intercept)
    model = whole.on_rows(KERNEL, X, seen)
    assert (model.kept, model.n_rows, len(model.rows)) == ("support vectors", 60, 30)
    np.testing.assert_array_equal(model.index, np.arange(1, 60, 2))
    Z = rows(20, seed=2)
    np.testing.assert_allclose(model.outputs(Z), whole.predict(KERNEL(Z, X)), atol=1e-12)
    moved = model.renumbered(np.arange(60) + 7)
    np.testing.assert_array_equal(moved.index, model.index + 7)
    np.testing.assert_array_equal(moved.outputs(Z), model.outputs(Z))


def test_one_column_of_outputs_is_a_vector():
    X, _, seen = problem()
    model = DualModel(np.ones((60, 1)), np.ones(1)).on_rows(KERNEL, X, seen)
    assert model.kept == "training rows"
    np.testing.assert_allclose(model.outputs(X), KERNEL(X).sum(axis=1) + 1)


def test_a_machine_without_support_vectors_is_a_constant():
    X, _, seen = problem()
    model = DualModel(np.zeros(60), 2.5).on_rows(KERNEL, X, seen)
    np.testing.assert_array_equal(model.outputs(X[:4]), np.full(4, 2.5))


class OwnSVC(SVC):
    """A machine that may predict in its own way."""


class OwnRidge(KernelRidge):
    """Another one."""


@pytest.mark.parametrize("kind", [OwnSVC, OwnRidge])
def test_a_machine_of_the_users_sees_its_own_gram_matrix(kind):
    estimator = kind(kernel="precomputed")
    X, y, seen = problem()
    K = KERNEL(X)
    model = Precomputed(estimator, "Owner", classes=True).fit(K, y, np.ones(60), 2.0)
    trained = model.on_rows(KERNEL, X, seen)
    Z = rows(20, seed=2)
    np.testing.assert_allclose(trained.outputs(Z), model.predict(KERNEL(Z, X)), atol=1e-10)
    support = len(getattr(model.estimator, "support_", X))
    assert len(trained.rows) == support
    # The same, with rows numbered as in a table of which some rows had no weight.
    moved = trained.renumbered(np.arange(60) * 2)
    np.testing.assert_array_equal(moved.outputs(Z), trained.outputs(Z))


def test_the_default_svm_is_the_users_svm():
    X, y, seen = problem()
    K, Z = KERNEL(X), rows(20, seed=2)
    ours = SupportVectorClassifier().fit(K, y, np.ones(60), 2.0).on_rows(KERNEL, X, seen)
    alone = SVC(kernel="precomputed", C=2.0).fit(K, y)
    np.testing.assert_allclose(ours.outputs(Z), alone.decision_function(KERNEL(Z, X)), atol=1e-9)
    np.testing.assert_array_equal(np.sort(ours.index), np.sort(alone.support_))


@pytest.mark.parametrize("kind", ["nystroem", "fourier"])
@pytest.mark.parametrize("outputs", [1, 2])
def test_features_are_folded_into_coefficients(kind, outputs):
    """f(x) = phi(x)'v with v in the whitened features: nothing of size m x m is left."""
    X, _, seen = problem()
    rng = np.random.default_rng(0)
    features = (
        NystroemMap(KERNEL, X[:20]) if kind == "nystroem" else ExplicitMap(KERNEL, 20, 3, rng)
    )
    v = rng.standard_normal((features.n_features, outputs))
    raw = v if features.root is None else np.linalg.solve(features.root.T, v)
    model = linear_model(features, raw, np.ones(outputs), seen)
    Z = rows(20, seed=2)
    expected = features.transform(Z) @ v + 1
    np.testing.assert_allclose(model.outputs(Z).reshape(20, -1), expected, atol=1e-5)
    if kind == "nystroem":
        assert (model.kept, model.index, model.n_rows) == ("landmarks", None, 60)
        sizes = [v.size for v in vars(model).values() if isinstance(v, np.ndarray)]
        assert max(sizes) <= 20 * max(3, outputs)


def test_blocks_within_the_budget_are_the_whole():
    X, _, seen = problem()
    model = KernelValues(KERNEL, seen, X, np.arange(60))
    Z = rows(3000, seed=3)
    whole = model.outputs(Z)
    np.testing.assert_allclose(whole, KERNEL(Z, X), atol=1e-12)
    with config_context(working_memory=1):
        np.testing.assert_allclose(model.outputs(Z), whole, atol=1e-12)
    with config_context(working_memory=1e-4), pytest.raises(ValueError, match="too small for one"):
        model.outputs(Z)


@pytest.mark.parametrize("columns", [60, 0], ids=["rows", "constant"])
def test_compiled_loops_give_the_same_outputs(columns, monkeypatch):
    pytest.importorskip("numba")
    X, _, seen = problem()
    model = KernelValues(KERNEL, seen, X[:columns], np.arange(columns))
    Z = rows(3000, seed=3)
    wanted = model.outputs(Z)
    monkeypatch.setattr(Gaussian, "saved_per_value", 1.0)
    found = model.outputs(Z)
    assert (found != wanted).any() == bool(columns), "otherwise numpy is compared with itself"
    np.testing.assert_allclose(found, wanted, rtol=1e-13)


def test_the_spread_is_that_of_the_weighted_rows():
    X, _, _ = problem()
    X[:, 2] = 4.0
    weight = np.random.default_rng(0).integers(1, 4, 60)
    seen = Seen.of(X, weight.astype(float))
    np.testing.assert_allclose(seen.spread, np.repeat(X, weight, axis=0).std(axis=0), atol=1e-12)
    assert seen.n_rows == 60


def test_a_model_is_shown_in_one_line():
    X, _, seen = problem()
    model = DualModel(np.ones(len(X)), 0.0).on_rows(KERNEL, X, seen)
    assert repr(model) == f"<KernelModel learned from 60 rows: {KERNEL!r}>"


def test_a_prediction_prepares_its_rows_once_for_all_blocks(monkeypatch):
    prepared = []
    prepare = SquaredDistancesTo.__init__
    monkeypatch.setattr(
        SquaredDistancesTo, "__init__", lambda *a: prepared.append(0) or prepare(*a)
    )
    monkeypatch.setattr(model_module, "BLOCK", 60)
    monkeypatch.setattr(model_module, "ROWS", 1)
    X, _, seen = problem()
    dual = np.random.default_rng(1).standard_normal(60)
    found = DualModel(dual, 0.5).on_rows(KERNEL, X, seen).outputs(rows(20, seed=2))
    assert len(prepared) == 1
    np.testing.assert_allclose(found, KERNEL(rows(20, seed=2), X) @ dual + 0.5, atol=1e-12)
