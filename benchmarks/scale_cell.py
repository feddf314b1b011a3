"""One cell of the scale benchmark: fit one method on n rows in a process of its own.

python -m benchmarks.scale_cell PROBLEM METHOD N prints one line of JSON: seconds, peak memory of
the process in MB beyond the data, test error.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from benchmarks._clusters import clusters
from benchmarks.accuracy.peers import Rfm
from kernalign import ContinuousAlignment, KernelClassifier

#: Features of Nystroem + LinearSVC, and of kernalign where it is compared with equally many.
FEATURES = 1000
TEST_ROWS = 10_000
#: The grid of C and of gamma, in units of 1 / (d var(X)), scikit-learn's "scale".
C_GRID = (0.1, 1.0, 10.0, 100.0)
GAMMA_GRID = (0.25, 0.5, 1.0, 2.0, 4.0)
FOLDS = 3
#: Rows that a grid search may have where all would take too long.
PART = 20_000


def synthetic(n: int) -> tuple[np.ndarray, ...]:
    """n + 10,000 rows of one problem with 20 features, 12 of which matter."""
    X, y = clusters(n + TEST_ROWS, seed=0)
    X -= X[:n].mean(axis=0)
    X /= X[:n].std(axis=0)
    return X[:n], y[:n], X[n:], y[n:]


def mnist(n: int) -> tuple[np.ndarray, ...]:
    """The first n training rows and all test rows of MNIST, odd against even."""
    directory = os.environ.get("KERNALIGN_DATA")
    if not directory or not (Path(directory) / "mnist.npz").exists():
        raise SystemExit("mnist needs mnist.npz in the directory that KERNALIGN_DATA names.")
    with np.load(Path(directory) / "mnist.npz") as data:
        X, y = data["images"] / 255.0, data["labels"] % 2
    n = min(n, 60_000)
    return X[:n], y[:n], X[60_000:], y[60_000:]


PROBLEMS = {"synthetic": synthetic, "mnist": mnist}


def scaled(grid: tuple[float, ...], X: np.ndarray) -> list[float]:
    return [factor / (X.shape[1] * X.var()) for factor in grid]


def kernalign(X: np.ndarray) -> Any:
    return KernelClassifier()


def kernalign_same(X: np.ndarray) -> Any:
    return KernelClassifier(n_components=FEATURES)


def kernalign_one(X: np.ndarray) -> Any:
    return KernelClassifier(ContinuousAlignment())


def svc(X: np.ndarray) -> Any:
    grid = {"C": C_GRID, "gamma": scaled(GAMMA_GRID, X)}
    return GridSearchCV(SVC(), grid, cv=FOLDS, n_jobs=-1)


def nystroem(X: np.ndarray) -> Any:
    model = make_pipeline(Nystroem(n_components=FEATURES, random_state=0), LinearSVC())
    grid = {"nystroem__gamma": scaled(GAMMA_GRID, X), "linearsvc__C": C_GRID}
    return GridSearchCV(model, grid, cv=FOLDS, n_jobs=-1)


class TunedOnPart:
    """The same grid search on the first 20,000 rows; the model it chooses on all."""

    def __init__(self, search: Any):
        self.search = search

    def fit(self, X: np.ndarray, y: np.ndarray) -> TunedOnPart:
        chosen = self.search.fit(X[:PART], y[:PART]).best_estimator_
        self.predict = clone(chosen).fit(X, y).predict
        return self


def nystroem_on_part(X: np.ndarray) -> Any:
    return TunedOnPart(nystroem(X[:PART]))


def boosting(X: np.ndarray) -> Any:
    return HistGradientBoostingClassifier(random_state=0)


def xrfm(X: np.ndarray) -> Any:
    return Rfm()


#: Method -> (how to make it, the most rows that it is given).
METHODS: dict[str, tuple[Any, int]] = {
    "kernalign": (kernalign, 10**6),
    "kernalign, 1000 features": (kernalign_same, 10**6),
    "kernalign, one bandwidth": (kernalign_one, 10**6),
    "SVC grid search": (svc, 10**4),
    "Nystroem + LinearSVC grid search": (nystroem, 10**5),
    "Nystroem + LinearSVC tuned on 20,000 rows": (nystroem_on_part, 10**6),
    "HistGradientBoosting": (boosting, 10**6),
    # Beyond, its kernel matrices outgrow the machine.
    "xrfm": (xrfm, 10**4),
}


def run(problem: str, method: str, n: int) -> dict[str, Any]:
    X, y, X_test, y_test = PROBLEMS[problem](n)
    model = METHODS[method][0](X)
    before = peak()
    # LinearSVC says that it stopped at its limit of iterations; here its error says as much.
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    after = peak()
    error = float(np.mean(np.asarray(model.predict(X_test)).ravel() != y_test))
    return {
        "seconds": seconds,
        "memory": after - before,
        "peak": after,
        "error": error,
        "solver": getattr(model, "solver_", None),
    }


def peak() -> float:
    """MB at the worst moment so far, of this process or of its largest child."""
    own, children = (
        resource.getrusage(who).ru_maxrss / 1024
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return max(own, children)


if __name__ == "__main__":
    problem, method, n = sys.argv[1:]
    print(json.dumps(run(problem, method, int(n))))
