"""Intervals of other packages: (X, y, rows to predict, coverage) -> lower and upper ends.

Each method gets the training rows only. Packages are imported when their method runs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from scipy.stats import norm
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from kernalign import KernelRegressor

Ends = tuple[np.ndarray, np.ndarray]
Method = Callable[[np.ndarray, np.ndarray, np.ndarray, float], Ends]
#: The share of rows that corrects quantiles and is not trained on.
CALIBRATED = 0.25


def ours(X: np.ndarray, y: np.ndarray, X_new: np.ndarray, coverage: float) -> Ends:
    low, high = KernelRegressor().fit(X, y).predict_interval(X_new, coverage).T
    return low, high


def mapie(X: np.ndarray, y: np.ndarray, X_new: np.ndarray, coverage: float) -> Ends:
    """CV+ of MAPIE on the same model, with five folds."""
    from mapie.regression import CrossConformalRegressor

    model = CrossConformalRegressor(KernelRegressor(cv=2), confidence_level=coverage, cv=5)
    _, ends = model.fit_conformalize(X, y).predict_interval(X_new)
    return ends[:, 0, 0], ends[:, 1, 0]


def gaussian_process(X: np.ndarray, y: np.ndarray, X_new: np.ndarray, coverage: float) -> Ends:
    """One bandwidth for each feature, by evidence; the interval of its normal posterior."""
    scale = StandardScaler().fit(X)
    kernel = ConstantKernel() * RBF(np.ones(X.shape[1])) + WhiteKernel()
    model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)
    mean, deviation = model.fit(scale.transform(X), y).predict(scale.transform(X_new), True)
    size = norm.ppf((1 + coverage) / 2) * deviation
    return mean - size, mean + size


def gpytorch(X: np.ndarray, y: np.ndarray, X_new: np.ndarray, coverage: float) -> Ends:
    """As `gaussian_process`, by 200 steps of Adam on the exact evidence in single precision."""
    import torch
    from gpytorch.distributions import MultivariateNormal
    from gpytorch.kernels import RBFKernel, ScaleKernel
    from gpytorch.likelihoods import GaussianLikelihood
    from gpytorch.means import ConstantMean
    from gpytorch.mlls import ExactMarginalLogLikelihood
    from gpytorch.models import ExactGP

    class Process(ExactGP):
        def __init__(self, rows: torch.Tensor, response: torch.Tensor, noise: GaussianLikelihood):
            super().__init__(rows, response, noise)
            self.mean = ConstantMean()
            self.kernel = ScaleKernel(RBFKernel(ard_num_dims=rows.shape[1]))

        def forward(self, rows: torch.Tensor) -> MultivariateNormal:
            return MultivariateNormal(self.mean(rows), self.kernel(rows))

    torch.manual_seed(0)
    scale = StandardScaler().fit(X)
    middle, spread = y.mean(), y.std()
    rows = torch.tensor(scale.transform(X), dtype=torch.float32)
    response = torch.tensor((y - middle) / spread, dtype=torch.float32)
    noise = GaussianLikelihood()
    model = Process(rows, response, noise)
    evidence = ExactMarginalLogLikelihood(noise, model)
    steps = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(200):
        steps.zero_grad()
        (-evidence(model(rows), response)).backward()
        steps.step()
    model.eval()
    with torch.no_grad():
        new = torch.tensor(scale.transform(X_new), dtype=torch.float32)
        found = noise.eval()(model(new))
    mean = middle + spread * found.mean.numpy().astype(float)
    size = norm.ppf((1 + coverage) / 2) * spread * np.sqrt(found.variance.numpy().astype(float))
    return mean - size, mean + size


def corrected(fit: Callable[[np.ndarray, np.ndarray, list[float]], Callable]) -> Method:
    """Conformalised quantile regression: a share of the rows tells how wrong the quantiles are."""

    def method(X: np.ndarray, y: np.ndarray, X_new: np.ndarray, coverage: float) -> Ends:
        alpha = 1 - coverage
        A, B, a, b = train_test_split(X, y, test_size=CALIBRATED, random_state=0)
        quantiles = fit(A, a, [alpha / 2, 1 - alpha / 2])
        low, high = quantiles(B)
        missed = np.sort(np.maximum(low - b, b - high))
        place = int(np.ceil((len(b) + 1) * coverage)) - 1
        more = missed[place] if place < len(b) else np.inf
        low, high = quantiles(X_new)
        return low - more, high + more

    return method


def _boosted(X: np.ndarray, y: np.ndarray, shares: list[float]) -> Callable:
    models = [
        HistGradientBoostingRegressor(
            loss="quantile", quantile=share, max_iter=100, min_samples_leaf=10, random_state=0
        ).fit(X, y)
        for share in shares
    ]
    return lambda rows: [model.predict(rows) for model in models]


def _catboost(X: np.ndarray, y: np.ndarray, shares: list[float]) -> Callable:
    from catboost import CatBoostRegressor

    loss = "MultiQuantile:alpha=" + ",".join(map(str, shares))
    model = CatBoostRegressor(
        loss_function=loss, iterations=300, verbose=False, thread_count=1, random_seed=0
    )
    model.fit(X, y)
    return lambda rows: np.sort(model.predict(rows), axis=1).T


def catboost_ensembles(X: np.ndarray, y: np.ndarray, X_new: np.ndarray, coverage: float) -> Ends:
    """Virtual ensembles: knowledge and data uncertainty as the variance of a normal response."""
    from catboost import CatBoostRegressor

    model = CatBoostRegressor(
        loss_function="RMSEWithUncertainty",
        posterior_sampling=True,
        iterations=500,
        verbose=False,
        thread_count=1,
        random_seed=0,
    )
    mean, knowledge, data = (
        model.fit(X, y)
        .virtual_ensembles_predict(
            X_new, prediction_type="TotalUncertainty", virtual_ensembles_count=10, thread_count=1
        )
        .T
    )
    size = norm.ppf((1 + coverage) / 2) * np.sqrt(knowledge + data)
    return mean - size, mean + size


METHODS: dict[str, Method] = {
    "kernalign": ours,
    "boosted quantiles, corrected": corrected(_boosted),
    "CatBoost quantiles, corrected": corrected(_catboost),
    "CatBoost virtual ensembles": catboost_ensembles,
    "GaussianProcessRegressor": gaussian_process,
    "GPyTorch": gpytorch,
    "MAPIE CV+ on kernalign": mapie,
}


def ends_of(name: str, *given: object) -> Ends:
    with warnings.catch_warnings():
        # Bounds of the bandwidths and iterations of the peers are theirs.
        warnings.simplefilter("ignore")
        return METHODS[name](*given)
