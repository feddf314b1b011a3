"""A cluster that is lost is one sentence; an error of a task is itself."""

from concurrent.futures import CancelledError

import pytest
from distributed.client import FutureCancelledError
from distributed.scheduler import KilledWorker

from kernalign.rows.cluster import computed


class Lost:
    """Stands for dask where its cluster has gone."""

    def __init__(self, problem):
        self.problem = problem

    def compute(self, *parts):
        raise self.problem


@pytest.mark.parametrize(
    "problem",
    [
        FutureCancelledError("key", "scheduler-restart"),
        CancelledError("key"),
        KilledWorker("task", None, 3),
        TimeoutError("no scheduler"),
        ConnectionRefusedError("no scheduler"),
    ],
    ids=lambda problem: type(problem).__name__,
)
def test_a_lost_cluster_is_a_sentence(problem):
    with pytest.raises(RuntimeError, match="The Dask cluster lost this computation") as caught:
        computed(Lost(problem), 1)
    assert type(problem).__name__ in str(caught.value)
    assert caught.value.__cause__ is problem


def test_what_a_task_says_stays():
    with pytest.raises(ValueError, match="X contains NaN"):
        computed(Lost(ValueError("X contains NaN")), 1)
