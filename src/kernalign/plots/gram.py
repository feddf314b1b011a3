"""The Gram matrix of the learned kernel beside the one that the labels ask for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign.gram.centring import centre, size_and_alignment
from kernalign.plots._axes import axes, shortened
from kernalign.plots._model import check_pair, some_rows, view


@dataclass(frozen=True)
class GramInfo:
    """Centred Gram matrices of rows in the order of their labels, with largest entry one.

    gram, ideal : (n, n) of the learned kernel, and of the labels.
    order : position of each row in the X that was given.
    groups : (label, first row, one past its last row); empty for a response.
    alignment : <gram, ideal> over their norms, on these rows.
    """

    gram: Array
    ideal: Array
    order: Any
    groups: list[tuple[str, int, int]]
    alignment: float


def gram_info(model: Any, X: Any = None, y: Any = None, *, max_rows: int = 400) -> GramInfo:
    """The learned and the ideal Gram matrix of rows ordered by class, or by response.

    X, y : labelled rows, by default those that the model keeps.
    """
    seen = view(model)
    rows, labels = seen.labelled(X, y)
    check_pair(rows, labels)
    kept = some_rows(len(rows), max_rows, groups=labels)
    order = kept[np.argsort(labels[kept], kind="stable")]
    target = seen.target(labels[order], np.ones(len(order)))
    gram = centre(seen.kernel(rows[order]), target.weight)
    ideal = target.centred @ target.centred.T
    alignment = size_and_alignment(gram.copy(), target)[1]
    groups = _groups(labels[order]) if target.classes else []
    return GramInfo(_scaled(gram), _scaled(ideal), order, groups, alignment)


def _scaled(K: Array) -> Array:
    return K / (np.abs(K).max() or 1.0)


def _groups(labels: Any) -> list[tuple[str, int, int]]:
    starts = np.flatnonzero(np.r_[True, labels[1:] != labels[:-1]])
    ends = np.r_[starts[1:], len(labels)]
    pairs = zip(starts.tolist(), ends.tolist(), strict=True)
    return [(str(labels[start]), start, end) for start, end in pairs]


def _contrast(K: Array) -> Array:
    """K with the few largest entries, the diagonal's, cut so that the others can be seen."""
    others = np.abs(K[~np.eye(len(K), dtype=bool)])
    top = float(np.quantile(others, 0.98)) if others.size else 1.0
    return np.clip(K / (top or 1.0), -1, 1)


def plot_gram(
    model: Any, X: Any = None, y: Any = None, ax: Any = None, *, max_rows: int = 400
) -> Any:
    """Draw the learned Gram matrix (left) beside the ideal one (right), ordered by class."""
    info = gram_info(model, X, y, max_rows=max_rows)
    ax = axes(ax, (6.6, 3.6))
    n = len(info.gram)
    gap = max(1, n // 12)
    both = np.full((n, 2 * n + gap), np.nan)
    both[:, :n], both[:, n + gap :] = _contrast(info.gram), info.ideal
    image = ax.imshow(both, cmap="RdBu_r", vmin=-1, vmax=1, interpolation="nearest", aspect="equal")
    for left in (0, n + gap):
        for _, start, _ in info.groups[1:]:
            ax.plot([left - 0.5, left + n - 0.5], [start - 0.5] * 2, color="0.3", lw=0.6)
            ax.plot([left + start - 0.5] * 2, [-0.5, n - 0.5], color="0.3", lw=0.6)
    ideal = "ideal: same class" if info.groups else "ideal: close in value"
    ax.set_xticks([n / 2, n + gap + n / 2], ["learned kernel", ideal])
    # Names of classes with few rows would lie on each other.
    wide = [group for group in info.groups if group[2] - group[1] >= n / 14]
    middles = [(start + end) / 2 for _, start, end in wide]
    ax.set_yticks(middles, [shortened(name, 12) for name, _, _ in wide])
    if not info.groups:
        ax.set_ylabel("rows, from the smallest value down")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_title(f"Gram matrices of {n} rows, with alignment {info.alignment:.2f}")
    ax.figure.colorbar(image, ax=ax, shrink=0.7, label="unlike to alike")
    return ax
