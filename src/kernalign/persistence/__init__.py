"""Saved models: one file of checked data, which is loaded without running code from it."""

from kernalign.persistence.container import FORMAT, ModelFileError
from kernalign.persistence.files import load, read_header, save
from kernalign.persistence.replacing import replacing

__all__ = ["FORMAT", "ModelFileError", "load", "read_header", "replacing", "save"]
