"""Choose the regularisation of the second stage by cross-validation.

The kernel is learned again inside each fold: chosen on a kernel that has seen the held-out labels,
the regularisation would be too weak and its error a lie.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign._warnings import AlignmentWarning
from kernalign.estimators.machines import Machine
from kernalign.gram import Target
from kernalign.kernels import LearnedKernel
from kernalign.learners import Learner

Split = tuple[Any, Any]


def splits_of_used_rows(splits: Iterable[Split], used: Any) -> list[Split]:
    """Splits of all rows as splits of the rows with positive weight."""
    position = np.cumsum(used) - 1
    kept = []
    for train, test in splits:
        train, test = np.asarray(train), np.asarray(test)
        kept.append((position[train[used[train]]], position[test[used[test]]]))
    return kept


@dataclass(frozen=True)
class Selection:
    """What cross-validation found.

    value : the chosen regularisation; values, losses : what was tried, and the mean loss of each.
    held_out : outputs at the chosen value for each row, from the fold that held it out; NaN where
        a row was never held out.
    """

    value: float
    values: Array
    losses: Array
    held_out: Array


def select(
    machine: Machine,
    values: Array,
    folds: Iterable[Split],
    loss: Callable[[Array, Array], Array],
    X: Array,
    y: Array,
    target: Target,
    learner: Learner,
    nested: bool,
    feature_names: Any,
) -> Selection:
    """The value with the smallest loss; ties go to the stronger regularisation.

    loss : (y, outputs) -> loss of each row, for outputs (values, rows, ...).
    nested : learn the kernel again inside each fold.
    """
    values = np.sort(np.asarray(values, dtype=float))
    total = np.zeros(values.size)
    seen = 0.0
    K_all = None if nested else learner.kernel_(X)
    held_out: Array | None = None
    for train, test in folds:
        if K_all is None:
            kernel = _fold_kernel(learner, X[train], target.rows(train), feature_names)
            K, K_test = kernel(X[train]), kernel(X[test], X[train])
        else:
            K, K_test = K_all[np.ix_(train, train)], K_all[np.ix_(test, train)]
        weight = target.weight
        outputs = machine.path(K, y[train], weight[train], K_test, values)
        total += loss(y[test], outputs) @ weight[test]
        seen += float(weight[test].sum())
        if held_out is None:
            held_out = np.full((values.size, len(X), *outputs.shape[2:]), np.nan)
        held_out[:, test] = outputs
    assert held_out is not None  # a splitter yields at least one fold
    losses = total / seen
    best = int(np.argmin(losses))
    return Selection(float(values[best]), values, losses, held_out[best])


def _fold_kernel(learner: Learner, X: Array, target: Target, feature_names: Any) -> LearnedKernel:
    with warnings.catch_warnings():
        # The fit on all rows has said it, or will.
        warnings.simplefilter("ignore", AlignmentWarning)
        return learner.for_folds().fit_target(X, target, feature_names).kernel_
