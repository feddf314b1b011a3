"""Fits on a Dask cluster: one worker and two, threads of one process, and what 16 would take."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._cluster_costs import Costs, costs
from benchmarks._row import Row, seconds
from kernalign import ContinuousAlignment, KernelClassifier, KernelSearch

#: Numbers of workers, and factors of the number of rows, for which a time is extrapolated.
WORKERS, FACTORS = (1, 2, 4, 8, 16), (1, 10, 100)
CHUNKS = 8


def run(given: Sequence[str] = ()) -> Iterator[Row]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks dask", description=__doc__)
    parser.add_argument("--n", type=int, default=20_000, help="rows of the pass over pairs")
    parser.add_argument("--rows", type=int, default=100_000, help="rows of the default fit")
    parser.add_argument(
        "--repeats", type=int, default=2, help="measured in turn; the fastest counts"
    )
    parser.add_argument("--only", choices=("pairs", "default"), help="one of the two")
    options = parser.parse_args(list(given))
    with threadpool_limits(1, user_api="blas"):
        if options.only != "default":
            yield from _pairs(options.n, options.repeats)
        if options.only != "pairs":
            yield from _default(options.rows, options.repeats)


def _pairs(n: int, repeats: int) -> Iterator[Row]:
    """Exact learning of one bandwidth."""
    fitted: list[Any] = []

    def make(client: Any) -> Callable[[], Any]:
        chunks, labels = _data(client, n)
        ContinuousAlignment().fit(chunks[:1000], labels[:1000])
        return lambda: fitted.append(ContinuousAlignment().fit(chunks, labels).kernel_)

    what = f"exact CA-1D, n={n}"
    one, two = _fastest(make, repeats)
    yield from _compared(what, one, two)
    X, y = _rows(n)
    with threadpool_limits(2, user_api="blas"):
        threads = seconds(lambda: fitted.append(ContinuousAlignment().fit(X, y).kernel_))
    yield Row(f"{what}: 2 workers / 2 threads", f"{two.wall / threads:.2f}x", "1.3x", "1.1x")
    far, near = fitted[-2:]
    pairs = zip(far.kernels, near.kernels, strict=True)
    difference = max(abs(a.sigma[0] / b.sigma[0] - 1) for a, b in pairs)
    yield Row("   largest relative difference of a bandwidth", f"{difference:.1e}", "1e-6", "")


def _default(n: int, repeats: int) -> Iterator[Row]:
    """The default fit, whose kernel is searched on a sample."""

    def make(client: Any) -> Callable[[], Any]:
        chunks, labels = _data(client, n)
        model = KernelClassifier(KernelSearch(effort="quick"))
        return lambda: model.fit(chunks, labels)

    what = f"default fit, quick search, n={n}"
    one, two = _fastest(make, repeats)
    yield from _compared(what, one, two)
    for factor in FACTORS:
        times = [one.on(workers, factor) for workers in WORKERS]
        shown = "  ".join(f"{workers}: {t:.0f}" for workers, t in zip(WORKERS, times, strict=True))
        yield Row(f"   seconds by workers, {factor * n:,} rows (extrapolated)", shown)
        yield Row("      16 workers, times as fast as one", f"{times[0] / times[-1]:.1f}x")


def _fastest(make: Callable[[Any], Callable[[], Any]], repeats: int) -> tuple[Costs, Costs]:
    """With one worker and with two."""
    pairs = [(costs(make, 1), costs(make, 2)) for _ in range(repeats)]
    one, two = (min(found, key=lambda c: c.wall) for found in zip(*pairs, strict=True))
    return one, two


def _compared(what: str, one: Costs, two: Costs) -> Iterator[Row]:
    """What was measured with one worker and two, and whether the extrapolation agrees."""
    yield Row(f"{what}: two workers, times as fast as one", f"{one.wall / two.wall:.2f}x")
    for name, found in (("one", one), ("two", two)):
        parts = f"{found.client:.1f} + {found.tasks:.1f} + {found.rest:.1f}"
        yield Row(f"   {name}: {found.wall:.1f} s; client + tasks + rest", parts)
    yield Row(
        f"   {one.n_tasks} tasks in {one.n_computations} computations; this process got",
        f"{one.gathered / 1e6:.1f} MB",
    )
    yield Row("   extrapolated to two workers / measured", f"{one.on(2) / two.wall:.2f}x")


def _data(client: Any, n: int) -> tuple[Any, Any]:
    """Rows and labels on the workers."""
    import dask.array as da

    X, y = _rows(n)
    size = -(-n // CHUNKS)
    chunks = da.from_array(X, chunks=(size, -1)), da.from_array(y, chunks=size)
    found: tuple[Any, Any] = tuple(client.persist(list(chunks)))
    return found


def _rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 20))
    return X, (X[:, 0] * X[:, 1] + 0.5 * rng.standard_normal(n) > 0).astype(int)
