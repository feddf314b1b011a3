"""Learn kernels on data that ship with scikit-learn and on the paper's sine problem.

Prints a table of test errors and fit times beside an RBF support vector machine whose C and gamma
were tuned by grid search on the same folds, and saves a picture of what was learned.

    python examples/demo.py [--picture demo.png]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_moons
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from kernalign import ContinuousAlignment, Dirichlet, Gaussian, KernelClassifier

GRID = {"C": 10.0 ** np.arange(-3, 4), "gamma": np.geomspace(1e-4, 10, 8)}


@dataclass(frozen=True)
class Task:
    name: str
    data: Callable[[], tuple[np.ndarray, np.ndarray]]
    learner: ContinuousAlignment
    rows: int


def sines() -> tuple[np.ndarray, np.ndarray]:
    """y = sign(sin sqrt2 x + sin sqrt12 x + sin sqrt60 x), x uniform on [-10, 10]."""
    x = np.random.default_rng(0).uniform(-10, 10, 1500)
    f = sum(np.sin(np.sqrt(k) * x) for k in (2, 12, 60))
    return x[:, None], np.where(f >= 0, 1, -1)


def noisy_moons() -> tuple[np.ndarray, np.ndarray]:
    """Two moons beside eighteen features of noise."""
    X, y = make_moons(1500, noise=0.2, random_state=0)
    noise = np.random.default_rng(0).standard_normal((1500, 18))
    return np.hstack([X, noise]), y


def scaled(load: Callable[..., tuple[np.ndarray, np.ndarray]]) -> Callable[[], tuple]:
    def data() -> tuple[np.ndarray, np.ndarray]:
        X, y = load(return_X_y=True)
        return StandardScaler().fit_transform(X), y

    return data


TASKS = (
    Task("sines (Dirichlet)", sines, ContinuousAlignment(Dirichlet()), 500),
    Task("moons + 18 noise (ard)", noisy_moons, ContinuousAlignment(Gaussian(ard=True)), 500),
    Task("breast cancer", scaled(load_breast_cancer), ContinuousAlignment(), 284),
    Task("wine", scaled(load_wine), ContinuousAlignment(), 89),
    Task("digits", scaled(load_digits), ContinuousAlignment(), 600),
)


def timed(estimator: BaseEstimator, X: np.ndarray, y: np.ndarray) -> float:
    start = time.perf_counter()
    estimator.fit(X, y)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", default="demo.png", help="where to save the picture")
    picture = parser.parse_args().picture
    print(f"{'':24} {'test error %':>24} {'fit, seconds':>24}")
    print(f"{'':24} {'kernalign':>12}{'tuned SVM':>12} {'kernalign':>12}{'tuned SVM':>12}")
    fitted = {}
    for task in TASKS:
        X, y = task.data()
        X, X_test, y, y_test = train_test_split(
            X, y, train_size=task.rows, stratify=y, random_state=0
        )
        folds = list(StratifiedKFold(5).split(X, y))
        ours = KernelClassifier(task.learner, cv=folds)
        theirs = GridSearchCV(SVC(), GRID, cv=folds)
        times = timed(ours, X, y), timed(theirs, X, y)
        errors = [100 * (1 - model.score(X_test, y_test)) for model in (ours, theirs)]
        print(
            f"{task.name:24} {errors[0]:12.1f}{errors[1]:12.1f} {times[0]:12.2f}{times[1]:12.2f}",
            flush=True,
        )
        fitted[task.name] = ours, X, y
    print("\nWhat was learned:")
    for name, (model, *_) in fitted.items():
        print(f"  {name}: {model.kernel_!r}")
    draw(fitted, picture)
    print(f"\nPicture: {picture}")


def draw(fitted: dict, path: str) -> None:
    """The sine problem's frequencies, the moons' relevances, and how the alignment grew."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
    kernel = fitted["sines (Dirichlet)"][0].kernel_
    frequencies = [k.sigma[0] for k in kernel.kernels]
    for k in (2, 12, 60):
        left.axvline(np.sqrt(k), color="0.8", lw=6, zorder=0)
    left.vlines(frequencies, 0, kernel.weights, color="C0", lw=2)
    left.plot(frequencies, kernel.weights, "o", color="C0")
    left.set(
        title="Sines: frequencies found", xlabel="frequency (grey: the truth)", ylabel="weight"
    )
    left.set_ylim(0)

    kernel = fitted["moons + 18 noise (ard)"][0].kernel_
    relevance = sum(w / k.sigma**2 for w, k in zip(kernel.weights, kernel.kernels, strict=True))
    middle.bar(np.arange(1, relevance.size + 1), relevance / relevance.sum(), color="C1")
    middle.set(
        title="Moons: two features matter, 18 do not",
        xlabel="feature",
        ylabel="share of relevance",
    )
    middle.set_xticks([1, 5, 10, 15, 20])

    for name, (model, *_) in fitted.items():
        growth = [record["objective"] for record in model.history_]
        right.plot(np.arange(1, len(growth) + 1), growth, "o-", label=name, ms=4)
    right.set(title="Alignment as kernels are added", xlabel="iteration", ylabel="alignment")
    right.set_ylim(0)
    right.xaxis.get_major_locator().set_params(integer=True)
    right.legend(fontsize=8)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
