"""scikit-learn estimators: validate, learn the kernel, train a machine on it."""

from kernalign.estimators.classifier import KernelClassifier
from kernalign.estimators.features import KernelFeatures
from kernalign.estimators.regressor import KernelRegressor

__all__ = ["KernelClassifier", "KernelFeatures", "KernelRegressor"]
