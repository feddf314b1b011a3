"""Splits of the rows, for the choice of C and for errors on held-out rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

#: Positions of the rows to train on, and of those to test.
Split = tuple[Any, Any]


def class_folds(codes: Any, number: int, *, shuffle: bool = False) -> list[Split] | None:
    """Folds that hold the classes in proportion; None where fewer than two have rows to hold out.

    A class of fewer rows than folds is held out in as many folds as it has rows. A single row is in
    every training set: no fold is without a class, and no class changes the folds of the others.
    """
    counts = np.bincount(codes)
    several = counts > 1
    if several.sum() < 2:
        return None
    held = np.flatnonzero(several[codes])
    always = np.flatnonzero(~several[codes])
    number = min(number, int(counts.max()))
    splitter = StratifiedKFold(number, shuffle=shuffle, random_state=0 if shuffle else None)
    with warnings.catch_warnings():
        # It spreads the rows of a class over the folds, and warns where they are fewer than folds.
        warnings.simplefilter("ignore", UserWarning)
        splits = list(splitter.split(held[:, None], codes[held]))
    return [(np.sort(np.r_[held[train], always]), held[test]) for train, test in splits]


def group_folds(groups: Any, number: int, codes: Any = None) -> list[Split] | None:
    """Folds that divide no group; of classes, by their codes, as much in proportion as this allows.

    None where no number of folds leaves two classes to train on in each.
    """
    groups_there = len(np.unique(groups))
    if groups_there < 2:
        raise ValueError(
            "The rows must be of at least two groups, so that one can be held out. Got one group."
        )
    rows = np.zeros((len(groups), 1))
    if codes is None:
        return list(GroupKFold(min(number, groups_there)).split(rows, groups=groups))
    for folds in range(min(number, groups_there, int(np.bincount(codes).max())), 1, -1):
        with warnings.catch_warnings():
            # It warns of classes with fewer rows than folds.
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
    """Splits of all rows as splits of the rows with positive weight."""
    position = np.cumsum(used) - 1
    kept = []
    for train, test in splits:
        train, test = np.asarray(train), np.asarray(test)
        kept.append((position[train[used[train]]], position[test[used[test]]]))
    return kept
