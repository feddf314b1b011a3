"""Preconditioned conjugate gradients for several right-hand sides at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernalign._typing import Array

#: A residual this many times as large as the first one does not become small again: rounding errors
#: have made the system indefinite.
DIVERGED = 1e6


def conjugate_gradients(
    system: Callable[[Array], Array],
    right: Array,
    wanted: Array,
    most: int,
    inverse: Callable[[Array], Array] | None = None,
) -> tuple[Array, bool]:
    """The solution b of system(b) = right, (m, c), and whether its residual is small enough.

    wanted : (c,) norms of the residual at which the iterations end; there are at most `most`.
    inverse : an approximate inverse of the system, which need not be linear (flexible conjugate
        gradients: Notay, 2000).
    """
    b, step = np.zeros_like(right), np.zeros_like(right)
    residual = before = right
    size = np.zeros_like(wanted)
    largest = DIVERGED * norms(right)
    for _ in range(most):
        left = norms(residual)
        if (left <= wanted).all() or (left > largest).any():
            break
        nearly = residual if inverse is None else inverse(residual)
        step = nearly + ratio((nearly * (residual - before)).sum(axis=0), size) * step
        moved = system(step)
        length = ratio((step * residual).sum(axis=0), (step * moved).sum(axis=0))
        b += length * step
        before, size = residual, (residual * nearly).sum(axis=0)
        residual = residual - length * moved
    return b, bool((norms(residual) <= wanted).all())


def norms(columns: Array) -> Array:
    """Of each column."""
    return np.sqrt((columns**2).sum(axis=0))


def ratio(above: Array, below: Array) -> Array:
    """above / below, zero where `below` is not positive: a converged column has no direction."""
    found: Array = np.divide(above, below, out=np.zeros_like(above), where=below > 0)
    return found
