"""A fit that is refused or interrupted leaves the model before as it was."""

import numpy as np
import pandas
import pytest

from kernalign import (
    ContinuousAlignment,
    Gaussian,
    KernelClassifier,
    KernelFeatures,
    KernelRegressor,
    LpNormMKL,
    Reweighted,
    Sampled,
    UniformWeights,
)
from kernalign.learners.base import Learner

KERNELS = Gaussian().grid(1.0, 4.0, 2)
QUICK = UniformWeights(KERNELS)
MODELS = {
    "classifier": KernelClassifier(QUICK, C=1.0, cv=2),
    "regressor": KernelRegressor(QUICK, C=1.0, cv=2),
    "features": KernelFeatures(QUICK, 5),
    "alignment": ContinuousAlignment(max_iter=1),
    "one stage": LpNormMKL(KERNELS),
    "sampled": Sampled(ContinuousAlignment(max_iter=1), min_rows=20, tol=1.0),
    "reweighted": Reweighted(UniformWeights(KERNELS)),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def table(n=40, d=3, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return pandas.DataFrame(X, columns=list("abcd"[:d])), (X[:, 0] > 0).astype(int)


def state(model):
    """Fitted attributes as they are, not copies of them."""
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


def assert_same(model, before):
    now = state(model)
    assert now.keys() == before.keys()
    assert all(now[name] is before[name] for name in before)


def answer(model, X):
    for method in ("predict", "transform"):
        if hasattr(model, method):
            return getattr(model, method)(X)
    return model.kernel_(X.to_numpy())


@every_model
@pytest.mark.parametrize("fault", ["one class", "rows", "infinite", "weights", "parameter"])
def test_a_refused_fit_changes_nothing(model, fault, monkeypatch):
    X, y = table()
    model.fit(X, y)
    before, said = state(model), answer(model, X)
    other, labels = table(30, 4, seed=1)
    weight = None
    if fault == "one class":
        labels = np.full(30, np.nan)
    elif fault == "rows":
        labels = labels[:-1]
    elif fault == "infinite":
        other = other.copy()
        other.iloc[3, 2] = np.inf
    elif fault == "weights":
        weight = np.zeros(30)
    else:
        monkeypatch.setattr(Learner, "_attributes", _refuse)
    with pytest.raises(ValueError, match=r"\w"):
        model.fit(other, labels, sample_weight=weight)
    assert_same(model, before)
    np.testing.assert_array_equal(answer(model, X), said)


def _refuse(*_args, **_kwargs):
    raise ValueError("no")


def _interrupt(*_args, **_kwargs):
    raise KeyboardInterrupt


@every_model
@pytest.mark.parametrize(
    "where",
    [
        "kernalign.kernels.learned.LearnedKernel.__call__",
        "kernalign.machines.model.DualModel.on_rows",
        "kernalign.machines.calibration.TemperatureCalibration.fit",
        "kernalign.learners.uniform.UniformWeights.learn",
        "kernalign.learners.continuous_alignment.ContinuousAlignment.learn",
    ],
)
def test_an_interrupt_anywhere_changes_nothing(model, where, monkeypatch):
    X, y = table()
    model.fit(X, y)
    before = state(model)
    with monkeypatch.context() as patched:
        patched.setattr(where, _interrupt)
        try:
            model.fit(*table(30, 4, seed=1))
        except KeyboardInterrupt:
            assert_same(model, before)
        else:
            assert model.n_features_in_ == 4


def test_labels_of_a_refused_fit_are_not_answered_with():
    X, y = table()
    model = KernelClassifier(QUICK, C=1.0, cv=2).fit(X, np.array(["cat", "dog"])[y])
    with pytest.raises(ValueError, match="No column can be used"):
        model.fit(X * np.nan, np.array(["spam", "ham"])[y])
    assert set(model.predict(X)) == {"cat", "dog"}


@every_model
def test_a_fit_forgets_the_columns_of_the_fit_before(model):
    X, y = table()
    model.fit(X, y)
    assert list(model.feature_names_in_) == list("abc")
    model.fit(X.to_numpy()[:, :2], y)
    assert model.n_features_in_ == 2
    assert not hasattr(model, "feature_names_in_")
