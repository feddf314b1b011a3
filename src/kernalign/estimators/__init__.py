"""scikit-learn estimators: validate, learn the kernel, train a machine on it."""

from kernalign.estimators.alignment_test import AlignmentTest, alignment_test
from kernalign.estimators.classifier import KernelClassifier
from kernalign.estimators.features import KernelFeatures
from kernalign.estimators.incremental import IncrementalClassifier, IncrementalRegressor
from kernalign.estimators.regressor import KernelRegressor

__all__ = [
    "AlignmentTest",
    "IncrementalClassifier",
    "IncrementalRegressor",
    "KernelClassifier",
    "KernelFeatures",
    "KernelRegressor",
    "alignment_test",
]
