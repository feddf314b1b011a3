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
from functools import cache, partial
from threading import Lock
from typing import Any, Generic, TypeVar

from sklearn import config_context, get_config
from threadpoolctl import ThreadpoolController

Own = TypeVar("Own")
Item = TypeVar("Item")
Result = TypeVar("Result")

#: The pool of the enclosing `blocks_in_threads`; None for a single thread.
_pool: ContextVar[tuple[ThreadPoolExecutor | None, int] | None] = ContextVar("pool", default=None)
#: The tasks of the enclosing `map_beside`.
_beside: ContextVar[_Beside[Any] | None] = ContextVar("beside", default=None)


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
        # The calling thread computes, too.
        pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None
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
        # Finished results wait for their turn. The bounded queue limits their memory.
        calls = (_Call(pool, _task(function, rows)) for rows in blocks)
        yield from zip(blocks, _in_order(calls, 2 * threads), strict=True)


def map_tasks(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """function(item) for independent items, in order, in parallel if there are several threads.

    The function must not change the filters of `warnings`, because all threads share them.
    """
    with blocks_in_threads() as (pool, _):
        if pool is None:
            return [function(item) for item in items]
        calls = [_Call(pool, _task(function, item)) for item in items]
        return list(_in_order(calls, len(calls)))


def map_ahead(
    function: Callable[[Item], Result], items: Sequence[Item], sure: int = 1
) -> Iterator[Result]:
    """function(item) in order, for a caller who may stop before the last.

    Inside `blocks_in_threads`, idle threads compute the next few meanwhile, unless `map_beside` has
    something for them that is needed in any case.

    sure : number of items at which the caller does not stop.
    """
    pool, threads = _pool.get() or (None, 1)
    if pool is None:
        yield from map(function, items)
        return
    done = 0
    while done < len(items):
        beside = _beside.get()
        idle = threads - (0 if beside is None else beside.waiting)
        some = items[done : done + max(idle, min(sure - done, threads), 1)]
        done += len(some)
        if len(some) < threads:
            begin_beside()
        calls = [_Call(pool, _task(function, item)) for item in some]
        yield from _in_order(calls, len(calls), ahead=False)


def map_beside(
    own: Callable[[], Own],
    function: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    held: bool = False,
) -> tuple[Own, list[Result]]:
    """own(), and function(item) of independent items, in order, for which the threads that own()
    leaves idle are used.

    own() runs in the calling thread and may use `map_rows` and `map_tasks`.

    held : items begin when own() calls `begin_beside`, or returns; otherwise they begin with it.
    """
    with blocks_in_threads() as (pool, threads):
        if pool is None or not items:
            return own(), [function(item) for item in items]
        beside = _Beside(pool, threads - 1, [_task(function, item) for item in items])
        token = _beside.set(beside)
        try:
            if not held:
                beside.begin()
            mine = own()
            beside.begin()
            while beside.take():
                pass
        finally:
            _beside.reset(token)
            beside.end()
        return mine, beside.results()


def begin_beside(*, once: bool = False) -> None:
    """Let items that an enclosing `map_beside` holds begin: what follows leaves threads idle.

    Threads that are busy with items are missing where the caller has work for all of them.

    once : idle threads take one item each, because what follows is short.
    """
    beside = _beside.get()
    if beside is not None:
        beside.begin(once=once)


class _Beside(Generic[Result]):
    """Tasks for the idle threads of a pool."""

    def __init__(
        self, pool: ThreadPoolExecutor, threads: int, tasks: Sequence[Callable[[], Result]]
    ):
        self._pool, self._threads = pool, threads
        self._waiting = deque(enumerate(tasks))
        self._found: dict[int, Result] = {}
        self._turns: list[Future[Any]] = []
        self._begun = False

    @property
    def waiting(self) -> int:
        """Number of tasks that have not begun."""
        return len(self._waiting)

    def begin(self, *, once: bool = False) -> None:
        """Let each thread take one task, or one after the other."""
        if self._begun:
            return
        self._begun = not once
        turn = self.take if once else self._take_in_turn
        self._turns += [self._pool.submit(turn) for _ in range(self._threads)]

    def take(self) -> bool:
        """Compute the next task here; False if there is none."""
        try:
            place, task = self._waiting.popleft()
        except IndexError:
            return False
        self._found[place] = task()
        return True

    def _take_in_turn(self) -> None:
        if self.take():
            # At the end of the queue: what the caller asks for meanwhile comes first.
            self._turns.append(self._pool.submit(self._take_in_turn))

    def end(self) -> None:
        """Wait for what has begun; the rest is dropped."""
        self._waiting.clear()
        # A turn adds the next one to the list before it ends.
        for turn in self._turns:
            turn.exception()

    def results(self) -> list[Result]:
        """Of all tasks, in order, after the end."""
        for turn in self._turns:
            turn.result()
        return [self._found[place] for place in sorted(self._found)]


class _Call(Generic[Result]):
    """A call that is computed by a thread of the pool, or by its owner, whichever is free first."""

    def __init__(self, pool: ThreadPoolExecutor, call: Callable[[], Result]):
        self._call, self._future = call, pool.submit(call)

    def done(self) -> bool:
        return self._future.done()

    def take(self) -> None:
        """Compute it here, unless that has begun."""
        if not self._future.cancel():
            return
        self._future = Future()
        try:
            self._future.set_result(self._call())
        except Exception as error:
            # It is raised when it is this call's turn.
            self._future.set_exception(error)

    def result(self) -> Result:
        return self._future.result()

    def cancel(self) -> None:
        self._future.cancel()


def _in_order(calls: Iterable[_Call[Result]], most: int, *, ahead: bool = True) -> Iterator[Result]:
    """The results of calls, of which at most so many wait for a thread or for their turn.

    ahead : the caller computes what no thread has begun. Otherwise, it only does so for the call
        whose turn it is.
    """
    pending: deque[_Call[Result]] = deque()

    def first() -> Result:
        for call in pending if ahead else [pending[0]]:
            if pending[0].done():
                break
            call.take()
        return pending.popleft().result()

    try:
        for call in calls:
            pending.append(call)
            if len(pending) > most:
                yield first()
        while pending:
            yield first()
    finally:
        for call in pending:
            call.cancel()


def _task(function: Callable[[Item], Result], item: Item) -> Callable[[], Result]:
    """function(item) in one thread, with the context and the configuration of the caller."""
    return partial(copy_context().run, _in_one_thread, function, item, get_config())


def _in_one_thread(
    function: Callable[[Item], Result], item: Item, config: dict[str, Any]
) -> Result:
    """Call a function; `map_rows` inside it runs serially instead of waiting for its own pool."""
    _pool.set((None, 1))
    _beside.set(None)
    # scikit-learn keeps its configuration per thread.
    with config_context(**config):
        return function(item)
