"""What people would use instead, each as a function: (X, y) -> predict.

Features come standardised, labels as 0 and 1. Each method chooses its own parameters on the
training rows that it is given; packages are imported only when their method runs.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.svm import SVC

from benchmarks.grid_search import GRID
from kernalign import ContinuousAlignment, Dirichlet, Gaussian, KernelClassifier

Predict = Callable[[np.ndarray], np.ndarray]

#: Values of C, and of gamma: on tables, and on a single feature, where details can be far finer.
C = GRID["C"]
GAMMAS, GAMMAS_OF_ONE = GRID["gamma"], np.geomspace(0.1, 1e4, 8)
#: What "tuned" tries of xRFM on its validation rows: bandwidths likewise, and the rest.
WIDTHS, WIDTHS_OF_ONE = (2.0, 5.0, 10.0, 20.0), (0.02, 0.1, 0.5, 2.0)
XRFM_REST = list(product(("l2", "l1"), (False, True), (1e-3, 1e-1)))
#: Steps and rate of Adam on the evidence of the Gaussian process.
STEPS, RATE = 100, 0.1


def by_default(X: np.ndarray, y: np.ndarray) -> Predict:
    return KernelClassifier().fit(X, y).predict


def one_bandwidth(X: np.ndarray, y: np.ndarray) -> Predict:
    return KernelClassifier(ContinuousAlignment(Gaussian())).fit(X, y).predict


def one_per_feature(X: np.ndarray, y: np.ndarray) -> Predict:
    return KernelClassifier(ContinuousAlignment(Gaussian(ard=True))).fit(X, y).predict


def frequencies(X: np.ndarray, y: np.ndarray) -> Predict:
    return KernelClassifier(ContinuousAlignment(Dirichlet())).fit(X, y).predict


def grid_search(X: np.ndarray, y: np.ndarray) -> Predict:
    grid = {"C": C, "gamma": _gammas(X)}
    return GridSearchCV(SVC(), grid, cv=StratifiedKFold(5)).fit(X, y).predict


def _gammas(X: np.ndarray) -> np.ndarray:
    return GAMMAS_OF_ONE if X.shape[1] == 1 else GAMMAS


def easy_mkl(X: np.ndarray, y: np.ndarray) -> Predict:
    """EasyMKL over twenty Gaussian kernels, then an SVM whose C is chosen on the combination."""
    import torch
    from MKLpy.algorithms import EasyMKL

    gammas = np.geomspace(_gammas(X).min(), _gammas(X).max(), 20)
    grams = [torch.from_numpy(rbf_kernel(X, gamma=gamma)) for gamma in gammas]
    weights = EasyMKL(learner=SVC()).fit(grams, torch.from_numpy(y)).solution.weights.numpy()

    def kernel(A: np.ndarray) -> np.ndarray:
        return sum(w * rbf_kernel(A, X, gamma=g) for w, g in zip(weights, gammas, strict=True))

    machine = GridSearchCV(SVC(kernel="precomputed"), {"C": C}, cv=StratifiedKFold(5))
    machine.fit(kernel(X), y)
    return lambda A: machine.predict(kernel(A))


def xrfm_default(X: np.ndarray, y: np.ndarray) -> Predict:
    return _xrfm(X, y, [None])


def xrfm_tuned(X: np.ndarray, y: np.ndarray) -> Predict:
    widths = WIDTHS_OF_ONE if X.shape[1] == 1 else WIDTHS
    return _xrfm(X, y, [(width, *rest) for width in widths for rest in XRFM_REST])


def _xrfm(X: np.ndarray, y: np.ndarray, settings: list) -> Predict:
    """A fifth of the rows is the validation set that the package asks for.

    Settings are compared by the Brier score there, which is smoother than the error.
    """
    import torch
    from xrfm import xRFM

    parts = train_test_split(X.astype(np.float32), y, test_size=0.2, stratify=y, random_state=0)
    train, valid, y_train, y_valid = (torch.from_numpy(part) for part in parts)
    best, loss = None, np.inf
    for setting in settings:
        params = None
        if setting is not None:
            bandwidth, kernel, diag, reg = setting
            model = {"kernel": kernel, "exponent": 1.0, "bandwidth": bandwidth, "diag": diag}
            model["bandwidth_mode"] = "constant"
            params = {"model": model, "fit": {"reg": reg, "iters": 5, "verbose": False}}
        candidate = xRFM(params, tuning_metric="brier", verbose=False, random_state=0)
        candidate.fit(train, y_train, valid, y_valid)
        probability = np.asarray(candidate.predict_proba(valid))[:, 1]
        brier = float(np.mean((probability - y_valid.numpy()) ** 2))
        if brier < loss:
            best, loss = candidate, brier
    return lambda A: _labels(best.predict(torch.from_numpy(A.astype(np.float32))))


def _labels(predicted: object) -> np.ndarray:
    return np.asarray(predicted).reshape(-1).astype(int)


def gpytorch_ard(X: np.ndarray, y: np.ndarray) -> Predict:
    """Exact Gaussian-process regression on labels -1/+1, a length scale per feature."""
    import gpytorch
    import torch

    torch.manual_seed(0)
    rows, labels = torch.from_numpy(X), torch.from_numpy(2.0 * y - 1)

    class Process(gpytorch.models.ExactGP):
        def __init__(self, likelihood: gpytorch.likelihoods.GaussianLikelihood):
            super().__init__(rows, labels, likelihood)
            self.mean = gpytorch.means.ConstantMean()
            kernel = gpytorch.kernels.RBFKernel(ard_num_dims=X.shape[1])
            self.kernel = gpytorch.kernels.ScaleKernel(kernel)
            # The default length scale, 0.7, sees nothing in many dimensions.
            kernel.lengthscale = float(np.sqrt(X.shape[1]))

        def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    process = Process(likelihood).double()
    evidence = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, process)
    optimiser = torch.optim.Adam(process.parameters(), lr=RATE)
    # Dense factorisations at these sizes: the iterative solvers only add noise.
    exact = gpytorch.settings.fast_computations(False, False, False)
    process.train(), likelihood.train()
    with exact, gpytorch.settings.max_cholesky_size(10_000):
        for _ in range(STEPS):
            optimiser.zero_grad()
            loss = -evidence(process(rows), labels)
            loss.backward()
            optimiser.step()
        process.eval(), likelihood.eval()

    def predict(A: np.ndarray) -> np.ndarray:
        with torch.no_grad(), exact, gpytorch.settings.max_cholesky_size(10_000):
            return (process(torch.from_numpy(A)).mean.numpy() > 0).astype(int)

    return predict
