"""Pictures of quality: their figures recomputed from the held-out rows, or known beforehand."""

import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from kernalign import ContinuousAlignment, Gaussian, KernelClassifier, KernelRegressor
from kernalign.machines.tuned_ridge import ridge_at
from kernalign.plots import (
    calibration_info,
    coverage_info,
    effect_info,
    gram_info,
    importance_info,
    landscape_info,
    plot_calibration,
    plot_coverage,
    plot_effect,
    plot_importance,
    plot_landscape,
    plot_relevance,
    plot_residuals,
    relevance_info,
    residuals_info,
)
from kernalign.plots._axes import shortened
from kernalign.plots._model import view
from kernalign.plots._rows import in_words

QUICK = KernelClassifier(ContinuousAlignment(max_iter=2, n_starts=1), C=1.0)


def rows(n=120):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    labels = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, "yes", "no")
    return X, labels, 2 * X[:, 0] + X[:, 1] + 0.1 * rng.normal(size=n)


@pytest.fixture(scope="module")
def classifier():
    X, labels, _ = rows()
    return KernelClassifier().fit(X, labels)


@pytest.fixture(scope="module")
def regressor():
    X, _, y = rows()
    return KernelRegressor().fit(X, y)


def with_rows(model, outputs, y):
    """The model as if its folds had said this of held-out rows."""
    other, m = copy.copy(model), len(y)
    other.held_out_ = replace(
        model.held_out_,
        index=np.arange(m),
        fold=np.arange(m) % 5,
        outputs=outputs,
        deviations=None,
        y=y,
        errors=np.zeros(m),
        weight=np.ones(m),
    )
    return other


def test_true_probabilities_are_found_calibrated_and_bold_ones_are_not(classifier):
    rng = np.random.default_rng(0)
    slope = classifier.calibration_.slope_
    outputs = 2 * rng.normal(size=8000) / slope
    y = (rng.random(8000) < 1 / (1 + np.exp(-slope * outputs))).astype(float)
    info = calibration_info(with_rows(classifier, outputs, y))
    assert info.gap < 0.02
    assert ((info.low <= info.stated) & (info.stated <= info.high)).mean() >= 0.75
    bold = calibration_info(with_rows(classifier, 4 * outputs, y))
    assert bold.gap > 0.1
    assert info.rows.sum() == 8000


def test_calibration_of_a_fit_is_that_of_its_held_out_rows(classifier):
    info = calibration_info(classifier)
    found = classifier.held_out_
    p = 1 / (1 + np.exp(-classifier.calibration_.slope_ * np.abs(found.outputs)))
    assert info.stated @ info.rows / info.rows.sum() == pytest.approx(p.mean())
    wrong = 1 - info.right @ info.rows / info.rows.sum()
    assert wrong == pytest.approx(classifier.cv_error_)


def test_residuals_are_those_of_the_reported_error(regressor):
    info = residuals_info(regressor)
    assert np.mean(info.missed**2) == pytest.approx(regressor.cv_error_)
    np.testing.assert_array_equal(info.actual, rows()[2])


def test_coverage_of_intervals_is_judged_by_other_folds(regressor):
    found = regressor.held_out_
    info = coverage_info(regressor, [0.8])
    t = regressor.response_.forward(found.y)
    scores = np.abs(t - found.outputs) / found.deviations
    inside = 0
    for fold in range(5):
        others = np.sort(scores[found.fold != fold])
        limit = others[int(np.ceil(0.8 * (len(others) + 1))) - 1]
        inside += (scores[found.fold == fold] <= limit).sum()
    assert info.held[0] == pytest.approx(inside / 120)
    limit = np.sort(scores)[int(np.ceil(0.9 * 121)) - 1]
    assert regressor.response_.identity
    np.testing.assert_allclose(
        info.size, 2 * limit * found.deviations * regressor.response_.scale, rtol=1e-9
    )


def test_coverage_of_sets(classifier):
    info = coverage_info(classifier)
    assert info.sets
    assert (info.held >= info.asked - 0.1).all()
    # The predicted class is in every set: coverage is at least the share of right predictions.
    assert (info.held >= 1 - classifier.cv_error_ - 1e-12).all()
    assert set(info.size) <= {1.0, 2.0}


def test_importance_of_a_linear_response_is_known():
    """Shuffling x_k adds 2 b_k^2 var(x_k) to the mean squared error."""
    X, _, y = rows(300)
    info = importance_info(KernelRegressor().fit(X, y), X, y)
    expected = np.sqrt(info.error**2 + 2 * np.array([4, 1, 0]) * X.var(axis=0)) - info.error
    np.testing.assert_allclose(info.increase, expected, atol=0.25)
    assert info.order().tolist()[:2] == [0, 1]
    assert (info.low <= info.increase).all()
    assert info.low[1] > 0
    assert abs(info.increase[2]) < 0.02
    assert info.rows == 300


def test_importance_of_classes_is_by_column_of_the_table(classifier):
    X, labels, _ = rows()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(d=np.where(X[:, 1] > 0, "u", "v"))
    model = KernelClassifier().fit(frame, labels)
    info = importance_info(model, frame, labels)
    assert info.names == ["a", "b", "c", "d"]
    assert info.order()[0] == 0
    assert info.low[0] > 0.1
    assert info.increase[0] + info.error < 0.6


def test_columns_that_are_left_out_have_no_importance():
    X, labels, _ = rows(60)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.insert(1, "same", 1.0)
    info = importance_info(QUICK.fit(frame, labels), frame, labels)
    assert info.names == ["a", "b", "c"]
    assert info.columns.tolist() == [0, 2, 3]


def test_cells_are_shown_for_readers():
    cells = [pd.Timestamp("2020-01-09"), np.datetime64("2020-01-09T12:30"), pd.NaT, np.nan, 0.12345]
    assert [in_words(cell) for cell in cells] == [
        "2020-01-09",
        "2020-01-09 12:30:00",
        "missing",
        "missing",
        "0.1235",
    ]


def test_effect_of_a_linear_column_is_a_line(regressor):
    X, _, _ = rows()
    info = effect_info(regressor, X, 0)
    slopes = np.diff(info.mean[:, 0]) / np.diff(info.values)
    np.testing.assert_allclose(slopes, 2.0, atol=0.3)
    one = X[np.linspace(0, 119, 100).astype(int)].copy()
    one[:, 0] = info.values[3]
    assert info.mean[3, 0] == pytest.approx(regressor.predict(one).mean())


def test_effect_of_categories_is_the_mean_prediction_with_each():
    X, labels, _ = rows()
    frame = pd.DataFrame({"kind": np.where(labels == "yes", "p", "q"), "x": X[:, 1]})
    model = KernelClassifier().fit(frame, labels)
    info = effect_info(model, frame, 0, max_rows=120)
    assert not info.numeric
    assert sorted(info.values) == ["p", "q"]
    for value, mean in zip(info.values, info.mean[:, 0], strict=True):
        naive = model.predict_proba(frame.assign(kind=value))[:, 1].mean()
        assert mean == pytest.approx(naive)
    assert info.lines == ["yes"]


def test_the_landscape_of_the_default_is_its_evidence(regressor):
    X, _, y = rows()
    info = landscape_info(regressor, X, y, number=9)
    (step,) = info.steps
    kernel, noise = regressor.kernel_, regressor.learner_.noise_
    target = view(regressor).target(y, np.ones(120))
    naive = max(
        ridge_at(kernel(X), target, float(np.log(noise * factor))).evidence
        for factor in (0.25, 1, 4)
    )
    assert info.objective == "evidence"
    assert step.value == pytest.approx(naive)
    # Nothing along the line is much better than the pick.
    assert step.value >= step.curves[0].value.max() - 3


def test_rows_and_labels_are_taken_from_the_model(classifier, regressor):
    X, labels, y = rows()
    for model, given in ((classifier, labels), (regressor, y)):
        own, theirs = gram_info(model), gram_info(model, X, given)
        np.testing.assert_array_equal(own.gram, theirs.gram)
        assert landscape_info(model, number=3).steps[0].value == pytest.approx(
            landscape_info(model, X, given, number=3).steps[0].value
        )
    few = KernelClassifier(solver="nystroem", n_components=10).fit(X, labels)
    with pytest.raises(ValueError, match="keeps none: pass X and y"):
        gram_info(few)
    with pytest.raises(ValueError, match="pass both, or neither"):
        gram_info(classifier, X)


def test_one_bandwidth_does_not_rank_columns_of_different_spread():
    """Indicator columns differ in variance: their shares are nothing that was learned."""
    X, labels, _ = rows()
    X = np.column_stack([X, X[:, 0] > 1.5])
    one = KernelClassifier(ContinuousAlignment(), C=1.0).fit(X, labels)
    info = relevance_info(one)
    assert np.ptp(info.share) > 0.1
    assert info.tied
    assert info.even
    ax = plot_relevance(one)
    assert "does not rank" in ax.get_xlabel()
    many = KernelClassifier(ContinuousAlignment(Gaussian(ard=True), max_iter=1), C=1.0)
    assert not relevance_info(many.fit(X, labels)).even


def test_long_names_lose_their_middle():
    name = "average_monthly_income_in_2021"
    short = shortened(name, 20)
    assert len(short) == 20
    assert short.startswith("average_mo")
    assert short.endswith("e_in_2021")
    assert shortened("short", 20) == "short"


def test_what_has_no_held_out_rows_is_said(regressor):
    X, labels, _ = rows()
    with pytest.raises(ValueError, match="not known of this model: with nested=False"):
        calibration_info(KernelClassifier(nested=False).fit(X, labels))
    with pytest.raises(ValueError, match="predicts a number"):
        calibration_info(regressor)
    with pytest.raises(ValueError, match=r"needs a fitted KernelClassifier"):
        residuals_info(ContinuousAlignment(max_iter=1).fit(X, labels))


def test_all_are_drawn(classifier, regressor):
    X, _, y = rows()
    for draw in (plot_calibration, plot_coverage, plot_landscape):
        assert draw(classifier).get_title()
    for draw in (plot_residuals, plot_coverage):
        assert draw(regressor).get_title()
    assert plot_importance(regressor, X, y).get_xlabel()
    assert plot_effect(classifier, X, 1).get_xlabel() == "x1"


def test_an_effect_takes_the_name_or_the_position_of_a_column(regressor):
    X, _, _ = rows()
    np.testing.assert_array_equal(
        effect_info(regressor, X, "x1").mean, effect_info(regressor, X, 1).mean
    )
    for wrong in ("area", 3, -1, None):
        with pytest.raises(ValueError, match="a name, or a position from 0 to 2") as refused:
            plot_effect(regressor, X, wrong)
        assert repr(wrong) in str(refused.value)
    with pytest.raises(ValueError, match="without a learned kernel: fit it first"):
        plot_effect(KernelRegressor(), X, 0)
