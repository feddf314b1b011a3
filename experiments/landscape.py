"""h(sigma) = -<P, K(kappa_sigma)>, what each iteration of CA minimises, on a fine grid.

P is the gradient of the alignment at K^{t-1} = eps C_n + sum_{s<t} eta_s (K_s)_c; everything is
computed densely from the learner's history, so nothing of the learner's own search is trusted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.signal import find_peaks
from sklearn.base import clone

from experiments.problems import Problem
from kernalign import ContinuousAlignment, Gaussian

#: Points at which minima are looked for, of which every third is kept for the picture.
POINTS, KEPT = 240, 3
#: A dip that is shallower than this share of the whole range is rounding, not a minimum.
PROMINENCE = 1e-4


@dataclass(frozen=True)
class Landscape:
    """Curves of h along the path of CA, and their numbers of local minima."""

    learner: ContinuousAlignment
    low: float
    high: float

    def __call__(self, problem: Problem) -> dict[str, Any]:
        X, y = problem.train
        learner = clone(self.learner).fit(X, y)
        sigmas = np.geomspace(self.low, self.high, POINTS)
        T = centred(np.outer(y, y).astype(float))
        K = learner.eps * centred(np.eye(len(y)))
        P = np.empty((len(learner.history_), K.size))
        for t, record in enumerate(learner.history_):
            P[t] = alignment_gradient(K, T).ravel()
            K = K + record["eta"] * centred(record["kernel"](X))
        # Distances once, not once for every bandwidth.
        family = Gaussian()
        distances = family.statistic(X)
        grams = (family.from_statistic(distances, np.array([sigma])) for sigma in sigmas)
        h = np.array([-(P @ G.ravel()) for G in grams]).T
        curves = [curve / np.abs(curve).max() for curve in h]
        minima = [count_minima(curve) for curve in curves]
        found: dict[str, Any] = {
            "minima": minima,
            "most_minima": max(minima),
            "n_kernels": len(learner.kernel_.weights),
            "train_alignment": learner.alignment_,
        }
        kept = [curve[::KEPT].round(4) for curve in curves]
        return {**found, "sigmas": sigmas[::KEPT].round(5), "curves": kept}


def centred(K: np.ndarray) -> np.ndarray:
    """C_n K C_n."""
    result: np.ndarray = K - K.mean(axis=0) - K.mean(axis=1, keepdims=True) + K.mean()
    return result


def alignment_gradient(K: np.ndarray, T: np.ndarray) -> np.ndarray:
    """P = (T - <K,T> K / |K|^2) / (|K| |T|)."""
    norm = np.linalg.norm(K)
    P: np.ndarray = (T - np.vdot(K, T) * K / norm**2) / (norm * np.linalg.norm(T))
    return P


def count_minima(h: np.ndarray) -> int:
    """Local minima of a sampled curve inside its range, dips of rounding left out."""
    dips, _ = find_peaks(-h, prominence=PROMINENCE * np.ptp(h))
    return len(dips)
