"""Computations on a Dask cluster, in words if it is lost. No other module imports Dask."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any


def require() -> Any:
    """The package dask, or an error that says how to install it."""
    try:
        import dask
        import dask.array
    except ImportError as error:
        raise ImportError(
            'Dask arrays need the extra "dask": pip install "kernalign[dask]".'
        ) from error
    return dask


def client() -> Any:
    """The client of the active cluster; None if Dask computes in this process."""
    from dask.base import get_scheduler

    owner = getattr(get_scheduler(), "__self__", None)
    return owner if hasattr(owner, "nthreads") else None


def threads() -> int:
    """Number of threads that run tasks: those of the cluster, or of this machine."""
    active = client()
    known = 0 if active is None else sum(active.nthreads().values())
    return known or os.cpu_count() or 1


def workers() -> int:
    """Number of processes that hold results: workers of the cluster, or this process."""
    active = client()
    return 1 if active is None else max(1, len(active.nthreads()))


def computed(dask: Any, *parts: Any) -> Any:
    """`dask.compute`; raises RuntimeError if the computation was lost."""
    with _lost_in_words():
        return dask.compute(*parts)


def persisted(dask: Any, *parts: Any) -> Any:
    """`dask.persist`: results stay on the workers, or in this process without a cluster."""
    with _lost_in_words():
        return dask.persist(*parts)


def joined(dask: Any, parts: Sequence[Any], join: Callable[[Any, Any], Any]) -> Any:
    """Delayed parts, of which there is at least one, joined in a tree and computed."""
    together = dask.delayed(join)
    left = list(parts)
    while len(left) > 1:
        pairs = [left[i : i + 2] for i in range(0, len(left), 2)]
        left = [together(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return computed(dask, *left)[0]


@contextmanager
def _lost_in_words() -> Iterator[None]:
    try:
        yield
    except Exception as problem:
        of_cluster = type(problem).__module__.partition(".")[0] == "distributed"
        if of_cluster or isinstance(problem, CancelledError | ConnectionError | TimeoutError):
            raise RuntimeError(
                "The Dask cluster lost this computation: it was restarted, or its scheduler or "
                "workers ended or ran out of memory "
                f"({type(problem).__name__}). Check the cluster, then call the method again."
            ) from problem
        raise
