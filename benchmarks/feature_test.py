"""The test of dependence: its level under null and correlated designs, its power, its time."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence

import numpy as np
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks._row import Row
from kernalign import alignment_test
from kernalign.criteria.dependence import ConditionalTest, normal_scores

#: Rows, columns and irrelevant columns of the designs, of which two of ten are relevant.
ROWS, COLUMNS, IRRELEVANT = 150, 10, (0, 2, 4, 7)
DESIGNS = ("null", "autoregressive 0.9", "equicorrelated 0.7", "skewed", "binary")
DRAWS = 400


def design(name: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """X, and y that depends on columns 1 and 3 only; of the null design, on none."""
    X = rng.normal(size=(ROWS, COLUMNS))
    if name == "autoregressive 0.9":
        for k in range(1, COLUMNS):
            X[:, k] = 0.9 * X[:, k - 1] + np.sqrt(1 - 0.81) * X[:, k]
    elif name != "null":
        X = np.sqrt(0.3) * X + np.sqrt(0.7) * rng.normal(size=(ROWS, 1))
    noise = rng.normal(size=ROWS)
    y = noise if name == "null" else X[:, 1] + np.tanh(2 * X[:, 3]) + 0.5 * noise
    if name == "skewed":
        X = np.exp(X)
    if name == "binary":
        X[:, 4:8] = X[:, 4:8] > 0
    return X, y


def p_values(name: str, repeats: int) -> np.ndarray:
    """p-values of the irrelevant columns in all repeats."""
    found = []
    for repeat in range(repeats):
        rng = np.random.default_rng([DESIGNS.index(name), repeat])
        X, y = design(name, rng)
        Z, Y = normal_scores(X), (y - y.mean())[:, None]
        tests = [ConditionalTest(Z, np.array([j]), Y, rng) for j in IRRELEVANT]
        found.append([test.p_value(DRAWS) for test in tests])
    return np.array(found)


def both_found(n: int, repeats: int) -> tuple[float, float]:
    """Share of runs on moons and 48 columns of noise that find both, and of false discoveries."""
    found, wrong = [], []
    for repeat in range(repeats):
        X, y = make_moons(n, noise=0.2, random_state=repeat)
        noise = np.random.default_rng(1000 + repeat).normal(size=(n, 48))
        names = alignment_test(np.hstack([X, noise]), y, fdr=0.1, n_permutations=2000).found
        found.append({"x0", "x1"} <= set(names))
        wrong.append(len(set(names) - {"x0", "x1"}) / max(len(names), 1))
    return float(np.mean(found)), float(np.mean(wrong))


def time_ratio() -> float:
    """10,000 permutations at n = 5000, d = 50, over one Gram matrix; processor time."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5000, 50)), rng.normal(size=5000)
    ratios = []
    for _ in range(3):
        began = time.process_time()
        rbf_kernel(X)
        between = time.process_time()
        alignment_test(X, y, groups={}, n_permutations=10_000)
        ratios.append((time.process_time() - between) / (between - began))
    return float(np.median(ratios))


def run(given: Sequence[str] = ()) -> Iterator[Row]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks feature_test", description=__doc__)
    parser.add_argument("--repeats", type=int, default=500, help="of each design")
    parser.add_argument("--runs", type=int, default=100, help="on moons")
    options = parser.parse_args(list(given))
    ratio = f"{time_ratio():.1f}x"
    yield Row("10,000 permutations, n=5000, d=50, over rbf_kernel(X)", ratio, "100x", "20x")
    for n in (200, 100):
        found, wrong = both_found(n, options.runs)
        what = f"moons + 48, n={n}: both found ({100 * wrong:.0f} % false)"
        yield Row(what, f"{100 * found:.0f} %", "95 %" if n == 200 else "", "99 %")
    for name in DESIGNS:
        p = p_values(name, options.repeats)
        level, error = np.mean(p <= 0.05), np.std((p <= 0.05).mean(axis=1)) / np.sqrt(len(p))
        measured = f"{100 * level:.1f} +- {100 * error:.1f} %"
        yield Row(f"level at 5 %, {name}: {p.size} irrelevant columns", measured, "4-6 %")
