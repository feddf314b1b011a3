"""Which classes a model file may name, and how a class is named in it.

A file never brings code: it names classes, and only those listed here, or handed to `load` by the
user, are looked up. An object is made without calling its constructor, and its attributes are set.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any

#: Where the library's own classes may come from.
OWN = (
    "kernalign.tables.",
    "kernalign.kernels.",
    "kernalign.gram.",
    "kernalign.solvers.",
    "kernalign.features.",
    "kernalign.machines.",
    "kernalign.learners.",
    "kernalign.estimators.",
)
#: What scikit-learn may contribute: machines, linear models on features, preprocessing, folds. All
#: of them keep their state in plain attributes.
SCIKIT_LEARN = {
    "sklearn.svm": ("SVC", "SVR", "NuSVC", "NuSVR", "LinearSVC", "LinearSVR"),
    "sklearn.kernel_ridge": ("KernelRidge",),
    "sklearn.linear_model": (
        "LinearRegression",
        "LogisticRegression",
        "LogisticRegressionCV",
        "Ridge",
        "RidgeClassifier",
        "RidgeClassifierCV",
        "RidgeCV",
    ),
    "sklearn.preprocessing": (
        "LabelBinarizer",
        "LabelEncoder",
        "MaxAbsScaler",
        "MinMaxScaler",
        "OneHotEncoder",
        "OrdinalEncoder",
        "PowerTransformer",
        "QuantileTransformer",
        "RobustScaler",
        "StandardScaler",
    ),
    "sklearn.impute": ("MissingIndicator", "SimpleImputer"),
    "sklearn.feature_selection": ("VarianceThreshold",),
    "sklearn.decomposition": ("PCA",),
    "sklearn.pipeline": ("FeatureUnion", "Pipeline"),
    "sklearn.compose": ("ColumnTransformer", "TransformedTargetRegressor"),
    "sklearn.model_selection": (
        "GroupKFold",
        "KFold",
        "LeaveOneOut",
        "RepeatedKFold",
        "RepeatedStratifiedKFold",
        "ShuffleSplit",
        "StratifiedGroupKFold",
        "StratifiedKFold",
        "StratifiedShuffleSplit",
        "TimeSeriesSplit",
    ),
}
#: Names in files of earlier versions -> where the class is now.
RENAMED: dict[str, str] = {}


class NotTrustedError(Exception):
    """A file names a class or a function that it may not."""


def name_of(thing: Any) -> str:
    """How a class or a function is named in a file: its public place if it is scikit-learn's."""
    module, name = thing.__module__, thing.__qualname__
    for public, names in SCIKIT_LEARN.items():
        if name in names and module.startswith(f"{public}."):
            return f"{public}.{name}"
    return f"{module}.{name}"


def is_known(name: str) -> bool:
    """Whether a file may name this class without the user's leave."""
    module, _, last = name.rpartition(".")
    return name.startswith(OWN) or last in SCIKIT_LEARN.get(module, ())


class Lookup:
    """Classes and functions by name.

    trusted : the user's own classes and functions.
    """

    def __init__(self, trusted: Iterable[Callable[..., Any]] = ()):
        self._trusted = {name_of(thing): thing for thing in trusted}

    def __call__(self, name: str, kind: str) -> Any:
        """The thing of this name; `kind` ("class" or "function") is for the error message."""
        name = RENAMED.get(name, name)
        if name in self._trusted:
            return self._trusted[name]
        if kind == "class" and is_known(name):
            module, _, last = name.rpartition(".")
            found = getattr(importlib.import_module(module), last, None)
            # What a module imports from elsewhere is not its own.
            if isinstance(found, type) and name_of(found) == name:
                return found
        last = name.rpartition(".")[2]
        raise NotTrustedError(
            f"it uses the {kind} {name}, which is not part of kernalign. If you trust it, import "
            f"it and hand it over: load(path, trusted=[{last}])"
        )
