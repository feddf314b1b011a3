"""Kernel learners: (X, target) -> LearnedKernel and history."""

from kernalign.learners.base import Learned, Learner
from kernalign.learners.continuous_alignment import ContinuousAlignment
from kernalign.learners.continuous_evidence import ContinuousEvidence
from kernalign.learners.continuous_risk import ContinuousRisk
from kernalign.learners.discrete_alignment import DiscreteAlignment
from kernalign.learners.finite import FiniteLearner
from kernalign.learners.kernel_search import KernelSearch
from kernalign.learners.lp_norm_mkl import LpNormMKL
from kernalign.learners.polynomial_mkl import PolynomialMKL
from kernalign.learners.reweighted import Reweighted
from kernalign.learners.ridge_mkl import RidgeMKL
from kernalign.learners.sampled import Sampled
from kernalign.learners.screened_alignment import ScreenedAlignment
from kernalign.learners.uniform import UniformWeights

__all__ = [
    "ContinuousAlignment",
    "ContinuousEvidence",
    "ContinuousRisk",
    "DiscreteAlignment",
    "FiniteLearner",
    "KernelSearch",
    "Learned",
    "Learner",
    "LpNormMKL",
    "PolynomialMKL",
    "Reweighted",
    "RidgeMKL",
    "Sampled",
    "ScreenedAlignment",
    "UniformWeights",
]
