"""Pictures of results: `*_info` gives the plain data, `plot_*` draws it, `figures_of` the SVGs."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from experiments.cells import Row
from experiments.claims.real import RANKS
from experiments.configs import EXPERIMENTS, GAMMAS
from experiments.generators import FREQUENCIES, sine_function
from experiments.margins import SVM_ERRORS
from experiments.problems import dirichlet
from experiments.readings import name_of
from experiments.statistics import Comparison, compare, groups, mean, values_of
from experiments.tables import in_reading, methods_of

#: Colours that the colour-blind can tell apart (Okabe and Ito), by method.
COLOURS = {
    "CA": "#0072B2",
    "CA-1D": "#0072B2",
    "CA-nD": "#D55E00",
    "CA-nD by error": "#F0A070",
    "CA-nD lambda=0": "#E69F00",
    "CR": "#009E73",
    "CR-DC": "#44AA99",
    "DA": "#CC79A7",
    "D1": "#56B4E9",
    "D2": "#882255",
    "DU": "#555555",
}
OTHER = "#999999"
MARKERS = {"CA-1D": "o", "CA-nD": "s", "CA-nD lambda=0": "D", "CR": "^", "DA": "v", "D1": "P"}


def svg(figure: Any, name: str) -> str:
    """The figure as an SVG element that can stand in a page beside others."""
    stream = io.StringIO()
    # Names of clipping paths are hashes of this salt: they must differ between figures of a page.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(stream, format="svg", metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)
    text = stream.getvalue()
    return text[text.index("<svg") :]


def style(ax: Any) -> Any:
    ax.spines[["top", "right"]].set_visible(False)
    return ax


# -- the sine problem -----------------------------------------------------------------------------


def plot_sine(ax: Any) -> Any:
    """f, and the labels of one training part."""
    x = np.linspace(-10, 10, 2000)
    ax.plot(x, sine_function(x), color=COLOURS["CA"], lw=1)
    X, y = dirichlet(0).train
    ax.scatter(X[:, 0], 3.4 * y, s=5, c=np.where(y > 0, "#D55E00", "#555555"), linewidths=0)
    ax.set(xlabel="x", ylabel="f(x); labels at ±3.4", xlim=(-10, 10))
    return style(ax)


def error_info(rows: Sequence[Row], experiment: str) -> list[tuple[str, float, float]]:
    """(method, mean error %, standard error %) in the order of the configuration."""
    table = values_of(rows, experiment, "error")
    found = []
    for method in methods_of(rows, experiment):
        one = mean([v for methods in table.values() for v in methods.get(method, {}).values()])
        if one.n:
            found.append((method, 100 * one.value, 100 * np.nan_to_num(one.error)))
    return found


def plot_errors(ax: Any, info: list[tuple[str, float, float]], paper: dict[str, float]) -> Any:
    names = [name for name, _, _ in info]
    at = np.arange(len(names))
    colours = [COLOURS.get(name, OTHER) for name in names]
    ax.barh(at, [e for _, e, _ in info], xerr=[s for _, _, s in info], color=colours, height=0.7)
    marks = [(k, paper[name]) for k, name in enumerate(names) if name in paper]
    if marks:
        ax.plot([e for _, e in marks], [k for k, _ in marks], "kD", ms=4, ls="", label="paper")
        ax.legend(frameon=False, loc="lower right")
    for k, (_, error, _) in enumerate(info):
        # At the right edge, where no mark of the paper's figure can cover it.
        ax.text(1.0, k, f"{error:.1f}", transform=ax.get_yaxis_transform(), va="center")
    ax.set_yticks(at, names)
    ax.invert_yaxis()
    ax.set(xlabel="test error %", xlim=(0, max(e for _, e, _ in info) * 1.15 + 1))
    return style(ax)


def frequency_info(rows: Sequence[Row], method: str) -> list[tuple[float, float]]:
    """(frequency, weight) of every kernel that a method found, over all repeats."""
    return [
        (sigma, weight)
        for row in rows
        if row["experiment"] == "dirichlet" and row["method"] == method and row["status"] == "done"
        for sigma, weight in zip(row.get("sigmas", []), row.get("weights", []), strict=True)
    ]


def plot_frequencies(ax: Any, info: list[tuple[float, float]], method: str) -> Any:
    for frequency in FREQUENCIES:
        ax.axvline(frequency, color="#bbbbbb", lw=1, ls="--", zorder=0)
    if info:
        sigma, weight = np.array(info).T
        ax.vlines(sigma, 0, weight, color=COLOURS[method], lw=0.8, alpha=0.6)
        ax.plot(sigma, weight, "o", ms=3, color=COLOURS[method])
    ax.set(xlabel="frequency (dashed: √2, √12, √60)", ylabel=f"weight, {method}", xlim=(0, 10))
    ax.set_ylim(bottom=0)
    return style(ax)


# -- curves, landscapes, ranks --------------------------------------------------------------------


def gamma_info(rows: Sequence[Row], metric: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Mean and standard error along gamma, by method; NaN where nothing was run."""
    table = values_of(rows, "gaussians50", metric)
    found = {}
    for method in methods_of(rows, "gaussians50"):
        means = [mean(list(table.get(f"gamma={g}", {}).get(method, {}).values())) for g in GAMMAS]
        if any(m.n for m in means):
            values = np.array([m.value for m in means])
            found[method] = values, np.nan_to_num(np.array([m.error for m in means]))
    return found


def plot_gamma(ax: Any, info: dict[str, tuple[np.ndarray, np.ndarray]], label: str) -> Any:
    factor = 100 if label.endswith("%") else 1
    at = np.arange(len(GAMMAS))
    for method, (value, error) in info.items():
        ax.errorbar(
            at, factor * value, factor * error, label=method, color=COLOURS.get(method, OTHER),
            marker=MARKERS.get(method, "x"), ms=4, lw=1.2, capsize=2,
        )  # fmt: skip
    ax.set_xticks(at, [str(g) for g in GAMMAS])
    ax.set(xlabel="gamma", ylabel=label)
    if label.startswith("seconds"):
        ax.set_yscale("log")
    return style(ax)


def plot_landscape(ax: Any, row: Row) -> Any:
    curves = np.array(row["curves"])
    shades = plt.get_cmap("viridis")(np.linspace(0, 0.85, len(curves)))
    for t, curve in enumerate(curves):
        ax.plot(row["sigmas"], curve, color=shades[t], lw=1, label=f"t = {t + 1}")
    ax.set(xscale="log", xlabel="sigma", title=row["task"])
    ax.legend(frameon=False, fontsize=7)
    return style(ax)


def plot_critical_difference(ax: Any, found: Comparison, paper: dict[str, float]) -> Any:
    """Mean ranks on a line; bars join methods that the tasks do not tell apart."""
    order = np.argsort(found.mean_ranks, kind="stable")
    values, names = found.mean_ranks[order], [found.methods[k] for k in order]
    k = len(names)
    ax.hlines(0, 1, k, color="black", lw=1)
    for tick in range(1, k + 1):
        ax.vlines(tick, 0, 0.12, color="black", lw=1)
        ax.text(tick, 0.18, str(tick), ha="center", va="bottom")
    half = (k + 1) // 2
    for position, (value, name) in enumerate(zip(values, names, strict=True)):
        left = position < half
        depth = -0.75 - 0.42 * (position if left else k - 1 - position)
        end = 0.6 if left else k + 0.4
        ax.plot([value, value, end], [0, depth, depth], color=COLOURS.get(name, OTHER), lw=1.2)
        beside = f" (paper {paper[name]:g})" if name in paper else ""
        text = f"{name} {value:.1f}{beside}"
        ax.text(
            end,
            depth,
            f"{text} " if left else f" {text}",
            ha="right" if left else "left",
            va="center",
        )
    for level, (first, last) in enumerate(groups(values.tolist(), found.critical_difference)):
        y = -0.16 - 0.13 * level
        ax.plot([values[first] - 0.04, values[last] + 0.04], [y, y], color="black", lw=3)
    cd = min(found.critical_difference, k - 1)
    ax.plot([1, 1 + cd], [0.75, 0.75], color="black", lw=1.5)
    ax.text(1 + cd / 2, 0.8, f"CD = {found.critical_difference:.2f}", ha="center", va="bottom")
    ax.set(xlim=(-1.2, k + 2.2), ylim=(-0.9 - 0.42 * half, 1.2))
    ax.axis("off")
    return ax


# -- what the page shows --------------------------------------------------------------------------


def figures_of(rows: Sequence[Row], experiment: str) -> dict[str, str]:
    """Caption -> SVG of the figures of one experiment, reading by reading."""
    draw: Callable[..., dict[str, str]] = {
        "dirichlet": _sine_figures,
        "dirichlet-gaussian": _bar_figure,
        "gaussians50": _gamma_figures,
        "landscape": _landscape_figures,
    }.get(experiment, _rank_figures)
    found = {}
    for choice in EXPERIMENTS[experiment]().choices:
        own = in_reading(rows, experiment, choice)
        where = f" ({name_of(choice)})" if choice else ""
        if own:
            found |= {f"{caption}{where}": p for caption, p in draw(own, experiment, where).items()}
    return found


def _sine_figures(rows: Sequence[Row], experiment: str, where: str) -> dict[str, str]:
    figure, ax = plt.subplots(figsize=(8, 2.6))
    plot_sine(ax)
    found = {"The function f and the labels of 500 training rows": svg(figure, "sine")}
    found |= _bar_figure(rows, experiment, where)
    figure, axes = plt.subplots(2, 1, figsize=(8, 4), sharex=True, layout="constrained")
    for ax, method in zip(axes, ("CA", "CR"), strict=True):
        plot_frequencies(ax, frequency_info(rows, method), method)
    axes[0].set_xlabel("")
    return found | {"Frequencies and weights found, all repeats": svg(figure, "frequencies")}


def _bar_figure(rows: Sequence[Row], experiment: str, where: str) -> dict[str, str]:
    info = error_info(rows, experiment)
    if not info:
        return {}
    figure, ax = plt.subplots(figsize=(7, 0.5 + 0.27 * len(info)))
    paper = {name: 100 * error for name, error in SVM_ERRORS.items()}
    plot_errors(ax, info, paper if experiment == "dirichlet" else {})
    return {"Test errors, bars of one standard error": svg(figure, f"errors {experiment}{where}")}


def _gamma_figures(rows: Sequence[Row], experiment: str, where: str) -> dict[str, str]:
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    labels = {
        "error": "test error %",
        "alignment": "test alignment",
        "seconds": "seconds of fitting",
    }
    for ax, (metric, label) in zip(axes, labels.items(), strict=True):
        plot_gamma(ax, gamma_info(rows, metric), label)
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=len(names), frameon=False)
    return {"Error, alignment and time against gamma": svg(figure, f"gamma{where}")}


def _landscape_figures(rows: Sequence[Row], experiment: str, where: str) -> dict[str, str]:
    shown = [
        r for r in rows if r["experiment"] == experiment and "curves" in r and r["repeat"] == 0
    ]
    if not shown:
        return {}
    columns = min(3, len(shown))
    lines = -(-len(shown) // columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(4 * columns, 2.8 * lines), layout="constrained", squeeze=False
    )
    for ax in axes.flat[len(shown) :]:
        ax.axis("off")
    for ax, row in zip(axes.flat, shown, strict=False):
        plot_landscape(ax, row)
    return {"h(sigma), scaled, at each iteration of CA (first repeat)": svg(figure, "landscape")}


def _rank_figures(rows: Sequence[Row], experiment: str, where: str) -> dict[str, str]:
    paper = RANKS.get(experiment, {})
    methods = list(paper) or list(EXPERIMENTS[experiment]().methods)
    found = compare(values_of(rows, experiment, "error"), methods)
    if found is None or len(found.tasks) < 2:
        return {}
    figure, ax = plt.subplots(figsize=(9, 0.9 + 0.3 * len(methods)))
    plot_critical_difference(ax, found, paper)
    beside = ", the paper's median ranks in brackets" if paper else ""
    caption = (
        f"Mean ranks over {len(found.tasks)} tasks{beside}; methods joined by a bar do not differ"
    )
    return {caption: svg(figure, f"ranks {experiment}{where}")}
