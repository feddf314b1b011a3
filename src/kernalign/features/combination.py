"""k(X, Z) of a combination whose kernels share what a pair of rows tells them."""

from __future__ import annotations

from kernalign._typing import Array
from kernalign.kernels import LearnedKernel
from kernalign.kernels.base import is_scalar


def combined_gram(kernel: LearnedKernel, X: Array, Z: Array) -> Array:
    """sum_t w_t kappa_t(X, Z), a distance computed once for all bandwidths of a family."""
    groups: dict[int, list[int]] = {}
    for i, member in enumerate(kernel.kernels):
        groups.setdefault(id(member.family), []).append(i)
    total: Array | None = None
    for group in groups.values():
        family = kernel.kernels[group[0]].family
        A, B = family.select(X), family.select(Z)
        statistic = family.statistic(A, B) if is_scalar(family) else None
        for i in group:
            sigma = kernel.kernels[i].sigma
            if statistic is not None and is_scalar(family):
                K = family.from_statistic(statistic, sigma)
            else:
                K = family.gram(sigma, A, B)
            K *= kernel.weights[i]
            if total is None:
                total = K
            else:
                total += K
    assert total is not None
    return total
