"""The one list of learners under test: an entry here brings a learner all common tests.

scikit-learn's checks, saving and loading, callbacks, weights of rows, refits and the copies for
cross-validation folds iterate over it; `test_contract.py` holds that no learner is missing.
"""

from __future__ import annotations

from kernalign import (
    ContinuousAlignment,
    ContinuousEvidence,
    ContinuousRisk,
    DiscreteAlignment,
    Gaussian,
    KernelSearch,
    LpNormMKL,
    PolynomialMKL,
    Reweighted,
    RidgeMKL,
    Sampled,
    ScreenedAlignment,
    UniformWeights,
)
from kernalign.learners import Learner
from tests.extend.nearest_kernel import NearestKernel

KERNELS = Gaussian().grid(0.5, 5, 3)
LEARNERS: list[Learner] = [
    ContinuousAlignment(),
    ContinuousAlignment(start="best"),
    ContinuousAlignment(selection="step"),
    ContinuousAlignment(corrective=True),
    ContinuousAlignment(Gaussian(ard=True)),
    ContinuousAlignment(early_stopping=True),
    ContinuousEvidence(),
    ContinuousEvidence(criterion="loo"),
    KernelSearch(),
    KernelSearch(effort="quick"),
    ScreenedAlignment(),
    ContinuousRisk(corrective=True),
    DiscreteAlignment(KERNELS),
    LpNormMKL(KERNELS, p=2),
    PolynomialMKL(KERNELS),
    Reweighted(),
    RidgeMKL(KERNELS),
    UniformWeights(KERNELS),
    Sampled(tol=0.5, min_rows=20),
    NearestKernel(KERNELS),
]
#: Those that show their iterations to a callback.
WATCHED = [learner for learner in LEARNERS if hasattr(learner, "callback")]


def name(learner: Learner) -> str:
    """A short name for a test's id."""
    options = [
        f"{key}={value!r}"
        for key, value in learner.get_params(deep=False).items()
        if key != "kernels" and repr(value) != repr(type(learner)().get_params(deep=False)[key])
    ]
    return f"{type(learner).__name__}({', '.join(options)})"


def concrete(owner: type[Learner] = Learner) -> set[type[Learner]]:
    """Every learner of the package that can be made."""
    found = {owner} if not owner.__abstractmethods__ else set()
    for below in owner.__subclasses__():
        found |= concrete(below)
    return {learner for learner in found if learner.__module__.startswith("kernalign.")}
