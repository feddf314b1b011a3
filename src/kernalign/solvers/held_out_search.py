"""Optimise the kernel of a search on many more rows, by the errors of rows that are held out.

A search by evidence sees at most a thousand rows, since each step factorises their Gram matrix.
Here a step costs O(n m^2) for n rows and m landmarks (`criteria.held_out_error`).

1. half    optimise the kernel on half of the rows
2. grow    add the most promising kernel while that lowers the error enough
3. whole   a few more steps on all of the rows
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kernalign.criteria.held_out_error import HeldOutError
from kernalign.criteria.kernel_sum import KernelSum, Term, retied
from kernalign.gram.crossed import CrossedRows
from kernalign.solvers.family_search import SHARES, Effort, Found

#: For families that need differences of single features, the maximum size of an array of features
#: times rows times landmarks; and those that are not added, because their kernel values take ten
#: times as long as others, here and in the machine.
MOST_NUMBERS, EXPENSIVE = {"absolute": 6e8, "bump": 6e7}, "bump"
#: Maximum number of steps on half of the rows, with a further kernel before and after it has gained
#: enough, and on all of the rows.
HALF_STEPS, RACE_STEPS, GROWN_STEPS, WHOLE_STEPS = 15, 5, 10, 8
#: Factor between values of the noise, and the share by which less noise must lower the error.
NOISE_FACTOR, MIN_GAIN = 4.0, 0.005


def optimised(
    half: CrossedRows, whole: CrossedRows, found: Found, path: Sequence[Found], effort: Effort
) -> KernelSum:
    """The local optimum near the kernel of a search, perhaps with further kernels.

    path : what the search has found; its kernels are candidates.
    """
    start = retied(found.kernel, half.d)
    best, value = _minimised(half, start, HALF_STEPS, effort)
    candidates = [term for term in _candidates(path, half.d) if _affordable(term, half)]
    best = _grown(half, best, value, candidates, effort)
    return _minimised(whole, best, WHOLE_STEPS, effort)[0]


def with_more_noise(rows: CrossedRows, k: KernelSum, most: float, effort: Effort) -> KernelSum:
    """The same kernel with more noise, as long as that hardly raises the error.

    A few landmarks need no noise to smooth the labels. With more of them, a machine would follow
    the noise of the labels.

    most : log noise up to which it is raised.
    """
    criterion, log_noise = _criterion(rows, k, effort), k.log_noise
    tried = np.arange(log_noise, max(most, log_noise) + 1e-9, np.log(NOISE_FACTOR)).tolist()
    values = criterion.values_at(k, tried)
    limit = next(values) + 0.5 * criterion.held * MIN_GAIN
    for more, value in zip(tried[1:], values, strict=True):
        if value > limit:
            break
        log_noise = more
    return replace(k, log_noise=log_noise)


def affordable_share(k: KernelSum, numbers: float) -> float:
    """The share of rows and of landmarks for which a step takes seconds at most.

    numbers : features times rows times landmarks.
    """
    most = min(MOST_NUMBERS.get(term.family.pair_feature, numbers) for term in k.terms)
    return float(np.sqrt(min(most / numbers, 1.0)))


def _affordable(term: Term, rows: CrossedRows) -> bool:
    if term.family.pair_feature == EXPENSIVE:
        return False
    return affordable_share(KernelSum((term,), 0.0), rows.n * rows.m * rows.d) == 1


def _minimised(
    rows: CrossedRows, start: KernelSum, steps: int, effort: Effort
) -> tuple[KernelSum, float]:
    """The kernel after some steps, and its gain in nats (larger is better)."""
    return _criterion(rows, start, effort).minimise(start, steps)


def _criterion(rows: CrossedRows, k: KernelSum, effort: Effort) -> HeldOutError:
    return HeldOutError.like(rows, k, effort.prior, effort.least_noise)


def _candidates(path: Sequence[Found], d: int) -> list[Term]:
    """Single kernels of the search, the best of each family first."""
    single = [found for found in path if len(found.kernel.terms) == 1]
    ranked = sorted(single, key=lambda one: -one.evidence)
    best: dict[type, Term] = {}
    for found in ranked:
        (term,) = retied(found.kernel, d).terms
        best.setdefault(type(term.family), replace(term, s=0.0))
    return list(best.values())


def _grown(
    rows: CrossedRows, best: KernelSum, value: float, candidates: Sequence[Term], effort: Effort
) -> KernelSum:
    """The kernel with the candidates that lower the error enough, one after the other."""
    while len(best.terms) < effort.max_terms:
        raced = [
            _minimised(rows, _best_share(rows, best, term, effort), RACE_STEPS, effort)
            for term in candidates
            if type(term.family) not in {type(known.family) for known in best.terms}
        ]
        if not raced:
            break
        # A kernel that is far from its optimum may begin worse than without it.
        winner, gained = max(raced, key=lambda one: one[1])
        if gained < value + effort.gain:
            break
        best, value = _minimised(rows, winner, GROWN_STEPS, effort)
    return best


def _best_share(rows: CrossedRows, best: KernelSum, new: Term, effort: Effort) -> KernelSum:
    """The kernel with a further one, at the better of two shares."""
    options = _sums(best, new, rows.d)
    return min(options, key=lambda k: _criterion(rows, k, effort).value(k))


def _sums(best: KernelSum, new: Term, d: int) -> list[KernelSum]:
    """The kernel with a further one at different shares."""
    size = KernelSum((new,), 0.0).size(d)
    scales = [float(np.log(share * best.size(d) / size)) for share in SHARES]
    return [replace(best, terms=(*best.terms, replace(new, s=s))) for s in scales]
