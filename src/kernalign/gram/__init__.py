"""Sums over pairs of rows. `pair_sums` selects how; other code does not depend on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernalign.gram.base import Element, PairSums, Probe
from kernalign.gram.blocks import BlockSums
from kernalign.gram.factored import FeatureSums
from kernalign.gram.onepass import OnePassSums
from kernalign.gram.target import Target
from kernalign.kernels import Family, SearchSpace
from kernalign.kernels.structure import has_features, is_scalar
from kernalign.rows import as_rows

__all__ = ["Element", "PairSums", "Probe", "Target", "check_summable", "pair_sums"]

#: Dense blocks need about this many arrays of n^2 / 2 numbers at once.
_DENSE_ARRAYS = 6
#: Memory limit of dense blocks.
DENSE_BYTES = 8 << 30


def pair_sums(
    families: Sequence[Family],
    spaces: Sequence[SearchSpace],
    X: Any,
    target: Target,
) -> PairSums:
    """The cheapest exact way to sum over pairs for these families on these rows."""
    target = target.counted()
    check_summable(families, X)
    features = [family for family in families if has_features(family)]
    if len(features) == len(families):
        return FeatureSums(features, X, target)
    scalars = [family for family in families if is_scalar(family)]
    if len(scalars) == len(families):
        return OnePassSums(scalars, spaces, X, target)
    needed = _DENSE_ARRAYS * 4 * len(X) ** 2
    if needed > DENSE_BYTES:
        raise ValueError(
            f"Learning {', '.join(type(f).__name__ for f in families)} with several parameters on "
            f"{len(X)} rows needs {needed / 2**30:.0f} GB for dense Gram matrices, more than the "
            f"{DENSE_BYTES / 2**30:.0f} GB allowed. Fit on a subset of rows, or use a family with "
            "one parameter, such as Gaussian()."
        )
    return BlockSums(families, X, target)


def check_summable(families: Sequence[Family], X: Any) -> None:
    """Refuse families that need more than one pass if the rows are not in memory."""
    if not as_rows(X).in_memory and not all(is_scalar(family) for family in families):
        raise ValueError(
            f"Learning {', '.join(type(f).__name__ for f in families)} on rows that are not in "
            "memory needs families with one parameter, such as Gaussian(). For others, learn on a "
            "sample: Sampled(learner)."
        )
