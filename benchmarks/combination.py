"""A combination of kernels of equal families against one of its kernels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.base import clone

from benchmarks._row import Row, median_ratio
from kernalign import Gaussian
from kernalign.kernels import LearnedKernel

KERNELS = 8


def run() -> Iterator[Row]:
    X = np.random.default_rng(0).standard_normal((1000, 784))
    Z = np.random.default_rng(1).standard_normal((1000, 784))
    # A copy, as cross-validation makes them: every kernel has a family object of its own.
    kernel = clone(LearnedKernel(Gaussian().grid(1.0, 10.0, KERNELS), np.ones(KERNELS)))
    one = Gaussian().at(3.0)
    ratio = median_ratio(lambda: kernel(X, Z), lambda: one(X, Z), repeats=7)
    yield Row(f"{KERNELS} Gaussians, n=1000, d=784, / one of them", f"{ratio:.1f}x", "4x", "3x")
