"""What a notebook shows: weights as a table, and scikit-learn's diagram of estimators."""

from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernalign import (
    ContinuousAlignment,
    Gaussian,
    KernelClassifier,
    KernelFeatures,
    KernelRegressor,
    LearnedKernel,
)


class Cells(HTMLParser):
    def __init__(self):
        super().__init__()
        self.text = []

    def handle_data(self, data):
        self.text.append(data)


def cells(html):
    parser = Cells()
    parser.feed(html)
    return parser.text


def test_weights_are_a_table_sorted_by_weight():
    kernel = LearnedKernel([Gaussian().at(1.0), Gaussian().at(2.0)], np.array([0.5, 1.5]))
    shown = cells(kernel._repr_html_())
    assert shown == [
        *("weight", "share", "kernel"),
        *("1.5", "75 %", "Gaussian(sigma=2)"),
        *("0.5", "25 %", "Gaussian(sigma=1)"),
    ]


def test_long_combinations_are_cut_and_names_escaped():
    kernels = [Gaussian(columns=["<b>"]).at(float(s)) for s in range(1, 21)]
    html = LearnedKernel(kernels, np.arange(1.0, 21.0))._repr_html_()
    assert "<b>" not in html
    assert html.count("<tr>") == 1 + 12 + 1
    assert "and 8 of smaller weight" in html
    assert LearnedKernel([], np.zeros(0))._repr_html_().count("<td") == 0


@pytest.mark.parametrize(
    "model",
    [
        KernelClassifier(C=1.0),
        KernelRegressor(C=1.0),
        KernelFeatures(n_components=5),
        ContinuousAlignment(),
        make_pipeline(StandardScaler(), KernelClassifier(ContinuousAlignment(), C=1.0)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_estimators_keep_the_diagram(model):
    X = np.random.default_rng(0).normal(size=(20, 2))
    y = X[:, 0] if isinstance(model, KernelRegressor) else X[:, 0] > 0
    name = type(model).__name__ if not hasattr(model, "steps") else "KernelClassifier"
    before = model._repr_mimebundle_()["text/html"]
    assert "sk-container" in before
    assert name in before
    assert "Not fitted" in before
    after = model.fit(X, y)._repr_mimebundle_()["text/html"]
    assert "Not fitted" not in after
    assert "Fitted" in after
