"""The page: complete, self-contained, right in its figures, and readable in a real browser."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from kernalign import ContinuousAlignment, Gaussian, KernelClassifier
from kernalign.cli import main
from kernalign.report import (
    cross_validated,
    difference,
    folds_for,
    report_html,
    tuned_svm,
    write_report,
)
from kernalign.report.comparison import error_interval, folds_of, own_score
from kernalign.report.tuned_svm import C_VALUES, GAMMAS
from tests.report import browser


def problem(n=60):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["height", "weight", "<noise>"])
    return X, np.where(X["height"] * X["weight"] > 0, "yes & more", "no")


@pytest.fixture(scope="module")
def classifier():
    X, y = problem()
    learner = ContinuousAlignment(Gaussian(ard=True), max_iter=2, n_starts=1)
    return make_pipeline(StandardScaler(), KernelClassifier(learner, C=1.0)).fit(X, y)


@pytest.fixture(scope="module")
def page(classifier):
    return report_html(classifier, *problem(), notes={"target": "a<b", "fit_seconds": 1.5})


class Elements(HTMLParser):
    """Tags that are open, pictures, addresses and text."""

    def __init__(self):
        super().__init__()
        self.open, self.images, self.addresses, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag not in ("meta", "link", "img", "br"):
            self.open.append(tag)
        if tag == "img":
            self.images.append(attrs)
        self.addresses += [attrs[name] for name in ("src", "href") if name in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def parsed(page):
    elements = Elements()
    elements.feed(page)
    assert elements.open == []
    return elements


def test_the_page_is_whole_and_needs_no_network(page):
    elements = parsed(page)
    assert len(elements.images) >= 7
    assert all(image["alt"] for image in elements.images)
    assert all(address.startswith("data:") for address in elements.addresses)
    assert "<script" not in page
    # Addresses inside the pictures are names of XML dialects only.
    assert not re.search(r"(?:url\(|@import|https?://)", re.sub(r'"data:[^"]*"', "", page))


def test_what_comes_from_data_is_escaped(page):
    text = " ".join(parsed(page).text)
    assert "<noise>" in text
    assert "a<b" in text
    assert "yes & more" in text
    assert "<noise>" not in page


def test_the_sections_answer_in_the_order_of_a_reader(page):
    text = " ".join(parsed(page).text)
    places = [
        text.index(said)
        for said in (
            "How good is it?",
            "Always answering",
            "tuned RBF SVM",
            "true class",
            "What drives the predictions?",
            "Inside the kernel",
            "Where is the model unsure?",
            "Which training rows speak for a prediction?",
            "Each training row below",
            "How was the model found?",
            "How to use the model",
            "load('model.kern')",
            "Learning took 1.5 seconds",
            "A thousand predictions take",
        )
    ]
    assert places == sorted(places)


def test_without_data_the_page_has_what_the_model_keeps(classifier):
    text = " ".join(parsed(report_html(classifier)).text)
    assert "On rows that it has not seen, the model is wrong in" in text
    assert "With the training data (--data on the command line)" in text
    assert "tuned SVM" not in text


# --- figures -------------------------------------------------------------------------------------


def test_intervals_are_those_of_an_estimator():
    X, y = problem()
    model = KernelClassifier(C=1.0).fit(X, y)
    found = error_interval(model.held_out_.errors, classification=True)
    assert found == pytest.approx((model.cv_error_, *model.cv_error_interval_))
    own = own_score("m", model)
    assert (own.error, own.low, own.high) == pytest.approx(found)


def test_errors_are_those_of_unseen_rows():
    X, y = problem()
    folds = folds_for(y, True, 3)
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(60))
    model = KernelClassifier(C=1.0)
    score = cross_validated("m", model, X, y, folds, True)
    naive = [
        np.mean(model.fit(X.iloc[a], y[a]).predict(X.iloc[b]) != y[b]) * len(b) for a, b in folds
    ]
    assert score.error == pytest.approx(sum(naive) / 60)
    assert difference(score, score, True) == (0, 0, 0)


def test_all_models_share_the_folds_of_a_fit():
    X, y = problem()
    model = KernelClassifier(C=1.0).fit(X, y)
    for ours, theirs in zip(folds_of(model.held_out_, 60), folds_for(y, True), strict=True):
        np.testing.assert_array_equal(ours[0], theirs[0])
        np.testing.assert_array_equal(ours[1], theirs[1])


def test_interval_of_an_rmse_covers_it():
    squares = np.random.default_rng(0).chisquare(1, 400)
    error, low, high = error_interval(squares, classification=False)
    assert low < error < high
    assert error == pytest.approx(np.sqrt(squares.mean()))
    # The mean of n squares has variance 2/n; an estimator widens its interval by 1.4.
    assert high - low == pytest.approx(1.4 * 2 * 1.96 * np.sqrt(2 / 400) / 2, rel=0.25)


def test_tuned_svm_finds_what_a_grid_search_finds():
    X, y = problem(40)
    rows = StandardScaler().fit_transform(X)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    grid = {"C": C_VALUES, "gamma": GAMMAS}
    theirs = GridSearchCV(SVC(), grid, cv=folds).fit(rows, y)
    found = tuned_svm(True).fit(X.to_numpy(), y).best_params_
    at = [
        p["C"] == found["C"] and p["gamma"] == found["gamma"] for p in theirs.cv_results_["params"]
    ]
    assert theirs.cv_results_["mean_test_score"][at.index(True)] == theirs.best_score_


def test_tuned_svm_does_not_depend_on_the_units_of_a_response():
    X, _ = problem(40)
    y = np.sin(X["height"].to_numpy())
    rows = X.to_numpy()
    # Powers of two scale without rounding: libsvm takes the very same steps.
    small, large = (
        tuned_svm(False).fit(rows, unit * y).predict(rows) / unit for unit in (2.0**-10, 2.0**10)
    )
    np.testing.assert_allclose(small, large, atol=1e-6)
    assert np.sqrt(np.mean((small - y) ** 2)) < 0.2 * y.std()


def test_wrong_rows(classifier):
    with pytest.raises(ValueError, match=r"from 0 to 59. Got 60"):
        report_html(classifier, *problem(), row=60, compare=False)


# --- in a browser --------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [360, 1100])
def test_in_a_browser(page, width, tmp_path):
    seen, console = browser.framed(tmp_path, page, width)
    assert console == []
    assert len(seen["widths"].split()) >= 7
    assert all(int(number) > 0 for number in seen["widths"].split())
    assert seen["empty"] == 0
    # Nothing sticks out, so nothing has to be scrolled sideways; letters have their size.
    assert seen["scroll"] <= width
    assert seen["wide"] == 0
    assert seen["letters"] >= 16


def test_a_broken_page_would_be_noticed(tmp_path):
    """The browser's witness is worth something only if it also says no."""
    broken = (
        '<main><img src="data:image/png;base64,AAAA" alt=""><p style="width:900px">x</p>'
        "<script>missing()</script></main>"
    )
    seen, console = browser.framed(tmp_path, broken, 360)
    assert seen["widths"] == "0"
    assert seen["empty"] == 1
    assert seen["wide"] >= 1
    assert "missing is not defined" in console[0]


def test_printed(page, tmp_path):
    source, target = tmp_path / "report.html", tmp_path / "report.pdf"
    source.write_text(page)
    browser.run(tmp_path, f"--print-to-pdf={target}", source.as_uri())
    content = target.read_bytes()
    assert content.startswith(b"%PDF")
    pages = len(re.findall(rb"/Type\s*/Page\b", content))
    assert 2 <= pages <= 8


def test_from_the_command_line(tmp_path, capsys):
    X, y = problem(40)
    X.assign(answer=y).to_csv(tmp_path / "t.csv", index=False)
    words = ["fit", str(tmp_path / "t.csv"), "--target", "answer", "-o", str(tmp_path / "m.kern")]
    assert main([*words, "-q"]) == 0
    words = ["report", str(tmp_path / "m.kern"), "--data", str(tmp_path / "t.csv"), "--row", "7"]
    assert main([*words, "--no-compare", "-o", str(tmp_path / "r.html")]) == 0
    assert f"Report: {tmp_path}/r.html" in capsys.readouterr().out
    text = " ".join(parsed((tmp_path / "r.html").read_text()).text)
    assert "Row 7 of the data (rows are counted from 0) is the row asked for." in text
    for outside in ("40", "-1"):
        assert main([*words[:4], "--row", outside, "-o", str(tmp_path / "r.html")]) == 2
        assert "--row must be from 0 to 39" in capsys.readouterr().err


def test_too_few_labels(classifier, tmp_path):
    X, y = problem()
    with pytest.raises(ValueError, match=r"as many rows as each other\. Got 60 and 10"):
        write_report(classifier, tmp_path / "x.html", X, y=y[:10])
    assert not list(tmp_path.iterdir())


def test_write_report_is_complete_or_absent(classifier, tmp_path):
    with pytest.raises(ValueError, match="row to explain"):
        write_report(classifier, tmp_path / "r.html", problem()[0], y=problem()[1], row=-1)
    assert list(tmp_path.iterdir()) == []
