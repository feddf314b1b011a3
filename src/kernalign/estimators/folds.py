"""Splits of the rows, to select C and to estimate errors on held-out rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

#: Positions of the training rows and of the test rows.
Split = tuple[Any, Any]


def class_folds(codes: Any, number: int) -> list[Split] | None:
    """Stratified folds in random order; None if fewer than two classes have rows to hold out.

    A class with fewer rows than folds is held out in as many folds as it has rows. A class with a
    single row is in every training set. Every training set thus has all classes, and a rare class
    does not change the folds of the others.
    """
    counts = np.bincount(codes)
    several = counts > 1
    if several.sum() < 2:
        return None
    held = np.flatnonzero(several[codes])
    always = np.flatnonzero(~several[codes])
    number = min(number, int(counts.max()))
    splitter = StratifiedKFold(number, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        # StratifiedKFold warns if a class has fewer rows than folds.
        warnings.simplefilter("ignore", UserWarning)
        splits = list(splitter.split(held[:, None], codes[held]))
    return [(np.sort(np.r_[held[train], always]), held[test]) for train, test in splits]


def group_folds(groups: Any, number: int, codes: Any = None) -> list[Split] | None:
    """Folds that divide no group; given class codes, stratified as far as the groups allow.

    None if no number of folds leaves two classes in every training set.
    """
    groups_there = len(np.unique(groups))
    if groups_there < 2:
        raise ValueError(
            "groups must have at least two distinct values, so that one can be held out. Got one."
        )
    rows = np.zeros((len(groups), 1))
    if codes is None:
        return list(GroupKFold(min(number, groups_there)).split(rows, groups=groups))
    for folds in range(min(number, groups_there, int(np.bincount(codes).max())), 1, -1):
        with warnings.catch_warnings():
            # StratifiedGroupKFold warns if a class has fewer rows than folds.
            warnings.simplefilter("ignore", UserWarning)
            splits = list(StratifiedGroupKFold(folds).split(rows, codes, groups))
        splits = [(train, test) for train, test in splits if len(test)]
        if all(len(np.unique(codes[train])) > 1 for train, _ in splits):
            return splits
    return None


def number_folds(n: int, number: int) -> list[Split]:
    """Folds of n rows in random order."""
    return list(KFold(min(number, n), shuffle=True, random_state=0).split(np.zeros((n, 1))))


def splits_of_used_rows(splits: Iterable[Split], used: Any) -> list[Split]:
    """Turn splits of all rows into splits of the rows with positive weight."""
    position = np.cumsum(used) - 1
    kept = []
    for train, test in splits:
        train, test = np.asarray(train), np.asarray(test)
        kept.append((position[train[used[train]]], position[test[used[test]]]))
    return kept
