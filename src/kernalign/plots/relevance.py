"""How much each feature matters to the learned kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign.kernels import Family
from kernalign.plots._axes import COLOURS, axes, plain, shortened
from kernalign.plots._model import View, view


@dataclass(frozen=True)
class RelevanceInfo:
    """One number per feature, or per column of a table: the largest of its features.

    relevance : sum_t w_t r_t / sum_t w_t, r_t = s^2 / sigma_t^2 of kernel t.
    share : the same, adding up to one (zeros where no feature is relevant).
    unexplained : the share of the weights on kernels whose parameters say nothing of features.
    in_spreads : whether s is the spread of the feature, else it is 1. A kernel in units of its own
        takes these for the spread.
    tied : whether every kernel has one bandwidth for all features. Shares are then those of the
        features' variances, or equal: they rank nothing that was learned.
    """

    names: list[str]
    relevance: Array
    share: Array
    unexplained: float
    in_spreads: bool
    tied: bool

    @property
    def even(self) -> bool:
        """Whether nothing that was learned ranks the features."""
        return self.tied or bool(np.ptp(self.share) < 1e-3)

    def largest(self, number: int) -> list[tuple[str, float]]:
        """The most relevant features with their shares, the first one first."""
        order = np.argsort(-self.share, kind="stable")[:number]
        return [(self.names[k], float(self.share[k])) for k in order]


def relevance_info(model: Any, X: Any = None, *, in_spreads: bool = True) -> RelevanceInfo:
    """Relevance 1/sigma^2 of each feature, averaged over the kernels by their weights.

    Parameters
    ----------
    model : fitted model or LearnedKernel
    X : rows to take the spread of the features from, default the rows that an estimator was
        fitted to
    in_spreads : bool
        Measure sigma in spreads (standard deviations) of its feature, so that features of
        different units compare. Without rows, and with False, in the units of the feature.
    """
    seen = view(model)
    spread = None if seen.trained is None else seen.trained.seen.spread
    if X is not None:
        spread = seen.seen(X).std(axis=0)
    d = seen.columns() if spread is None else len(spread)
    in_spreads = in_spreads and spread is not None
    total, explained, weights, tied = _weighted(seen, d, spread if in_spreads else None)
    if explained == 0:
        raise ValueError(
            f"The parameters of {seen.kernel!r} do not say how much each feature matters."
        )
    names, relevance = seen.by_column(total / explained)
    size = float(relevance.sum())
    share = relevance / size if size > 0 else np.zeros(len(names))
    return RelevanceInfo(names, relevance, share, 1 - explained / weights, in_spreads, tied)


def _weighted(seen: View, d: int, spread: Array | None) -> tuple[Array, float, float, bool]:
    """sum_t w_t r_t per feature, the weights that it holds, all weights, and whether every r_t is
    the same for all features."""
    total, explained, tied = np.zeros(d), 0.0, True
    for weight, kernel in zip(seen.kernel.weights, seen.kernel.kernels, strict=True):
        own = np.zeros((1, d))
        own[0] = np.arange(d)
        columns = kernel.family.own_columns(own)[0].astype(int)
        relevance = kernel.family.relevance(kernel.sigma, columns.size)
        if relevance is not None:
            total[columns] += weight * relevance * _unit(kernel.family, d, spread)[columns] ** 2
            explained += float(weight)
            tied &= columns.size == d and not np.ptp(relevance)
    return total, explained, float(np.sum(seen.kernel.weights)) or 1.0, tied


def _unit(family: Family, d: int, spread: Array | None) -> Array:
    """What sigma is measured in: spreads of the features or, without them, the features' units."""
    if family.units is not None:
        return np.ones(d) if spread is not None else family.units.slope
    return np.ones(d) if spread is None else spread


def plot_relevance(
    model: Any, X: Any = None, ax: Any = None, *, in_spreads: bool = True, most: int = 20
) -> Any:
    """Draw one bar per feature, the most relevant on top; at most `most` of them."""
    info = relevance_info(model, X, in_spreads=in_spreads)
    shown = info.largest(most)
    ax = axes(ax, (6.0, max(2.4, 0.9 + 0.26 * len(shown))))
    ax.barh(range(len(shown)), [100 * share for _, share in shown], color=COLOURS[0])
    ax.set_yticks(range(len(shown)), [shortened(name) for name, _ in shown], fontsize=9)
    ax.invert_yaxis()
    few = len(shown) < len(info.names)
    top = f" (top {len(shown)} of {len(info.names)})" if few else ""
    ax.set(xlabel="share of the relevance, %", title=f"Relevance of features{top}")
    if info.tied and len(info.names) > 1:
        ax.set_xlabel("one bandwidth for all features: the kernel does not rank them")
    plain(ax)
    return ax
