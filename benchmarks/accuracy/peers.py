"""The methods compared: problem -> error, seconds of fitting and of predicting.

Errors are shares of wrong classes, or squared errors in units of the variance of the test response.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC, SVR

from benchmarks.accuracy import packages
from experiments.problems import Problem
from kernalign import (
    ContinuousAlignment,
    ContinuousEvidence,
    Gaussian,
    KernelClassifier,
    KernelRegressor,
    ScreenedAlignment,
)

#: The grid that the default fit replaces: 21 x 8, gamma around one over the number of features.
C_GRID = 10.0 ** np.arange(-5, 5.01, 0.5)
GAMMAS = 2.0 ** np.arange(-5, 3) * 2
#: A single feature has its structure at finer scales.
FINER = 64.0
#: More rows than this, and a Gaussian process of scikit-learn, or EasyMKL, takes too long.
MOST_ROWS = {"GP": 500, "GP per feature": 300, "EasyMKL": 1000}
#: Settings of xRFM: "tuned" tries so many at random; pytabkit 1.7.3 has these for tables.
TUNED = 30
TABULAR = {
    "model": {
        "kernel": "l2",
        "exponent": 1.0,
        "norm_p": 2.0,
        "bandwidth": 10.0,
        "diag": True,
        "bandwidth_mode": "constant",
    },
    "fit": {
        "reg": 1e-3,
        "iters": 5,
        "verbose": False,
        "early_stop_rfm": True,
        "early_stop_multiplier": 1.1,
        "M_batch_size": 8000,
        "solver": "solve",
    },
}
#: Parts of the default fit by themselves; they are not peers, and have no rank.
VARIANTS = ("one bandwidth", "screened", "evidence", "leave-one-out", "CA-nD")


class TooLargeError(RuntimeError):
    """A method is not asked for so many rows or classes."""


@dataclass(frozen=True)
class Fit:
    """Fit an estimator and measure it."""

    make: Callable[[np.ndarray], Any]
    most_rows: int | None = None
    package: str | None = None

    def __call__(self, problem: Problem) -> dict[str, Any]:
        X, y = problem.train
        if self.most_rows is not None and len(X) > self.most_rows:
            raise TooLargeError(f"not asked for more than {self.most_rows} rows")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = self.make(X)
            start = time.process_time()
            model.fit(X, y)
            fitted = time.process_time()
            found = model.predict(problem.test[0])
        predicted = time.process_time()
        row = {
            "error": error_of(problem.test[1], found),
            "fit_seconds": round(fitted - start, 4),
            "predict_seconds": round(predicted - fitted, 4),
        }
        return row if self.package is None else row | {"package": self._version()}

    def _version(self) -> str:
        return f"{self.package} {version(self.package)}"


def error_of(y: np.ndarray, found: np.ndarray) -> float:
    if y.dtype.kind == "f":
        return float(np.mean((y - found) ** 2) / y.var())
    return float(np.mean(y != found))


def gammas(X: np.ndarray) -> np.ndarray:
    d = X.shape[1]
    return GAMMAS / d if d > 1 else FINER * GAMMAS


def tuned_svc(X: np.ndarray) -> Any:
    return GridSearchCV(SVC(), {"C": C_GRID, "gamma": gammas(X)}, cv=5)


def tuned_svr(X: np.ndarray) -> Any:
    grid = {"C": C_GRID[8::2], "gamma": gammas(X), "epsilon": [0.03, 0.1, 0.3]}
    return Scaled(GridSearchCV(SVR(), grid, cv=5))


class Scaled:
    """A regressor on a response of mean zero and spread one."""

    def __init__(self, model: Any):
        self.model = model

    def fit(self, X: np.ndarray, y: np.ndarray) -> Scaled:
        self.mean, self.spread = y.mean(), y.std()
        self.model.fit(X, (y - self.mean) / self.spread)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.model.predict(X) * self.spread + self.mean


def process(X: np.ndarray, each: bool, classes: bool) -> Any:
    scale = np.sqrt(X.shape[1]) * (np.ones(X.shape[1]) if each else 1.0)
    kernel = ConstantKernel(1.0, (1e-2, 1e4)) * RBF(scale, (1e-2, 1e4))
    if classes:
        return GaussianProcessClassifier(kernel)
    return Scaled(GaussianProcessRegressor(kernel + WhiteKernel(0.1), alpha=1e-8))


class EasyMkl:
    """MKLpy's EasyMKL over twenty Gaussian kernels, for two classes."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> EasyMkl:
        from benchmarks._peer_methods import easy_mkl

        self.classes, codes = np.unique(y, return_inverse=True)
        if len(self.classes) > 2:
            raise TooLargeError("not asked for more than two classes")
        self.predict_codes = easy_mkl(X, codes)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.classes[self.predict_codes(X)]


class Rfm:
    """xRFM with its defaults, with those for tables, or tuned: the best of random settings.

    A fifth of the rows is the validation set that the package asks for.
    """

    def __init__(self, settings: str = "default"):
        self.settings = settings

    def fit(self, X: np.ndarray, y: np.ndarray) -> Rfm:
        import torch

        torch.manual_seed(0)
        self.numbers = y.dtype.kind == "f"
        self.classes = None if self.numbers else np.unique(y)
        rng = np.random.default_rng(0)
        order = rng.permutation(len(X))
        held, rest = np.split(order, [max(2, len(X) // 5)])
        best = np.inf
        for settings in self._settings(rng):
            model = self._fit(X[rest], y[rest], X[held], y[held], settings)
            error = error_of(y[held], self._decide(model, X[held]))
            if error < best:
                best, self.model = error, model
        return self

    def _settings(self, rng: np.random.Generator) -> list[dict[str, Any] | None]:
        if self.settings != "tuned":
            return [TABULAR if self.settings == "tabular" else None]
        return [
            {
                "model": {
                    "kernel": str(rng.choice(["l2", "l2_high_dim"])),
                    "exponent": float(rng.uniform(0.7, 1.4)),
                    "bandwidth": float(np.exp(rng.uniform(np.log(1), np.log(200)))),
                    "diag": bool(rng.integers(2)),
                    "bandwidth_mode": "constant",
                },
                "fit": {
                    "reg": float(np.exp(rng.uniform(np.log(1e-6), np.log(10)))),
                    "iters": 5,
                    "verbose": False,
                    "early_stop_rfm": True,
                },
            }
            for _ in range(TUNED)
        ]

    def _fit(self, X: Any, y: Any, X_held: Any, y_held: Any, settings: Any) -> Any:
        import torch
        from xrfm import xRFM

        options: dict[str, Any] = {} if settings is None else {"rfm_params": settings}
        if settings is TABULAR:
            options["classification_mode"] = "prevalence"
        metric = "mse" if self.numbers else "accuracy"
        model = xRFM(device=torch.device("cpu"), tuning_metric=metric, **options)
        rows, held = torch.from_numpy(X).float(), torch.from_numpy(X_held).float()
        silent = io.StringIO()
        with contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
            # It tells of every tree.
            model.fit(rows, self._labels(y), held, self._labels(y_held))
        return model

    def _labels(self, y: np.ndarray) -> Any:
        import torch

        if self.numbers:
            return torch.from_numpy(y[:, None]).float()
        return torch.from_numpy(np.searchsorted(self.classes, y))

    def _decide(self, model: Any, X: np.ndarray) -> np.ndarray:
        import torch

        out = np.asarray(model.predict(torch.from_numpy(X).float())).reshape(len(X))
        return out.astype(float) if self.numbers else self.classes[out.astype(int)]

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self._decide(self.model, X)


def classifiers() -> dict[str, Fit]:
    found = {
        "kernalign": Fit(lambda X: KernelClassifier()),
        "tuned SVC": Fit(tuned_svc),
        "boosting": Fit(lambda X: HistGradientBoostingClassifier(random_state=0)),
        "forest": Fit(lambda X: RandomForestClassifier(500, random_state=0)),
        "logistic": Fit(lambda X: LogisticRegressionCV(Cs=10, max_iter=2000)),
        "GP": Fit(lambda X: process(X, False, True), MOST_ROWS["GP"]),
        "GP per feature": Fit(lambda X: process(X, True, True), MOST_ROWS["GP per feature"]),
    }
    if importlib.util.find_spec("MKLpy") is not None:
        found["EasyMKL"] = Fit(lambda X: EasyMkl(), MOST_ROWS["EasyMKL"])
    return found | _rfm() | _packages(True) | _variants(KernelClassifier)


def regressors() -> dict[str, Fit]:
    found = {
        "kernalign": Fit(lambda X: KernelRegressor()),
        "tuned SVR": Fit(tuned_svr),
        "boosting": Fit(lambda X: HistGradientBoostingRegressor(random_state=0)),
        "forest": Fit(lambda X: RandomForestRegressor(500, random_state=0)),
        "ridge": Fit(lambda X: RidgeCV(C_GRID)),
        "GP": Fit(lambda X: process(X, False, False), MOST_ROWS["GP"]),
        "GP per feature": Fit(lambda X: process(X, True, False), MOST_ROWS["GP per feature"]),
    }
    return found | _rfm() | _packages(False) | _variants(KernelRegressor)


def _rfm() -> dict[str, Fit]:
    if importlib.util.find_spec("xrfm") is None:
        return {}
    return {
        "xRFM": Fit(lambda X: Rfm()),
        "xRFM tuned": Fit(lambda X: Rfm("tuned")),
        "xRFM tabular": Fit(lambda X: Rfm("tabular")),
    }


def _packages(classes: bool) -> dict[str, Fit]:
    return {
        name: Fit(lambda X, p=p: packages.Silent(p.make(classes), classes), package=p.name)
        for name, p in packages.installed().items()
    }


def _variants(estimator: Any) -> dict[str, Fit]:
    learners = (
        ContinuousAlignment(),
        ScreenedAlignment(),
        ContinuousEvidence(prior=3.0),
        ContinuousEvidence(prior=3.0, criterion="loo"),
        ContinuousAlignment(Gaussian(ard=True), penalty="path"),
    )
    return {
        name: Fit(lambda X, learner=learner: estimator(learner))
        for name, learner in zip(VARIANTS, learners, strict=True)
    }
