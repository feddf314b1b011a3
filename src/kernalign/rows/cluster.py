"""Computations on a cluster, with a clear error if the cluster is lost."""

from __future__ import annotations

from concurrent.futures import CancelledError
from typing import Any


def computed(dask: Any, *parts: Any) -> Any:
    """`dask.compute`; raises RuntimeError if the computation was lost."""
    try:
        return dask.compute(*parts)
    except Exception as problem:
        of_cluster = type(problem).__module__.partition(".")[0] == "distributed"
        if of_cluster or isinstance(problem, CancelledError | ConnectionError | TimeoutError):
            raise RuntimeError(
                "The Dask cluster lost this computation: it was restarted, or its scheduler or "
                "workers ended or ran out of memory "
                f"({type(problem).__name__}). Check the cluster, then call the method again."
            ) from problem
        raise
