"""Compiled loops, where they pay: numba is installed and there is enough to compute.

Whether they are used depends on the size of a computation, not on what the process computed before.
So a computation that is repeated gives the same result, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

#: Seconds to import numba and to load the functions that it has stored.
START_UP = 0.5

_in_use: ContextVar[Any] = ContextVar("loops", default=None)


def pays(saved: float) -> bool:
    """Whether compiled loops that save this number of seconds are used."""
    return saved > START_UP and _loops() is not None


@contextmanager
def compiled(saved: float) -> Iterator[None]:
    """Use compiled loops inside, in the calling thread, if that saves more time than their import.

    saved : seconds that they save in the whole computation, of which this may be a part.
    """
    token = _in_use.set(_loops()) if pays(saved) else None
    try:
        yield
    finally:
        if token is not None:
            _in_use.reset(token)


def loops_in_use() -> Any:
    """The module `kernalign._loops` inside of `compiled`; None elsewhere, or without numba."""
    return _in_use.get()


@cache
def _loops() -> Any:
    try:
        from kernalign import _loops as loops
    except Exception:
        # There is no numba, or it does not fit this numpy or its own library, or it can store no
        # functions. To compile them in every process would take longer than they save. The error
        # can be of any kind, and numpy computes the same.
        return None
    return loops
