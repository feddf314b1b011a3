"""Threads over blocks of rows, with results that do not depend on their number.

Every block is computed by one thread with single-threaded BLAS, and results are combined in the
order of the blocks. The number of threads is the one BLAS would use, so OMP_NUM_THREADS,
threadpoolctl and joblib's limits are honoured.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

Result = TypeVar("Result")

#: The pool of the `blocks_in_threads` that encloses the caller, None for a single thread.
_pool: ContextVar[tuple[ThreadPoolExecutor | None, int] | None] = ContextVar("pool", default=None)


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def thread_count() -> int:
    """Threads that BLAS would use now."""
    pools = _controller().select(user_api="blas").info()
    return max((pool["num_threads"] for pool in pools), default=1)


def active_threads() -> int:
    """Threads that `map_rows` would use here."""
    enclosing = _pool.get()
    return thread_count() if enclosing is None else enclosing[1]


@contextmanager
def blocks_in_threads() -> Iterator[tuple[ThreadPoolExecutor | None, int]]:
    """Hold one pool of threads, and BLAS to one thread, for all calls of `map_rows` inside."""
    enclosing = _pool.get()
    if enclosing is not None:
        yield enclosing
        return
    threads = thread_count()
    with _controller().limit(limits=1, user_api="blas"):
        pool = ThreadPoolExecutor(threads) if threads > 1 else None
        token = _pool.set((pool, threads))
        try:
            yield pool, threads
        finally:
            _pool.reset(token)
            if pool is not None:
                pool.shutdown(cancel_futures=True)


def map_rows(
    function: Callable[[slice], Result], n: int, size: int
) -> Iterator[tuple[slice, Result]]:
    """Yield (rows, function(rows)) for consecutive blocks of `size` rows, in order."""
    blocks = [slice(start, min(start + size, n)) for start in range(0, n, size)]
    with blocks_in_threads() as (pool, threads):
        if pool is None or len(blocks) == 1:
            for rows in blocks:
                yield rows, function(rows)
            return
        pending: deque[tuple[slice, Future[Result]]] = deque()
        try:
            for rows in blocks:
                pending.append((rows, pool.submit(function, rows)))
                # Results wait for their turn; a bounded queue bounds their memory.
                if len(pending) > 2 * threads:
                    done, future = pending.popleft()
                    yield done, future.result()
            while pending:
                done, future = pending.popleft()
                yield done, future.result()
        finally:
            for _, future in pending:
                future.cancel()
