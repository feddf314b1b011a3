"""Threads change the time that sums take, and nothing else."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, get_ident

import numpy as np
import pytest
from sklearn import config_context, get_config
from threadpoolctl import threadpool_limits

from kernalign._threads import (
    active_threads,
    begin_beside,
    blocks_in_threads,
    in_one_thread,
    map_ahead,
    map_beside,
    map_rows,
    map_tasks,
    thread_count,
)
from kernalign.gram import blocks
from kernalign.rows import pairs
from tests.gram.dense import setup
from tests.gram.spaces import SPACES
from tests.kernels.families import named


def sums_of(cases, n):
    """Every number that a backend produces, interpolated and refined."""
    s = setup(cases, "fractional", n=n)
    slopes = []
    for family in (*range(len(s.families)), 0):
        z = s.draw(family)
        s.sums.append(family, z)
        probe = s.sums.probe([s.sums.T, s.sums.identity, s.sums.atom(0)], family)
        probe.products(z)
        slopes.append(probe.gradient(z, np.array([1.0, -0.5, 0.2]), 0.3))
    before = s.sums.table.copy()
    s.sums.refine()
    return [before, s.sums.table, *slopes]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    ("module", "cases"),
    [
        (blocks, named("gaussian-ard")),
        (pairs, named("gaussian")),
        (pairs, named("matern-1.5")),
    ],
    ids=["blocks", "semigroup", "dictionary"],
)
def test_small_blocks_are_several(module, cases, monkeypatch):
    """Guards the fixture: with a single block the tests of sums would prove little."""
    counts = []

    def counting(function, n, size):
        counts.append(-(-n // size))
        return map_rows(function, n, size)

    monkeypatch.setattr(module, "map_rows", counting)
    sums_of(cases, n=40)
    assert min(counts) > 1


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.name)
def test_one_and_two_threads_agree_bit_for_bit(space):
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            assert thread_count() == threads, "otherwise the test proves nothing"
            results.append(sums_of(space.cases, n=70))
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("name", "n"), [("gaussian", 700), ("linear", 6000), ("fourier", 6000), ("matern-1.5", 500)]
)
def test_threads_agree_on_sizes_that_blas_splits(name, n):
    """Large enough for a threaded BLAS to share out a single product."""
    results = []
    for threads in (1, 2):
        # As learners do: what is not summed in blocks runs on single-threaded BLAS inside.
        with threadpool_limits(threads, user_api="blas"), blocks_in_threads():
            results.append(sums_of(named(name), n))
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize(("n", "size"), [(1, 3), (3, 3), (10, 3), (100, 1)])
def test_blocks_come_in_order_and_cover_all_rows(threads, n, size):
    with threadpool_limits(threads, user_api="blas"):
        found = list(map_rows(lambda rows: (rows.start, thread_count()), n, size))
    rows = np.concatenate([np.arange(n)[rows] for rows, _ in found])
    np.testing.assert_array_equal(rows, np.arange(n))
    assert [rows.start for rows, _ in found] == [start for _, (start, _) in found]
    # Inside a block BLAS has one thread.
    assert {inside for _, (_, inside) in found} == {1}


@pytest.mark.parametrize("threads", [1, 2])
def test_limits_are_restored(threads):
    with threadpool_limits(threads, user_api="blas"):
        list(map_rows(lambda rows: None, 10, 1))
        assert thread_count() == threads
        blocks = map_rows(lambda rows: None, 10, 1)
        next(blocks)
        blocks.close()
        assert thread_count() == threads


@pytest.mark.parametrize("threads", [1, 2])
def test_errors_in_a_block_reach_the_caller(threads):
    def fail(rows):
        if rows.start == 5:
            raise ArithmeticError("block 5")
        return rows.start

    with threadpool_limits(threads, user_api="blas"):
        with pytest.raises(ArithmeticError, match="block 5"):
            list(map_rows(fail, 10, 1))
        assert thread_count() == threads


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_tasks_come_in_order_each_in_one_thread(threads):
    def task(number):
        inside = [rows.start for rows, _ in map_rows(lambda rows: None, 6, 2)]
        return number, inside, thread_count(), active_threads()

    with threadpool_limits(threads, user_api="blas"):
        found = map_tasks(task, range(9))
        assert thread_count() == threads
    expected = threads if threads == 1 else 1
    assert found == [(number, [0, 2, 4], 1, expected) for number in range(9)]


def test_tasks_see_the_configuration_of_their_caller():
    with threadpool_limits(2, user_api="blas"), config_context(working_memory=7):
        assert map_tasks(lambda _: get_config()["working_memory"], range(3)) == [7, 7, 7]


@pytest.mark.parametrize("threads", [1, 2])
def test_errors_in_a_task_reach_the_caller(threads):
    def fail(number):
        if number == 1:
            raise ArithmeticError("task 1")

    with threadpool_limits(threads, user_api="blas"):
        with pytest.raises(ArithmeticError, match="task 1"):
            map_tasks(fail, range(3))
        assert thread_count() == threads


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_items_run_beside_a_task_that_has_the_pool(threads):
    inside = []

    def own():
        inside.append(active_threads())
        return map_tasks(lambda item: item + 1, range(3))

    def item(number):
        inside.append(active_threads())
        return 2 * number

    with threadpool_limits(threads, user_api="blas"):
        assert map_beside(own, item, range(5)) == ([1, 2, 3], [0, 2, 4, 6, 8])
        assert map_beside(own, item, ()) == ([1, 2, 3], [])
        assert thread_count() == threads
    assert sorted(inside) == [1] * 5 + [threads] * 2 if threads > 1 else set(inside) == {1}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("culprit", ["own", "item"])
def test_errors_beside_reach_the_caller_and_stop_the_rest(threads, culprit):
    def own():
        if culprit == "own":
            raise ZeroDivisionError
        return 1

    def item(number):
        if culprit == "item" and number == 1:
            raise ZeroDivisionError
        return number

    with threadpool_limits(threads, user_api="blas"):
        with pytest.raises(ZeroDivisionError):
            map_beside(own, item, range(4))
        assert thread_count() == threads


@pytest.mark.parametrize("threads", [1, 2])
def test_a_caller_who_stops_early_wastes_less_than_a_round(threads):
    done = []

    def square(number):
        done.append(number)
        return number**2

    with threadpool_limits(threads, user_api="blas"), blocks_in_threads():
        found = map_ahead(square, range(6))
        assert [next(found) for _ in range(3)] == [0, 1, 4]
        found.close()
    assert set(done) in ({0, 1, 2}, {0, 1, 2, 3}) if threads == 2 else done == [0, 1, 2]


def test_items_beside_come_before_what_may_not_be_needed():
    done = []

    def square(number):
        done.append(number)
        return number**2

    def own():
        found = map_ahead(square, range(6), sure=2)
        first = [next(found) for _ in range(3)]
        found.close()
        return first, len(done)

    with threadpool_limits(2, user_api="blas"):
        # So many items that some wait until the caller ends.
        beside = [Event() for _ in range(3)]
        found, _ = map_beside(own, lambda event: event.wait(0.05), beside, held=True)
    assert found == ([0, 1, 4], 3)


def test_limits_are_restored_after_overlapping_use_in_several_threads():
    """The first thread to enter leaves first, while the second is still inside."""
    first_is_in, second_is_in, first_is_out = Event(), Event(), Event()
    seen = {}

    def first():
        with blocks_in_threads():
            first_is_in.set()
            assert second_is_in.wait(10)
        first_is_out.set()

    def second():
        assert first_is_in.wait(10)
        with blocks_in_threads() as (_, threads):
            seen["threads"] = threads
            second_is_in.set()
            assert first_is_out.wait(10)
            seen["inside"] = thread_count()

    with threadpool_limits(2, user_api="blas"):
        with ThreadPoolExecutor(2) as pool:
            for future in [pool.submit(first), pool.submit(second)]:
                future.result()
        assert seen == {"threads": 2, "inside": 1}
        assert thread_count() == 2


def test_small_tables_stay_in_one_thread():
    """Whatever is mapped inside runs in the caller, and the limit of BLAS is restored."""
    caller = get_ident()
    with threadpool_limits(2, user_api="blas"):
        with in_one_thread():
            assert thread_count() == active_threads() == 1
            assert set(map_tasks(lambda _: get_ident(), range(4))) == {caller}
            own, others = map_beside(get_ident, lambda _: get_ident(), [1])
            assert {own, *others} == {caller}
        assert thread_count() == 2


def test_what_the_caller_waits_for_comes_before_items_beside_it():
    item_begun, first_begun, second_begun, order = Event(), Event(), Event(), []

    def own():
        assert item_begun.wait(10)
        return map_tasks(task, range(2))

    def task(number):
        # The caller has the first one until the other thread, free again, has begun the second.
        order.append("task")
        (second_begun if number else first_begun).set()
        return second_begun.wait(10)

    def item(number):
        order.append("item")
        item_begun.set()
        assert first_begun.wait(10)
        return number

    with threadpool_limits(2, user_api="blas"):
        assert map_beside(own, item, range(3)) == ([True, True], [0, 1, 2])
    assert order == ["item", "task", "task", "item", "item"]


def test_held_items_begin_when_the_caller_says_so():
    begun = Event()

    def own():
        # All threads are there for the caller.
        assert len(set(map_tasks(together, range(2)))) == 2
        assert not begun.is_set()
        begin_beside()
        begin_beside()
        return begun.wait(10)

    both = Barrier(2)

    def together(_):
        both.wait(10)
        return get_ident()

    def item(number):
        begun.set()
        return number

    with threadpool_limits(2, user_api="blas"):
        assert map_beside(own, item, range(3), held=True) == (True, [0, 1, 2])


def test_an_idle_thread_takes_one_item_at_a_time():
    begun, done = [], Event()

    def own():
        for number in range(2):
            done.clear()
            begin_beside(once=True)
            assert done.wait(10)
            # The thread is free again: it and the caller have one of these each.
            both = Barrier(2)
            map_tasks(lambda _, both=both: both.wait(10), range(2))
            assert begun == list(range(number + 1))

    def item(number):
        begun.append(number)
        done.set()
        return number

    with threadpool_limits(2, user_api="blas"):
        assert map_beside(own, item, range(4), held=True) == (None, [0, 1, 2, 3])


def test_a_round_that_leaves_threads_idle_lets_items_begin():
    begun = Event()

    def own():
        return list(map_ahead(lambda _: begun.wait(10), [0]))

    with threadpool_limits(2, user_api="blas"):
        assert map_beside(own, lambda _: begun.set(), [0], held=True) == ([True], [None])


def test_held_items_begin_in_all_threads_when_the_caller_ends():
    both = Barrier(2)

    def item(_):
        both.wait(10)
        return get_ident()

    with threadpool_limits(2, user_api="blas"):
        own, others = map_beside(get_ident, item, range(2), held=True)
    assert own in others
    assert len(set(others)) == 2


def test_a_task_of_the_caller_does_not_let_items_begin():
    """It does not know what else the caller has for the threads."""
    begun = Event()

    def own():
        map_tasks(lambda _: begin_beside(), range(2))
        return begun.wait(0.05)

    with threadpool_limits(2, user_api="blas"):
        assert map_beside(own, lambda _: begun.set(), [0], held=True) == (False, [None])


@pytest.mark.parametrize("threads", [1, 2])
def test_without_items_nothing_begins(threads):
    with threadpool_limits(threads, user_api="blas"):
        begin_beside()
        assert map_beside(begin_beside, lambda _: None, (), held=True) == (None, [])


def test_the_caller_does_not_wait_for_threads_that_are_busy():
    done = Event()

    def own():
        found = map_tasks(lambda number: number, range(4))
        done.set()
        return found

    with threadpool_limits(2, user_api="blas"):
        assert map_beside(own, lambda _: done.wait(10), [0]) == ([0, 1, 2, 3], [True])


def test_errors_come_in_order():
    """A later task that fails first does not hide the earlier one."""
    late = Event()

    def fail(number):
        if number == 0:
            assert late.wait(10)
            raise ZeroDivisionError
        late.set()
        raise ArithmeticError

    with threadpool_limits(2, user_api="blas"), pytest.raises(ZeroDivisionError):
        map_tasks(fail, range(2))


def test_blocks_see_the_configuration_of_their_caller_in_one_thread_each():
    """In the threads of the pool and in the caller's, which computes too."""
    seen = []

    def block(rows):
        seen.append((get_config()["working_memory"], active_threads()))

    with threadpool_limits(2, user_api="blas"), config_context(working_memory=3):
        assert len(list(map_rows(block, 40, 1))) == 40
    assert set(seen) == {(3, 1)}
