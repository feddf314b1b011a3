"""The file: a zip archive of JSON and numpy arrays, sealed by a checksum.

    header.json     what the file is: format, versions, feature names, notes, sha256
    model.json      the model, as nested plain data (see `encode`)
    arrays/0.npy    its arrays, in numpy's own format without pickle

Members are stored, not compressed: a file cannot claim more than it holds. The checksum covers the
header (but for itself) and every member, names included.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

#: Raised with every change that an older version cannot read.
FORMAT = 1
HEADER, MODEL = "header.json", "model.json"
_LIBRARY = "kernalign"
_ZIP_START = b"PK\x03\x04"
#: The same bytes for the same model: members carry the earliest date that zip knows.
_DATE = (1980, 1, 1, 0, 0, 0)


class ModelFileError(ValueError):
    """A file that is no saved model, is damaged, or was written by a later version."""


def write(
    path: Path, header: Mapping[str, Any], model: Any, arrays: Sequence[np.ndarray[Any, Any]]
) -> None:
    """Write the file at once: it is there complete, or what was there before stays."""
    # In the order in which it was encoded: an object comes before what refers to it.
    members = {MODEL: json.dumps(model, allow_nan=False).encode()}
    for number, array in enumerate(arrays):
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, array, allow_pickle=False)
        members[f"arrays/{number}.npy"] = buffer.getvalue()
    sealed = {"library": _LIBRARY, "format": FORMAT, **header}
    sealed["sha256"] = _checksum(sealed, members)
    with replacing(path) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, content in {HEADER: _json_bytes(sealed, indent=1), **members}.items():
            archive.writestr(zipfile.ZipInfo(name, _DATE), content)


@contextlib.contextmanager
def replacing(path: Path) -> Any:
    """A binary stream that becomes `path` when the block ends well, and vanishes otherwise."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        # Temporary files are private; a model gets the rights that any new file would get.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise


def read(path: Path) -> tuple[dict[str, Any], Any, list[np.ndarray[Any, Any]]]:
    """Header, model and arrays of a file whose checksum is right."""
    header, members = _members(path)
    if header["sha256"] != _checksum(header, members):
        raise ModelFileError(
            f"{path} was altered after it was written: its contents do not match its checksum."
        )
    try:
        model = json.loads(members.pop(MODEL))
        arrays = [_array(members[f"arrays/{number}.npy"]) for number in range(len(members))]
    except (KeyError, ValueError, TypeError) as problem:
        raise ModelFileError(f"{path} is not a complete model: {problem}.") from None
    return header, model, arrays


def read_header(path: Path) -> dict[str, Any]:
    """What the file says of itself."""
    return _members(path)[0]


def _members(path: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    with path.open("rb") as stream:
        start = stream.read(len(_ZIP_START))
    foreign = ModelFileError(f"{path} is not a model saved by kernalign.")
    if not start:
        raise ModelFileError(f"{path} is empty: it is not a model saved by kernalign.")
    if start != _ZIP_START[: len(start)]:
        raise foreign
    try:
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
            if any(info.compress_type != zipfile.ZIP_STORED for info in infos):
                raise foreign
            members = {info.filename: archive.read(info) for info in infos}
    except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError):
        # All that zipfile raises on damaged bytes: cut off or overwritten, and, where flags are
        # hit, a version it does not know or an encryption that nobody asked for.
        raise ModelFileError(
            f"{path} is damaged or cut off: it cannot be read to its end. Copy or save it again."
        ) from None
    try:
        header = json.loads(members.pop(HEADER))
        known = header["library"] == _LIBRARY
        number = header["format"]
    except (KeyError, ValueError, TypeError):
        raise foreign from None
    if not known or not isinstance(number, int):
        raise foreign
    if number > FORMAT:
        raise ModelFileError(
            f"{path} was written by kernalign {header.get('versions', {}).get('kernalign')} in "
            f"format {number}, and this version reads formats up to {FORMAT}: upgrade kernalign."
        )
    if "sha256" not in header or MODEL not in members:
        raise foreign
    return header, members


def _checksum(header: Mapping[str, Any], members: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    unsealed = {name: value for name, value in header.items() if name != "sha256"}
    for name, content in sorted({HEADER: _json_bytes(unsealed), **members}.items()):
        digest.update(f"{name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def _json_bytes(value: Any, indent: int | None = None) -> bytes:
    return json.dumps(value, indent=indent, sort_keys=True, allow_nan=False).encode()


def _array(content: bytes) -> np.ndarray[Any, Any]:
    """An array from numpy's format; nothing is allocated before the sizes are seen to agree."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    read_head = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[version]
    shape, fortran, dtype = read_head(stream)
    data = content[stream.tell() :]
    if dtype.hasobject or any(n < 0 for n in shape):
        raise ValueError("an array holds objects")
    if int(np.prod(shape, dtype=object)) * dtype.itemsize != len(data):
        raise ValueError("an array does not have the size that it states")
    flat = np.frombuffer(data, dtype).copy()
    return flat.reshape(shape, order="F" if fortran else "C")
