"""Explicit features of a learned kernel, for machines that are linear in the number of rows."""

from kernalign.features.base import FeatureMap
from kernalign.features.fourier import ExplicitMap, has_exact_features, has_fourier_features
from kernalign.features.landmarks import choose_landmarks
from kernalign.features.least_squares import LinearModel, NormalEquations, normal_equations
from kernalign.features.nystroem import NystroemMap
from kernalign.features.squared_hinge import SquaredHinge

__all__ = [
    "ExplicitMap",
    "FeatureMap",
    "LinearModel",
    "NormalEquations",
    "NystroemMap",
    "SquaredHinge",
    "choose_landmarks",
    "has_exact_features",
    "has_fourier_features",
    "normal_equations",
]
