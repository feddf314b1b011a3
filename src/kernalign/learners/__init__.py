"""Kernel learners: (X, target) -> LearnedKernel and history."""

from kernalign.learners.base import Learned, Learner
from kernalign.learners.continuous_alignment import ContinuousAlignment

__all__ = ["ContinuousAlignment", "Learned", "Learner"]
