"""The paper's real data: (X, labels) by name, from the first place that has them.

1. the directory that KERNALIGN_DATA names, files as its README describes; checksum and shape
2. the cache directory (KERNALIGN_CACHE, by default ~/.cache/kernalign); shape
3. OpenML through scikit-learn, with the recipe that turns the public version into the paper's
4. ringnorm and waveform: their generators
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from experiments import generators, openml
from experiments.generators import Rows

#: Places that data can come from, as rows of results name them.
DIRECTORY, CACHE, OPENML, GENERATOR = "directory", "cache", "OpenML", "generator"


class MissingDataError(RuntimeError):
    """No place has the data set; the message says which were tried and what to do."""


class WrongDataError(RuntimeError):
    """A file is there, but it is not the paper's data."""


@dataclass(frozen=True)
class Source:
    """What a data set must look like.

    counts : rows of each label, by the label as text.
    """

    file: str
    sha256: str
    n_features: int
    counts: dict[str, int]
    generator: Callable[[int, np.random.Generator], Rows] | None = None

    @property
    def n_rows(self) -> int:
        return sum(self.counts.values())


def _csv(name: str, sha: str, d: int, low: int, high: int, **more: Any) -> Source:
    return Source(f"{name}.csv.gz", sha, d, {"-1": low, "1": high}, **more)


# fmt: off
_LETTER = {
    "A": 789, "B": 766, "C": 736, "D": 805, "E": 768, "F": 775, "G": 773, "H": 734, "I": 755,
    "J": 747, "K": 739, "L": 761, "M": 792, "N": 783, "O": 753, "P": 803, "Q": 783, "R": 758,
    "S": 748, "T": 796, "U": 813, "V": 764, "W": 752, "X": 787, "Y": 786, "Z": 734,
}
# fmt: on
_MNIST = [6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958]

SOURCES: dict[str, Source] = {
    "banana": _csv(
        "banana", "79a1705dcb626bca88b6a931a826ea9789d200bbe61556a9ed8be0d41d06b70f", 2, 2924, 2376
    ),
    "breast_cancer": _csv(
        "breast_cancer",
        "49d4d9e26b230deba158f8fb2132f9b33e5b7b9a1a1e992ed3345324aa0f4bee",
        9,
        186,
        77,
    ),
    "diabetes": _csv(
        "diabetes", "067cb2ea1030db1d0f3c0da9ce137edce35a161a924161383aaef8c72b2408a7", 8, 500, 268
    ),
    "german": _csv(
        "german", "76b70ce366749d728b7dd7d96bf799b845d742ddac8afba8fb1e746dec23005b", 20, 700, 300
    ),
    "heart": _csv(
        "heart", "aeb0534ab49cf9e59714911dc7f8d577e0a290cebf5ab3dd4866dc6124288dec", 13, 150, 120
    ),
    "image": _csv(
        "image", "b3e4891f0bdf88d110be55315112ec052ca892aa051f9a4ed24da2425e4b685e", 18, 898, 1188
    ),
    "ringnorm": _csv(
        "ringnorm",
        "d978d6da6ae9440ce88b74f94e28960cdb28263d119fb5964fdd98542766099f",
        20,
        3736,
        3664,
        generator=generators.ringnorm,
    ),
    "sonar": Source(
        "sonar.csv.gz",
        "4f38ef924b153b2d04eb64003f591b3d6cfbf710381fd05cdeae5f2784e19690",
        60,
        {"M": 111, "R": 97},
    ),
    "splice": _csv(
        "splice", "666c49c4a36d295adcfbadfb8b7fa51db76156e5f7eb1d40cda079fe45c28193", 60, 1647, 1344
    ),
    "thyroid": _csv(
        "thyroid", "8d7ce655ffe15a391aa0775640329a053d8d4ff331a26d45e776cb472c63a872", 5, 150, 65
    ),
    "waveform": _csv(
        "waveform",
        "3f8c7d666b97e3a224d359e701cc6913b0de3953a4c0a99a6fad315648402bfe",
        21,
        3353,
        1647,
        generator=generators.waveform,
    ),
    "letter": Source(
        "letter.csv.gz",
        "b78838e342f304b0fa055b9da813b7d407429e6ca5b25d8767e9ded294c6e08f",
        16,
        _LETTER,
    ),
    "mnist": Source(
        "mnist.npz",
        "74c51f06d03e342913087bef4fd4e05774b8cca21016437f0afc37a12abca41d",
        784,
        {str(k): n for k, n in enumerate(_MNIST)},
    ),
}


def load(name: str) -> Rows:
    """X (n, d) and labels (n,) as text, in the order of the source."""
    return _load(name, os.environ.get("KERNALIGN_DATA", ""), str(cache_directory()))[0]


def origin(name: str) -> str:
    """Which of the places had the data set."""
    return _load(name, os.environ.get("KERNALIGN_DATA", ""), str(cache_directory()))[1]


def cache_directory() -> Path:
    default = Path.home() / ".cache" / "kernalign"
    return Path(os.environ.get("KERNALIGN_CACHE") or default)


@cache
def _load(name: str, data: str, cached: str) -> tuple[Rows, str]:
    source = SOURCES[name]
    tried = []
    if data:
        path = Path(data) / source.file
        if path.exists():
            return checked(name, *_read(path, source), where=str(path)), DIRECTORY
        tried.append(f"{path} (KERNALIGN_DATA) does not exist")
    else:
        tried.append("KERNALIGN_DATA is not set")
    path = Path(cached) / f"{name}.npz"
    if path.exists():
        with np.load(path) as stored:
            return checked(name, stored["X"], stored["y"], where=str(path)), CACHE
    tried.append(f"{path} (cache) does not exist")
    try:
        X, y = openml.fetch(name, cached)
    except Exception as error:
        # Whatever the network or the recipe stumbled over belongs in the one message below.
        tried.append(f"OpenML: {type(error).__name__}: {error}")
        if source.generator is None:
            raise MissingDataError(_missing(name, source, tried)) from error
        X, y = source.generator(source.n_rows, np.random.default_rng(0))
        return (X, y.astype(str)), GENERATOR
    checked(name, X, y, where="OpenML")
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, X=X, y=y)
    return (X, y), OPENML


def _missing(name: str, source: Source, tried: list[str]) -> str:
    places = "; ".join(tried)
    return (
        f"The data set {name!r} is missing: {places}. Set KERNALIGN_DATA to a directory that holds "
        f"{source.file}, or connect to the network."
    )


def _read(path: Path, source: Source) -> Rows:
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != source.sha256:
        raise WrongDataError(
            f"{path} has SHA-256 {found}, expected {source.sha256}: the file is damaged or another "
            "version. Remove it or replace it."
        )
    if path.suffix == ".npz":
        with np.load(io.BytesIO(content)) as stored:
            return stored["images"], stored["labels"].astype(str)
    lines = gzip.decompress(content).decode("utf-8").splitlines()
    table = np.array([line.split(",") for line in lines[1:]])
    return table[:, :-1].astype(float), np.char.strip(table[:, -1], '"')


def checked(name: str, X: np.ndarray, y: np.ndarray, where: str) -> Rows:
    """The rows, if shape and class counts are the paper's."""
    source = SOURCES[name]
    labels, numbers = np.unique(y, return_counts=True)
    counts = dict(zip(labels.tolist(), numbers.tolist(), strict=True))
    expected = (source.n_rows, source.n_features)
    if X.shape != expected or counts != source.counts:
        raise WrongDataError(
            f"{where}: {name!r} must have shape {expected} and classes {source.counts}. "
            f"Got shape {X.shape} and classes {counts} instead."
        )
    return X, y
