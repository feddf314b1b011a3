"""The combinations of families whose sums over pairs are tested, and what must serve them."""

from __future__ import annotations

from dataclasses import dataclass

from kernalign.kernels import FeatureFamily
from kernalign.kernels.structure import is_scalar
from tests.kernels.families import CASES, Case, named


@dataclass(frozen=True)
class Space:
    name: str
    cases: list[Case]
    backend: str

    @property
    def tabulated(self) -> bool:
        """Whether probes interpolate."""
        return self.backend == "OnePassSums"


def _single(case: Case) -> Space:
    backend = "BlockSums"
    if is_scalar(case.family):
        backend = "OnePassSums"
    if isinstance(case.family, FeatureFamily):
        backend = "FeatureSums"
    return Space(case.name, [case], backend)


SPACES = [
    *(_single(case) for case in CASES),
    Space("two-scalars", named("gaussian", "matern-0.5"), "OnePassSums"),
    Space(
        "scalars-on-views",
        named("gaussian-positions", "laplacian", "matern-names", "polynomial-mixed"),
        "OnePassSums",
    ),
    Space("features", named("linear", "fourier", "dirichlet-name"), "FeatureSums"),
    Space("scalar-and-features", named("gaussian", "linear", "fourier"), "BlockSums"),
    Space("scalar-and-ard", named("laplacian", "gaussian-ard"), "BlockSums"),
    Space(
        "everything",
        named("rational-quadratic-ard", "custom-gradient", "dirichlet-name", "polynomial-3"),
        "BlockSums",
    ),
]
