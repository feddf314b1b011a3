"""Fit to Parquet files of 10,000,000 rows and 20 columns, in a process of its own.

The rows are those of a classification problem: 12 of 20 features matter, in 8 clusters. They are
written to a temporary folder, which is removed at the end.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks._row import Row

FILES = 25
TEST_ROWS = 100_000
#: Features that matter, linear combinations of them, and noise.
INFORMATIVE, REDUNDANT, NOISE = 8, 4, 8
CLUSTERS, FLIPPED = 8, 0.01


def clusters(n: int, part: int) -> tuple[np.ndarray, np.ndarray]:
    """One part of the problem: n rows and their classes."""
    problem = np.random.default_rng(0)
    vertices = problem.permutation(2**INFORMATIVE)[:CLUSTERS]
    centres = 2.0 * (vertices[:, None] >> np.arange(INFORMATIVE) & 1) - 1
    shapes = problem.uniform(-1, 1, (CLUSTERS, INFORMATIVE, INFORMATIVE))
    combined = problem.uniform(-1, 1, (INFORMATIVE, REDUNDANT))
    rng = np.random.default_rng([1, part])
    cluster = rng.integers(0, CLUSTERS, n)
    X = rng.standard_normal((n, INFORMATIVE))
    for k in range(CLUSTERS):
        X[cluster == k] = X[cluster == k] @ shapes[k] + centres[k]
    y = cluster % 2
    flipped = rng.random(n) < FLIPPED
    y[flipped] = rng.integers(0, 2, flipped.sum())
    return np.hstack([X, X @ combined, rng.standard_normal((n, NOISE))]), y


def write(path: Path, n: int, part: int) -> None:
    import pyarrow
    import pyarrow.parquet

    X, y = clusters(n, part)
    columns = {f"x{k}": column for k, column in enumerate(X.T)}
    pyarrow.parquet.write_table(pyarrow.table({**columns, "y": y}), path)


def arguments(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks files", description=__doc__)
    parser.add_argument("--n", type=int, default=10_000_000, help="rows")
    return parser.parse_args(list(given))


def run(given: Sequence[str] = ()) -> Iterator[Row]:
    n = arguments(given).n
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "train").mkdir()
        for part, rows in enumerate(np.diff(np.linspace(0, n, FILES + 1).astype(int)).tolist()):
            write(Path(folder) / "train" / f"{part:02}.parquet", rows, part)
        write(Path(folder) / "test.parquet", TEST_ROWS, FILES)
        command = [sys.executable, "-m", "benchmarks.files_cell", folder]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    cell = json.loads(done.stdout.splitlines()[-1])
    large = n == 10_000_000
    title = f"fit_files, {n} rows of 20 columns"
    yield Row(f"{title}: peak memory", f"{cell['peak']:.0f} MB", "4096 MB" if large else "")
    minutes = [f"{cell[key] / 60:.1f} min" for key in ("seconds", "processor")]
    yield Row("   time", minutes[0], "", "20 min" if large else "")
    yield Row("   processor time", minutes[1])
    yield Row(f"   error of {TEST_ROWS} other rows", f"{100 * cell['error']:.2f} %")
