"""Kernel learners: (X, target) -> LearnedKernel and history."""

from kernalign.learners.base import DualModel, Learned, Learner
from kernalign.learners.continuous_alignment import ContinuousAlignment

__all__ = ["ContinuousAlignment", "DualModel", "Learned", "Learner"]
