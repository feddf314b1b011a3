"""Saved models: one file that opens without running code from it."""

from kernalign.persistence.container import FORMAT, ModelFileError, replacing
from kernalign.persistence.files import ModelVersionWarning, load, read_header, save

__all__ = [
    "FORMAT",
    "ModelFileError",
    "ModelVersionWarning",
    "load",
    "read_header",
    "replacing",
    "save",
]
