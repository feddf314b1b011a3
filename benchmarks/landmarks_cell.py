"""Fit with a number of landmarks in a process of its own.

python -m benchmarks.landmarks_cell ROWS LANDMARKS prints one line of JSON: seconds, processor
seconds, peak memory in MB, the test error, and the squared error of the decision values.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from typing import Any

import numpy as np

from benchmarks._clusters import clusters
from kernalign import KernelClassifier

TEST_ROWS = 10_000


def run(n: int, landmarks: int) -> dict[str, Any]:
    X, y = clusters(n + TEST_ROWS, seed=0)
    start, started = time.perf_counter(), time.process_time()
    model = KernelClassifier(n_components=landmarks).fit(X[:n], y[:n])
    seconds, processor = time.perf_counter() - start, time.process_time() - started
    decision = model.decision_function(X[n:])
    return {
        "seconds": seconds,
        "processor": processor,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "landmarks": len(model.model_.rows),
        "error": float(np.mean((decision > 0) != y[n:])),
        "squared": float(np.mean((decision - (2 * y[n:] - 1)) ** 2)),
        "own": model.cv_error_,
    }


if __name__ == "__main__":
    print(json.dumps(run(*(int(number) for number in sys.argv[1:]))))
