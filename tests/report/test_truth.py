"""Every figure of the page, recomputed from the saved model and the data by another way."""

import re
from html import unescape
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier

from kernalign import ContinuousAlignment, KernelClassifier, KernelRegressor, load, save
from kernalign.plots import coverage_info, importance_info
from kernalign.plots._model import some_rows, view
from kernalign.report import influence_info, report_html
from kernalign.report.comparison import (
    BOOSTING,
    SVM,
    Score,
    boosting,
    cross_validated,
    folds_of,
    tuned_svm,
)
from kernalign.report.facts import is_training_data
from kernalign.report.html import number, percent, points
from kernalign.report.quality import confident
from kernalign.report.sections.goodness import _verdict


def text_of(page):
    plain = re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.S)
    return re.sub(r"\s+", " ", unescape(plain)).replace("\u00a0", " ")


def said(value):
    return value.replace("\u00a0", " ")


def data(n=90):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["first", "second", "third"])
    labels = np.where(X["first"] + 0.7 * rng.normal(size=n) > 0.3, "yes", "no")
    return X, labels, 100 * X["first"].to_numpy() + 20 * rng.normal(size=n)


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    X, y, _ = data()
    path = tmp_path_factory.mktemp("models") / "m.kern"
    model = load(save(KernelClassifier().fit(X, y), path))
    return model, X, y, text_of(report_html(model, X, y, notes={"target": "answer"}))


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    X, _, y = data()
    path = tmp_path_factory.mktemp("models") / "m.kern"
    model = load(save(KernelRegressor().fit(X, y), path))
    return model, X, y, text_of(report_html(model, X, y, notes={"target": "price"}))


def test_the_error_is_the_models_own_with_its_interval(classes):
    model, _, _, text = classes
    low, high = model.cv_error_interval_
    assert (
        said(
            f"the model is wrong in {percent(model.cv_error_)} of cases (95 % interval "
            f"{percent(low)} to {percent(high)})"
        )
        in text
    )
    assert "Measured by cross-validation on 90 rows" in text


def test_the_guess_is_that_of_a_dummy(classes):
    _, X, y, text = classes
    dummy = DummyClassifier().fit(X, y)
    missed = 1 - dummy.score(X, y)
    answer = dummy.predict(X[:1])[0]
    assert (
        said(f"Always answering {answer}, the most frequent class, is wrong in {percent(missed)}")
        in text
    )


def test_the_other_machines_are_trained_on_the_same_folds(classes):
    model, X, y, text = classes
    folds = folds_of(model.held_out_, len(y))
    for name, make in ((SVM, tuned_svm), (BOOSTING, boosting)):
        error = cross_validated(name, make(True), X.to_numpy(), y, folds, True).error
        assert said(f"{name} {percent(error)}") in text


def test_the_table_of_mistakes_counts_the_held_out_rows(classes):
    model, _, y, text = classes
    rows = model.held_out_
    told = model.classes_[(rows.outputs > 0).astype(int)]
    cells = [
        int(((y[rows.index] == a) & (told == b)).sum())
        for a in ("no", "yes")
        for b in ("no", "yes")
    ]
    wrong = [cells[1] / sum(cells[:2]), cells[2] / sum(cells[2:])]
    assert (
        said(
            f"no {cells[0]} {cells[1]} {percent(wrong[0])} "
            f"yes {cells[2]} {cells[3]} {percent(wrong[1])}"
        )
        in text
    )


def test_importance_on_the_page_is_that_of_shuffled_columns(classes):
    model, X, y, text = classes
    info = importance_info(model, X, y)
    first = int(info.order()[0])
    assert info.names[first] == "first"
    assert (
        said(
            "first matters most: when it is shuffled, the error grows from "
            f"{percent(info.error)} by {points(info.increase[first], sign=False)} percentage points"
        )
        in text
    )
    for k in range(3):
        assert f"{info.names[k]} {points(info.increase[k])}" in text


def test_sure_and_unsure_rows_are_counted(classes):
    model, _, _, text = classes
    p = 1 / (1 + np.exp(-model.calibration_.slope_ * np.abs(model.held_out_.outputs)))
    sure = p >= 0.9
    assert confident(model)[0].rows == sure.sum()
    assert said(f"For {percent(sure.mean())} of the held-out rows") in text
    if sure.any():
        wrong = model.held_out_.errors[sure].mean()
        assert said(f"it is wrong in {percent(wrong)} of them") in text
    info = coverage_info(model)
    at = list(info.asked).index(0.9)
    assert said(f"these sets held it in {percent(info.held[at])} of cases") in text


def test_a_row_does_not_explain_itself_and_effects_are_those_of_removal(classes):
    model, X, y, text = classes
    row = int(re.search(r"Row (\d+) of the data \(rows are counted from 0\)", text)[1])
    assert row == model.held_out_.index[np.argmin(np.abs(model.held_out_.outputs))]
    info = influence_info(model, X.iloc[[row]], X, y, row=row)
    assert (
        said(
            f"the machine says {info.prediction}, with a probability of {percent(info.value)}. "
            f"The effects below are on this. In the data it is {y[row]}."
        )
        in text
    )
    probability = model.predict_proba(X.iloc[[row]]).max()
    assert (
        said(
            f"For it the model says {model.predict(X.iloc[[row]])[0]}, with a probability of "
            f"{percent(probability)}. This model has seen the row."
        )
        in text
    )
    assert row not in [item.row for item in info.rows]
    item = info.rows[0]
    assert (
        said(f"{item.row} {percent(max(0, item.similarity))} {points(item.effect)} {y[item.row]}")
        in text
    )


@pytest.mark.parametrize("classification", [True, False])
@pytest.mark.parametrize("better", [True, False])
def test_the_interval_of_a_difference_is_that_of_its_number(classification, better):
    """Worse by 3.7 has an interval above zero, as better has."""
    index = np.arange(200)
    few, many = (np.arange(200) % period == 0 for period in (10, 2))
    ours, theirs = (few, many) if better else (many, few)
    scores = [
        Score(name, 0.0, 0.0, 1.0, 1.0, index, losses.astype(float))
        for name, losses in (("this model", ours), (SVM, theirs))
    ]
    facts = SimpleNamespace(scores=scores, classification=classification)
    sentence = _verdict(facts, scores[1])
    assert f"The model is {'better' if better else 'worse'} than" in sentence
    size, low, high = map(float, re.findall(r"[+-]?\d+\.\d+", sentence))
    assert 0 < low < size < high
    gap = 40.0 if classification else 0.5**0.5 - 0.1**0.5
    assert size == pytest.approx(gap, rel=1e-2)


def test_a_small_number_of_points_keeps_its_sign():
    assert [points(value / 100) for value in (2.7, -0.04, 0.004, -2.84e-14, 0.0)] == [
        "+2.7",
        "-0.04",
        "+0.004",
        "0.0",
        "0.0",
    ]


def test_the_kernel_and_what_was_tried(classes):
    model, _, _, text = classes
    assert f"alignment of the kernel is {model.alignment_:.2f}" in text
    best = max(r["objective"] for r in model.history_ if r["stage"] != "chosen")
    assert f"{best:,.1f}" in text


def test_errors_of_numbers(numbers):
    model, _, y, text = numbers
    rows = model.held_out_
    missed = y[rows.index] - model.response_.back(rows.outputs)
    rms = np.sqrt(np.mean(missed**2))
    assert f"the predictions are off by {number(rms)} (95 % interval" in text
    low, high = np.sqrt(model.cv_error_interval_)
    assert f"{number(low)} to {number(high)}" in text
    assert f"off by less than {number(np.median(np.abs(missed)))}" in text
    assert f"Always predicting the mean, {number(y.mean())}, is off by {number(y.std())}" in text
    assert said(f"explains {percent(1 - (rms / y.std()) ** 2)} of the variance") in text
    widths = coverage_info(model).size
    assert f"narrower than {number(np.median(widths))}" in text
    assert "same class" not in text


def test_one_bandwidth_ranks_no_columns():
    X, y, _ = data()
    X = X.assign(flag=(X["first"] > 1).astype(float))
    model = KernelClassifier(ContinuousAlignment(), C=1.0).fit(X, y)
    text = text_of(report_html(model, X, y, compare=False))
    assert "The kernel itself does not rank the columns: it has one bandwidth" in text
    assert "similarity depends most on" not in text


def test_without_data_the_error_is_there(classes):
    model, *_ = classes
    text = text_of(report_html(model))
    assert said(f"the model is wrong in {percent(model.cv_error_)} of cases") in text
    assert "Which training rows" not in text


def test_other_data_are_judged_as_new_rows(classes):
    model, X, y, _ = classes
    new = X.iloc[::-1].reset_index(drop=True) + 0.05
    labels = y[::-1].copy()
    text = text_of(report_html(model, new, labels))
    error = np.mean(model.predict(new) != labels)
    assert (
        said(
            f"On the 90 rows of the data given, which are not the rows that it was fitted to, "
            f"the model is wrong in {percent(error)}"
        )
        in text
    )
    assert "its training rows cannot be shown" in text


def test_several_responses_have_an_error_each():
    X, _, y = data()
    Y = np.column_stack([y, 3 * X["second"]])
    model = KernelRegressor().fit(X, Y)
    text = text_of(report_html(model, X, Y))
    rows = model.held_out_
    missed = Y[rows.index] - model.response_.back(rows.outputs)
    for k in range(2):
        rms, spread = np.sqrt(np.mean(missed[:, k] ** 2)), Y[:, k].std()
        name = (model.response_.names or ["response 1", "response 2"])[k]
        assert f"{name} {number(rms)} {number(spread)}" in text


def test_a_model_without_an_honest_error_says_so():
    X, y, _ = data(40)
    text = text_of(report_html(KernelClassifier(nested=False).fit(X, y), X, y))
    assert "is not known: with nested=False" in text


def test_many_rows_are_counted_as_they_are():
    """Landmarks are neither training rows nor explained as such."""
    X, y, _ = data(300)
    learner = ContinuousAlignment(max_iter=1)
    model = KernelClassifier(learner, solver="nystroem", n_components=20, C=1.0, cv=2).fit(X, y)
    text = text_of(report_html(model, X, y, compare=False))
    assert "learned from 300 rows with 3 columns" in text
    assert "trained on 300 rows and keeps 20 landmarks" in text
    assert "the effect of a single row is not computed" in text


def test_the_guess_of_the_table_is_that_of_the_sentence():
    """With as many rows of each class, a guess inside folds would be wrong more often."""
    X, _, _ = data(40)
    y = np.where(X["first"] > X["first"].median(), "yes", "no")
    text = text_of(report_html(KernelClassifier().fit(X, y), X, y))
    assert "the most frequent class, is wrong in 50 %" in text
    assert "always the most frequent class 50 %" in text


def test_training_data_are_recognised_by_labels_and_rows(classes):
    model, X, y, _ = classes
    seen = view(model)
    assert is_training_data(seen, X, y)
    other = y.copy()
    other[0] = "yes" if y[0] == "no" else "no"
    assert not is_training_data(seen, X, other)
    assert not is_training_data(seen, X + 0.01, y)
    assert not is_training_data(seen, X[:50], y[:50])
    trusting = view(KernelClassifier(nested=False).fit(X, y))
    assert is_training_data(trusting, X, y)
    assert not is_training_data(trusting, X + 0.01, y)


def test_a_comparison_on_fewer_rows_says_so_and_fits_this_model_to_them_too():
    X, y, _ = data(120)
    model = KernelClassifier().fit(X, y)
    text = text_of(report_html(model, X, y, max_rows=80))
    assert "this model included, used only 80 of the 120 rows" in text
    kept = some_rows(120, 80, groups=y)
    error = KernelClassifier().fit(X.iloc[kept], y[kept]).cv_error_
    assert said(f"this model {percent(error)}") in text
