"""Import and first fit in a new process, beyond scikit-learn's own import."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import numpy as np

from benchmarks._row import Row, seconds

BASE = "import numpy as np, sklearn.svm, sklearn.model_selection"
FIT = (
    BASE + "; from kernalign import KernelClassifier; rng = np.random.default_rng(0);"
    "X = rng.standard_normal((200, 5)); KernelClassifier(C=1.0).fit(X, X[:, 0] > 0)"
)


def run() -> Iterator[Row]:
    def once(code: str) -> float:
        return seconds(lambda: subprocess.run([sys.executable, "-c", code], check=True))

    once(FIT), once(BASE)
    extra = np.median([once(FIT) - once(BASE) for _ in range(7)])
    yield Row("import and first fit beyond scikit-learn's import", f"{extra:.2f} s", "2 s", "0.5 s")
