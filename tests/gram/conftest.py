"""Fixtures of the tests of sums over pairs."""

import pytest

from kernalign.gram import blocks, dictionary
from kernalign.rows import pairs


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks so small that small data have several of them."""
    monkeypatch.setattr(blocks, "ROWS", 16)
    monkeypatch.setattr(blocks, "WHOLE", 0)
    monkeypatch.setattr(pairs, "SIZES", ((32, 16),))
    # The side of a tile never falls below 64 rows.
    monkeypatch.setattr(dictionary, "STACK_BYTES", 1)
