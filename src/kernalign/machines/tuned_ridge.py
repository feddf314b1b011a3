"""Kernel ridge regression that tunes its noise, with leave-one-out outputs in closed form.

A = K + h (c + nu diag(1/w)) as in `criteria.sum_evidence`: the constant kernel c represents the
mean, h is the mean diagonal of K. One factorisation gives the machine, its evidence, and its
leave-one-out outputs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernalign import _lapack
from kernalign._threads import begin_beside, blocks_in_threads, map_ahead
from kernalign._typing import Array, IntArray
from kernalign.criteria.kernel_sum import CONSTANT
from kernalign.criteria.sum_evidence import MIN_QUADRATIC_FORM, leave_one_out
from kernalign.gram import Target
from kernalign.machines.calibration import best_slopes, log_losses, margins
from kernalign.machines.model import DualModel
from kernalign.machines.posterior import Posterior

#: Factor between values of the noise that classes are tried with, and the difference of leave-one-
#: out log-probabilities, in nats, that tells them apart.
FACTOR, SAME_SCORE = 4.0, 1.0
#: Changes of the noise that are tried at most, in each direction; of numbers, factorisations.
MOST_STEPS, FACTORISATIONS = 5, 3
#: Range of the noise, in units of the kernel.
LOWEST, HIGHEST = 1e-9, 1e4


@dataclass(frozen=True)
class TunedRidge:
    """The machine at one noise.

    model : coefficients and constant; posterior : its Gaussian process.
    left_out : (n, c) leave-one-out outputs.
    evidence : in nats; slope : its derivative by the log noise.
    """

    log_noise: float
    model: DualModel
    posterior: Posterior
    left_out: Array
    evidence: float
    slope: float


@dataclass(frozen=True)
class SolvedRidge:
    """The Cholesky factor of A, the solution a = A^-1 Y, the machine and its Gaussian process."""

    L: Array
    a: Array
    model: DualModel
    posterior: Posterior


def mean_diagonal(K: Array, target: Target) -> float:
    """tr(WK) / N, the unit of the noise; 1 if K is zero, as for constant columns."""
    return float(target.weight @ np.diagonal(K)) / target.total or 1.0


def solved_ridge(K: Array, target: Target, log_noise: float) -> SolvedRidge:
    """The machine at one noise, in units of the mean diagonal of K, which is overwritten."""
    w, N = target.weight, target.total
    n = len(K)
    h = mean_diagonal(K, target)
    noise, constant = float(np.exp(log_noise)) * h, CONSTANT * h
    A = _lapack.symmetric(K)
    A += constant
    A.ravel(order="K")[:: n + 1] += noise / w
    L = _lapack.cholesky(A)
    a = _lapack.solve(L, target.centred)
    mean = w @ target.values / N
    model = DualModel(a, mean + constant * a.sum(axis=0))
    return SolvedRidge(L, a, model, Posterior.of(a, target, noise, constant))


def ridge_at(K: Array, target: Target, log_noise: float) -> TunedRidge:
    """The machine with its evidence and leave-one-out outputs."""
    found = solved_ridge(K, target, log_noise)
    Y, w, N = target.centred, target.weight, target.total
    (n, c), a, noise = Y.shape, found.a, found.posterior.noise
    q = max(float(np.vdot(a, Y)), MIN_QUADRATIC_FORM)
    log_det = 2 * float(np.log(np.diagonal(found.L)).sum())
    repeated = float(np.log(w).sum()) + (N - n) * np.log(noise)
    evidence = -0.5 * (N * np.log(q / (N * c)) + log_det + repeated)
    own = _lapack.inverse_diagonal(found.L)
    slope = -0.5 * (noise * float((own - N / q * (a * a).sum(axis=1)) @ (1 / w)) + N - n)
    left_out = w @ target.values / N + leave_one_out(Y, a, own, w, noise)
    return TunedRidge(log_noise, found.model, found.posterior, left_out, evidence, slope)


def tuned_ridge(
    K: Array,
    target: Target,
    log_noise: float,
    codes: IntArray | None = None,
    steps: int = MOST_STEPS,
) -> TunedRidge:
    """The machine with the noise tuned from a first value.

    Numbers: secant steps up the evidence. Classes, by their `codes`: factors of four up, then down,
    as long as the leave-one-out log-probability of the classes hardly falls; of values that it does
    not tell apart, the largest.

    steps : maximum number of changes of the noise.
    """
    if codes is None:
        return _up_the_evidence(K, target, log_noise, steps)
    with blocks_in_threads():
        return _better_classes(K, target, codes, log_noise, steps)


def noise_up_the_evidence(K: Array, target: Target, log_noise: float) -> float:
    """The log noise, by factors of four above a first one, up to which the evidence rises."""
    evidence = ridge_at(K.copy(), target, log_noise).evidence
    while (more := log_noise + float(np.log(FACTOR))) <= np.log(HIGHEST):
        before, evidence = evidence, ridge_at(K.copy(), target, more).evidence
        if evidence <= before:
            break
        log_noise = more
    return log_noise


def class_score(left_out: Array, codes: IntArray, weight: Array) -> float:
    """Log-probability of the classes under calibrated leave-one-out outputs, in nats."""
    decision = left_out[:, 0] if left_out.shape[1] == 1 else left_out
    rows = margins(decision[None], codes)
    losses = log_losses(rows, best_slopes(rows, weight))
    return -float(losses[0] @ weight)


def _better_classes(
    K: Array, target: Target, codes: IntArray, log_noise: float, steps: int
) -> TunedRidge:
    """The machine of the largest noise that leave-one-out predictions do not tell from the best.

    The log-probability is often flat over a wide range: its maximum there is chance, and a machine
    with more noise is the simpler one.
    """

    def at(step: int) -> tuple[TunedRidge, float]:
        found = ridge_at(K.copy(), target, float(log_noise + step * np.log(FACTOR)))
        return found, class_score(found.left_out, codes, target.weight)

    tried: list[tuple[TunedRidge, float]] = []
    best = -np.inf
    # The first value is never worse than the best, so that the second is tried, too.
    for numbers, sure in ((range(steps + 1), 2), (range(-1, -steps - 1, -1), 1)):
        for new, score in map_ahead(at, numbers, sure):
            tried.append((new, score))
            best = max(best, score)
            if score < best - SAME_SCORE:
                break
        if best > tried[0][1] + SAME_SCORE:
            # More noise is better: less is not tried.
            break
    same = [found for found, score in tried if score >= best - SAME_SCORE]
    # A score that is not a number equals none.
    return max(same, key=lambda found: found.log_noise, default=tried[0][0])


def _up_the_evidence(K: Array, target: Target, log_noise: float, steps: int) -> TunedRidge:
    # Each of the steps needs the one before.
    begin_beside()
    seen = [ridge_at(K.copy(), target, log_noise)]
    while len(seen) < min(steps, FACTORISATIONS) and abs(seen[-1].slope) > 0.5:
        new = seen[-1]
        step = float(np.sign(new.slope)) * min(1.0, abs(new.slope) / (0.1 * target.total))
        if len(seen) > 1:
            between = new.log_noise - seen[-2].log_noise
            if (new.slope - seen[-2].slope) * between < 0:
                step = -new.slope * between / (new.slope - seen[-2].slope)
                step = float(np.clip(step, -2.0, 2.0))
        log_noise = float(np.clip(new.log_noise + step, np.log(LOWEST), np.log(HIGHEST)))
        seen.append(ridge_at(K.copy(), target, log_noise))
    return max(seen, key=lambda one: one.evidence)
