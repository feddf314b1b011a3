"""Pictures of the paper's synthetic problems and of what CA does on them, for the documentation.

`*_info` computes what a picture shows, `plot_*` draws it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from experiments.cells import Row
from experiments.configs import GAMMAS
from experiments.figures import COLOURS, MARKERS, OTHER, gamma_info, style
from experiments.generators import FREQUENCIES, sine_function
from experiments.landscape import alignment_gradient, centred
from experiments.problems import dirichlet
from experiments.tables import in_reading
from kernalign import ContinuousAlignment, Dirichlet

#: Colours of the two classes.
CLASSES = {1: "#D55E00", -1: "#0072B2"}
NAMES = ("√2", "√12", "√60")
#: Iterations that are drawn; the later ones add little.
STEPS = 6


@dataclass(frozen=True)
class Step:
    """One iteration of CA: -h along frequencies, the frequency taken, the alignment after it."""

    curve: np.ndarray
    taken: float
    alignment: float


def steps_info(repeat: int = 0, points: int = 1001) -> tuple[np.ndarray, list[Step]]:
    """<P, K(kappa_sigma)> at frequencies from 0 to 10 in each iteration on the sine problem.

    Dense, from the learner's history: K(kappa_sigma) = 11' + 2cc' + 2ss' with c = cos(sigma x) and
    s = sin(sigma x).
    """
    X, y = dirichlet(repeat).train
    learner = ContinuousAlignment(Dirichlet(bounds=(0, 10))).fit(X, y)
    sigma = np.linspace(0, 10, points)
    waves = np.exp(1j * sigma[:, None] * X[:, 0])
    T = centred(np.outer(y, y).astype(float))
    K = learner.eps * centred(np.eye(len(y)))
    steps = []
    for record in learner.history_[:STEPS]:
        P = alignment_gradient(K, T)
        # The scale of P is that of 1 / |K|: only the shape of a curve means something.
        curve = P.sum() + 2 * np.einsum("kn,kn->k", waves @ P, waves.conj()).real
        K = K + record["eta"] * centred(record["kernel"](X))
        reached = float(np.vdot(K, T) / (np.linalg.norm(K) * np.linalg.norm(T)))
        taken = float(record["kernel"].sigma[0])
        steps.append(Step(curve / np.abs(curve).max(), taken, reached))
    return sigma, steps


def plot_function(axes: Sequence[Any]) -> None:
    """f with its sign below it, and the training rows."""
    x = np.linspace(-10, 10, 4000)
    f = sine_function(x)
    top, bottom = axes
    top.plot(x, f, color="#333333", lw=1)
    top.axhline(0, color="#bbbbbb", lw=0.8)
    for sign, colour in CLASSES.items():
        top.fill_between(x, f, 0, where=sign * f > 0, color=colour, alpha=0.35, lw=0)
    top.set(ylabel="f(x)", title="f(x) = sin √2x + sin √12x + sin √60x, and the class sign f(x)")
    X, y = dirichlet(0).train
    for sign, colour in CLASSES.items():
        rows = y == sign
        bottom.plot(X[rows, 0], y[rows], "|", color=colour, ms=10, mew=0.8)
    bottom.set(xlabel="x", yticks=[-1, 1], ylim=(-1.8, 1.8), ylabel="label", xlim=(-10, 10))
    for ax in axes:
        style(ax)


def plot_steps(axes: Sequence[Any], sigma: np.ndarray, steps: Sequence[Step]) -> None:
    """What each iteration maximises, and where it goes."""
    for t, (ax, step) in enumerate(zip(axes, steps, strict=False), start=1):
        for frequency in FREQUENCIES:
            ax.axvline(frequency, color="#bbbbbb", lw=1, ls="--", zorder=0)
        ax.plot(sigma, step.curve, color=COLOURS["CA"], lw=1)
        for earlier in steps[: t - 1]:
            ax.plot(earlier.taken, 0, "o", ms=4, color="#999999")
        near = int(np.argmin(np.abs(sigma - step.taken)))
        ax.plot(step.taken, step.curve[near], "v", color=COLOURS["CA-nD"], ms=7)
        ax.set_title(
            rf"iteration {t}: $\sigma$ = {step.taken:.2f}, alignment {step.alignment:.3f}",
            fontsize=9,
        )
        style(ax)
    for ax in axes[len(steps) :]:
        ax.axis("off")


def plot_gammas(axes: Sequence[Any], rows: Sequence[Row]) -> None:
    """Test error against gamma, one panel per reading of the scale."""
    at = np.arange(len(GAMMAS))
    for ax, scale in zip(axes, ("raw", "standardised"), strict=True):
        own = in_reading(rows, "gaussians50", {"scale": scale, "labels": "balanced"})
        for method, (value, error) in gamma_info(own, "error").items():
            ax.errorbar(
                at, 100 * value, 100 * error, label=method, color=COLOURS.get(method, OTHER),
                marker=MARKERS.get(method, "x"), ms=4, lw=1.2, capsize=2,
            )  # fmt: skip
        ax.axhline(4.0, color="#bbbbbb", lw=1, ls="--", zorder=0)
        ax.set_xticks(at, [str(g) for g in GAMMAS])
        repeats = len({row["repeat"] for row in own})
        ax.set(xlabel=r"$\gamma$", title=f"{scale} rows ({repeats} repeats)")
        style(ax)
    axes[0].set_ylabel("test error % (dashed: Bayes)")


def draw(rows: Sequence[Row], directory: Path) -> list[Path]:
    """Write every picture as SVG and return the files."""
    directory.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(
        2, 1, figsize=(9, 3.6), sharex=True, height_ratios=[3, 1], layout="constrained"
    )
    plot_function(axes)
    found = [_saved(figure, directory / "sine.svg")]

    sigma, steps = steps_info()
    figure, axes = plt.subplots(
        3, 2, figsize=(9, 6.4), sharex=True, sharey=True, layout="constrained"
    )
    plot_steps(axes.flat, sigma, steps)
    figure.supxlabel(r"frequency $\sigma$ (dashed: " + ", ".join(NAMES) + ")")
    figure.supylabel(r"$-h(\sigma)$, scaled")
    found.append(_saved(figure, directory / "steps.svg"))

    curves = [r for r in rows if r["experiment"] == "landscape" and r["repeat"] == 0]
    shown = [r for r in curves if r["task"] in ("mnist odd-even", "letter C-G")]
    if shown:
        figure, axes = plt.subplots(1, len(shown), figsize=(9, 3.2), layout="constrained")
        for ax, row in zip(np.atleast_1d(axes), shown, strict=True):
            plot_landscape_steps(ax, row)
        found.append(_saved(figure, directory / "landscape.svg"))

    figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
    plot_gammas(axes, rows)
    handles, names = axes[0].get_legend_handles_labels()
    more, more_names = axes[1].get_legend_handles_labels()
    legend = dict(zip([*names, *more_names], [*handles, *more], strict=True))
    figure.legend(legend.values(), legend.keys(), loc="outside lower center", ncols=5,
                  frameon=False)  # fmt: skip
    found.append(_saved(figure, directory / "gamma.svg"))
    return found


def plot_landscape_steps(ax: Any, row: Row) -> None:
    """h along bandwidths in each iteration, with its lowest point."""
    sigmas, curves = np.array(row["sigmas"]), np.array(row["curves"])
    shades = plt.get_cmap("viridis")(np.linspace(0, 0.85, len(curves)))
    for t, curve in enumerate(curves):
        lowest = int(np.argmin(curve))
        ax.plot(sigmas, curve, color=shades[t], lw=1.2, label=f"iteration {t + 1}")
        ax.plot(sigmas[lowest], curve[lowest], "o", color=shades[t], ms=5)
    ax.set(
        xscale="log", xlabel=r"bandwidth $\sigma$", ylabel=r"$h(\sigma)$, scaled", title=row["task"]
    )
    ax.legend(frameon=False, fontsize=8)
    style(ax)


def _saved(figure: Any, path: Path) -> Path:
    with plt.rc_context({"svg.hashsalt": path.stem}):
        figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)
    return path
