"""The rows as the learned kernel sees them: kernel principal components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from kernalign._typing import Array
from kernalign.gram.centring import centre
from kernalign.machines.model import TRAINING, RowsModel
from kernalign.plots._axes import COLOURS, MARKS, axes, plain, shortened
from kernalign.plots._model import View, check_pair, some_rows, view


@dataclass(frozen=True)
class EmbeddingInfo:
    """Two coordinates per row.

    points : (n, 2) kernel principal components, so that points' squared distances are the part of
        |phi(x) - phi(x')|^2 that two directions can show.
    explained : (2,) share of the variance in feature space along each.
    rows : position of each row in the X that was given.
    labels : their labels, or None.
    what : what the rows are: "rows" of the X that was given, or "training rows", "support vectors"
        or "landmarks" that the model keeps.
    """

    points: Array
    explained: Array
    rows: Any
    labels: Any
    what: str = "rows"


def embedding_info(
    model: Any, X: Any = None, y: Any = None, *, max_rows: int = 1000
) -> EmbeddingInfo:
    """Kernel PCA of the learned kernel on X, default the rows that the model keeps."""
    seen = view(model)
    all_rows, what = _kept_rows(seen, y) if X is None else (seen.seen(X), "rows")
    if y is not None:
        check_pair(all_rows, y)
    kept = some_rows(len(all_rows), max_rows)
    n = len(kept)
    K = centre(seen.kernel(all_rows[kept]), np.ones(n))
    values, vectors = eigh(K, subset_by_index=[max(0, n - 2), n - 1])
    values, vectors = np.maximum(values[::-1], 0), vectors[:, ::-1]
    # The sign of an eigenvector is arbitrary: its largest entry is made positive.
    vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(len(values))])
    points = np.zeros((n, 2))
    points[:, : len(values)] = vectors * np.sqrt(values)
    explained = np.zeros(2)
    explained[: len(values)] = values / (float(np.trace(K)) or 1.0)
    labels = None if y is None else np.asarray(y)[kept]
    return EmbeddingInfo(points, explained, kept, labels, what)


def _kept_rows(seen: View, y: Any) -> tuple[Array, str]:
    """The rows that a model keeps, and what they are."""
    model = seen.trained
    if not isinstance(model, RowsModel) or not len(model.rows):
        raise ValueError("An embedding needs rows: this model does not keep any, pass X.")
    if y is not None and model.kept != TRAINING:
        raise ValueError(
            f"Labels need the rows that they belong to: this model keeps {len(model.rows)} "
            f"{model.kept} of the {model.n_rows} rows that it was learned from. Pass X with y."
        )
    return model.rows, model.kept


def plot_embedding(
    model: Any, X: Any = None, y: Any = None, ax: Any = None, *, max_rows: int = 1000
) -> Any:
    """Draw the rows in the two leading kernel principal components, coloured by label."""
    info = embedding_info(model, X, y, max_rows=max_rows)
    ax = axes(ax, (5.6, 4.2))
    across, up = info.points.T
    classes = None if info.labels is None else np.unique(info.labels)
    if classes is None:
        ax.plot(across, up, "o", color=COLOURS[0], ms=4, alpha=0.7)
    elif len(classes) <= 10:
        for number, label in enumerate(classes):
            own = info.labels == label
            colour, mark = COLOURS[number % len(COLOURS)], MARKS[number % len(MARKS)]
            name = shortened(str(label), 16)
            ax.plot(across[own], up[own], mark, color=colour, ms=4, alpha=0.7, label=name)
        ax.legend(frameon=False, fontsize=8, loc="best")
    else:
        dots = ax.scatter(across, up, c=np.asarray(info.labels, dtype=float), s=14, cmap="viridis")
        ax.figure.colorbar(dots, ax=ax, label="response")
    first, second = 100 * info.explained
    ax.set(
        xlabel=f"first component ({first:.0f} % of the variance)",
        ylabel=f"second component ({second:.0f} %)",
        title=f"The {info.what} as the learned kernel sees them",
    )
    plain(ax)
    return ax
