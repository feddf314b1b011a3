"""Encode tables with columns of any kind as a matrix of features."""

from kernalign.tables.columns import Columns
from kernalign.tables.encoders import Feature
from kernalign.tables.features import TableFeatures
from kernalign.tables.labels import class_labels, group_codes, responses, warn_of_column
from kernalign.tables.reading import is_table
from kernalign.tables.recognise import Column

__all__ = [
    "Column",
    "Columns",
    "Feature",
    "TableFeatures",
    "class_labels",
    "group_codes",
    "is_table",
    "responses",
    "warn_of_column",
]
