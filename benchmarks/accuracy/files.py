"""Public tables as files: KERNALIGN_DATA/regression/NAME.csv.gz and classification/NAME.csv.gz.

The first line has the names of the columns, the last column is the response or the class.
"""

from __future__ import annotations

import gzip
import os
from functools import cache
from pathlib import Path

import numpy as np

from experiments.datasets import MissingDataError, WrongDataError

REGRESSION, CLASSIFICATION = "regression", "classification"
#: Rows and features of each.
SHAPES = {
    REGRESSION: {
        "concrete": (1030, 8),
        "autompg": (392, 7),
        "stock": (536, 11),
        "servo": (167, 4),
        "pendulum": (630, 9),
        "skillcraft": (3338, 19),
    },
    CLASSIFICATION: {
        "vehicle": (846, 18),
        "segment": (2310, 19),
        "phoneme": (5404, 5),
        "spambase": (4597, 57),
    },
}


def load(folder: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """X (n, d), and y as numbers, or as classes 0, 1, ..., k - 1."""
    return _load(os.environ.get("KERNALIGN_DATA", ""), folder, name)


@cache
def _load(data: str, folder: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    path = Path(data) / folder / f"{name}.csv.gz"
    if not data or not path.exists():
        raise MissingDataError(
            f"The data set {name!r} is missing. Set KERNALIGN_DATA to a directory that holds "
            f"{folder}/{path.name}."
        )
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        table = np.array([line.strip().split(",") for line in lines][1:])
    X, y = table[:, :-1].astype(float), table[:, -1]
    if X.shape != SHAPES[folder][name]:
        raise WrongDataError(
            f"{path} must have {SHAPES[folder][name]} rows and features. Got {X.shape} instead."
        )
    return X, y.astype(float) if folder == REGRESSION else np.unique(y, return_inverse=True)[1]
