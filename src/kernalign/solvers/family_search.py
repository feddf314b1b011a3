"""The paper's loop over families as well as parameters, with evidence instead of alignment.

1. tied       the best kernel of each family with one bandwidth, on a few rows
2. relevant   the best family of each group with one relevance per feature; the winner is searched
              further, and its relevances are tried in the other families of its group
3. sum        while the evidence rises enough: add the most promising kernel, optimise all of them
4. choose     by evidence (regression), or by evidence and leave-one-out log-probability (classes):
              the simplest of tied, relevant and sum, unless a more complex one gains enough
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kernalign._threads import begin_beside, map_tasks
from kernalign.criteria.kernel_sum import NOISE, KernelSum, Term, retied
from kernalign.criteria.linear_evidence import evidence_like
from kernalign.criteria.sum_evidence import SumEvidence
from kernalign.gram.packed import SUMS, PackedRows
from kernalign.kernels import Additive, Family, Gaussian, Laplacian, Linear, Matern

#: Groups of families. The families of a group have similar relevances: smooth in single features,
#: smooth in all features together, rough.
GROUPS: tuple[tuple[Family, ...], ...] = (
    (Linear(), Additive()),
    (Gaussian(ard=True), Matern(2.5, ard=True), Matern(1.5, ard=True)),
    (Laplacian(ard=True),),
)
#: Families that are only tried as a replacement of another one of their group.
SISTERS: tuple[Family, ...] = (Matern(2.5, ard=True),)
#: Starts of the scan: mean distance of two rows in units of the kernel, and noise.
SCALES, FIRST_NOISE = (0.1, 0.5, 2.0), (0.01, 0.3)
#: Mean of |x - x'|^2 and of |x - x'| of one standardised normal feature.
MEAN_SQUARE, MEAN_ABSOLUTE = 2.0, 1.13
#: Initial sizes of a new kernel, relative to the sum so far.
SHARES = (0.1, 1.0)

TIED, RELEVANT, SUM = "tied", "relevant", "sum"


@dataclass(frozen=True)
class Effort:
    """How far a search goes.

    prior : strength of the prior that relevances are equal.
    gain : nats that a more complex kernel, other units or a curve of the response must gain.
    max_terms : maximum number of kernels in a sum.
    race, settle : steps of each group's best family, and of the winner.
    least_noise : the smallest noise; class labels are never exact numbers.
    noises : values of the noise in the scan; additions : kernels that are tried in a sum.
    """

    prior: float = 3.0
    gain: float = 3.0
    max_terms: int = 3
    race: int = 8
    settle: int = 30
    least_noise: float = NOISE[0]
    noises: tuple[float, ...] = FIRST_NOISE
    additions: int = 2


@dataclass(frozen=True)
class Found:
    """A kernel on the path, the stage that found it and its evidence with the prior, in nats."""

    kernel: KernelSum
    evidence: float
    stage: str


def learn(rows: PackedRows, start: KernelSum, iterations: int, effort: Effort, stage: str) -> Found:
    """The local optimum of the evidence near a kernel."""
    problem = evidence_like(rows, start, effort.prior, effort.least_noise)
    return Found(*problem.minimise(start, iterations), stage)


def settled(rows: PackedRows, start: KernelSum, effort: Effort, stage: str) -> Found:
    """The local optimum near the winner of a race, while other threads have nothing to do."""
    begin_beside(once=True)
    return learn(rows, start, effort.settle, effort, stage)


# -- one bandwidth ----------------------------------------------------------------------------


def tied_kernels(
    rows: PackedRows, families: Sequence[Family], effort: Effort
) -> dict[Family, Found]:
    """The best kernel of each family with one bandwidth."""
    found = map_tasks(lambda family: tied_kernel(rows, family, effort), families)
    return dict(zip(families, found, strict=True))


def tied_kernel(
    rows: PackedRows, family: Family, effort: Effort, near: KernelSum | None = None
) -> Found:
    """The best kernel with one bandwidth: from a coarse scan, or near another kernel."""
    problem = evidence_like(rows, near or _start(family, rows.d), 0.0, effort.least_noise)
    steps = effort.race // 2
    if near is None:
        near, steps = _best_start(problem, family, effort.noises), 2 * steps
    return Found(*problem.minimise(near, steps), TIED)


def _best_start(problem: SumEvidence, family: Family, noises: Sequence[float]) -> KernelSum:
    """The best of some bandwidths and values of the noise."""
    options = []
    for scale in _scales(family):
        starts = [_start(family, problem.rows.d, scale, noise) for noise in noises]
        parts = problem.parts(starts[0])
        options += [(problem.value(start, parts), start) for start in starts]
    return min(options, key=lambda option: option[0])[1]


def _scales(family: Family) -> tuple[float, ...]:
    # The scale of a sum is optimised in closed form.
    return (1.0,) if family.pair_feature in SUMS else SCALES


def _start(family: Family, d: int, scale: float = 1.0, noise: float = 1.0) -> KernelSum:
    """One bandwidth at which the mean distance of two rows is `scale`."""
    usual = {"square": MEAN_SQUARE, "absolute": MEAN_ABSOLUTE}.get(family.pair_feature, 1.0)
    return KernelSum((Term(family, np.log([scale / (usual * d)])),), float(np.log(noise)))


def best_of(found: Mapping[Family, Found], families: Sequence[Family] | None = None) -> Found:
    """The kernel of largest evidence."""
    return max((found[f] for f in families or found if f in found), key=lambda one: one.evidence)


# -- one relevance for each feature, and sums -------------------------------------------------


def search(
    rows: PackedRows,
    tied: Mapping[Family, Found],
    groups: Sequence[Sequence[Family]],
    effort: Effort,
    *,
    known: bool,
) -> list[Found]:
    """Kernels from the simplest to the most complex.

    tied : the best kernels with one bandwidth; known : whether they were found on these rows.
    """
    leads = [best_of(tied, group) for group in groups if any(f in tied for f in group)]

    def race(lead: Found) -> tuple[Found, Found]:
        if not known:
            lead = learn(rows, lead.kernel, effort.race // 2, effort, TIED)
        start = retied(lead.kernel, rows.d)
        # If everything is explained as noise, relevances have no gradient.
        start = replace(start, log_noise=min(start.log_noise, 0.0))
        return lead, learn(rows, start, effort.race, effort, RELEVANT)

    raced = map_tasks(race, leads)
    path = [lead for lead, _ in raced]
    ranked = sorted((own for _, own in raced), key=lambda one: -one.evidence)
    group = next(g for g in groups if ranked[0].kernel.terms[0].family in g)
    start = _best_sister(rows, ranked[0], group, effort)
    ranked[0] = settled(rows, start, effort, RELEVANT)
    path += ranked
    others = [one.kernel.terms[0] for one in ranked[1:]]
    others += [one.kernel.terms[0] for one in tied.values()]
    best = max(path, key=lambda one: one.evidence)
    return path + grow(rows, best, others, effort)


def _best_sister(
    rows: PackedRows, found: Found, group: Sequence[Family], effort: Effort
) -> KernelSum:
    """The same relevances in another family of the group, if evidence prefers it."""
    (term,) = found.kernel.terms
    options = [(-found.evidence, found.kernel)]
    for family in group:
        if family != term.family and family.pair_feature == term.family.pair_feature:
            kernel = replace(found.kernel, terms=(replace(term, family=family),))
            problem = SumEvidence.like(rows, kernel, effort.prior, effort.least_noise)
            options.append((problem.value(kernel), kernel))
    return min(options, key=lambda option: option[0])[1]


def grow(rows: PackedRows, best: Found, candidates: Sequence[Term], effort: Effort) -> list[Found]:
    """Add the most promising kernel while the evidence rises enough."""
    path: list[Found] = []
    while len(best.kernel.terms) < effort.max_terms:
        starts = _promising(rows, best.kernel, candidates, effort)
        if not starts:
            break
        tried = map_tasks(lambda k: learn(rows, k, effort.race, effort, SUM), starts)
        top = max(tried, key=lambda one: one.evidence)
        if top.evidence < best.evidence + effort.gain:
            break
        best = settled(rows, top.kernel, effort, SUM)
        path.append(best)
    return path


def _promising(
    rows: PackedRows, kernel: KernelSum, candidates: Sequence[Term], effort: Effort
) -> list[KernelSum]:
    """The families whose kernels, added as they are, leave the largest evidence."""
    used = {term.family for term in kernel.terms}
    parts = SumEvidence.like(rows, kernel, effort.prior, effort.least_noise).parts(kernel)

    def added(new: Term) -> tuple[float, KernelSum]:
        """The better share of a candidate, and -log evidence with it."""
        size = KernelSum((replace(new, s=0.0),), 0.0).size(rows.d)
        scales = [float(np.log(share * kernel.size(rows.d) / size)) for share in SHARES]
        sums = [replace(kernel, terms=(*kernel.terms, replace(new, s=s))) for s in scales]
        problem = SumEvidence.like(rows, sums[0], effort.prior, effort.least_noise)
        more_parts = [*parts, problem.part(new)]
        options = [(problem.value(more, more_parts), more) for more in sums]
        return min(options, key=lambda option: option[0])

    new = [term for term in candidates if term.family not in used]
    tried: dict[Family, tuple[float, KernelSum]] = {}
    for term, option in zip(new, map_tasks(added, new), strict=True):
        if term.family not in tried or option[0] < tried[term.family][0]:
            tried[term.family] = option
    ranked = sorted(tried.values(), key=lambda option: option[0])
    return [more for _, more in ranked[: effort.additions]]


# -- choice -----------------------------------------------------------------------------------


def simplest_enough(path: Sequence[Found], scores: Sequence[float], gain: float) -> Found:
    """The best kernel of the simplest stage, unless one of a richer stage scores more by `gain`."""
    best: tuple[float, Found] | None = None
    for stage in (TIED, RELEVANT, SUM):
        scored = [pair for pair in zip(scores, path, strict=True) if pair[1].stage == stage]
        if scored:
            top = max(scored, key=lambda pair: pair[0])
            if best is None or top[0] > best[0] + gain:
                best = top
    assert best is not None
    return best[1]
