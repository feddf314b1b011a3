"""One bandwidth per feature from the alignment of single features, times a common scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from kernalign._typing import Array
from kernalign._validation import check_number
from kernalign.gram import Target
from kernalign.gram.centring import VANISHING
from kernalign.kernels import Family, FamilyMember, Gaussian, LearnedKernel
from kernalign.kernels._radial import Radial
from kernalign.learners.base import Learned, Learner
from kernalign.learners.continuous_alignment import ContinuousAlignment
from kernalign.rows.memory import SMALLEST_SPREAD


class ScreenedAlignment(Learner):
    """Relevances from the alignment of single features, then one bandwidth by alignment.

    The alignment a_k of the linear kernel x_k x_k' with the labels is (for two classes) the squared
    correlation of the feature with the labels. The bandwidths are sigma s_k / sqrt(z_k), where s_k
    is the spread of the feature, and z_k = sqrt(a_k - t) above a threshold t and zero below. Only
    sigma is searched, so that few rows are enough. A feature that is relevant only in combination
    with others is not detected; with more rows, `ContinuousEvidence` can detect it.

    Parameters
    ----------
    family : Family, default Gaussian(ard=True)
        Kernels with one bandwidth per feature.
    false_alarms : float
        The threshold is set so that this many features would exceed it by chance if no feature were
        relevant.

    Attributes
    ----------
    kernel_, alignment_, history_ :
        As for `ContinuousAlignment` on the scaled features.
    feature_alignment_ : (d,) array
        a_k for each feature of the family; `threshold_` is t. If no feature exceeds the threshold,
        all have the same relevance.

    Examples
    --------
    >>> import numpy as np
    >>> from kernalign import ScreenedAlignment
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(100, 30))
    >>> learner = ScreenedAlignment(false_alarms=0.1).fit(X, X[:, 0] + X[:, 1] > 0)
    >>> np.flatnonzero(np.isfinite(learner.kernel_.kernels[0].sigma))
    array([0, 1])
    """

    def __init__(self, family: Family | None = None, *, false_alarms: float = 1.0):
        self.family = family
        self.false_alarms = false_alarms

    def learn(
        self, X: Array, target: Target, feature_names: Sequence[str] | None = None
    ) -> Learned:
        family = self._checked_family().resolve(X, feature_names, target.weight)
        tied = family.tied()
        assert tied is not None
        screen = Screen.of(family.select(X), target, float(self.false_alarms))
        root = np.sqrt(screen.relevances()) / screen.spread
        tied.columns = None
        learned = ContinuousAlignment(tied).learn(family.select(X) * root, target)

        def on_features(kernel: FamilyMember) -> FamilyMember:
            """The kernel on the original features that equals the given one on scaled features."""
            with np.errstate(divide="ignore"):
                return FamilyMember(family, family.untie(kernel.sigma, root.size) / root)

        return Learned(
            LearnedKernel([on_features(k) for k in learned.kernel.kernels], learned.kernel.weights),
            learned.alignment,
            [{**record, "kernel": on_features(record["kernel"])} for record in learned.history],
            converged=learned.converged,
            extra={"feature_alignment_": screen.alignment, "threshold_": screen.threshold},
        )

    def _checked_family(self) -> Family:
        check_number(self, "false_alarms", 0)
        family = Gaussian(ard=True) if self.family is None else self.family
        if not (isinstance(family, Radial) and family.ard and not family.untied_names):
            raise ValueError(
                "The 'family' parameter of ScreenedAlignment must be a family with one bandwidth "
                f"per feature, such as Gaussian(ard=True). Got {family!r} instead."
            )
        if family.bounds is not None:
            raise ValueError(
                "The 'family' parameter of ScreenedAlignment must have no bounds, because the "
                f"bandwidths follow from relevances and a common scale. Got {family!r}."
            )
        return family


@dataclass(frozen=True)
class Screen:
    """The alignment a_k of each single feature, the threshold, and the features' spread."""

    alignment: Array
    threshold: float
    spread: Array

    @classmethod
    def of(cls, X: Array, target: Target, false_alarms: float) -> Screen:
        """a_k = |x_k'Y|^2 / (|x_k|^2 |Y'Y|), x_k and Y centred.

        For a feature that is independent of Y, |x_k'Y|^2 / |x_k|^2 is approximately a sum of
        chi-square variables weighted by the eigenvalues of Y'Y / n. One scaled chi-square of the
        same mean and variance gives the threshold. For two classes this is asymptotically exact.
        """
        w, Y = target.weight, target.centred
        # Squares of very large or small values would overflow or underflow.
        largest = np.abs(X).max(axis=0)
        largest[largest == 0] = 1.0
        X = X / largest
        centred = X - w @ X / target.total
        square = w @ centred**2
        products = (target.weighted.T @ centred) ** 2
        S = Y.T @ target.weighted
        size, trace = float(np.linalg.norm(S)), float(np.trace(S))
        constant = square <= VANISHING**2 * (w @ X**2)
        spread = largest * np.sqrt(np.where(constant, 1.0, square / target.total))
        spread = np.maximum(spread, SMALLEST_SPREAD)
        if size == 0:
            return cls(np.zeros(X.shape[1]), 0.0, spread)
        alignment = np.where(constant, 0, products.sum(axis=0)) / np.where(constant, 1, square)
        freedom = (trace / size) ** 2
        chance = chi2.isf(min(1.0, false_alarms / X.shape[1]), freedom)
        return cls(alignment / size, float(size / trace * chance / target.total), spread)

    def relevances(self) -> Array:
        """z_k = sqrt(a_k - t), scaled to mean one; all ones if no feature exceeds the threshold."""
        z = np.sqrt(np.maximum(self.alignment - self.threshold, 0))
        mean = float(z.mean())
        return z / mean if mean > 0 else np.ones_like(z)
