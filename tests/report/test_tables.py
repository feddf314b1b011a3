"""What is said of a model that was fitted to a table is said of the user's columns."""

import numpy as np
import pandas as pd
import pytest

from kernalign import ContinuousEvidence, Gaussian, KernelClassifier, KernelRegressor
from kernalign.plots import embedding_info, gram_info, relevance_info
from kernalign.report import influence_info, write_report


def table(n=90):
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue"], n)
    age = np.where(rng.random(n) < 0.2, np.nan, rng.uniform(20, 60, n))
    X = pd.DataFrame(
        {
            "note": [f"remark {i} on this row" for i in range(n)],
            "age": age,
            "colour": colour,
            "noise": rng.normal(size=n),
        }
    )
    y = np.select([colour == "red", colour == "green"], [4.0, 0.0], -4.0) + 0.1 * rng.normal(size=n)
    return X, y + np.isnan(age)


@pytest.fixture(scope="module")
def fitted():
    X, y = table()
    with pytest.warns(UserWarning, match="'note'"):
        return KernelRegressor(ContinuousEvidence(Gaussian(ard=True))).fit(X, y), X, y


def test_relevance_has_one_entry_for_each_column_used(fitted):
    model, X, _ = fitted
    info = relevance_info(model)
    assert info.names == ["age", "colour", "noise"]
    assert info.largest(1)[0][0] == "colour"
    assert info.share.sum() == pytest.approx(1.0)
    assert relevance_info(model, X).names == info.names


def test_pictures_take_the_table(fitted):
    model, X, y = fitted
    assert gram_info(model, X, y) is not None
    assert embedding_info(model, X, y) is not None


def test_influence_of_rows_of_the_table(fitted):
    model, X, y = fitted
    info = influence_info(model, X.iloc[[3]], X, y, row=3)
    assert info.rows[0].similarity > 0.5
    assert X["colour"][info.rows[0].row] == X["colour"][3]


@pytest.mark.filterwarnings("ignore::kernalign.ColumnWarning")
def test_report_of_a_table(tmp_path):
    X, y = table(60)
    y = np.where(y > 0, "yes", "no")
    model = KernelClassifier().fit(X, y)
    write_report(model, tmp_path / "page.html", X, y=y)
    page = (tmp_path / "page.html").read_text()
    assert "60 rows with 4 columns, 3 used" in page
    assert "<th>colour</th>" in page
    assert "tuned RBF SVM" in page
