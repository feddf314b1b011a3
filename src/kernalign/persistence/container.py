"""The file: a zip archive of three members, sealed by a checksum and, if asked for, a signature.

    header.json     what the file is: format, versions, feature names, notes, sha256, hmac
    model.json      the objects of the model, as plain data (see `schema`)
    arrays.bin      the numbers of its arrays, one array after the other

A file must be, byte for byte, the archive that `write` makes of its members. So members are there
once, in this order, uncompressed, and nothing is beside them or in two places. The checksum covers
the header (but for checksum and signature) and the other members, names included.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import os
import stat
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernalign.persistence.replacing import replacing

#: Raised with every change that an older version cannot read.
FORMAT = 2
HEADER, MODEL, ARRAYS = MEMBERS = ("header.json", "model.json", "arrays.bin")
_LIBRARY = "kernalign"
#: The largest file: zip's own offsets end there.
LARGEST = 2**32 - 2**16
#: What header and model may hold together, so that they take little memory: bytes, lists and
#: dictionaries, items; and how deep lists may stand in lists.
MOST_TEXT, MOST_NODES, MOST_ITEMS, DEEPEST = 2**23, 200_000, 200_000, 32
#: The shortest key: shorter ones can be guessed.
SHORTEST_KEY = 16
_LOCAL, _CENTRAL, _END = (struct.Struct(f) for f in ("<4s5H3L2H", "<4s4B4HL2L5H2L", "<4s4H2LH"))
#: Every member carries the earliest date that zip knows: the same bytes for the same model.
_DATE = 0x21


class ModelFileError(ValueError):
    """A file that is not a saved model, is damaged or forged, or is of an incompatible version."""


@dataclass(frozen=True)
class Contents:
    """What a file holds: header and model as parsed JSON, the numbers of the arrays as bytes."""

    header: dict[str, Any]
    model: Any
    arrays: memoryview


def write(
    path: Path,
    header: Mapping[str, Any],
    model: Any,
    arrays: Sequence[bytes | memoryview],
    key: bytes | None = None,
) -> None:
    """Write the file at once: it is there complete, or what was there before stays."""
    members = [json.dumps(model, allow_nan=False).encode(), b"".join(arrays)]
    sealed = seal({"library": _LIBRARY, "format": FORMAT, **header}, members, key)
    contents = [json_bytes(sealed, indent=1), *members]
    if problem := _too_much(*contents[:2]):
        raise ValueError(f"{path} cannot be saved: {problem}.")
    if sum(map(len, contents)) > LARGEST:
        raise ValueError(f"The model takes more than the {LARGEST / 2**30:.0f} GiB of a file.")
    heads, tail = layout(contents)
    with replacing(path) as stream:
        for head, content in zip(heads, contents, strict=True):
            stream.write(head)
            stream.write(content)
        stream.write(tail)


def seal(
    header: Mapping[str, Any], members: Sequence[bytes | memoryview], key: bytes | None = None
) -> dict[str, Any]:
    """The header with checksum and, with a key, signature."""
    sealed = {**header, "sha256": checksum(header, members)}
    if key is not None:
        sealed["hmac"] = signature(sealed["sha256"], key)
    return sealed


def checksum(header: Mapping[str, Any], members: Sequence[bytes | memoryview]) -> str:
    """SHA-256 of all members, each after a line with its name and length."""
    unsealed = {name: value for name, value in header.items() if name not in ("sha256", "hmac")}
    digest = hashlib.sha256()
    for name, content in zip(MEMBERS, [json_bytes(unsealed), *members], strict=True):
        digest.update(f"{name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def signature(checked: str, key: bytes) -> str:
    """HMAC-SHA256 of the checksum."""
    return hmac.new(key, checked.encode(), hashlib.sha256).hexdigest()


def layout(contents: Sequence[bytes | memoryview]) -> tuple[list[bytes], bytes]:
    """What stands before each member, and what stands after the last one."""
    heads, central, offset = [], [], 0
    for name, content in zip(MEMBERS, contents, strict=True):
        known = (0, 0, 0, _DATE, zlib.crc32(content), len(content), len(content), len(name), 0)
        heads.append(_LOCAL.pack(b"PK\3\4", 20, *known) + name.encode())
        entry = _CENTRAL.pack(b"PK\1\2", 20, 3, 20, 0, *known, 0, 0, 0, 0o644 << 16, offset)
        central.append(entry + name.encode())
        offset += len(heads[-1]) + len(content)
    size, number = sum(map(len, central)), len(central)
    end = _END.pack(b"PK\5\6", 0, 0, number, number, size, offset, 0)
    return heads, b"".join(central) + end


def read(path: Path, key: bytes | None = None) -> Contents:
    """The contents of a file whose checksum and, with a key, signature are right."""
    data = memoryview(_bytes(path))
    header = _header(path, data)
    contents = _members(path, data)
    _check_texts(path, *contents[:2])
    if header.get("sha256") != checksum(header, contents[1:]):
        raise ModelFileError(
            f"{path} was altered after it was written: its contents do not match its checksum."
        )
    if key is not None:
        _check_signature(path, header, key)
    return Contents(header, parsed(path, contents[1]), contents[2])


def _check_signature(path: Path, header: Mapping[str, Any], key: bytes) -> None:
    signed = header.get("hmac")
    if not isinstance(signed, str):
        raise ModelFileError(f"{path} is not signed: it was saved without a key.")
    # Compared as bytes: text beyond ASCII is refused there.
    right = signature(header["sha256"], key).encode()
    if not hmac.compare_digest(signed.encode("utf-8", "replace"), right):
        raise ModelFileError(f"{path} was not signed with this key, or was altered since.")


def _bytes(path: Path) -> bytes:
    with path.open("rb") as stream:
        state = os.fstat(stream.fileno())
        if not stat.S_ISREG(state.st_mode) or state.st_size > LARGEST + 2**16:
            raise _foreign(path)
        data = stream.read(state.st_size)
    if not data:
        raise ModelFileError(f"{path} is empty: it is not a model saved by kernalign.")
    return data


def _header(path: Path, data: memoryview) -> dict[str, Any]:
    """The header, which is the first member in every format."""
    if data[:4] != b"PK\3\4"[: len(data)]:
        raise _foreign(path)
    content = _member(path, data, 0, HEADER)
    _check_texts(path, content)
    header = parsed(path, content)
    if not isinstance(header, dict) or header.get("library") != _LIBRARY:
        raise _foreign(path)
    number = header.get("format")
    if type(number) is not int:
        raise _foreign(path)
    if number > FORMAT:
        raise ModelFileError(
            f"{path} was written by a later version of kernalign, in format {number}, and this "
            f"version reads format {FORMAT}: upgrade kernalign."
        )
    if number < FORMAT:
        raise ModelFileError(
            f"{path} was written by an earlier version of kernalign, in format {number}, and this "
            f"version reads format {FORMAT}: fit the model again and save it."
        )
    return header


def _members(path: Path, data: memoryview) -> list[memoryview]:
    contents, position = [], 0
    for name in MEMBERS:
        content = _member(path, data, position, name)
        contents.append(content)
        position += _LOCAL.size + len(name) + len(content)
    heads, tail = layout(contents)
    start = 0
    for head, content in zip(heads, contents, strict=True):
        if data[start : start + len(head)] != head:
            raise _damaged(path)
        start += len(head) + len(content)
    if data[start:] != tail:
        raise _damaged(path)
    return contents


def _member(path: Path, data: memoryview, position: int, name: str) -> memoryview:
    """The content of the member that begins at a position."""
    if len(data) < position + _LOCAL.size + len(name):
        raise _damaged(path)
    _, _, _, method, _, _, _, size, _, length, extra = _LOCAL.unpack_from(data, position)
    start = position + _LOCAL.size + len(name)
    named = bytes(data[start - len(name) : start])
    if method or extra or length != len(name) or named != name.encode():
        raise _foreign(path)
    if len(data) < start + size:
        raise _damaged(path)
    return data[start : start + size]


def _foreign(path: Path) -> ModelFileError:
    return ModelFileError(f"{path} is not a model saved by kernalign.")


def _damaged(path: Path) -> ModelFileError:
    return ModelFileError(
        f"{path} is damaged or cut off: it is not as it was written. Copy or save it again."
    )


def parsed(path: Path, content: bytes | memoryview) -> Any:
    """JSON text of finite numbers only."""
    try:
        # `write` escapes all else: beyond ASCII, each character could take four bytes of memory.
        text = str(content, "ascii")
        value = json.loads(
            text, parse_float=_finite, parse_constant=_finite, object_pairs_hook=_unique
        )
    except (ValueError, RecursionError):
        raise ModelFileError(f"{path} is not a complete model: its text is no JSON.") from None
    if _depth(value) > DEEPEST:
        raise ModelFileError(f"{path} is not a complete model: its lists are nested too deep.")
    return value


def _check_texts(path: Path, *texts: memoryview) -> None:
    """Refuse JSON texts that would take much memory together."""
    if problem := _too_much(*texts):
        raise ModelFileError(f"{path} cannot be loaded: {problem}.")


def _too_much(*texts: bytes | memoryview) -> str:
    """Which limit JSON texts exceed together; empty if none."""
    if sum(map(len, texts)) > MOST_TEXT:
        return f"its text is longer than {MOST_TEXT >> 20} MiB"
    lists, items = 0, 0
    for text in map(bytes, texts):
        lists += text.count(b"[") + text.count(b"{")
        items += text.count(b",")
    if lists > MOST_NODES or items > MOST_ITEMS:
        return f"it has more than {MOST_NODES} lists or {MOST_ITEMS} items"
    return ""


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _depth(value: Any) -> int:
    """How deep lists and dictionaries stand in each other, counted up to one more than allowed."""
    level, depth = [value], 0
    while level and depth <= DEEPEST:
        inside = [item for item in level if isinstance(item, list | dict)]
        level = [i for item in inside for i in (item.values() if type(item) is dict else item)]
        depth += bool(inside)
    return depth


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice")
    return found


def json_bytes(value: Any, indent: int | None = None) -> bytes:
    """JSON text of plain values, the same for the same values."""
    return json.dumps(value, indent=indent, sort_keys=True, allow_nan=False).encode()
