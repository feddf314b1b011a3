"""Models that keep landmarks, or no rows at all, never take them for the rows they learned from."""

import numpy as np
import pytest

from kernalign import ContinuousAlignment, Gaussian, KernelClassifier, KernelRegressor, Sampled
from kernalign.plots import embedding_info, landscape_info, relevance_info
from kernalign.report import influence_info, report_html

SOLVERS = ["nystroem", "fourier"]


@pytest.fixture(scope="module", params=SOLVERS)
def many(request):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2)) * [1.0, 10.0]
    y = np.where(X[:, 0] > 0, "up", "down")
    model = KernelClassifier(
        Sampled(ContinuousAlignment(), min_rows=60, tol=1.0),
        solver=request.param,
        n_components=20,
        C=1.0,
        cv=2,
    )
    return model.fit(X, y), X, y


def test_the_model_says_from_how_many_rows_it_was_learned(many):
    model, X, _ = many
    assert model.model_.n_rows == 300
    np.testing.assert_allclose(model.model_.seen.spread, X.std(axis=0))


def test_the_report_says_so_too_and_leaves_out_what_it_cannot_know(many):
    model, X, y = many
    page = report_html(model, X, y, compare=False)
    assert "learned from 300 rows with 2 features" in page
    assert "effect</th>" not in page
    assert "the effect of a single row is not computed" in page


def test_effects_are_not_computed_and_the_page_says_so(many):
    model, X, y = many
    info = influence_info(model, X[:1], X, y, row=0)
    assert "not computed" in info.unknown
    assert 0 not in [item.row for item in info.rows]


def test_an_embedding_with_labels_asks_for_the_rows(many):
    model, X, y = many
    assert embedding_info(model, X, y).points.shape == (300, 2)
    if model.solver_ == "nystroem":
        info = embedding_info(model)
        assert info.what == "landmarks"
        assert len(info.points) == len(model.model_.rows) <= 20
    with pytest.raises(ValueError, match=r"20 landmarks of the 300 rows|does not keep any"):
        embedding_info(model, y=y)


def test_the_landscape_is_that_of_the_sample(many):
    model, X, y = many
    found = landscape_info(model, X, y, max_steps=1, number=20)
    alone = landscape_info(model.learner_.learner_, X, y, max_steps=1, number=20)
    np.testing.assert_array_equal(found.steps[0].curves[0].value, alone.steps[0].curves[0].value)


def test_relevance_is_in_spreads_of_all_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2)) * [1.0, 5.0]
    y = X[:, 0] + 0.1 * X[:, 1]
    learner = ContinuousAlignment(Gaussian(ard=True), max_iter=1)
    exact, few = (
        KernelRegressor(learner, C=1.0, cv=2, solver=solver, n_components=10).fit(X, y)
        for solver in ("exact", "nystroem")
    )
    for model in (exact, few):
        expected = relevance_info(model, X)
        np.testing.assert_allclose(relevance_info(model).relevance, expected.relevance, rtol=1e-9)
        assert relevance_info(model).in_spreads


def test_rows_of_weight_zero_do_not_shift_the_numbers_of_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = (X[:, 0] > 0).astype(int)
    weight = np.ones(40)
    weight[:10] = 0
    model = KernelClassifier(ContinuousAlignment(), C=1.0, cv=2).fit(X, y, sample_weight=weight)
    assert model.model_.index.min() >= 10
    for item in influence_info(model, X[30:31], X, y, row=30, number=40).rows:
        one = model.kernel_(X[30:31], X[[item.row]])[0, 0]
        norm = np.sqrt(model.kernel_.diag(X[[30]])[0] * model.kernel_.diag(X[[item.row]])[0])
        assert item.similarity == pytest.approx(one / norm)
