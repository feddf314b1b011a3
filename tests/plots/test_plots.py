"""Every picture is drawn on the axes given, shows its data, and survives being saved."""

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

from kernalign import AnyOf, ContinuousAlignment, Gaussian, KernelRegressor, Laplacian
from kernalign.plots import (
    plot_embedding,
    plot_gram,
    plot_landscape,
    plot_path,
    plot_relevance,
    plot_spectrum,
    relevance_info,
)

PLOTS = {
    "spectrum": lambda model, X, y, ax: plot_spectrum(model, ax=ax),
    "path": lambda model, X, y, ax: plot_path(model, ax=ax),
    "landscape": lambda model, X, y, ax: plot_landscape(model, X, y, ax=ax),
    "relevance": lambda model, X, y, ax: plot_relevance(model, X, ax=ax),
    "gram": lambda model, X, y, ax: plot_gram(model, X, y, ax=ax),
    "embedding": lambda model, X, y, ax: plot_embedding(model, X, y, ax=ax),
}


def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


MODELS = {
    "one": ContinuousAlignment(),
    "ard": ContinuousAlignment(Gaussian(ard=True)),
    "views": ContinuousAlignment(AnyOf(Gaussian(columns=[0]), Laplacian(columns=[1, 2]))),
    "regression": KernelRegressor(ContinuousAlignment(), C=1.0),
}


@pytest.fixture(scope="module", params=MODELS, ids=str)
def fitted(request):
    X, y = problem()
    y = np.sin(X[:, 0]) if request.param == "regression" else y
    return MODELS[request.param].fit(X, y), X, y


@pytest.mark.parametrize("name", PLOTS)
def test_drawn_on_the_axes_given_or_on_new_ones(name, fitted, tmp_path):
    ax = Figure().subplots()
    assert PLOTS[name](*fitted, ax) is ax
    assert ax.get_title()
    assert ax.get_xlabel() or [label.get_text() for label in ax.get_xticklabels()]
    new = PLOTS[name](*fitted, None)
    assert new is not ax
    new.figure.savefig(tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").read_text().rstrip().endswith("</svg>")


def test_pyplot_is_left_alone():
    import matplotlib.pyplot as plt

    before, backend = plt.get_fignums(), matplotlib.get_backend()
    X, y = problem()
    ax = plt.figure().subplots()
    plot_spectrum(ContinuousAlignment().fit(X, y), ax=ax)
    assert len(plt.get_fignums()) == len(before) + 1
    assert matplotlib.get_backend() == backend
    plt.close(ax.figure)


def test_bars_are_the_shares_and_carry_the_names():
    X, y = problem()
    model = ContinuousAlignment(Gaussian(ard=True)).fit(X, y)
    ax = plot_relevance(model, X, most=2)
    widths = [bar.get_width() for bar in ax.patches]
    np.testing.assert_allclose(widths, 100 * np.sort(relevance_info(model, X).share)[:0:-1])
    assert {label.get_text() for label in ax.get_yticklabels()} == {"x0", "x1"}
    assert "(top 2 of 3)" in ax.get_title()


def test_landscape_has_a_dot_on_each_pick():
    X, y = problem()
    model = ContinuousAlignment().fit(X, y)
    ax = plot_landscape(model, X, y)
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    expected = [r["kernel"].sigma[0] for r in model.history_[:6]]
    assert [dot.get_xdata()[0] for dot in dots] == expected
