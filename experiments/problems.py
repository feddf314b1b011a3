"""One repeat of one task: rows to train on, to validate on and to test on.

Every method sees the same rows: they depend on the task and the repeat only, and readings of the
paper (`experiments.readings`) change their scale or the training labels.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
from sklearn.preprocessing import StandardScaler

from experiments import datasets, generators

Sizes = tuple[int, int, int]
Part = tuple[np.ndarray, np.ndarray]

#: Rows to train on, to validate on and to test on, as in the paper's table.
ELEVEN: dict[str, Sizes] = {
    "banana": (500, 1000, 2000),
    "breast_cancer": (52, 78, 133),
    "diabetes": (153, 230, 385),
    "german": (200, 300, 500),
    "heart": (54, 81, 135),
    "image": (400, 600, 1000),
    "ringnorm": (500, 1000, 2000),
    "sonar": (41, 62, 105),
    "splice": (500, 1000, 1491),
    "thyroid": (43, 64, 108),
    "waveform": (500, 1000, 2000),
}
#: Odd against even, and pairs of graded difficulty as in Argyriou et al. (2005).
MNIST = ("odd-even", "3-8", "4-7", "0-6", "1-7", "2-3", "2-9", "3-5")
#: The paper names no pairs: letters that look alike.
LETTER = ("B-E", "B-R", "C-G", "C-O", "E-F", "H-K", "I-J", "K-X", "M-N", "O-Q", "P-R", "U-V")
MNIST_SIZES: Sizes = (500, 1000, 2000)
LETTER_SIZES: Sizes = (300, 200, 1000)


@dataclass(frozen=True)
class Problem:
    """Three parts of one data set, labels -1/+1, and where its rows came from."""

    train: Part
    valid: Part
    test: Part
    source: str = datasets.GENERATOR


def generator(task: str, repeat: int) -> np.random.Generator:
    """Random numbers of one repeat of one task, the same on every machine."""
    return np.random.default_rng([zlib.crc32(task.encode()), repeat])


def split(
    X: np.ndarray, y: np.ndarray, sizes: Sizes, rng: np.random.Generator, source: str
) -> Problem:
    """Random rows of the given numbers; the test part takes what is left where rows are few."""
    train, valid, test = sizes
    order = rng.permutation(len(X))
    parts = np.split(order[: train + valid + test], [train, train + valid])
    a, b, c = ((X[rows].astype(float), y[rows]) for rows in parts)
    return Problem(a, b, c, source)


def dirichlet(repeat: int, sizes: Sizes = (500, 500, 1000), scale: str = "raw") -> Problem:
    """The sine problem."""
    rng = generator("sine", repeat)
    a, b, c = (generators.sine(n, rng) for n in sizes)
    return scaled(Problem(a, b, c), scale)


def gaussians50(
    repeat: int,
    gamma: float,
    sizes: Sizes = (50, 1000, 1000),
    labels: str = "balanced",
    scale: str = "raw",
) -> Problem:
    """Two Gaussians in R^50; "balanced" labels make the training classes equally large."""
    # Train and test first: another size of the validation part leaves them as they are.
    rng = generator(f"gaussians50 {gamma:g}", repeat)
    train = generators.gaussians50(sizes[0], gamma, rng, balanced=labels == "balanced")
    test = generators.gaussians50(sizes[2], gamma, rng)
    return scaled(Problem(train, generators.gaussians50(sizes[1], gamma, rng), test), scale)


def eleven(repeat: int, name: str, scale: str = "standardised") -> Problem:
    """One of the eleven sets."""
    X, labels = datasets.load(name)
    y = np.where(np.isin(labels, ("1", "M")), 1, -1)
    rng = generator(name, repeat)
    return scaled(split(X, y, ELEVEN[name], rng, datasets.origin(name)), scale)


def mnist(repeat: int, name: str) -> Problem:
    """Two digits, or odd against even, pixels 0..255."""
    X, labels = datasets.load("mnist")
    digits = labels.astype(int)
    if name == "odd-even":
        rows, y = np.arange(len(digits)), np.where(digits % 2 == 1, 1, -1)
    else:
        first, second = (int(part) for part in name.split("-"))
        rows = np.flatnonzero((digits == first) | (digits == second))
        y = np.where(digits[rows] == first, 1, -1)
    rng = generator(f"mnist {name}", repeat)
    chosen = rng.permutation(len(rows))[: sum(MNIST_SIZES)]
    return split(X[rows[chosen]], y[chosen], MNIST_SIZES, rng, datasets.origin("mnist"))


def letter(repeat: int, name: str, scale: str = "raw") -> Problem:
    """Two letters; a pair with fewer than 1500 rows has the smaller test part."""
    X, labels = datasets.load("letter")
    first, second = name.split("-")
    rows = np.flatnonzero((labels == first) | (labels == second))
    y = np.where(labels[rows] == first, 1, -1)
    rng = generator(f"letter {name}", repeat)
    return scaled(split(X[rows], y, LETTER_SIZES, rng, datasets.origin("letter")), scale)


def scaled(problem: Problem, scale: str) -> Problem:
    """Features as they are ("raw"), or "standardised" on the training rows."""
    if scale == "raw":
        return problem
    scaler = StandardScaler().fit(problem.train[0])
    a, b, c = ((scaler.transform(X), y) for X, y in (problem.train, problem.valid, problem.test))
    return Problem(a, b, c, problem.source)
