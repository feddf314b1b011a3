"""What a fitted estimator shows, and parameters of the default learner."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernalign
from kernalign import (
    ContinuousAlignment,
    Gaussian,
    KernelClassifier,
    KernelFeatures,
    KernelRegressor,
    KernelSearch,
    Linear,
)

rng = np.random.default_rng(0)
FRAME = pd.DataFrame(rng.normal(size=(80, 3)), columns=["age", "<income>", "debt"])
Y = FRAME["age"] + 0.1 * rng.normal(size=80)
QUICK = ContinuousAlignment(Gaussian(ard=True), max_iter=2)


def test_nothing_is_added_before_the_fit():
    assert repr(KernelClassifier(cv=3)) == "KernelClassifier(cv=3)"
    assert "<ul class" not in KernelClassifier()._repr_html_()


def test_a_fitted_estimator_tells_what_it_has_learned():
    clf = KernelClassifier(QUICK, C=1.0).fit(FRAME, Y > 0)
    first, *lines = repr(clf).splitlines()
    assert first.startswith("KernelClassifier(C=1.0,")
    learned = [line.strip() for line in lines if line.startswith("  ") and ": " in line]
    assert "  learned from 80 rows with 3 columns" in lines
    assert any(line.startswith("kernel, ") and "rows are similar when" in line for line in learned)
    error = f"{100 * clf.cv_error_:.1f} % (standard error {100 * clf.cv_error_std_:.1f})"
    assert learned[-1] == f"error on held-out rows: {error}"


def test_constant_columns_are_counted():
    X = FRAME.to_numpy().copy()
    X[:, 2] = 7.0
    assert "with 3 columns, 1 of them constant" in repr(KernelRegressor(QUICK, C=1.0).fit(X, Y))


def test_columns_that_are_left_out_and_sizes_without_exponents():
    reg = KernelRegressor(QUICK, C=1.0).fit(FRAME.assign(same=1.0), 1e3 * Y)
    reg.cv_error_, reg.cv_error_std_ = 1123.4, 171.3
    shown = repr(reg)
    assert "learned from 80 rows with 4 columns, 3 used" in shown
    assert "1123 (mean squared error; standard error 170)" in shown


def test_a_notebook_shows_it_with_names_that_are_escaped():
    reg = KernelRegressor(QUICK, C=1.0).fit(FRAME, Y)
    html = reg._repr_mimebundle_()["text/html"]
    assert f"error on held-out rows: {reg.cv_error_:.4g} (mean square" in html
    assert "age differs by less than about" in html
    assert "<income>" not in html
    with sklearn.config_context(display="text"):
        assert "text/html" not in reg._repr_mimebundle_()


def test_a_pipeline_stays_on_its_line():
    chain = make_pipeline(StandardScaler(), KernelRegressor(QUICK, C=1.0)).fit(FRAME, Y)
    assert "learned from" not in repr(chain)


def test_features_and_many_kernels():
    shown = repr(KernelFeatures(QUICK, n_components=5).fit(FRAME, Y)).splitlines()
    assert "  learned from 80 rows with 3 columns" in shown
    several = KernelRegressor(kernalign.UniformWeights(Gaussian().grid(0.1, 5.0, 6)), C=1.0)
    assert "  and 2 kernels of smaller weight" in repr(several.fit(FRAME, Y)).splitlines()


@pytest.mark.parametrize("made", [KernelClassifier(), KernelFeatures(), KernelSearch(), QUICK])
def test_diagrams_link_to_the_documentation(made):
    name = type(made).__name__
    link = f"https://kernalign.readthedocs.io/en/stable/generated/kernalign.{name}.html"
    assert link in made._repr_html_()
    assert hasattr(kernalign, name)


def test_parameters_of_the_default_learner_can_be_set():
    reg = KernelRegressor().set_params(learner__prior=1.0, learner__families=[Linear()], cv=3)
    assert (reg.learner.prior, reg.cv) == (1.0, 3)
    assert [type(k.family).__name__ for k in reg.fit(FRAME, Y).kernel_.kernels] == ["Linear"]
    with pytest.raises(ValueError, match="Invalid parameter 'tol' for estimator KernelSearch"):
        KernelClassifier().set_params(learner__tol=1e-3)
    given = KernelClassifier(QUICK).set_params(learner__max_iter=7)
    assert given.learner.max_iter == 7
    assert clone(reg).learner.prior == 1.0


def test_a_grid_over_the_default_learner():
    grid = GridSearchCV(KernelRegressor(cv=2), {"learner__prior": [1.0, 3.0]}, cv=2)
    assert grid.fit(FRAME, Y).best_params_["learner__prior"] in (1.0, 3.0)


def test_the_default_learner_by_name_is_the_default():
    skewed = np.exp(2 * Y)
    default, named = KernelRegressor().fit(FRAME, skewed), KernelRegressor(KernelSearch())
    named.fit(FRAME, skewed)
    assert named.response_.curve == default.response_.curve == "log"
    np.testing.assert_array_equal(named.predict(FRAME), default.predict(FRAME))
