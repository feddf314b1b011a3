"""Without the extra: one line says how to get it, and nothing else needs it."""

import subprocess
import sys

CODE = """
import sys
sys.modules["dask"] = None
from kernalign import KernelClassifier, ContinuousAlignment
Fake = type("Array", (), {"__module__": "dask.array.core"})
for model in (KernelClassifier(), ContinuousAlignment()):
    try:
        model.fit(Fake(), [0, 1])
    except ImportError as error:
        assert 'pip install "kernalign[dask]"' in str(error), error
    else:
        raise AssertionError
assert not any(name.startswith("distributed") for name in sys.modules)
"""


def test_missing_extra_gives_the_line_that_installs_it():
    subprocess.run([sys.executable, "-c", CODE], check=True)
