"""What every test may rely on."""

import sys

import pytest


@pytest.fixture(autouse=True)
def no_figure_is_left_open():
    """A test that fails while it draws must not fail the next one by open figures."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")
