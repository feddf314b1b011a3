"""A search in a fold that failed is tried again from the kernel of all rows.

A search can end where all is noise, or in another bad optimum. The kernel of all rows shows it: on
the training rows of the fold it is then far better than what the fold has found. What is judged is
the optimum that the fold's own rows have near this kernel, so that held-out rows say no more than
where to look.
"""

from __future__ import annotations

import numpy as np

from kernalign.estimators.problem import Problem
from kernalign.gram.sampling import rows_in_proportion
from kernalign.kernels import LearnedKernel
from kernalign.learners import KernelSearch
from kernalign.learners.base import Learned, generator
from kernalign.learners.near_search import search_near
from kernalign.machines.tuned_ridge import class_score, ridge_at

#: Training rows that two kernels are compared on, and nats by which that of all rows is better on
#: them if the search has failed. Searches that have not are less than 9 nats behind.
ROWS, FAILED = 150, 15.0


def better_search(found: Learned, learner: KernelSearch, rows: Problem) -> Learned | None:
    """What a search from the kernel of all rows finds on the training rows of a fold.

    None if the fold's own search has not failed, or the new one finds nothing better.

    found : by the fold itself; learner : fitted to all rows.
    """
    some = rows.rows(rows_in_proportion(rows.target, ROWS, generator(0)))
    own = _nats(found.kernel, found.extra["noise_"], some)
    if _nats(learner.kernel_, learner.noise_, some) < own + FAILED:
        return None
    again = search_near(learner, rows.X, rows.unweighted_classes)
    return again if _nats(again.kernel, again.extra["noise_"], some) > own else None


def _nats(kernel: LearnedKernel, noise: float, rows: Problem) -> float:
    """Evidence; for classes the log-probability of leave-one-out predictions."""
    target = rows.unweighted_classes
    solved = ridge_at(kernel(rows.X), target, float(np.log(noise)))
    if not target.classes:
        return solved.evidence
    return class_score(solved.left_out, target.codes, target.weight)
