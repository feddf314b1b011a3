"""Ctrl-C stops a fit at once, and leaves neither threads nor limits behind."""

import signal
import subprocess
import sys

import pytest

CODE = """
import sys, threading
import numpy as np
from kernalign import ContinuousAlignment, KernelClassifier
from kernalign._threads import thread_count
rng = np.random.default_rng(0)
X = rng.standard_normal((60_000, 10))
y = (X[:, 0] * X[:, 1] > 0).astype(int)
before = thread_count()
print("fitting", flush=True)
try:
    {fit}
except KeyboardInterrupt:
    print(threading.active_count(), thread_count() == before, flush=True)
else:
    print("not interrupted", flush=True)
"""
FITS = {
    "pass": "ContinuousAlignment().fit(X, y)",
    "features": 'KernelClassifier(ContinuousAlignment(), solver="nystroem", C=1.0).fit(X, y)',
}


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS.keys())
def test_interrupted_fit_leaves_nothing_behind(fit):
    process = subprocess.Popen(
        [sys.executable, "-c", CODE.format(fit=fit)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "fitting\n"
        # Long enough to be in the middle of it, short beside the whole.
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=1.0)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert said == "1 True\n"
    assert process.returncode == 0
