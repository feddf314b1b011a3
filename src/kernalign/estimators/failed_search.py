"""Repeat a failed search of a fold from the kernel of all rows.

A search can end in a bad optimum, for example one that explains everything as noise. It has failed
if the kernel of all rows is far better on the training rows of the fold. The search is then
repeated from this kernel on the fold's training rows, and the optimum near it is evaluated.
Held-out rows therefore only affect the starting point.
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

#: Number of training rows on which the kernels are compared, and the difference in nats above which
#: a search has failed. Successful searches differ by less than 9 nats.
ROWS, FAILED = 150, 15.0


def better_search(found: Learned, learner: KernelSearch, rows: Problem) -> Learned | None:
    """The result of a search on the training rows of a fold, started from the kernel of all rows.

    None if the fold's own search did not fail, or if the new one is not better.

    found : the result of the fold's own search; learner : fitted to all rows.
    """
    some = rows.rows(rows_in_proportion(rows.target, ROWS, generator(0)))
    own = _nats(found.kernel, found.extra["noise_"], some)
    if _nats(learner.kernel_, learner.noise_, some) < own + FAILED:
        return None
    again = search_near(learner, rows.X, rows.unweighted_classes)
    return again if _nats(again.kernel, again.extra["noise_"], some) > own else None


def _nats(kernel: LearnedKernel, noise: float, rows: Problem) -> float:
    """Evidence, or, for classes, the log-probability of leave-one-out predictions."""
    target = rows.unweighted_classes
    solved = ridge_at(kernel(rows.X), target, float(np.log(noise)))
    if not target.classes:
        return solved.evidence
    return class_score(solved.left_out, target.codes, target.weight)
