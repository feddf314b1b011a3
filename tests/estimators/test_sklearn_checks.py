"""Every estimator and learner honours scikit-learn's contract."""

import warnings

from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernalign import (
    AlignmentWarning,
    ContinuousAlignment,
    IncrementalClassifier,
    IncrementalRegressor,
    KernelClassifier,
    KernelFeatures,
    KernelRegressor,
    LpNormMKL,
    RidgeMKL,
)
from tests.learners.learners import KERNELS, LEARNERS

ESTIMATORS = [
    KernelClassifier(),
    KernelRegressor(),
    KernelRegressor(ContinuousAlignment(), machine="svr"),
    KernelFeatures(),
    IncrementalClassifier(),
    IncrementalRegressor(),
    KernelFeatures(output="gram"),
    # One of each class: options of a learner do not change its contract.
    *{type(learner): learner for learner in reversed(LEARNERS)}.values(),
    KernelClassifier(LpNormMKL(KERNELS, p=1), C=1.0, cv=2),
    KernelRegressor(RidgeMKL(KERNELS)),
    KernelClassifier(ContinuousAlignment(), solver="nystroem"),
    KernelRegressor(ContinuousAlignment(), solver="fourier", n_components=100),
    KernelRegressor(ContinuousAlignment(), solver="cg"),
]


def expected_failures(estimator):
    """Check name -> why it cannot pass."""
    if getattr(estimator, "output", None) == "gram":
        why = (
            "a column is a training row, so repeated rows are repeated columns and rows of "
            "weight zero, which a pipeline's next step still sees, are columns too"
        )
        checks = ("dense", "sparse")
        return {f"check_sample_weight_equivalence_on_{kind}_data": why for kind in checks}
    return {}


#: Check name -> the warnings it earns. Class weights of 1000 and 0.0001 leave one class with no
#: weight to speak of, so that no kernel aligns with the labels and the weights of kernels are
#: undetermined: the warnings are the right answer.
#: The labels of the others are random, and a kernel that aligns with them fits noise.
EARNED = {
    "check_class_weight_classifiers": (AlignmentWarning, ConvergenceWarning),
    "check_sample_weights_list": (AlignmentWarning,),
    "check_supervised_y_2d": (AlignmentWarning,),
    "check_n_features_in_after_fitting": (AlignmentWarning,),
    "check_estimator_sparse_array": (AlignmentWarning,),
    "check_estimator_sparse_matrix": (AlignmentWarning,),
}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_check(estimator, check):
    name = getattr(check, "func", check).__name__
    with warnings.catch_warnings():
        for category in EARNED.get(name, ()):
            warnings.simplefilter("ignore", category)
        check(estimator)
