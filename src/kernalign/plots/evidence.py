"""The evidence of kernels along their bandwidths: the landscape of a search by evidence."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernalign._typing import Array
from kernalign.gram import Target
from kernalign.kernels import FamilyMember, LearnedKernel
from kernalign.learners import ContinuousEvidence, KernelSearch
from kernalign.machines.tuned_ridge import ridge_at

#: Learners that maximise the evidence.
BY_EVIDENCE = (KernelSearch, ContinuousEvidence)
#: Factors of the noise that each point is tried with: the best one counts.
NOISES = (0.25, 1.0, 4.0)
#: Kernels beside the chosen one, at most.
MOST = 3


def tried_kernels(learner: Any) -> list[tuple[str, LearnedKernel, float]]:
    """(label, kernel, noise) of the kernel that was chosen, then of the best others in its history.

    Of each combination of families the one of largest evidence stands for all.
    """
    noise = float(learner.noise_)
    found = {_label(learner.kernel_): (learner.kernel_, noise, np.inf)}
    for record in getattr(learner, "history_", []):
        kernel = record.get("kernel")
        if kernel is None:
            continue
        if isinstance(kernel, FamilyMember):
            kernel = LearnedKernel([kernel], np.ones(1))
        label, value = _label(kernel), float(record["objective"])
        if label not in found or value > found[label][2]:
            found[label] = (kernel, float(record.get("noise", noise)), value)
    best = sorted(found.items(), key=lambda item: -item[1][2])[: 1 + MOST]
    return [(label, kernel, noise) for label, (kernel, noise, _) in best]


def _label(kernel: LearnedKernel) -> str:
    return " + ".join(dict.fromkeys(_name(member) for member in kernel.kernels)) or "constant"


def _name(member: FamilyMember) -> str:
    parameters = member.family.constants()
    shown = ", ".join(f"{value:g}" for value in parameters.values())
    return type(member.family).__name__ + (f"({shown})" if shown else "")


def evidence_along(
    kernel: LearnedKernel, noise: float, rows: Array, target: Target, multiples: Array
) -> Array:
    """Evidence, in nats, of the kernel with all its bandwidths multiplied, at its best noise."""
    return np.array([_evidence(_stretched(kernel, c), noise, rows, target) for c in multiples])


def has_bandwidth(member: FamilyMember) -> bool:
    """Whether the kernel has bandwidths; otherwise it is the same along the whole line."""
    return hasattr(member.family, "bandwidth_range")


def _stretched(kernel: LearnedKernel, factor: float) -> LearnedKernel:
    members = [
        FamilyMember(m.family, m.sigma * factor) if has_bandwidth(m) else m for m in kernel.kernels
    ]
    return LearnedKernel(members, kernel.weights)


def _evidence(kernel: LearnedKernel, noise: float, rows: Array, target: Target) -> float:
    K = kernel(rows)
    return max(
        ridge_at(K.copy(), target, float(np.log(noise * factor))).evidence for factor in NOISES
    )
