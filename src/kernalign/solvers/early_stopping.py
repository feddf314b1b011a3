"""Early stopping: select the number of kernels by the alignment on a hold-out set.

The alignment with the training labels rises with every kernel, but later kernels fit noise.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign.gram import Target
from kernalign.gram.centring import cross_alignment
from kernalign.gram.sampling import split_in_proportion
from kernalign.solvers.penalty_path import AlignmentProblem


def choose_length(
    problem: AlignmentProblem, X: Array, target: Target, fraction: float, rng: np.random.Generator
) -> tuple[int, list[dict[str, Any]]]:
    """The number of iterations with the largest alignment on held-out rows, and the path to it.

    The path has one record per iteration: the alignment on the training part, and between held-out
    and training rows. If no rows can be held out, the number is that of the settings.
    """
    train, held = split_in_proportion(target, fraction, rng)
    if min(len(train), len(held)) < 2:
        return problem.settings.T, []
    X_train, T_train = X[train], target.rows(train)
    X_held, T_held = X[held], target.rows(held)
    # The callback observes only the fit that follows.
    unwatched = replace(problem, settings=replace(problem.settings, callback=None))
    history = unwatched.solve(X_train, T_train).history
    path = []
    for t, record in enumerate(history):
        K = np.zeros((len(held), len(train)))
        for earlier, weight in zip(history[: t + 1], record["weights"], strict=True):
            if weight > 0:
                K += weight * earlier["kernel"](X_held, X_train)
        path.append(
            {
                "iteration": t + 1,
                "alignment": record["objective"],
                "held_out": cross_alignment(K, T_held, T_train),
            }
        )
    if not path or not np.isfinite([record["held_out"] for record in path]).any():
        return problem.settings.T, path
    return int(np.nanargmax([record["held_out"] for record in path])) + 1, path
