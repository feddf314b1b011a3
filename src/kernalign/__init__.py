"""Learn the kernel of a kernel machine from data."""

import logging

from kernalign._warnings import (
    AlignmentWarning,
    ColumnWarning,
    SampleWarning,
    ScaleWarning,
    SelectionWarning,
)
from kernalign.criteria import alignment, centered_alignment
from kernalign.estimators import (
    AlignmentTest,
    IncrementalClassifier,
    IncrementalRegressor,
    KernelClassifier,
    KernelFeatures,
    KernelRegressor,
    alignment_test,
)
from kernalign.kernels import (
    Additive,
    AnyOf,
    CustomFamily,
    Dirichlet,
    Fourier,
    Gaussian,
    GaussianMetric,
    GramMatrix,
    Laplacian,
    LearnedKernel,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
)
from kernalign.learners import (
    ContinuousAlignment,
    ContinuousEvidence,
    ContinuousRisk,
    DiscreteAlignment,
    KernelSearch,
    LpNormMKL,
    PolynomialMKL,
    Reweighted,
    RidgeMKL,
    Sampled,
    ScreenedAlignment,
    UniformWeights,
)
from kernalign.persistence import ModelFileError, load, save
from kernalign.tables import Columns

# The library logs nothing unless the user asks: logging.basicConfig(level="INFO").
logging.getLogger("kernalign").addHandler(logging.NullHandler())

__version__ = "0.1.0"

__all__ = [
    "Additive",
    "AlignmentTest",
    "AlignmentWarning",
    "AnyOf",
    "ColumnWarning",
    "Columns",
    "ContinuousAlignment",
    "ContinuousEvidence",
    "ContinuousRisk",
    "CustomFamily",
    "Dirichlet",
    "DiscreteAlignment",
    "Fourier",
    "Gaussian",
    "GaussianMetric",
    "GramMatrix",
    "IncrementalClassifier",
    "IncrementalRegressor",
    "KernelClassifier",
    "KernelFeatures",
    "KernelRegressor",
    "KernelSearch",
    "Laplacian",
    "LearnedKernel",
    "Linear",
    "LpNormMKL",
    "Matern",
    "ModelFileError",
    "Polynomial",
    "PolynomialMKL",
    "RationalQuadratic",
    "Reweighted",
    "RidgeMKL",
    "SampleWarning",
    "Sampled",
    "ScaleWarning",
    "ScreenedAlignment",
    "SelectionWarning",
    "UniformWeights",
    "alignment",
    "alignment_test",
    "centered_alignment",
    "load",
    "save",
]
