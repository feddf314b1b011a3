"""The kernels of a learned combination: their parameters and weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign.kernels import FamilyMember
from kernalign.plots._axes import COLOURS, MARKS, axes, plain, shortened
from kernalign.plots._model import view

#: Parameters that differ by more than this factor are drawn on a logarithmic axis.
WIDE = 15.0


@dataclass(frozen=True)
class Term:
    """One kernel: its family, weight, share of all weights, and parameters."""

    kernel: FamilyMember
    label: str
    family: str
    parameter: str
    weight: float
    share: float
    sigma: Array

    @property
    def centre(self) -> float:
        """The parameter, or the median of the finite ones; NaN where there is none."""
        finite = self.sigma[np.isfinite(self.sigma)]
        return float(np.median(finite)) if finite.size else float("nan")


@dataclass(frozen=True)
class SpectrumInfo:
    """The terms of the combination, the largest weight first."""

    terms: list[Term]

    @property
    def on_one_axis(self) -> bool:
        """Whether all terms have positive parameters of one name, which one axis can show."""
        names = {term.parameter for term in self.terms}
        return len(names) == 1 and all(term.centre > 0 for term in self.terms)


def spectrum_info(model: Any) -> SpectrumInfo:
    """Parameters and weights of the learned kernels."""
    kernel = view(model).kernel
    weights = np.asarray(kernel.weights, dtype=float)
    total = float(weights.sum()) or 1.0
    terms = [
        Term(
            kernel=base,
            label=repr(base),
            family=type(base.family).__name__,
            parameter=base.family.parameter,
            weight=float(weight),
            share=float(weight) / total,
            sigma=base.sigma,
        )
        for base, weight in zip(kernel.kernels, weights, strict=True)
    ]
    return SpectrumInfo(sorted(terms, key=lambda term: -term.weight))


def plot_spectrum(model: Any, ax: Any = None) -> Any:
    """Draw one stem per kernel: its parameter across, its weight upwards.

    A kernel with several parameters stands at their median, with a tick at each finite one.
    """
    info = spectrum_info(model)
    ax = axes(ax)
    if info.on_one_axis:
        _stems(ax, info)
    else:
        _bars(ax, info)
    plain(ax)
    return ax


def _stems(ax: Any, info: SpectrumInfo) -> None:
    families = sorted({term.family for term in info.terms})
    for number, family in enumerate(families):
        colour, mark = COLOURS[number % len(COLOURS)], MARKS[number % len(MARKS)]
        terms = [term for term in info.terms if term.family == family]
        centres, weights = [t.centre for t in terms], [t.weight for t in terms]
        ax.vlines(centres, 0, weights, color=colour, lw=2)
        ax.plot(centres, weights, mark, color=colour, label=family)
        for term in terms:
            if term.sigma.size > 1:
                finite = term.sigma[np.isfinite(term.sigma)]
                ax.plot(finite, np.full(finite.size, term.weight), "|", color=colour, alpha=0.6)
    shown = np.concatenate([t.sigma[np.isfinite(t.sigma) & (t.sigma > 0)] for t in info.terms])
    if shown.max() > WIDE * shown.min():
        ax.set_xscale("log")
    else:
        ax.set_xlim(0, 1.1 * shown.max())
    ax.set_ylim(0, 1.12 * max(term.weight for term in info.terms))
    several = any(term.sigma.size > 1 for term in info.terms)
    name = info.terms[0].parameter
    ax.set(
        xlabel=f"{name}, one per feature (dot: their median)" if several else name,
        ylabel="weight",
        title="Kernels of the learned combination",
    )
    if len(families) > 1:
        ax.legend(frameon=False)


def _bars(ax: Any, info: SpectrumInfo) -> None:
    shown = info.terms[:12][::-1]
    ax.barh(range(len(shown)), [term.weight for term in shown], color=COLOURS[0])
    ax.set_yticks(range(len(shown)), [shortened(term.label, 40) for term in shown], fontsize=8)
    ax.set(xlabel="weight", title="Kernels of the learned combination")
