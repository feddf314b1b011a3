"""Where the time of a fit on a Dask cluster goes, and what it would be with more workers.

A fit alternates between this process (samples, landmarks, the preconditioner) and computations on
the workers. With p workers of one thread each it takes

    T(p) = client + tasks / p + rest.

- client : time outside of computations on the cluster. It does not depend on p.
- tasks : sum of the durations of all tasks, from the task stream of Dask's scheduler.
- rest : time of the computations in which no task ran if there is one worker: scheduling and
  transfers. Each computation waits for it whatever the number of workers is, as long as its tasks
  are many more than the workers.

Only the tasks are linear in the number of rows.
"""

from __future__ import annotations

import pickle
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Costs:
    """Seconds of one fit; the number of tasks and computations; bytes that this process got."""

    wall: float
    client: float
    tasks: float
    rest: float
    n_tasks: int
    n_computations: int
    gathered: int

    def on(self, workers: int, rows: float = 1.0) -> float:
        """The time with this many workers, for `rows` times as many rows; from one worker."""
        return self.client + rows * self.tasks / workers + self.rest


def costs(make: Callable[[Any], Callable[[], Any]], workers: int) -> Costs:
    """Costs of make(client)() on worker processes of one thread each.

    make : prepares the data on the cluster, and returns the fit.
    """
    import dask
    from distributed import Client, LocalCluster, get_task_stream

    with (
        warnings.catch_warnings(),
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        warnings.simplefilter("ignore")
        fit = make(client)
        waited: list[float] = []
        sizes: list[int] = []
        compute = dask.compute

        def watched(*parts: Any) -> Any:
            start = time.perf_counter()
            found = compute(*parts)
            waited.append(time.perf_counter() - start)
            sizes.append(len(pickle.dumps(found)))
            return found

        dask.compute = watched
        try:
            with get_task_stream(client) as stream:
                start = time.perf_counter()
                fit()
                wall = time.perf_counter() - start
        finally:
            dask.compute = compute
        spans = [
            span["stop"] - span["start"]
            for record in stream.data
            for span in record["startstops"]
            if span["action"] == "compute"
        ]
    tasks, waiting = sum(spans), sum(waited)
    rest = max(waiting - tasks / workers, 0.0)
    return Costs(wall, wall - waiting, tasks, rest, len(spans), len(waited), sum(sizes))
