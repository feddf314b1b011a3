"""Without the extra: one line says how to get it, and nothing else needs it."""

import subprocess
import sys

import pytest

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


FILES = """
import sys
sys.modules["pyarrow"] = None
from kernalign import KernelClassifier
try:
    KernelClassifier().fit_files("rows.parquet", "y")
except ImportError as error:
    assert 'pip install "kernalign[parquet]"' in str(error), error
else:
    raise AssertionError
"""


@pytest.mark.parametrize("code", [CODE, FILES], ids=["dask", "parquet"])
def test_missing_extra_gives_the_line_that_installs_it(code):
    subprocess.run([sys.executable, "-c", code], check=True)
