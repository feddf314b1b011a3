"""Small problems, fast settings and every kind of model that can be saved."""

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, NuSVR

from kernalign import (
    AnyOf,
    ContinuousAlignment,
    Gaussian,
    KernelClassifier,
    KernelFeatures,
    KernelRegressor,
    Laplacian,
    LpNormMKL,
    Polynomial,
    Reweighted,
    RidgeMKL,
)
from tests.learners import learners

KERNELS = [*Gaussian().grid(0.5, 5, 3), Polynomial(2).at(1.0)]

LEARNERS = [
    *learners.LEARNERS,
    ContinuousAlignment(Gaussian(ard=True), penalty=[1.0, 100.0]),
    ContinuousAlignment(AnyOf(Gaussian(columns=[0]), Laplacian(columns=slice(1, 3)))),
    ContinuousAlignment(random_state=np.random.RandomState(1)),
    Reweighted(ContinuousAlignment(), LpNormMKL(KERNELS)),
]

CLASSIFIERS = [
    KernelClassifier(),
    KernelClassifier(C=1.0, class_weight={"no": 1.0, "yes": 2.0}),
    KernelClassifier(ContinuousAlignment(), C=[0.1, 1.0], cv=StratifiedKFold(3)),
    KernelClassifier(
        ContinuousAlignment(), machine=SVC(kernel="precomputed"), C=np.array([0.1, 1.0])
    ),
    KernelClassifier(
        ContinuousAlignment(), machine=KernelRidge(kernel="precomputed"), nested=False
    ),
    KernelClassifier(LpNormMKL(KERNELS, p=2), C=[0.1, 1.0]),
]

REGRESSORS = [
    KernelRegressor(),
    KernelRegressor(ContinuousAlignment(), machine="svr", C=1.0),
    KernelRegressor(ContinuousAlignment(), machine=NuSVR(kernel="precomputed"), C=[0.1, 1.0]),
    KernelRegressor(RidgeMKL(KERNELS), C=1.0),
]


def rows(n=40, d=3):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d))


def labels(X, classes=2):
    words = np.array(["no", "yes", "perhaps", "never"])
    return words[np.digitize(X[:, 0] + X[:, 1], np.linspace(-2, 2, classes + 1)[1:-1])]


def response(X):
    return np.sin(2 * X[:, 0]) + 0.3 * X[:, 1]


def table():
    """A data frame with text and gaps, and the pipeline that deals with them."""
    import pandas as pd

    X = rows()
    frame = pd.DataFrame(X[:, :2], columns=["length", "width"])
    frame["colour"] = np.where(X[:, 2] > 0, "red", "blue")
    frame.loc[3, "length"] = np.nan
    frame.loc[5, "colour"] = None
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    words = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="missing"),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    )
    encode = ColumnTransformer(
        [("numbers", numbers, ["length", "width"]), ("text", words, ["colour"])]
    )
    return frame, labels(X), make_pipeline(encode, KernelClassifier(C=1.0))


def feature_models():
    return [
        KernelFeatures(n_components=10),
        KernelFeatures(output="gram"),
        make_pipeline(StandardScaler(), KernelFeatures(n_components=5), LogisticRegression()),
    ]
