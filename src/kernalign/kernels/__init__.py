"""Continuous sets of kernels, one family per file, and the learned kernel."""

from kernalign.kernels.additive import Additive
from kernalign.kernels.any_of import AnyOf
from kernalign.kernels.base import Family, FamilyMember, SearchSpace
from kernalign.kernels.custom import CustomFamily
from kernalign.kernels.fourier import Dirichlet, Fourier
from kernalign.kernels.gaussian import Gaussian
from kernalign.kernels.gaussian_metric import GaussianMetric
from kernalign.kernels.laplacian import Laplacian
from kernalign.kernels.learned import LearnedKernel
from kernalign.kernels.linear import Linear
from kernalign.kernels.matern import Matern
from kernalign.kernels.polynomial import Polynomial
from kernalign.kernels.precomputed import GramMatrix
from kernalign.kernels.rational_quadratic import RationalQuadratic
from kernalign.kernels.structure import FeatureFamily, ScalarFamily

__all__ = [
    "Additive",
    "AnyOf",
    "CustomFamily",
    "Dirichlet",
    "Family",
    "FamilyMember",
    "FeatureFamily",
    "Fourier",
    "Gaussian",
    "GaussianMetric",
    "GramMatrix",
    "Laplacian",
    "LearnedKernel",
    "Linear",
    "Matern",
    "Polynomial",
    "RationalQuadratic",
    "ScalarFamily",
    "SearchSpace",
]
