"""The page: complete, self-contained, right in its figures, and readable in a real browser."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernalign import ContinuousAlignment, Gaussian, KernelClassifier, KernelRegressor, LpNormMKL
from kernalign.cli import main
from kernalign.report import (
    cross_validated,
    difference,
    folds_for,
    influence_info,
    report_html,
    tuned_svm,
    write_report,
)
from kernalign.report.comparison import error_interval
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
    assert len(elements.images) == 6
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


def test_every_part_is_there(page):
    text = " ".join(parsed(page).text)
    for said in (
        "What was learned",
        "How good it is",
        "tuned RBF support vector machine",
        "95 % interval",
        "Which features matter",
        "training row",
        "Learning took 1.5 seconds",
        "A thousand predictions take",
        "load('model.kern')",
    ):
        assert said in text, said


def test_without_data_the_page_says_what_data_would_add(classifier):
    text = " ".join(parsed(report_html(classifier)).text)
    assert "Give the labelled data" in text
    assert "tuned SVM" not in text


@pytest.mark.parametrize(
    "model",
    [
        KernelRegressor(C=1.0),
        KernelRegressor(machine="svr", C=1.0),
        KernelRegressor(LpNormMKL(Gaussian().grid(1, 3, 2)), machine="ridge", C=1.0),
    ],
    ids=["ridge", "svr", "finite"],
)
def test_regression(model):
    X, _ = problem()
    y = np.sin(X["height"].to_numpy())
    if not isinstance(model.learner, LpNormMKL):
        text = " ".join(parsed(report_html(model.fit(X, y), X, y, compare=False)).text)
        assert "A regression for the target" in text
        return
    # Learners for classes say so themselves.
    with pytest.raises(ValueError, match="LpNormMKL"):
        model.fit(X, y)


# --- figures -------------------------------------------------------------------------------------


def test_wilson_interval():
    losses = np.r_[np.ones(5), np.zeros(95)]
    error, low, high = error_interval(losses, classification=True)
    # Wilson (1927) for 5 of 100.
    assert (error, low, high) == pytest.approx((0.05, 0.0215, 0.1118), abs=1e-4)
    assert error_interval(np.zeros(50), classification=True)[1:] == pytest.approx(
        (0, 0.0713), abs=1e-3
    )


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
    gap, low, high = difference(score, score, True)
    assert (gap, low, high) == (0, 0, 0)


def test_interval_of_an_rmse_covers_it():
    squares = np.random.default_rng(0).chisquare(1, 400)
    error, low, high = error_interval(squares, classification=False)
    assert low < error < high
    assert error == pytest.approx(np.sqrt(squares.mean()))
    # The mean of n squares has variance 2/n.
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt(2 / 400) / 2, rel=0.25)


def test_tuned_svm_is_tuned():
    X, y = problem(40)
    search = tuned_svm(True).fit(X.to_numpy(), y)
    assert set(search.best_params_) == {"svc__C", "svc__gamma"}


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


def test_pushes_add_up_to_the_decision():
    """For a machine that is linear in its kernel values."""
    X, y = problem()
    model = KernelClassifier(C=1.0).fit(X, y)
    info = influence_info(model, X.iloc[[3]], number=60)
    sign = 1 if info.prediction == model.classes_[1] else -1
    total = sum(item.push for item in info.rows) + sign * model.model_.intercept
    assert total == pytest.approx(sign * model.decision_function(X.iloc[[3]])[0])
    pushes = [abs(item.push) for item in info.rows]
    assert pushes == sorted(pushes, reverse=True)
    support = int(model.model_.index[0])
    items = influence_info(model, X.iloc[[support]], number=60).rows
    own = next(item for item in items if item.row == support)
    assert own.similarity == pytest.approx(1)


def test_pushes_of_a_regression_are_in_its_units():
    X, _ = problem()
    y = 1000 * np.sin(X["height"].to_numpy())
    model = KernelRegressor(C=1.0).fit(X, y)
    info = influence_info(model, X.iloc[[0]], number=60)
    assert model.response_.curve == "identity", "pushes add up on no other scale"
    constant = model.response_.back(np.array([model.model_.intercept]))[0]
    assert sum(i.push for i in info.rows) + constant == pytest.approx(model.predict(X.iloc[[0]])[0])


def test_wrong_rows(classifier):
    with pytest.raises(ValueError, match=r"from 0 to 59. Got 60"):
        report_html(classifier, *problem(), row=60, compare=False)


# --- in a browser --------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [360, 1100])
def test_in_a_browser(page, width, tmp_path):
    seen, console = browser.framed(tmp_path, page, width)
    assert console == []
    assert len(seen["widths"].split()) == 6
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
    assert "For row 7 of the data (the row asked for)" in text
    assert main([*words[:4], "--row", "99", "-o", str(tmp_path / "r.html")]) == 2


def test_write_report_is_complete_or_absent(classifier, tmp_path):
    with pytest.raises(ValueError, match="row to explain"):
        write_report(classifier, tmp_path / "r.html", problem()[0], y=problem()[1], row=-1)
    assert list(tmp_path.iterdir()) == []
