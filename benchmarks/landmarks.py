"""Many landmarks: time, peak memory and test error beside 4000 landmarks on the same rows.

Each fit, with its own search of the kernel, runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks._row import Row

#: Limits of the full size, on two cores.
MINUTES, GIGABYTES = 15, 8
FEW = 4000


def cell(n: int, landmarks: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.landmarks_cell", str(n), str(landmarks)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def run(given: Sequence[str] = ()) -> Iterator[Row]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks landmarks", description=__doc__)
    parser.add_argument("--n", type=int, default=200_000, help="rows to fit")
    parser.add_argument("--landmarks", type=int, default=50_000)
    options = parser.parse_args(list(given))
    for landmarks in (FEW, options.landmarks):
        found = cell(options.n, landmarks)
        many = landmarks > FEW
        what = f"{options.n} rows, {found['landmarks']} landmarks"
        minutes, peak = found["seconds"] / 60, found["peak"] / 1024
        yield Row(f"{what}: minutes", f"{minutes:.1f}", str(MINUTES) if many else "")
        yield Row(f"{what}: processor minutes", f"{found['processor'] / 60:.1f}")
        yield Row(f"{what}: peak, GB", f"{peak:.2f}", str(GIGABYTES) if many else "")
        yield Row(f"{what}: test error", f"{100 * found['error']:.2f} %")
        yield Row(f"{what}: squared error of decisions", f"{found['squared']:.4f}")
