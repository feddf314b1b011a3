"""Explicit features of a learned kernel, for machines that are linear in the number of rows."""

from kernalign.features.base import FeatureMap
from kernalign.features.fourier import ExplicitMap, has_exact_features, has_fourier_features
from kernalign.features.landmarks import choose_landmarks
from kernalign.features.nystroem import NystroemMap

__all__ = [
    "ExplicitMap",
    "FeatureMap",
    "NystroemMap",
    "choose_landmarks",
    "has_exact_features",
    "has_fourier_features",
]
