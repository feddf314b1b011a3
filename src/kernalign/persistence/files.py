"""`save` and `load`."""

from __future__ import annotations

import os
import platform
import warnings
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator

from kernalign._warnings import find_stack_level
from kernalign.persistence import container
from kernalign.persistence.container import ModelFileError
from kernalign.persistence.decode import Decoder
from kernalign.persistence.encode import Encoder
from kernalign.persistence.registry import Lookup, NotTrustedError

_PACKAGES = ("kernalign", "scikit-learn", "numpy", "scipy")


class ModelVersionWarning(UserWarning):
    """A model holds parts of another version of scikit-learn than the one in use."""


def save(
    estimator: Any, path: str | os.PathLike[str], *, notes: Mapping[str, Any] | None = None
) -> Path:
    """Write a fitted estimator, or a pipeline that ends in one, to one file.

    The file holds numbers, text and arrays only. It is written at once: after an interruption what
    was there before is still there.

    Parameters
    ----------
    estimator : fitted estimator of kernalign or scikit-learn `Pipeline`
    path : where to write; the usual ending is ``.kern``
    notes : plain values (numbers, text, lists, dictionaries) to keep with the model, which
        `read_header` returns

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from kernalign import KernelClassifier, load, save
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = KernelClassifier().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     same = load(save(clf, Path(folder) / "iris.kern"))
    >>> bool((same.predict(X) == clf.predict(X)).all())
    True
    """
    path = Path(path)
    if not isinstance(estimator, BaseEstimator):
        raise ValueError(
            "save takes a fitted estimator such as KernelClassifier().fit(X, y). "
            f"Got {type(estimator).__name__} instead."
        )
    if not path.parent.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {path.parent}.")
    encoder = Encoder()
    model = encoder(estimator, type(estimator).__name__)
    header = {
        "class": type(estimator).__name__,
        "versions": {"python": platform.python_version(), **{p: version(p) for p in _PACKAGES}},
        "feature_names": _feature_names(estimator),
        "classes": sorted(encoder.classes),
        "notes": dict(notes or {}),
    }
    try:
        container.write(path, header, model, encoder.arrays)
    except (TypeError, ValueError) as problem:
        raise ValueError(f"The notes of {path} must be plain values: {problem}.") from None
    return path


def load(path: str | os.PathLike[str], *, trusted: Iterable[Callable[..., Any]] = ()) -> Any:
    """The estimator that `save` wrote to a file; no code from the file is run.

    Parameters
    ----------
    path : the file
    trusted : the user's own classes and functions that the model uses, such as the function of a
        `CustomFamily`: a file only names them.

    Raises
    ------
    ModelFileError
        Where the file is no saved model, is cut off, was altered, or comes from a later version.
    """
    path = Path(path)
    header, model, arrays = container.read(path)
    try:
        estimator = Decoder(arrays, Lookup(trusted))(model)
    except NotTrustedError as problem:
        raise ModelFileError(f"{path} cannot be loaded: {problem}.") from None
    except (AttributeError, ImportError, LookupError, TypeError, ValueError) as problem:
        raise ModelFileError(f"{path} is not a complete model: {problem}.") from None
    if not isinstance(estimator, BaseEstimator):
        raise ModelFileError(f"{path} holds {type(estimator).__name__}, not an estimator.")
    _warn_of_versions(path, header)
    return estimator


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a saved model says of itself: class, versions, feature names, notes, checksum."""
    return container.read_header(Path(path))


def _feature_names(estimator: Any) -> list[str] | None:
    try:
        names = estimator.feature_names_in_
    except AttributeError:
        return None
    return [str(name) for name in names]


def _warn_of_versions(path: Path, header: Mapping[str, Any]) -> None:
    """scikit-learn's own parts may change between its versions; the library's format does not."""
    then, now = header["versions"]["scikit-learn"], version("scikit-learn")
    foreign = [name for name in header["classes"] if name.startswith("sklearn.")]
    if foreign and then.split(".")[:2] != now.split(".")[:2]:
        warnings.warn(
            f"{path} holds {foreign[0]} of scikit-learn {then}, and {now} is in use: compare a few "
            "predictions with earlier ones, or fit again.",
            ModelVersionWarning,
            stacklevel=find_stack_level(),
        )
