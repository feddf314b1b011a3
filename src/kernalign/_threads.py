"""Run blocks of rows, or tasks, in threads; results do not depend on the number of threads.

One thread computes each block or task with single-threaded BLAS, and results are combined in order.
The number of threads is the number that BLAS would use, so OMP_NUM_THREADS and the limits of
threadpoolctl and joblib are respected.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cache
from threading import Lock
from typing import Any, TypeVar

from sklearn import config_context, get_config
from threadpoolctl import ThreadpoolController

Own = TypeVar("Own")
Item = TypeVar("Item")
Result = TypeVar("Result")

#: The pool of the enclosing `blocks_in_threads`; None for a single thread.
_pool: ContextVar[tuple[ThreadPoolExecutor | None, int] | None] = ContextVar("pool", default=None)


@cache
def _blas() -> list[Any]:
    """The BLAS libraries of this process."""
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def thread_count() -> int:
    """The number of threads that BLAS would use now."""
    return max((library.num_threads for library in _blas()), default=1)


def _set_threads(library: Any, number: int) -> None:
    """Change a library's number of threads from any Python thread.

    Since version 3.7, threadpoolctl only obeys the first Python thread that changed the number.
    Through its public function, another thread could not restore the limit that the first one set.
    """
    change = getattr(library, "_real_set_num_threads", library.set_num_threads)
    change(number)


class _OneBlasThread:
    """Limits BLAS to one thread while at least one Python thread is inside.

    BLAS has one limit for the whole process. The first Python thread to enter sets it; the last
    one to leave restores the previous limit.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._before: list[int] = []

    def enter(self) -> int:
        """Returns the number of threads that BLAS would use outside."""
        with self._lock:
            if self._inside == 0:
                self._before = [library.num_threads for library in _blas()]
                for library in _blas():
                    _set_threads(library, 1)
            self._inside += 1
            return max(self._before, default=1)

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                for library, number in zip(_blas(), self._before, strict=True):
                    _set_threads(library, number)


_one_blas_thread = _OneBlasThread()


def active_threads() -> int:
    """The number of threads that `map_rows` would use here."""
    enclosing = _pool.get()
    return thread_count() if enclosing is None else enclosing[1]


@contextmanager
def blocks_in_threads() -> Iterator[tuple[ThreadPoolExecutor | None, int]]:
    """Hold one pool of threads for all `map_rows` calls inside, and limit BLAS to one thread."""
    enclosing = _pool.get()
    if enclosing is not None:
        yield enclosing
        return
    threads = _one_blas_thread.enter()
    try:
        pool = ThreadPoolExecutor(threads) if threads > 1 else None
        token = _pool.set((pool, threads))
        try:
            yield pool, threads
        finally:
            _pool.reset(token)
            if pool is not None:
                pool.shutdown(cancel_futures=True)
    finally:
        _one_blas_thread.leave()


@contextmanager
def in_one_thread() -> Iterator[None]:
    """Run everything inside in the calling thread, with single-threaded BLAS.

    Threads wait for each other between operations. If these are short, they lose more than they
    gain.
    """
    _one_blas_thread.enter()
    token = _pool.set((None, 1))
    try:
        yield
    finally:
        _pool.reset(token)
        _one_blas_thread.leave()


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
                # Finished results wait for their turn. The bounded queue limits their memory.
                if len(pending) > 2 * threads:
                    done, future = pending.popleft()
                    yield done, future.result()
            while pending:
                done, future = pending.popleft()
                yield done, future.result()
        finally:
            for _, future in pending:
                future.cancel()


def map_tasks(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """function(item) for independent items, in order, in parallel if there are several threads.

    The function must not change the filters of `warnings`, because all threads share them.
    """
    with blocks_in_threads() as (pool, _):
        if pool is None:
            return [function(item) for item in items]
        config = get_config()
        futures = [
            pool.submit(copy_context().run, _in_one_thread, function, item, config)
            for item in items
        ]
        try:
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()


def map_ahead(function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """function(item) in order, as many at a time as there are threads, for a caller who may stop
    before the last."""
    size = active_threads()
    for start in range(0, len(items), size):
        yield from map_tasks(function, items[start : start + size])


def map_beside(
    own: Callable[[], Own], function: Callable[[Item], Result], items: Sequence[Item]
) -> tuple[Own, list[Result]]:
    """own(), and function(item) of independent items, in order, for which the threads that own()
    leaves idle are used.

    own() runs in the calling thread and may use `map_rows` and `map_tasks`.
    """
    with blocks_in_threads() as (pool, threads):
        if pool is None or not items:
            return own(), [function(item) for item in items]
        config, waiting = get_config(), deque(enumerate(items))
        found: dict[int, Result] = {}

        def take() -> None:
            while True:
                try:
                    place, item = waiting.popleft()
                except IndexError:
                    return
                found[place] = copy_context().run(_in_one_thread, function, item, config)

        with ThreadPoolExecutor(threads - 1) as others:
            futures = [others.submit(copy_context().run, take) for _ in range(threads - 1)]
            try:
                mine = own()
                take()
                for future in futures:
                    future.result()
            finally:
                waiting.clear()
        return mine, [found[place] for place in range(len(items))]


def _in_one_thread(
    function: Callable[[Item], Result], item: Item, config: dict[str, Any]
) -> Result:
    """Call a function; `map_rows` inside it runs serially instead of waiting for its own pool."""
    _pool.set((None, 1))
    # scikit-learn keeps its configuration per thread.
    with config_context(**config):
        return function(item)
