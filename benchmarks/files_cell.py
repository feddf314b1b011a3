"""Fit to the Parquet files of a folder: python -m benchmarks.files_cell FOLDER prints one line of
JSON with seconds, processor seconds, peak memory in MB, and the error of `test.parquet`."""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

from kernalign import KernelClassifier


def run(folder: Path) -> dict[str, Any]:
    start, started = time.perf_counter(), time.process_time()
    model = KernelClassifier().fit_files(folder / "train", "y")
    seconds, processor = time.perf_counter() - start, time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    import pandas

    test = pandas.read_parquet(folder / "test.parquet")
    error = 1 - model.score(test.drop(columns="y"), test["y"])
    return {"seconds": seconds, "processor": processor, "peak": peak, "error": error}


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]))))
