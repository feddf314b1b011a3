"""Second stages: machines on a Gram matrix, linear machines on explicit features, their models."""

from kernalign.machines.least_squares import LinearModel, NormalEquations, normal_equations
from kernalign.machines.model import DualModel, FeatureModel, KernelModel, Model
from kernalign.machines.precomputed import Precomputed
from kernalign.machines.ridge import RidgeClassifier, RidgeRegressor
from kernalign.machines.squared_hinge import SquaredHinge
from kernalign.machines.svm import SupportVectorClassifier, SupportVectorRegressor

__all__ = [
    "DualModel",
    "FeatureModel",
    "KernelModel",
    "LinearModel",
    "Model",
    "NormalEquations",
    "Precomputed",
    "RidgeClassifier",
    "RidgeRegressor",
    "SquaredHinge",
    "SupportVectorClassifier",
    "SupportVectorRegressor",
    "normal_equations",
]
