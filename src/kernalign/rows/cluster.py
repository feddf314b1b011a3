"""What a cluster computes, or one sentence if the cluster is lost on the way."""

from __future__ import annotations

from concurrent.futures import CancelledError
from typing import Any


def computed(dask: Any, *parts: Any) -> Any:
    """`dask.compute`; RuntimeError if what it computes was lost and cannot be had again."""
    try:
        return dask.compute(*parts)
    except Exception as problem:
        of_cluster = type(problem).__module__.partition(".")[0] == "distributed"
        if of_cluster or isinstance(problem, CancelledError | ConnectionError | TimeoutError):
            raise RuntimeError(
                "The Dask cluster lost this computation: it was restarted, or its scheduler, its "
                "workers or their memory came to an end "
                f"({type(problem).__name__}). Look after the cluster, then call the method again."
            ) from problem
        raise
