"""`save` and `load`."""

from __future__ import annotations

import functools
import os
import platform
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from kernalign.persistence import container
from kernalign.persistence.container import SHORTEST_KEY, ModelFileError
from kernalign.persistence.kinds import TEXT, FieldError, Kind, ListOf, optional
from kernalign.persistence.schema import Reader, Writer

_PACKAGES = ("kernalign", "scikit-learn", "numpy", "scipy")


def save(
    estimator: Any,
    path: str | os.PathLike[str],
    *,
    notes: Mapping[str, Any] | None = None,
    key: bytes | None = None,
) -> Path:
    """Write a fitted estimator, or a pipeline that ends in one, to one file.

    The file contains numbers, text and arrays only. It is replaced atomically: after an
    interruption, the previous file is unchanged. Symbolic links are followed, and the mode of an
    existing file is kept.

    Parameters
    ----------
    estimator : fitted estimator of kernalign, or scikit-learn `Pipeline` of such estimators and the
        usual transformers
    path : file to write; the usual suffix is ``.kern``
    notes : plain values (numbers, text, lists, dictionaries) to save with the model;
        `read_header` returns them
    key : a secret of at least 16 bytes, such as ``secrets.token_bytes(32)``, with which the file is
        signed (HMAC-SHA256). With the same key, `load` checks that the file was written by
        someone who has it.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ValueError
        If a part of the model cannot be saved, such as a machine of another library.
    OSError
        If the file cannot be written.

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
    fitted = isinstance(estimator, BaseEstimator) and _is_fitted(estimator)
    if not fitted:
        state = " that is not fitted" if isinstance(estimator, BaseEstimator) else ""
        raise ValueError(
            "save needs a fitted estimator such as KernelClassifier().fit(X, y). "
            f"Got {type(estimator).__name__}{state} instead."
        )
    if not path.parent.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {path.parent}.")
    _check_key(key)
    writer = Writer()
    model = writer.document(estimator, type(estimator).__name__)
    header = {
        "class": type(estimator).__name__,
        "versions": _versions(),
        "feature_names": _feature_names(estimator),
        "notes": dict(notes or {}),
    }
    try:
        container.json_bytes(header)
    except (TypeError, ValueError) as problem:
        raise ValueError(f"The notes of {path} must be plain values: {problem}.") from None
    container.write(path, header, model, writer.buffers(), key)
    return path


def load(
    path: str | os.PathLike[str],
    *,
    trusted: Iterable[Callable[..., Any]] = (),
    key: bytes | None = None,
) -> Any:
    """Load an estimator that `save` wrote; no code from the file is run.

    Every value is checked against the schema of its field, and values against each other.

    Parameters
    ----------
    path : the file
    trusted : user-defined classes and functions that the model uses, such as the function of a
        `CustomFamily`; the file contains only their names.
    key : the secret that the file was signed with. If it is given, a file without a valid
        signature raises an error.

    Raises
    ------
    ModelFileError
        If the file is not a saved model, is truncated or altered, contains invalid values, is not
        signed with the key, or was written by an incompatible version.
    OSError
        If the file does not exist or cannot be read.
    """
    path = Path(path)
    _check_key(key)
    contents = container.read(path, key)
    _checked_header(path, contents.header)
    try:
        estimator = Reader(contents.model, contents.arrays, trusted).model()
        if not isinstance(estimator, BaseEstimator):
            raise FieldError(f"it holds {type(estimator).__name__}, not an estimator")
    except FieldError as problem:
        raise ModelFileError(f"{path} cannot be loaded: {problem}.") from None
    return estimator


def read_header(path: str | os.PathLike[str], *, key: bytes | None = None) -> dict[str, Any]:
    """The header of a saved model: class, versions, feature names, notes, checksum.

    Checksum and, with a key, signature are verified.
    """
    path = Path(path)
    _check_key(key)
    return _checked_header(path, container.read(path, key).header)


@functools.cache
def _versions() -> Mapping[str, str]:
    """Versions of Python and the libraries, looked up once: it takes longer than a small model."""
    return {"python": platform.python_version(), **{p: version(p) for p in _PACKAGES}}


def _is_fitted(estimator: BaseEstimator) -> bool:
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def _check_key(key: Any) -> None:
    if key is not None and (not isinstance(key, bytes) or len(key) < SHORTEST_KEY):
        raise ValueError(
            f"The key must be at least {SHORTEST_KEY} bytes, such as secrets.token_bytes(32). Got "
            f"{type(key).__name__}{f' of {len(key)} bytes' if isinstance(key, bytes) else ''}."
        )


class _Notes(Kind):
    """Plain values by name."""

    wanted = "plain values by name"

    def write(self, value: Any, out: Any, where: str) -> Any:
        return value

    def read(self, node: Any, source: Any, where: str) -> Any:
        if not isinstance(node, dict):
            raise self.refuse(node, where)
        return node


#: The fields of the header.
_HEADER: dict[str, Kind] = {
    "class": TEXT,
    "versions": _Notes(),
    "feature_names": optional(ListOf(TEXT)),
    "notes": _Notes(),
    "sha256": TEXT,
}


def _checked_header(path: Path, header: dict[str, Any]) -> dict[str, Any]:
    """The header if its fields are what they must be."""
    nowhere: Any = None
    try:
        unknown = set(header) - {*_HEADER, "library", "format", "hmac"}
        if unknown:
            raise FieldError(f"the header has no field {min(unknown)[:60]!r}")
        for name, kind in _HEADER.items():
            if name not in header:
                raise FieldError(f"the header lacks the field {name!r}")
            kind.read(header[name], nowhere, f"the field {name!r} of the header")
        for name, value in header["versions"].items():
            TEXT.read(value, nowhere, f"the version of {name[:60]}")
    except FieldError as problem:
        raise ModelFileError(f"{path} cannot be loaded: {problem}.") from None
    return header


def _feature_names(estimator: Any) -> list[str] | None:
    try:
        names = estimator.feature_names_in_
    except AttributeError:
        return None
    return [str(name) for name in names]
