"""kill -9 of a run of experiments at a random time: no row is lost, and no worker is left."""

import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from experiments import results

ROOT = Path(__file__).parents[2]
#: Cells of 0.15 seconds.
RUN = """
import sys
from pathlib import Path
from experiments import runner
from tests.experiments import toy
runner.run([toy.experiment(slow=toy.slow)], Path(sys.argv[1]), repeats=10, jobs=int(sys.argv[2]))
"""
CELLS = 20
#: Kills of one run, which is taken up after each.
KILLS = 5
#: Seconds in which a run must begin or end, and in which workers must end after their runner.
PATIENCE, LEFT = 120.0, 10.0


def attack(seed):
    """What is wrong after kills at times of this seed and a last run that is let alone, or None."""
    rng = np.random.default_rng(seed)
    survived = []
    with tempfile.TemporaryDirectory() as folder:
        path, jobs = Path(folder) / "results.jsonl", int(rng.integers(1, 3))
        for _ in range(KILLS):
            problem = _killed(rng, _started(path, jobs), path)
            found = _rows(path)
            if problem is None and found is None:
                problem = "a row before the last one is broken"
            if problem is None and found[: len(survived)] != survived:
                problem = f"of {len(survived)} rows some were lost"
            if problem is not None:
                return problem
            survived = found
        if _started(path, jobs).wait(PATIENCE):
            return "the last run failed"
        found = _rows(path)
        keys = [results.key_of(row) for row in found or []]
        if found is None or found[: len(survived)] != survived:
            return f"of {len(survived)} rows some were lost"
        if len(keys) != CELLS or len(set(keys)) != CELLS:
            return f"{len(keys)} rows of {len(set(keys))} cells instead of {CELLS}"
    return None


def _killed(rng, process, path):
    """Kill a runner when it has written some rows, or while it starts; what is left, or None."""
    wanted = _lines(path) + int(rng.integers(0, 4))
    some = wanted > _lines(path)
    _wait(lambda: _lines(path) >= wanted or process.poll() is not None, PATIENCE if some else 0)
    time.sleep(rng.uniform(0, 0.2 if some else 5.0))
    workers = _children(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    if not _wait(lambda: not any(map(_alive, workers)), LEFT):
        return f"workers of the runner that was killed are left after {LEFT:.0f} s"
    return None


def _started(path, jobs):
    given = [sys.executable, "-c", RUN, str(path), str(jobs)]
    return subprocess.Popen(given, cwd=ROOT, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def _lines(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _rows(path):
    """The rows whose lines are whole; None if one that is not the last is broken."""
    lines = path.read_text().split("\n")[:-1] if path.exists() else []
    try:
        return [json.loads(line) for line in lines]
    except ValueError:
        return None


def _children(pid):
    """Processes below a process, however deep."""
    try:
        direct = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [found for child in map(int, direct) for found in (child, *_children(child))]


def _alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _wait(holds, seconds):
    """Whether a condition came to hold in time."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() >= end:
            return False
        time.sleep(0.01)
    return True
