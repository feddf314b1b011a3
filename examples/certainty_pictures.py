"""Pictures of the guide on certainty: python examples/certainty_pictures.py FOLDER."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from kernalign import KernelClassifier, KernelRegressor, alignment_test


def interval(ax):
    """Predictions, intervals and rows of one feature with a gap."""
    rng = np.random.default_rng(0)
    x = np.sort(np.r_[rng.uniform(-3, -0.5, 45), rng.uniform(1, 3, 35)])
    y = np.sin(2 * x) + 0.25 * rng.normal(size=len(x))
    model = KernelRegressor().fit(x[:, None], y)
    grid = np.linspace(-3.5, 3.5, 300)[:, None]
    low, high = model.predict_interval(grid, 0.9).T
    ax.fill_between(grid[:, 0], low, high, alpha=0.25, label="90 % interval")
    ax.plot(grid, model.predict(grid), label="prediction")
    ax.plot(x, y, "k.", markersize=4, label="rows")
    ax.set(xlabel="x", ylabel="y", ylim=(-3, 3))
    ax.legend()


def own_error(ax):
    """Reported errors with their intervals, beside the error on new rows."""
    for k in range(8):
        rng = np.random.default_rng(k)
        X = rng.normal(size=(2080, 3))
        y = (X[:, 0] + X[:, 1] ** 2 + rng.logistic(size=2080) > 1).astype(int)
        model = KernelClassifier().fit(X[:80], y[:80])
        low, high = model.cv_error_interval_
        ax.plot([k, k], [100 * low, 100 * high], "C0", linewidth=4, alpha=0.4)
        ax.plot(k, 100 * model.cv_error_, "C0o")
        ax.plot(k, 100 * (1 - model.score(X[80:], y[80:])), "kx")
    ax.set(xlabel="sample of 80 rows", ylabel="wrong classes, %", ylim=(0, 60))
    ax.legend(["95 % interval", "cv_error_", "error on 2000 new rows"])


def features(ax):
    """p-values of two moons and columns of noise."""
    from sklearn.datasets import make_moons

    X, y = make_moons(200, noise=0.2, random_state=0)
    X = np.hstack([X, np.random.default_rng(0).normal(size=(200, 18))])
    found = alignment_test(X, y, n_permutations=2000)
    colours = ["C3" if name in found.found else "0.6" for name in found.names]
    ax.bar(found.names, -np.log10(found.p_values), color=colours)
    ax.set(ylabel="-log10 of the p-value")
    ax.tick_params(axis="x", rotation=90)


if __name__ == "__main__":
    for name in sys.argv[2:] or ("interval", "own_error", "features"):
        figure, ax = plt.subplots(figsize=(6, 3))
        globals()[name](ax)
        figure.tight_layout()
        figure.savefig(Path(sys.argv[1]) / f"{name}.svg")
