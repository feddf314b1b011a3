"""Tasks of the accuracy benchmark: rows to fit and rows to test, per repeat.

Every method sees the same rows, features standardised on the rows to fit. Where the paper has rows
to train and rows to validate on, both are there to fit: how to choose is each method's own affair.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn import datasets as sklearn_sets
from sklearn.preprocessing import StandardScaler

from benchmarks import _clusters
from benchmarks.accuracy import files
from experiments import datasets, problems
from experiments.problems import Part, Problem

EMPTY = (np.zeros((0, 0)), np.zeros(0))
#: Tasks of the paper that are named in the paper's table of eleven, and some of its pairs.
LETTER = ("C-G", "I-J", "O-Q", "U-V")
MNIST = ("odd-even", "3-8")
#: Sets of which two thirds would be too many rows to fit, and the rows that are fitted.
MOST_ROWS = {"segment": 1500, "phoneme": 3000, "spambase": 3000}


def whole(train: Part, test: Part) -> Problem:
    """One part to fit, standardised, and one to test."""
    scale = StandardScaler().fit(train[0])
    return Problem(
        (scale.transform(train[0]), train[1]), EMPTY, (scale.transform(test[0]), test[1])
    )


def of_paper(make: Callable[..., Problem], repeat: int, **options: Any) -> Problem:
    """A task of the experiments with its validation rows among the rows to fit."""
    problem = make(repeat, **options)
    parts = (problem.train, problem.valid)
    X, y = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    return whole((X, y), problem.test)


def gaussians50(repeat: int, gamma: float) -> Problem:
    """50 rows to fit, no more."""
    problem = problems.gaussians50(repeat, gamma, (50, 2, 4000))
    return whole(problem.train, problem.test)


def sine(repeat: int) -> Problem:
    problem = problems.dirichlet(repeat, (500, 2, 4000))
    return whole(problem.train, problem.test)


def moons(repeat: int, n: int = 1000) -> Problem:
    """Two moons and 48 features of noise."""
    X, y = sklearn_sets.make_moons(n + 4000, noise=0.2, random_state=repeat)
    noise = np.random.default_rng(1000 + repeat).normal(size=(n + 4000, 48))
    return halves(np.hstack([X, noise]), y, n)


def clusters(repeat: int, n: int) -> Problem:
    return halves(*_clusters.clusters(n + 4000, repeat), n)


def halves(X: np.ndarray, y: np.ndarray, n: int) -> Problem:
    """The first n rows to fit, the others to test."""
    return whole((X[:n], y[:n]), (X[n:], y[n:]))


def shuffled(load: Callable[..., Any], repeat: int, n: int) -> Problem:
    """A set of scikit-learn, in random order."""
    X, y = load(return_X_y=True)
    order = np.random.default_rng(repeat).permutation(len(X))
    return halves(X[order].astype(float), y[order], n)


def friedman(make: Callable[..., Any], repeat: int, n: int = 300, noise: float = 1.0) -> Problem:
    X, y = make(n + 2000, noise=noise, random_state=repeat)
    return halves(X, y, n)


def houses(repeat: int, n: int = 1000) -> Problem:
    """Prices like California's: position, income and age act together, some features are noise."""
    rng = np.random.default_rng(repeat)
    N = n + 2000
    place = rng.uniform(-1, 1, (N, 2))
    income, age, rooms = rng.lognormal(size=N), rng.uniform(0, 50, N), rng.normal(5, 1, N)
    coast = np.exp(-4 * (place[:, 0] + 0.3 * np.sin(3 * place[:, 1])) ** 2)
    price = 2 * coast + np.log1p(income) * (1 + coast) + 0.02 * age + 0.1 * rooms
    X = np.column_stack([place, income, age, rooms, rng.normal(size=(N, 3))])
    return halves(X, price + 0.3 * rng.normal(size=N), n)


def two_thirds(repeat: int, folder: str, name: str) -> Problem:
    """A public table in random order: two thirds of the rows to fit, the others to test."""
    X, y = files.load(folder, name)
    order = problems.generator(name, repeat).permutation(len(X))
    n = min(round(2 * len(X) / 3), MOST_ROWS.get(name, len(X)))
    return replace(halves(X[order], y[order], n), source=datasets.DIRECTORY)


def public(folder: str) -> dict[str, Callable[[int], Problem]]:
    return {n: partial(two_thirds, folder=folder, name=n) for n in files.SHAPES[folder]}


ELEVEN = {n: partial(of_paper, problems.eleven, name=n) for n in problems.ELEVEN}
#: The rows of the table that the default fit is judged by.
TABLE: dict[str, Callable[[int], Problem]] = {
    "sines": sine,
    "gaussians gamma=0": partial(gaussians50, gamma=0),
    "gaussians gamma=40": partial(gaussians50, gamma=40),
    "moons + 48": moons,
    "clusters n=1000": partial(clusters, n=1000),
    "clusters n=4000": partial(clusters, n=4000),
    "breast cancer": partial(shuffled, sklearn_sets.load_breast_cancer, n=284),
}
CLASSIFICATION: dict[str, Callable[[int], Problem]] = {
    **TABLE,
    **ELEVEN,
    **{f"letter {n}": partial(of_paper, problems.letter, name=n) for n in LETTER},
    **{f"mnist {n}": partial(of_paper, problems.mnist, name=n) for n in MNIST},
    "wine": partial(shuffled, sklearn_sets.load_wine, n=89),
    "iris": partial(shuffled, sklearn_sets.load_iris, n=75),
    "digits": partial(shuffled, sklearn_sets.load_digits, n=600),
    **public(files.CLASSIFICATION),
}
#: More than 2000 rows to fit: these have no rank.
LARGE = ("clusters n=4000", "phoneme", "spambase")
PUBLIC_REGRESSION = public(files.REGRESSION)
#: The public sets with fewer than 2000 rows to fit.
SMALL_PUBLIC_REGRESSION = [name for name in PUBLIC_REGRESSION if name != "skillcraft"]
REGRESSION: dict[str, Callable[[int], Problem]] = {
    "diabetes regression": partial(shuffled, sklearn_sets.load_diabetes, n=300),
    "friedman1": partial(friedman, sklearn_sets.make_friedman1),
    "friedman2": partial(friedman, sklearn_sets.make_friedman2, noise=100.0),
    "friedman3": partial(friedman, sklearn_sets.make_friedman3, noise=0.1),
    "houses": houses,
    **PUBLIC_REGRESSION,
}
