"""Learn the kernel of a kernel machine from data."""

from kernalign._warnings import AlignmentWarning, SampleWarning, ScaleWarning, SelectionWarning
from kernalign.criteria import alignment, centered_alignment
from kernalign.estimators import KernelClassifier, KernelFeatures, KernelRegressor
from kernalign.kernels import (
    AnyOf,
    CustomFamily,
    Dirichlet,
    Fourier,
    Gaussian,
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
    ContinuousRisk,
    DiscreteAlignment,
    LpNormMKL,
    PolynomialMKL,
    Reweighted,
    RidgeMKL,
    Sampled,
    UniformWeights,
)

__version__ = "0.1.0"

__all__ = [
    "AlignmentWarning",
    "AnyOf",
    "ContinuousAlignment",
    "ContinuousRisk",
    "CustomFamily",
    "Dirichlet",
    "DiscreteAlignment",
    "Fourier",
    "Gaussian",
    "GramMatrix",
    "KernelClassifier",
    "KernelFeatures",
    "KernelRegressor",
    "Laplacian",
    "LearnedKernel",
    "Linear",
    "LpNormMKL",
    "Matern",
    "Polynomial",
    "PolynomialMKL",
    "RationalQuadratic",
    "Reweighted",
    "RidgeMKL",
    "SampleWarning",
    "Sampled",
    "ScaleWarning",
    "SelectionWarning",
    "UniformWeights",
    "alignment",
    "centered_alignment",
]
