"""Exact learning of one bandwidth: a Dask cluster of two workers against threads, same cores."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._row import Row
from kernalign import ContinuousAlignment


def run(given: Sequence[str] = ()) -> Iterator[Row]:
    import dask.array as da
    from distributed import Client, LocalCluster

    parser = argparse.ArgumentParser(prog="python -m benchmarks dask", description=__doc__)
    parser.add_argument("--n", type=int, default=50_000, help="rows")
    parser.add_argument("--repeats", type=int, default=3, help="measured in turn")
    options = parser.parse_args(list(given))
    rng = np.random.default_rng(0)
    X = rng.standard_normal((options.n, 20))
    y = (X[:, 0] * X[:, 1] + 0.5 * rng.standard_normal(options.n) > 0).astype(int)
    ratios, differences = [], []
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        chunks = da.from_array(X, chunks=(max(1, options.n // 8), -1)).persist()
        ContinuousAlignment().fit(chunks[:2000], y[:2000])
        for _ in range(options.repeats):
            start = time.perf_counter()
            far = ContinuousAlignment().fit(chunks, y).kernel_
            middle = time.perf_counter()
            with threadpool_limits(2, user_api="blas"):
                near = ContinuousAlignment().fit(X, y).kernel_
            ratios.append((middle - start) / (time.perf_counter() - middle))
            pairs = zip(far.kernels, near.kernels, strict=True)
            differences.append(max(abs(a.sigma[0] / b.sigma[0] - 1) for a, b in pairs))
        del client
    yield Row(
        f"exact CA-1D, n={options.n}: Dask with 2 workers / 2 threads",
        f"{np.median(ratios):.2f}x",
        "1.3x",
        "1.1x",
    )
    yield Row(
        "   largest relative difference of a bandwidth", f"{max(differences):.1e}", "1e-6", ""
    )
