"""Packages for tables, each at its defaults with one thread: trees, additive models and networks.

A package is imported when its method runs. Trees do not depend on the units of a column, so they
get the standardised features that the other methods get.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Lightning, which trains RealMLP, logs every start of a training on its own streams.
CHATTY = ("lightning", "lightning.pytorch", "pytorch_lightning", "lightning.fabric")


def catboost(classes: bool) -> Any:
    from catboost import CatBoostClassifier, CatBoostRegressor

    kind = CatBoostClassifier if classes else CatBoostRegressor
    return kind(thread_count=1, verbose=False, allow_writing_files=False)


def lightgbm(classes: bool) -> Any:
    from lightgbm import LGBMClassifier, LGBMRegressor

    return (LGBMClassifier if classes else LGBMRegressor)(n_jobs=1, verbose=-1)


def xgboost(classes: bool) -> Any:
    from xgboost import XGBClassifier, XGBRegressor

    return (XGBClassifier if classes else XGBRegressor)(n_jobs=1)


def ebm(classes: bool) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    return (ExplainableBoostingClassifier if classes else ExplainableBoostingRegressor)(n_jobs=1)


def real_mlp(classes: bool) -> Any:
    from pytabkit import RealMLP_TD_Classifier, RealMLP_TD_Regressor

    return _network(RealMLP_TD_Classifier if classes else RealMLP_TD_Regressor)


def tabm(classes: bool) -> Any:
    from pytabkit import TabM_D_Classifier, TabM_D_Regressor

    return _network(TabM_D_Classifier if classes else TabM_D_Regressor)


def _network(kind: Any) -> Any:
    import torch

    torch.set_num_threads(1)
    for name in CHATTY:
        logging.getLogger(name).setLevel(logging.ERROR)
    return kind(device="cpu", n_threads=1, random_state=0)


class Silent:
    """A model that prints while it fits; a classifier gets its classes as 0, 1, ..., k - 1."""

    def __init__(self, model: Any, classes: bool):
        self.model, self.classifier = model, classes

    def fit(self, X: np.ndarray, y: np.ndarray) -> Silent:
        if self.classifier:
            self.classes, y = np.unique(y, return_inverse=True)
        with _silence():
            self.model.fit(X, y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        with _silence():
            found = np.asarray(self.model.predict(X)).reshape(len(X))
        return self.classes[found.astype(int)] if self.classifier else found


@contextlib.contextmanager
def _silence() -> Any:
    heard = io.StringIO()
    with contextlib.redirect_stdout(heard), contextlib.redirect_stderr(heard):
        yield


@dataclass(frozen=True)
class Package:
    """How to make a model: (whether for classes) -> model; and what is to be installed."""

    make: Callable[[bool], Any]
    name: str


PACKAGES = {
    "CatBoost": Package(catboost, "catboost"),
    "LightGBM": Package(lightgbm, "lightgbm"),
    "XGBoost": Package(xgboost, "xgboost"),
    "EBM": Package(ebm, "interpret"),
    "RealMLP": Package(real_mlp, "pytabkit"),
    "TabM": Package(tabm, "pytabkit"),
}


def installed() -> dict[str, Package]:
    return {n: p for n, p in PACKAGES.items() if importlib.util.find_spec(p.name) is not None}
