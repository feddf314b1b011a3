"""Files that are sealed like honest ones, with contents of one's own."""

import json

import numpy as np

from kernalign.persistence import container


def parts(path):
    """Header, model and the numbers of the arrays of a file."""
    found = container.read(path)
    return dict(found.header), found.model, bytes(found.arrays)


def packed(header, model, arrays):
    """The bytes of a file with these parts and a valid checksum."""
    members = [as_bytes(model), arrays]
    sealed = {name: value for name, value in header.items() if name not in ("sha256", "hmac")}
    try:
        sealed = container.seal(sealed, members)
    except (ValueError, RecursionError):
        sealed["sha256"] = "0" * 64
    return archived([as_bytes(sealed), *members])


def archived(contents):
    heads, tail = container.layout(contents)
    pairs = zip(heads, contents, strict=True)
    return b"".join(head + content for head, content in pairs) + tail


def as_bytes(value):
    """JSON as it is, NaN and all; text as it is."""
    return value if isinstance(value, bytes) else json.dumps(value, sort_keys=True).encode()


def forged(path, edit):
    """The file after `edit(header, model)` changed its parts, sealed anew."""
    header, model, arrays = parts(path)
    edited = edit(header, model)
    path.write_bytes(packed(header, model if edited is None else edited, arrays))
    return path


def forged_array(path, cls, field, value):
    """The file with another array in a field of the first object of a class."""
    header, model, arrays = parts(path)
    value = np.ascontiguousarray(value)
    found = fields(model, cls)
    found[field] = {"array": len(model["arrays"])}
    model["arrays"].append([value.dtype.str[1:], list(value.shape), "C"])
    path.write_bytes(packed(header, model, arrays + value.tobytes()))
    return path


def fields(model, cls):
    """The fields of the first object of a class."""
    return next(state for name, state in model["objects"] if name == cls)
