"""The kernel of a fitted search, optimised on other rows: for a search that failed there."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernalign.criteria.kernel_sum import NOISE, KernelSum, Term
from kernalign.gram import Target
from kernalign.gram.packed import PackedRows
from kernalign.gram.sampling import rows_in_proportion
from kernalign.learners.base import Learned, generator
from kernalign.learners.kernel_search import CHOSEN, LEAST_CLASS_NOISE, KernelSearch, normalised
from kernalign.rows import as_rows
from kernalign.solvers.family_search import Effort, learn

#: Rows and steps of the search.
ROWS, STEPS = 250, 30


def search_near(start: KernelSearch, X: Any, target: Target) -> Learned:
    """The local optimum of the evidence on rows X near the kernel of a search on other rows.

    The columns keep the units of that search. Its labels have a say in the optimum that is reached,
    not in its value.
    """
    rows = rows_in_proportion(target, ROWS, generator(0))
    few, labels, units = as_rows(X).take(rows), target.rows(rows), start.units_
    least = LEAST_CLASS_NOISE if target.classes else NOISE[0]
    effort = Effort(prior=float(start.prior), least_noise=least)
    packed = PackedRows(units(few), labels, codes=units.codes)
    found = learn(packed, kernel_sum(start), STEPS, effort, CHOSEN)
    kernel, alignment = normalised(found.kernel, units, few, labels)
    noise = float(np.exp(found.kernel.log_noise))
    extra = {"noise_": noise, "units_": units, "rows_": rows}
    return Learned(kernel, alignment, [], objective=found.evidence, extra=extra)


def kernel_sum(fitted: KernelSearch) -> KernelSum:
    """The kernel and the noise of a fitted search as a sum of terms."""
    kernel = fitted.kernel_
    pairs = zip(kernel.kernels, kernel.weights, strict=True)
    return KernelSum(tuple(Term.of(*pair) for pair in pairs), float(np.log(fitted.noise_)))
