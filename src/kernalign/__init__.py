"""Learn the kernel of a kernel machine from data."""

from kernalign._warnings import AlignmentWarning, SelectionWarning
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
from kernalign.learners import ContinuousAlignment

__version__ = "0.1.0"

__all__ = [
    "AlignmentWarning",
    "AnyOf",
    "ContinuousAlignment",
    "CustomFamily",
    "Dirichlet",
    "Fourier",
    "Gaussian",
    "GramMatrix",
    "KernelClassifier",
    "KernelFeatures",
    "KernelRegressor",
    "Laplacian",
    "LearnedKernel",
    "Linear",
    "Matern",
    "Polynomial",
    "RationalQuadratic",
    "SelectionWarning",
    "alignment",
    "centered_alignment",
]
