"""The methods of the paper against each other: n=500, 20 Gaussian kernels, 21 values of C."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from functools import partial

import numpy as np
from sklearn.datasets import make_classification, make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks._row import Row, seconds
from kernalign import (
    ContinuousAlignment,
    ContinuousRisk,
    DiscreteAlignment,
    Gaussian,
    KernelClassifier,
    LpNormMKL,
    UniformWeights,
)

MEMORY = """
import resource
import warnings
import numpy as np
from kernalign import Gaussian, LpNormMKL

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.standard_normal((2000, 20))
y = X[:, 0] * X[:, 1] > 0
LpNormMKL(Gaussian().grid(0.5, 50, 50), p=2, float32={float32}).fit(X, y)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


def problems() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    X, y = make_classification(500, n_informative=8, n_redundant=4, random_state=0)
    yield "make_classification", StandardScaler().fit_transform(X), y
    X, y = make_moons(500, noise=0.25, random_state=0)
    yield "moons", StandardScaler().fit_transform(X), y


def whole_fits(X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Seconds of whole fits with C chosen, the better of two in turn."""
    kernels = Gaussian().grid(0.3, 30, 20)
    learners = {
        "DU": UniformWeights(kernels),
        "D1": LpNormMKL(kernels, p=1),
        "D2": LpNormMKL(kernels, p=2),
        "CA": ContinuousAlignment(),
        "CR": ContinuousRisk(),
        "CR-DC": ContinuousRisk(solver="dc"),
    }
    times = [
        {name: seconds(partial(KernelClassifier(a).fit, X, y)) for name, a in learners.items()}
        for _ in range(2)
    ]
    return {name: min(t[name] for t in times) for name in learners}


def alignf(X: np.ndarray, y: np.ndarray) -> float:
    """alignf / computing the twenty Gram matrices."""
    widths = np.geomspace(0.3, 30, 20)
    learner = DiscreteAlignment(Gaussian().grid(0.3, 30, 20))

    def grams() -> list[np.ndarray]:
        return [rbf_kernel(X, gamma=1 / s**2) for s in widths]

    learner.fit(X, y), grams()
    ratios = [seconds(partial(learner.fit, X, y)) / seconds(grams) for _ in range(9)]
    return float(np.median(ratios))


def run() -> Iterator[Row]:
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    # Plain CR stops above its tolerance and says so; here only its time matters.
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name, X, y in problems():
        with threadpool_limits(1):
            t = whole_fits(X, y)
            ratio = alignf(X, y)
        yield Row(f"{name}: D1 / DU, whole fits", f"{t['D1'] / t['DU']:.1f}x", "6x", "3x")
        yield Row(f"{name}: D2 / DU, whole fits", f"{t['D2'] / t['DU']:.1f}x", "6x", "3x")
        yield Row(f"{name}: CR / CA, whole fits", f"{t['CR'] / t['CA']:.1f}x", "20x", "")
        yield Row(f"{name}: CR-DC / CR, whole fits", f"{t['CR-DC'] / t['CR']:.1f}x", "2x", "")
        yield Row(f"{name}: alignf / 20 Gram matrices", f"{ratio:.1f}x", "2x", "")
    for float32, bar in ((False, "2.5 GB"), (True, "half")):
        code = MEMORY.format(float32=float32)
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        what = f"D2, n=2000, 50 kernels, float32={float32}: peak of the process"
        yield Row(what, f"{float(done.stdout):.2f} GB", bar, "")
