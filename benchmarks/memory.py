"""Extra peak memory of learning one bandwidth on 20,000 rows, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from benchmarks._row import Row

SCRIPT = """
import resource
import numpy as np
from kernalign import ContinuousAlignment

rng = np.random.default_rng(0)
X = rng.standard_normal((20000, 20))
y = np.sign(X[:, 0] * X[:, 1] + 0.5 * rng.standard_normal(20000))
ContinuousAlignment().fit(X[:500], y[:500])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
ContinuousAlignment().fit(X, y)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


def run() -> Iterator[Row]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    yield Row(
        "fit, n=20000, d=20: extra peak memory", f"{float(done.stdout):.0f} MB", "300 MB", "100 MB"
    )
