"""How many kernels to take: as many as raise the alignment on rows held out.

Alignment with the training labels rises with every kernel; beyond some number the later ones fit
their noise.
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

    The path has a record per iteration: the alignment on the rows learned from, and between those
    held out and them. Without rows to hold out the number is that of the settings.
    """
    train, held = split_in_proportion(target, fraction, rng)
    if min(len(train), len(held)) < 2:
        return problem.settings.T, []
    X_train, T_train = X[train], target.rows(train)
    X_held, T_held = X[held], target.rows(held)
    # The user watches the fit that follows, not this one.
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
