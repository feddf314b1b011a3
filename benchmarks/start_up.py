"""Import and first default fit in a new process, beyond scikit-learn's own import."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import numpy as np

from benchmarks._row import Row, seconds

BASE = "import numpy as np, sklearn.svm, sklearn.model_selection"
FIT = (
    BASE + "; from kernalign import KernelClassifier; rng = np.random.default_rng(0);"
    "X = rng.standard_normal((200, 5)); KernelClassifier().fit(X, X[:, 0] > 0)"
)


def run() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as cache:
        # What is installed was compiled once, wherever this environment keeps bytecode.
        env = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
        env.pop("PYTHONDONTWRITEBYTECODE", None)

        def once(code: str) -> float:
            command = [sys.executable, "-c", code]
            return seconds(lambda: subprocess.run(command, check=True, env=env))

        once(FIT), once(BASE)
        extra = np.median([once(FIT) - once(BASE) for _ in range(7)])
    what = "import and first default fit beyond scikit-learn's import"
    yield Row(what, f"{extra:.2f} s", "1 s", "0.5 s")
