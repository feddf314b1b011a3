"""One default fit in a process of its own, after a small one that warms up.

python -m benchmarks.default_fit_cell N SEED prints one line of JSON: seconds of the processor and
by the clock.
"""

from __future__ import annotations

import json
import sys
import time

from benchmarks._clusters import clusters
from kernalign import KernelClassifier

if __name__ == "__main__":
    n, seed = (int(given) for given in sys.argv[1:])
    KernelClassifier().fit(*clusters(100, seed=0))
    X, y = clusters(n, seed)
    processor, clock = time.process_time(), time.perf_counter()
    KernelClassifier().fit(X, y)
    seconds = {"processor": time.process_time() - processor, "clock": time.perf_counter() - clock}
    print(json.dumps(seconds))
