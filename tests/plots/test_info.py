"""The data behind each picture, against naive formulas; no matplotlib is needed for it."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.decomposition import KernelPCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernalign import (
    AnyOf,
    ContinuousAlignment,
    ContinuousRisk,
    Fourier,
    Gaussian,
    KernelClassifier,
    KernelRegressor,
    Laplacian,
    LearnedKernel,
    Linear,
    LpNormMKL,
    Polynomial,
    RationalQuadratic,
    UniformWeights,
    centered_alignment,
)
from kernalign.plots import (
    embedding_info,
    gram_info,
    landscape_info,
    path_info,
    relevance_info,
    spectrum_info,
)


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(80, noise=0.15, random_state=0)
    X = np.hstack([X, np.random.default_rng(0).normal(size=(80, 1))])
    return X, np.where(y == 1, "up", "down")


@pytest.fixture(scope="module")
def learner(moons):
    return ContinuousAlignment().fit(*moons)


@pytest.fixture(scope="module")
def classifier(moons):
    return KernelClassifier(ContinuousAlignment(), C=1.0).fit(*moons)


# --- spectrum ------------------------------------------------------------------------------------


def test_spectrum_is_the_kernel_sorted_by_weight(learner):
    info = spectrum_info(learner)
    assert [t.weight for t in info.terms] == sorted(learner.kernel_.weights, reverse=True)
    assert sum(t.share for t in info.terms) == pytest.approx(1)
    by_weight = dict(zip(learner.kernel_.weights, learner.kernel_.kernels, strict=True))
    for term in info.terms:
        assert term.sigma == by_weight[term.weight].sigma
        assert term.label == repr(by_weight[term.weight])
    assert info.on_one_axis


def test_spectrum_of_many_parameters_stands_at_the_median_of_the_finite_ones():
    kernel = LearnedKernel([Gaussian(ard=True).at([1.0, np.inf, 3.0])], np.array([2.0]))
    (term,) = spectrum_info(kernel).terms
    assert term.centre == 2.0
    kernel = LearnedKernel([Gaussian(ard=True).at([np.inf, np.inf])], np.array([2.0]))
    assert not spectrum_info(kernel).on_one_axis


def test_spectrum_of_unlike_parameters_has_no_common_axis():
    kernel = LearnedKernel([Gaussian().at(1.0), Polynomial().at(1.0)], np.ones(2))
    names = {t.parameter for t in spectrum_info(kernel).terms}
    assert len(names) == 2
    assert not spectrum_info(kernel).on_one_axis


# --- path ----------------------------------------------------------------------------------------


def test_path_is_the_history(learner, classifier, moons):
    info = path_info(learner)
    assert info.value.tolist() == [record["objective"] for record in learner.history_]
    assert info.iteration.tolist() == list(range(1, len(learner.history_) + 1))
    assert path_info(classifier).value.tolist() == info.value.tolist()


@pytest.mark.parametrize(
    ("other", "label"),
    [
        (ContinuousRisk(corrective=True), "regularised risk"),
        (LpNormMKL(Gaussian().grid(0.5, 5, 3)), "regularised hinge loss"),
    ],
    ids=["risk", "lp"],
)
def test_path_of_other_learners(other, label, moons):
    info = path_info(other.fit(*moons))
    assert info.label == label
    assert len(info.value) == len(other.history_)


def test_no_path_is_said(learner):
    with pytest.raises(ValueError, match=r"no path to draw: LearnedKernel"):
        path_info(learner.kernel_)


# --- relevance -----------------------------------------------------------------------------------


def test_relevance_is_the_weighted_mean_of_inverse_squares(moons):
    X, y = moons
    learner = ContinuousAlignment(Gaussian(ard=True)).fit(X, y)
    weights, kernels = learner.kernel_.weights, learner.kernel_.kernels
    naive = np.zeros(3)
    for weight, kernel in zip(weights, kernels, strict=True):
        for k in range(3):
            naive[k] += weight / kernel.sigma[k] ** 2 / sum(weights)
    raw = relevance_info(learner)
    np.testing.assert_allclose(raw.relevance, naive)
    assert not raw.in_spreads
    info = relevance_info(learner, X)
    np.testing.assert_allclose(info.relevance, naive * X.std(axis=0) ** 2)
    assert info.share.sum() == pytest.approx(1)
    assert info.unexplained == pytest.approx(0)
    # The third feature is noise.
    assert info.share[2] < 0.2
    assert [name for name, _ in info.largest(2)] == ["x0", "x1"]


def test_relevance_does_not_depend_on_units(moons):
    X, y = moons
    units = np.array([1000.0, 0.01, 1.0])
    one, two = (
        relevance_info(KernelClassifier(ContinuousAlignment(Gaussian(ard=True)), C=1.0).fit(Z, y))
        for Z in (X, X * units)
    )
    np.testing.assert_allclose(one.share, two.share, atol=1e-3)


def test_relevance_of_the_default_is_in_units_of_the_columns():
    """Kernels of a search convert columns to units of their own, which are no positions."""
    factors = np.array([1.0, 1e3, 1e-3, 10.0, 50.0])
    X = np.random.default_rng(0).normal(size=(100, 5)) * factors
    model = KernelRegressor().fit(X, np.sin(X[:, 4] / 25))
    info = relevance_info(model)
    assert info.share[4] > 0.99
    kernels, weights = model.kernel_.kernels, model.kernel_.weights
    naive = [kernel.family.relevance(kernel.sigma, 5) for kernel in kernels]
    np.testing.assert_allclose(info.relevance, np.average(naive, axis=0, weights=weights))
    step = 1e-3 * factors
    units = model.learner_.units_
    slope = (units(units.centre + step) - units(units.centre - step)) / (2 * step)
    raw = relevance_info(model, in_spreads=False)
    np.testing.assert_allclose(raw.relevance, info.relevance * slope**2, rtol=1e-3)


def test_relevance_of_views_and_of_features_without_any():
    kernel = LearnedKernel(
        [Gaussian(columns=[2]).at(2.0), Laplacian(columns=[0]).at(1.0), Gaussian().at(np.inf)],
        np.array([1.0, 3.0, 4.0]),
    )
    info = relevance_info(kernel)
    np.testing.assert_allclose(info.relevance, [3 / 8, 0, 1 / 32])
    assert info.names == ["x0", "x1", "x2"]


def test_relevance_of_other_families():
    frequencies = LearnedKernel([Fourier().at([3.0, -1.0])], np.ones(1))
    np.testing.assert_allclose(relevance_info(frequencies).relevance, [9, 1])
    linear = LearnedKernel([Linear().at([1.0, 0.0])], np.ones(1))
    np.testing.assert_allclose(relevance_info(linear).relevance, [1, 0])
    both = LearnedKernel([RationalQuadratic(ard=True).at([0.5, np.inf], 7.0)], np.ones(1))
    np.testing.assert_allclose(relevance_info(both).relevance[:2], [4, 0])


def test_relevance_that_parameters_do_not_tell():
    mixed = LearnedKernel([Polynomial().at(1.0), Gaussian().at(1.0)], np.array([3.0, 1.0]))
    assert relevance_info(mixed, np.eye(2)).unexplained == pytest.approx(0.75)
    with pytest.raises(ValueError, match="do not say how much each feature matters"):
        relevance_info(LearnedKernel([Polynomial().at(1.0)], np.ones(1)))


def test_names_come_from_the_frame_or_the_pipeline(moons):
    import pandas as pd

    X, y = moons
    frame = pd.DataFrame(X, columns=["left", "right", "noise"])
    one = KernelClassifier(ContinuousAlignment(), C=1.0)
    plain = clone(one).fit(frame, y)
    assert relevance_info(plain).names == ["left", "right", "noise"]
    pipeline = make_pipeline(StandardScaler(), one).fit(frame, y)
    assert relevance_info(pipeline).names == ["left", "right", "noise"]
    np.testing.assert_allclose(relevance_info(pipeline, frame).share, np.full(3, 1 / 3))


# --- Gram matrix ---------------------------------------------------------------------------------


def test_gram_is_ordered_by_class_and_aligned_as_reported(learner, moons):
    X, y = moons
    info = gram_info(learner, X, y)
    assert sorted(info.order) == list(range(80))
    assert [name for name, _, _ in info.groups] == ["down", "up"]
    assert info.groups[0][1:] == (0, (y == "down").sum())
    assert info.alignment == pytest.approx(learner.alignment_, abs=1e-9)
    signs = np.where(y[info.order] == "up", 1.0, -1.0)
    assert centered_alignment(info.gram, np.outer(signs, signs)) == pytest.approx(info.alignment)
    assert np.abs(info.gram).max() == np.abs(info.ideal).max() == 1


def test_gram_of_several_classes_and_of_a_response(moons):
    X, _ = moons
    words = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.3, 0.7])]
    model = ContinuousAlignment().fit(X, words)
    assert gram_info(model, X, words).alignment == pytest.approx(model.alignment_, abs=1e-9)
    # Whole numbers are a response here, because the model is a regressor.
    response = np.round(3 * X[:, 0])
    model = KernelRegressor(C=1.0).fit(X, response)
    info = gram_info(model, X, response)
    assert info.groups == []
    assert (np.diff(response[info.order]) >= 0).all()
    assert info.alignment == pytest.approx(model.alignment_, abs=1e-9)


def test_large_data_are_thinned_by_class(learner, moons):
    X, y = np.repeat(moons[0], 20, axis=0), np.repeat(moons[1], 20)
    info = gram_info(learner, X, y, max_rows=100)
    assert info.gram.shape == (100, 100)
    assert abs(info.groups[0][2] - 50) <= 1


# --- embedding -----------------------------------------------------------------------------------


def test_embedding_is_kernel_pca(classifier, moons):
    X, y = moons
    info = embedding_info(classifier, X, y)
    theirs = KernelPCA(2, kernel="precomputed").fit_transform(classifier.kernel_(X))
    signs = np.sign((info.points * theirs).sum(axis=0))
    np.testing.assert_allclose(info.points, theirs * signs, atol=1e-8)
    assert 0 < info.explained[1] <= info.explained[0] < 1
    assert info.labels.tolist() == y.tolist()


def test_embedding_of_the_rows_that_the_model_keeps_by_default(classifier, learner, moons):
    X, y = moons
    ridge = KernelRegressor(ContinuousAlignment(), C=1.0, cv=2).fit(X, y == "up")
    kept = embedding_info(ridge)
    assert kept.what == "training rows"
    assert np.array_equal(kept.points, embedding_info(ridge, X).points)
    support = embedding_info(classifier)
    assert support.what == classifier.model_.kept == "support vectors"
    assert len(support.points) == len(classifier.model_.rows) < len(X)
    with pytest.raises(ValueError, match=r"keeps \d+ support vectors of the \d+ rows.*Pass X"):
        embedding_info(classifier, y=y)
    with pytest.raises(ValueError, match="needs rows"):
        embedding_info(learner.kernel_)
    assert embedding_info(classifier, moons[0], max_rows=10).points.shape == (10, 2)
    assert embedding_info(classifier, moons[0][:1]).points.shape == (1, 2)


# --- landscape -----------------------------------------------------------------------------------


def naive_landscape(learner, X, y):
    """h(sigma) = <P, K(sigma)> with dense matrices, from the learner's history."""

    def centred(K):
        return K - K.mean(axis=0) - K.mean(axis=1, keepdims=True) + K.mean()

    signs = np.where(y == "up", 1.0, -1.0)
    T = centred(np.outer(signs, signs))
    K = learner.eps * centred(np.eye(len(y)))
    for record in learner.history_:
        norm = np.linalg.norm(K)
        P = (T - np.vdot(K, T) * K / norm**2) / (norm * np.linalg.norm(T))
        yield lambda kernel, P=P: np.vdot(P, kernel(X))
        K = K + record["eta"] * centred(record["kernel"](X))


def test_landscape_is_the_slope_of_the_alignment(learner, moons):
    X, y = moons
    info = landscape_info(learner, X, y, number=60)
    assert len(info.steps) == min(6, len(learner.history_))
    for step, h in zip(info.steps, naive_landscape(learner, X, y), strict=False):
        (curve,) = step.curves
        size = np.abs(curve.value).max()
        naive = [h(Gaussian().at(sigma)) for sigma in curve.across]
        np.testing.assert_allclose(curve.value, naive, atol=2e-5 * size)
        # The pick is the maximum of its curve.
        assert step.value >= curve.value.max() - 1e-4 * size
        assert step.at == step.picked.sigma[0]


@pytest.mark.parametrize(
    "options",
    [{"start": "best"}, {"selection": "step"}, {"corrective": True}],
    ids=lambda options: next(iter(options)),
)
def test_picks_are_maxima_with_every_option(options, moons):
    X, y = moons
    learner = ContinuousAlignment(**options).fit(X, y)
    info = landscape_info(learner, X, y)
    for step, record in zip(info.steps, learner.history_, strict=False):
        best = max(np.nanmax(curve.value) for curve in step.curves)
        assert step.value >= best - 1e-3 * abs(best)
        assert step.value == pytest.approx(record["search_value"], rel=1e-3)


def test_landscape_of_several_parameters_and_of_views(moons):
    X, y = moons
    learner = ContinuousAlignment(Gaussian(ard=True)).fit(X, y)
    info = landscape_info(learner, X, y, max_steps=2)
    for step in info.steps:
        (curve,) = step.curves
        assert curve.several
        assert step.value >= curve.value.max() - 1e-3 * abs(curve.value).max()
    views = ContinuousAlignment(AnyOf(Gaussian(columns=[0]), Laplacian(columns=[1]))).fit(X, y)
    info = landscape_info(views, X, y, max_steps=2)
    assert {curve.family for curve in info.steps[0].curves} == {"Gaussian", "Laplacian"}


def test_landscape_is_of_searches_over_bandwidths_only(moons):
    X, y = moons
    with pytest.raises(ValueError, match=r"search over bandwidths.*UniformWeights"):
        landscape_info(UniformWeights(Gaussian().grid(1, 2, 2)).fit(X, y), X, y)


# --- all -----------------------------------------------------------------------------------------


def test_what_is_not_fitted_or_not_ours_is_named():
    for wrong in (KernelClassifier(), StandardScaler(), 5):
        with pytest.raises(ValueError, match=rf"Got {type(wrong).__name__} without a learned"):
            spectrum_info(wrong)
    with pytest.raises(ValueError, match=r"as many rows as each other. Got 3 and 2"):
        gram_info(LearnedKernel([Gaussian().at(1.0)], np.ones(1)), np.zeros((3, 1)), [0, 1])


def test_without_matplotlib_the_data_are_there_and_the_sentence_says_what_to_install():
    code = """
import sys
sys.modules["matplotlib"] = None
import numpy as np
from kernalign import Gaussian, LearnedKernel
from kernalign.plots import plot_spectrum, spectrum_info
kernel = LearnedKernel([Gaussian().at(1.0)], np.ones(1))
assert spectrum_info(kernel).terms[0].weight == 1
try:
    plot_spectrum(kernel)
except ImportError as problem:
    assert "pip install 'kernalign[plot]'" in str(problem), problem
else:
    raise SystemExit("no error")
"""
    subprocess.run([sys.executable, "-c", code], check=True)
